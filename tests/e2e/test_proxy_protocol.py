"""Behind a balancer: what it says before a connection is whose the connection is, and only a balancer may say it."""
import os
import subprocess

import pytest

from rig import balancer, client as rig_client, provider as rig_provider, socks, tls, token as tokens
from rig.balancer import Balancer, header
from rig.gateway import ASK, Gateway
from rig.weir import binary, free_port, wait_for
from rules import http, in_order, is_refusal, tcp
from test_sessions import ask, guarded  # noqa: F401

NAME, URL = "allowed.test", "http://allowed.test/"
ALICE, BOB, SIX = "203.0.113.7", "203.0.113.8", "2001:db8:7::1"
FROM = {"from": [balancer.ADDRESS + "/32"]}


def ports(*doors):
    return {door: ["127.0.0.1:%d" % free_port()] for door in (*doors, "health")}


@pytest.fixture
def behind(weir):
    """behind(rules): a weir that has a balancer before it."""
    def make(rules, config=None, **how):
        return weir(rules, config=dict({"listen": ports("proxy"), "proxy_protocol": FROM}, **(config or {})), **how)
    return make


@pytest.fixture
def enter(connect):
    """enter(weir, first bytes): a client whose balancer says these."""
    return lambda proxy, *first, **how: connect(Balancer(proxy, *first, **how))


def addresses(records):
    return [r["client"]["addr"] for r in in_order(records)]


# -- whose a connection is

@pytest.mark.parametrize("source", [ALICE, SIX])
def test_the_header_says_who_the_client_is(behind, enter, upstream, source):
    proxy = behind([http(NAME)])
    client = enter(proxy, header(source))
    assert client.get(URL + "x").body == b"ok" and client.get(URL + "y").body == b"ok"
    assert [r.target for r in upstream.requests] == ["/x", "/y"]
    assert addresses(proxy.finals(2)) == [source] * 2


def test_a_request_may_come_right_behind_it_and_it_may_come_in_pieces(behind, enter, upstream):
    proxy = behind([http(NAME)])
    request = b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
    assert enter(proxy, header(ALICE) + request).response().body == b"ok"
    said = header(BOB, tlvs=b"\x04\x00\x02xy\xe0\x00\x00")
    assert enter(proxy, *(said[i:i + 1] for i in range(len(said))), request).response().body == b"ok"
    assert addresses(proxy.finals(2)) == [ALICE, BOB]


def test_a_socks_client_comes_through_one(behind, enter, echo):
    proxy = behind([tcp(NAME, echo.port)], config={"listen": ports("socks5")})
    client = enter(proxy, header(ALICE), listener="socks5")
    assert socks.open_tunnel(client, NAME, echo.port) == 0
    client.send("x")
    assert client.read_until(lambda data: data == b"x")
    client.close()
    record, = proxy.finals(1)
    assert (record["kind"], record["client"]) == ("socks5", {"addr": ALICE, "door": "socks5"})


def test_a_gateways_client_comes_through_one(gateway, provider, enter):
    provider.answer = rig_provider.messages()
    weir = gateway({"proxy_protocol": FROM}).weir
    client = enter(weir, header(ALICE), listener="gateway")
    Gateway.send(None, client, "/anthropic/v1/messages", ASK)
    assert client.response("POST").status == 200
    assert [addresses([r]) for r in weir.finals(1) if r["kind"] == "gateway"] == [[ALICE]]


def test_it_comes_before_tls(behind, authority, upstream):
    certificate, key = authority.leaf("weir.test")
    proxy = behind([http(NAME)], config={
        "listen": {"proxy": ["tls:127.0.0.1:%d" % free_port()], "health": ["127.0.0.1:%d" % free_port()]},
        "tls": {"listen": {"cert": "file:" + certificate, "key": "file:" + key}}})

    class Secured(Balancer):
        def connect(self, timeout):
            return tls.wrap(super().connect(timeout), authority.client(), "weir.test")
    with rig_client.Client(Secured(proxy, header(ALICE))) as client:
        assert client.get(URL).body == b"ok"
    with rig_client.Client(Balancer(proxy, header(BOB), b"\0")) as client:
        assert client.read_all() == b""
    with rig_client.Client(tls.Door(proxy, authority.client())) as client:
        assert client.get(URL).body == b"ok"
    assert [(r["client"]["addr"], r["reason"]) for r in in_order(proxy.finals(3))] == [
        (ALICE, "ok"), (BOB, "request_malformed"), ("127.0.0.1", "ok")]


