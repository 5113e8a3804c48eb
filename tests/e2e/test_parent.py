"""A parent proxy: where it is the only way out weir still judges every name, and vets what it asks the parent for."""
import base64
import json
import subprocess
import threading

import pytest

from rig import origin as origins, parent as rig_parent, socks, tls
from rig.weir import binary, free_port
from rules import http, https, in_order, is_refusal, tcp

pytestmark = pytest.mark.single

NAME, OTHER = "allowed.test", "other.test"
CREDENTIAL = ":".join(["weir", "-".join(["fixed", "words", "of", "a", "parent"])])


@pytest.fixture
def parent(net):
    one = rig_parent.Parent()
    yield one
    one.close()


def through(parent, **more):
    return {"upstream": dict({"proxy": parent.url}, **more)}


def flagged(record):
    return "parent" in record.get("flags", [])


# -- the way

def test_every_kind_of_connection_goes_through_it(weir, parent, origin, connect, authority):
    secure = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    plain, raw = origin(), origin(serve=origins.echo_serve)
    ports = secure.listen(), plain.listen(), raw.listen()
    proxy = weir([https(NAME, ports[0]), http(NAME, ports[1]), tcp(NAME, ports[2])], through(parent))
    done = subprocess.run(["curl", "-sS", "-m", "60", "--cacert", authority.certificate, "-x", "http://" + proxy.address,
                           "https://%s:%d/x" % (NAME, ports[0])], capture_output=True)
    assert done.stdout == b"ok", done.stderr
    assert connect(proxy).get("http://%s:%d/y" % (NAME, ports[1])).status == 200
    sock = connect(proxy)
    assert sock.connect("%s:%d" % (NAME, ports[2])).status == 200
    sock.send(b"hello")
    assert sock.read_until(lambda data: data == b"hello")
    sock.close()
    assert sorted(parent.asked) == sorted("127.0.0.1:%d" % port for port in ports)
    records = in_order(proxy.finals(3))
    assert all(flagged(r) for r in records)
    assert [r["upstream"]["addr"] for r in records] == ["127.0.0.1:%d" % port for port in ports]
    assert "its-own" not in json.dumps(records)


def test_by_socks_and_with_http_in_a_tunnel_too(weir, parent, upstream, connect):
    proxy = weir([http(NAME, paths=["/open/**"])],
                 dict(through(parent), listen={"socks5": ["127.0.0.1:%d" % free_port()]}))
    sock = connect(proxy)
    assert socks.open_tunnel(sock, NAME, 80) == 0
    sock.send("GET /open/x HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME)
    assert sock.response().status == 200
    sock.send("GET /shut HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME)
    assert sock.response().status == 403
    assert parent.asked == ["127.0.0.1:80"] and len(upstream.requests) == 1


def test_a_server_that_speaks_first_is_heard(weir, parent, origin, connect):
    def serve(conn):
        conn.send(b"220 ready\r\n")
        origins.silent_serve(conn)
    port = origin(serve=serve).listen()
    sock = connect(weir([tcp(NAME, port)], through(parent)))
    assert sock.connect("%s:%d" % (NAME, port)).status == 200
    assert sock.read_until(lambda data: data == b"220 ready\r\n")


def test_a_kept_connection_is_used_again(weir, parent, upstream, connect):
    proxy = weir([http(NAME)], through(parent))
    sock = connect(proxy)
    for _ in range(3):
        assert sock.get("http://%s/" % NAME).status == 200
    assert len(upstream.requests) == 3 and parent.asked == ["127.0.0.1:80"]


def test_model_calls_go_through_it_with_their_tls(gateway, provider, parent):
    g = gateway(config=through(parent))
    assert g.messages().status == 200
    assert parent.asked == ["127.0.0.1:%d" % provider.port]
    assert flagged(g.weir.finals(1)[0])


def test_no_proxy_names_what_is_reached_without_it(weir, parent, upstream, connect, dns):
    dns.set({"near.test": {"A": ["127.0.0.2"]}}, {"A": ["127.0.0.1"]})
    upstream.listen(80, "127.0.0.2")
    proxy = weir([http(NAME), http("*.inside.test"), http("near.test"), http(OTHER)],
                 through(parent, no_proxy=["allowed.test", "*.inside.test", "127.0.0.2/32"]))
    sock = connect(proxy)
    for name in (NAME, "a.inside.test", "near.test"):
        assert sock.get("http://%s/" % name).status == 200
    assert parent.asked == []
    assert connect(proxy).get("http://%s/" % OTHER).status == 200
    assert parent.asked == ["127.0.0.1:80"]
    assert [flagged(r) for r in in_order(proxy.finals(4))] == [False, False, False, True]


# -- over TLS

@pytest.fixture
def secure_parent(net, authority):
    one = rig_parent.Parent(context=authority.context("IP:127.0.0.1", "parent.test"))
    yield one
    one.close()


def over_tls(parent, authority, **more):
    return dict(through(parent, **more), tls={"roots": str(authority.certificate)})


def test_it_may_speak_tls_and_so_may_what_goes_through_it(weir, secure_parent, origin, connect, authority):
    secure = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    plain, raw = origin(), origin(serve=origins.echo_serve)
    ports = secure.listen(), plain.listen(), raw.listen()
    proxy = weir([https(NAME, ports[0]), http(NAME, ports[1]), tcp(NAME, ports[2])],
                 over_tls(secure_parent, authority, credential="env:PARENT"), environment={"PARENT": CREDENTIAL})
    done = subprocess.run(["curl", "-sS", "-m", "60", "--cacert", authority.certificate, "-x", "http://" + proxy.address,
                           "https://%s:%d/x" % (NAME, ports[0])], capture_output=True)
    assert done.stdout == b"ok", done.stderr
    with connect(proxy) as sock:
        for _ in range(2):
            assert sock.get("http://%s:%d/y" % (NAME, ports[1])).status == 200
    sock = connect(proxy)
    assert sock.connect("%s:%d" % (NAME, ports[2])).status == 200
    body = bytes(range(256)) * 4096  # more than any buffer on the way
    sock.send(body)
    assert sock.read_until(lambda data: data == body)
    sock.close()
    assert sorted(secure_parent.asked) == sorted("127.0.0.1:%d" % port for port in ports)
    assert all("Basic " + base64.b64encode(CREDENTIAL.encode()).decode() in head for head in secure_parent.heads)
    for record in proxy.finals(4):
        assert flagged(record) and (record["decision"], record["outcome"]) == ("allow", "ok"), record


def test_a_server_that_speaks_first_is_heard_over_it(weir, secure_parent, origin, connect, authority):
    def serve(conn):
        conn.send(b"220 ready\r\n")
        origins.silent_serve(conn)
    port = origin(serve=serve).listen()
    sock = connect(weir([tcp(NAME, port)], over_tls(secure_parent, authority)))
    assert sock.connect("%s:%d" % (NAME, port)).status == 200
    assert sock.read_until(lambda data: data == b"220 ready\r\n")


def test_model_calls_have_their_own_tls_within_it(gateway, provider, secure_parent, authority):
    g = gateway(config=through(secure_parent))
    for _ in range(2):
        assert g.messages().status == 200
    assert set(secure_parent.asked) == {"127.0.0.1:%d" % provider.port}
    assert flagged(g.weir.finals(2)[0])


@pytest.mark.parametrize("name,roots", [("other.test", True), ("IP:127.0.0.1", False)], ids=["another's name", "unknown"])
def test_who_is_not_the_parent_is_told_nothing(weir, upstream, connect, authority, net, name, roots):
    parent = rig_parent.Parent(context=authority.context(name))
    config = over_tls(parent, authority, credential="env:PARENT")
    if not roots:
        config.pop("tls")
    proxy = weir([http(NAME)], config, environment={"PARENT": CREDENTIAL})
    is_refusal(connect(proxy).get("http://%s/" % NAME), 502, "connect_failed")
    assert proxy.finals(1)[0]["error"] == "the parent proxy's TLS is not to be trusted, or is none"
    assert parent.asked == [] and not upstream.requests
    parent.close()


def test_a_plain_parent_where_tls_is_expected_is_none(weir, upstream, origin, connect):
    def serve(conn):
        conn.recv(1)
        conn.send(b"HTTP/1.1 400 Bad request\r\n\r\n")
        conn.close()
    plain = origin(serve=serve)
    proxy = weir([http(NAME)], {"upstream": {"proxy": "https://127.0.0.1:%d" % plain.listen()}})
    is_refusal(connect(proxy).get("http://%s/" % NAME), 502, "connect_failed")
    assert b"CONNECT" not in plain.bytes() and not upstream.requests


def test_one_that_says_1xx_for_ever_is_left(weir, upstream, origin, connect, authority):
    answered = threading.Event()

    def serve(conn):
        while b"\r\n\r\n" not in conn.data:
            conn.recv(1)
        try:
            while not answered.is_set():
                conn.send(b"HTTP/1.1 102 Processing\r\n\r\n" * 100)
        except OSError:
            pass
    hostile = origin(serve=tls.tls_serve(authority.context("IP:127.0.0.1"), serve))
    proxy = weir([http(NAME), http(OTHER)], {"upstream": {"proxy": "https://127.0.0.1:%d" % hostile.listen(), "no_proxy": [OTHER]},
                                             "tls": {"roots": str(authority.certificate)}, "workers": 1})
    is_refusal(connect(proxy).get("http://%s/" % NAME), 502, "connect_failed")
    assert not answered.is_set() and connect(proxy).get("http://%s/" % OTHER).status == 200
    answered.set()


# -- judged here

def test_what_policy_refuses_is_never_asked_of_it(weir, parent, connect, dns):
    dns.set({"inside.test": {"A": ["10.0.0.1"]}, "meta.test": {"A": ["169.254.169.254"]}}, {"A": ["127.0.0.1"]})
    proxy = weir([http("inside.test"), http("meta.test"), http(NAME)], through(parent))
    for name, reason in (("elsewhere.test", "host_not_allowed"), ("inside.test", "address_denied"), ("meta.test", "address_denied")):
        is_refusal(connect(proxy).get("http://%s/" % name), 403, reason)
    assert parent.asked == [] and not dns.asked("elsewhere.test")


def test_its_own_address_is_opened_by_no_rule(weir, parent, connect):
    proxy = weir([tcp(NAME, parent.port)], through(parent))
    is_refusal(connect(proxy).connect("%s:%d" % (NAME, parent.port)), 403, "address_denied")
    assert parent.asked == [] and not parent.upstream.conns


def test_weirs_own_door_is_no_parent(weir, upstream, connect):
    at = "127.0.0.1:%d" % free_port()
    proxy = weir([http(NAME)], {"listen": {"proxy": [at]}, "upstream": {"proxy": "http://" + at}})
    is_refusal(connect(proxy).get("http://%s/" % NAME), 502, "connect_failed")
    assert len(proxy.finals(1)) == 1 and not upstream.conns


def test_a_parent_by_name_is_vetted(weir, parent, upstream, connect, dns):
    dns.set({"parent.test": {"A": ["127.0.0.1"]}, "bad.test": {"A": ["169.254.169.254"]}}, {"A": ["127.0.0.1"]})
    good = weir([http(NAME)], {"upstream": {"proxy": "http://parent.test:%d" % parent.port}})
    assert connect(good).get("http://%s/" % NAME).status == 200 and len(parent.asked) == 1
    bad = weir([http(NAME)], {"upstream": {"proxy": "http://bad.test:%d" % parent.port}})
    is_refusal(connect(bad).get("http://%s/" % NAME), 502, "connect_failed")


# -- what it says

@pytest.mark.parametrize("answer,status,reason,error", [
    (b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", 502, "connect_failed", "did not connect"),
    (b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=its-own\r\n\r\n", 502, "connect_failed", "another credential"),
    (b"HTTP/1.1 502 No\r\n\r\n", 502, "connect_failed", "did not connect"),
    (b"HTTP/1.1 504 Late\r\n\r\n", 504, "connect_timeout", "timed out"),
    (b"SSH-2.0-x\r\n\r\n", 502, "connect_failed", "did not connect"),
    (b"", 502, "connect_failed", "did not connect"),
    (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 4000 + b"\r\n", 502, "connect_failed", "did not connect"),
], ids=["403", "407", "502", "504", "nonsense", "closed", "endless"])
def test_its_no_is_a_fault_with_a_reason(weir, parent, connect, answer, status, reason, error):
    parent.says["*"] = answer
    proxy = weir([http(NAME), tcp(NAME, 9)], through(parent))
    sock = connect(proxy)
    told = is_refusal(sock.get("http://%s/" % NAME), status, reason)
    assert b"its-own" not in told.body and not told.get("proxy-authenticate")
    is_refusal(connect(proxy).connect("%s:9" % NAME), status, reason)
    records = proxy.finals(2)
    assert all(error in r["error"] and flagged(r) for r in records)


def test_one_that_is_away_or_silent(weir, origin, connect):
    away = weir([http(NAME)], {"upstream": {"proxy": "http://127.0.0.1:%d" % free_port()}})
    is_refusal(connect(away).get("http://%s/" % NAME), 502, "connect_failed")
    silent = origin(serve=origins.silent_serve)
    mute = weir([http(NAME)], {"upstream": {"proxy": "http://127.0.0.1:%d" % silent.listen()},
                               "limits": {"connect_timeout": "300ms"}})
    is_refusal(connect(mute).get("http://%s/" % NAME), 504, "connect_timeout")


def test_the_next_address_is_asked_for_when_it_cannot_reach_one(weir, parent, upstream, connect, dns):
    dns.set({}, {"A": ["127.0.0.3", "127.0.0.1"]})
    parent.says["127.0.0.3:80"] = b"HTTP/1.1 503 No route\r\n\r\n"
    proxy = weir([http(NAME)], through(parent))
    assert connect(proxy).get("http://%s/" % NAME).status == 200
    assert parent.asked[-1] == "127.0.0.1:80" and proxy.finals(1)[0]["upstream"]["addr"] == "127.0.0.1:80"


def test_an_answer_may_come_in_pieces_and_after_an_interim_one(weir, parent, upstream, connect):
    parent.answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 yes\r\nVia: x\r\n\r\n"
    proxy = weir([http(NAME)], through(parent))
    assert connect(proxy).get("http://%s/" % NAME).status == 200


# -- its credential

def test_the_credential_is_the_parents_alone(weir, parent, upstream, connect):
    proxy = weir([http(NAME), http(OTHER)], through(parent, credential="env:PARENT", no_proxy=[OTHER]),
                 environment={"PARENT": CREDENTIAL})
    sock = connect(proxy)
    answers = [sock.get("http://%s/" % name, headers=[("Proxy-Authorization", "Basic eDp5")]) for name in (NAME, OTHER)]
    assert [a.status for a in answers] == [200, 200]
    basic = base64.b64encode(CREDENTIAL.encode()).decode()
    assert ("Proxy-Authorization: Basic %s\r\n" % basic) in parent.heads[0]
    seen = upstream.bytes().decode() + proxy.log() + json.dumps(proxy.finals(2))
    for secret in (basic, CREDENTIAL, CREDENTIAL.split(":")[1]):
        assert secret not in seen


# -- where only the parent knows names

def test_a_parent_that_resolves_gets_the_name(weir, parent, upstream, connect, dns):
    parent.names[NAME] = ("127.0.0.1", 80)
    proxy = weir([http(NAME, paths=["/**"]), http(OTHER)], through(parent, resolve=False, no_proxy=[OTHER]))
    sock = connect(proxy)
    for _ in range(2):
        assert sock.get("http://%s/" % NAME).status == 200
    tunnel = connect(proxy)
    assert tunnel.connect("%s:80" % NAME).status == 200
    tunnel.send("GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME)
    assert tunnel.response().status == 200
    assert set(parent.asked) == {"%s:80" % NAME} and not dns.asked()
    assert connect(proxy).get("http://%s/" % OTHER).status == 200 and dns.asked(OTHER)
    is_refusal(connect(proxy).get("http://elsewhere.test/"), 403, "host_not_allowed")
    tunnel.close()
    records = proxy.finals(6)
    assert all("upstream" not in r for r in records if r["target"]["host"] == NAME)


def test_then_a_deny_rule_with_addresses_refuses_what_it_cannot_see(weir, parent, connect):
    proxy = weir({"policy": "p", "allow": [http(NAME)], "deny": [{"host": "10.0.0.0/8"}]}, through(parent, resolve=False))
    is_refusal(connect(proxy).get("http://%s/" % NAME), 403, "address_denied")
    assert parent.asked == []


# -- a configuration that cannot be

@pytest.mark.command
@pytest.mark.parametrize("upstream,code", [
    ("{ proxy: 'ftp://proxy.test:3128' }", "bad_parent"), ("{ proxy: 'proxy.test:3128' }", "bad_parent"),
    ("{ proxy: 'http://proxy.test/x' }", "bad_parent"),
    ("{ proxy: 'http://proxy.test:1', no_proxy: ['http://x'] }", "bad_no_proxy"),
    ("{ proxy: 'http://proxy.test:1', credential: env:PARENT }", "bad_credential")])
def test_check_says_what_is_wrong_with_it(tmp_path, upstream, code):
    (tmp_path / "p.yaml").write_text("policy: p\nallow: [{ host: allowed.test }]\n")
    config = tmp_path / "weir.yaml"
    config.write_text("production: false\npolicies: [p.yaml]\nlisten: { proxy: ['127.0.0.1:1'] }\nupstream: %s\n" % upstream)
    done = subprocess.run([binary(), "check", "-c", str(config)], capture_output=True, text=True,
                          env={"PARENT": "no-colon-in-this-one"})
    assert done.returncode == 78 and code in done.stdout + done.stderr