def test_a_health_check_of_the_balancers_own_is_its_own(behind, enter, upstream):
    """LOCAL; and one that says no more has no record."""
    proxy = behind([http(NAME)])
    local = header(ALICE, command=balancer.LOCAL)
    enter(proxy, local).close()
    enter(proxy, balancer.whole(balancer.LOCAL, 0, b"")).close()
    assert enter(proxy, local).get(URL).body == b"ok"
    wait_for(lambda: proxy.metric("weir_connections_open") <= 1, what="the end of the others")
    assert addresses(proxy.finals(1)) == [balancer.ADDRESS]


# -- what hangs on it

def test_a_session_belongs_to_the_source_and_not_to_the_balancer(guarded, enter, upstream):  # noqa: F811
    secret = tokens.new_secret()
    proxy = guarded(config={"proxy_protocol": FROM}, environment={"KEY": secret})
    token = tokens.mint(secret)
    first = enter(proxy, header(ALICE))
    assert ask(first, token).status == 200
    is_refusal(ask(enter(proxy, header(BOB)), token), 403, "session_not_attached")
    assert ask(enter(proxy, header(ALICE, port=1)), token).status == 200
    assert addresses(proxy.finals(3)) == [ALICE, BOB, ALICE]


def test_an_armed_address_is_the_sources(guarded, enter, upstream, tmp_path):  # noqa: F811
    secret, path = tokens.new_secret(), str(tmp_path / "admin.sock")
    proxy = guarded(config={"listen": dict(ports("proxy"), admin=["unix:" + path]), "proxy_protocol": FROM},
                    environment={"KEY": secret})
    done = subprocess.run([binary(), "ctl", "-s", path, "arm", ALICE], input=tokens.mint(secret, "armed"), text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    assert ask(enter(proxy, header(ALICE))).status == 200
    is_refusal(ask(enter(proxy, header(BOB))), 407, "session_required")
    assert [r["session"] and r["session"]["sid"] for r in in_order(proxy.finals(2))] == ["armed", None]


def test_limits_are_the_sources_and_none_is_the_balancers(behind, enter):
    proxy = behind([http(NAME)], config={"limits": {"client_connections": 1}})
    held = [enter(proxy, header(source)) for source in (ALICE, BOB, SIX)]
    for one in held:
        is_refusal(one.get("http://denied.test/"), 403, "host_not_allowed")
    is_refusal(enter(proxy, header(ALICE)).get(URL), 429, "concurrency_limited")
    assert addresses(proxy.finals(4)) == [ALICE, BOB, SIX, ALICE]
    others = ["203.0.113.%d" % n for n in (20, 21, 22)]
    waiting = [enter(proxy, header(source)[:20]) for source in others]  # nobody's yet
    wait_for(lambda: proxy.metric("weir_connections_open") >= 6, what="all of them")
    for one, source in zip(waiting, others):
        one.send(header(source)[20:])
        is_refusal(one.get("http://denied.test/"), 403, "host_not_allowed")


def test_a_source_with_far_too_many_connections_is_let_in_no_more(behind, enter):
    proxy = behind([http(NAME)], config={"limits": {"client_connections": 1}})
    held = [enter(proxy, header(ALICE)) for _ in range(67)]
    wait_for(lambda: proxy.metric("weir_connections_dropped_total") == 1, what="the one too many")
    is_refusal(enter(proxy, header(BOB)).get("http://denied.test/"), 403, "host_not_allowed")
    for one in held:
        one.close()
    wait_for(lambda: proxy.metric("weir_connections_open") == 1, what="the end of all")
    is_refusal(enter(proxy, header(ALICE)).get("http://denied.test/"), 403, "host_not_allowed")


def test_a_source_opens_nothing(behind, enter):
    """It is an address like any other: weir dials neither it nor its own listener because of it."""
    proxy = behind([tcp(NAME, [80])])
    host, _, port = proxy.address.rpartition(":")
    for target, reason in (("10.1.2.3:80", "ip_literal_not_allowed"), (proxy.address, "ip_literal_not_allowed")):
        is_refusal(enter(proxy, header("10.1.2.3")).connect(target), 403, reason)


# -- who may say it, and who must

def test_from_another_address_it_is_not_looked_at(behind, connect, upstream):
    proxy = behind([http(NAME)])
    assert connect(proxy).get(URL).body == b"ok"
    liar = connect(proxy)
    liar.send(header(ALICE))
    is_refusal(liar.response(), 400, "request_malformed")
    assert addresses(proxy.finals(2)) == ["127.0.0.1"] * 2
    assert proxy.metric("weir_proxy_headers_refused_total") == 0


@pytest.mark.parametrize("first, why", [
    (b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "there is no PROXY header"),
    (b"\x16\x03\x01\x02\x00", "there is no PROXY header"),
    (b"PROXY TCP4 203.0.113.7 198.51.100.2 4242 80\r\n", "the PROXY header is of version 1"),
    (header(ALICE, command=0x22), "neither PROXY nor LOCAL"),
    (header(ALICE, family=0x12), "no TCP over IPv4 or IPv6"),
    (balancer.whole(balancer.PROXY, 0, b""), "no TCP over IPv4 or IPv6"),
    (balancer.whole(balancer.PROXY, 0x31, b"\0" * 216), "no TCP over IPv4 or IPv6"),
    (header(ALICE, tlvs=b"\x04\x01\xf9" + b"x" * 506), "longer than 536 octets"),
    (header(ALICE, tlvs=b"\x04\x00\x09x"), "a TLV is longer"),
    (header(ALICE, tlvs=b"\x03\x00\x04\0\0\0\0"), "checksum is wrong"),
    (header("0.0.0.0"), "source is no address")])
def test_what_is_no_header_is_closed_and_recorded_once(behind, enter, upstream, first, why):
    proxy = behind([http(NAME)])
    client = enter(proxy, first)
    assert client.read_all() == b""
    record, = proxy.finals(1)
    assert (record["decision"], record["reason"], record["close"]) == ("deny", "request_malformed", "weir")
    assert why in record["error"] and addresses([record]) == [balancer.ADDRESS]
    assert not upstream.conns and proxy.metric("weir_proxy_headers_refused_total") == 1


def test_the_longest_header_is_taken(behind, enter, upstream):
    proxy = behind([http(NAME)])
    said = header(ALICE, tlvs=b"\x04\x01\xf9" + b"x" * 505)
    assert len(said) == 536 and enter(proxy, said).get(URL).body == b"ok"


def test_one_that_does_not_come_in_time_or_is_broken_off_is_recorded_and_none_is_not(behind, enter):
    proxy = behind([http(NAME)], config={"limits": {"hello_timeout": "300ms"}})
    nothing, late, gone = enter(proxy), enter(proxy, header(ALICE)[:20]), enter(proxy, header(ALICE)[:15])
    gone.finish()
    for one in (nothing, late, gone):
        one.read_all()
    records = sorted(proxy.finals(2), key=lambda r: r["reason"])
    assert [(r["reason"], r["close"]) for r in records] == [("client_aborted", "client"), ("client_timeout", "weir")]
    assert records[1]["ms"]["total"] >= 299
    wait_for(lambda: proxy.metric("weir_connections_open") == 0, what="the end of all")
    assert len(proxy.finals()) == 2


def test_a_stop_records_the_header_it_cuts(behind, enter):
    proxy = behind([http(NAME)])
    enter(proxy, header(ALICE)[:20])
    wait_for(lambda: proxy.metric("weir_connections_open") == 1, what="the connection")
    proxy.stop()
    assert [(r["reason"], r["close"]) for r in proxy.finals()] == [("draining", "weir")]


def test_nobody_says_it_at_a_unix_socket(behind, connect, upstream, tmp_path):
    proxy = behind([http(NAME)], config={"listen": {"proxy": ["unix:%s/p.sock" % tmp_path]},
                                         "proxy_protocol": {"from": ["0.0.0.0/1", "128.0.0.0/1", "8000::/1", "::/1"]}})
    assert connect(proxy).get(URL).body == b"ok"


def test_a_reload_says_who_balancers_are(behind, enter, connect, upstream):
    proxy = behind([http(NAME)], config={"workers": 1})
    proxy.config["proxy_protocol"] = {"from": ["127.0.0.1"]}
    proxy.reload()
    wait_for(lambda: proxy.metric("weir_reloads_total") > 0, what="the reload")
    wait_for(lambda: connect(Balancer(proxy, address=balancer.ADDRESS)).get(URL) is not None, what="the new word")
    client = connect(proxy)
    client.send(header(ALICE))
    assert client.get(URL).body == b"ok"
    wait_for(lambda: ALICE in addresses(proxy.finals()), what="the source in a record")


# -- the configuration

@pytest.mark.command
@pytest.mark.parametrize("text, code", [("0.0.0.0/0", "bad_prefix"), ("::/0", "bad_prefix"), ("10.0.0.1/8", "bad_prefix"),
                                        ("lb.test", "bad_prefix")])
def test_what_is_no_range_of_balancers_fails_the_check(tmp_path, text, code):
    (tmp_path / "policy.yaml").write_text("policy: test\nallow: [{ host: allowed.test }]\n")
    (tmp_path / "weir.yaml").write_text("production: false\npolicies: [policy.yaml]\nlisten: { proxy: [\"127.0.0.1:1\"] }\n"
                                        "proxy_protocol: { from: [\"%s\"] }\n" % text)
    done = subprocess.run([binary(), "check", "-c", "weir.yaml"], cwd=tmp_path, text=True, capture_output=True,
                          env=dict(os.environ))
    assert done.returncode == 78 and "weir.yaml:4:26: error:" in done.stderr and "[%s]" % code in done.stderr, done.stderr
