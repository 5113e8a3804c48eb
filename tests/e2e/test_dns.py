"""Names: looked up only when allowed, once for a decision, and dialled only where every answer may be."""
import time

import pytest

from rig import netns
from rules import http, https, is_refusal, tcp

pytestmark = pytest.mark.single

NAME = "allowed.test"
PUBLIC = {"A": [netns.PUB1]}


@pytest.fixture
def public(net, origin):
    """An origin at the public addresses."""
    upstream = origin()
    upstream.listen(80, "::", net.outside)
    return upstream


@pytest.fixture
def proxy(weir):
    return weir([{"host": NAME, "protocol": "http"}])


CLOSED = ["127.0.0.1", "0.0.0.0", "10.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1", "198.18.0.1",
          "224.0.0.1", "255.255.255.255", "168.63.129.16", "100.100.100.200", "192.0.0.192", "::1", "::", "fc00::1", "fe80::1",
          "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "fd00:ec2::254"]


@pytest.mark.parametrize("address", CLOSED)
def test_a_name_at_a_closed_address_is_refused(proxy, dns, connect, address):
    dns.set({NAME: {("AAAA" if ":" in address else "A"): [address]}})
    is_refusal(connect(proxy).get("http://allowed.test/"), 403, "address_denied")


@pytest.mark.parametrize("entry", [
    {"A": [netns.PUB1, "127.0.0.1"]}, {"A": ["10.0.0.1", netns.PUB1]}, {"A": [netns.PUB1], "AAAA": ["::1"]},
], ids=["closed last", "closed first", "closed family"])
def test_a_mixed_answer_is_refused_whole(proxy, dns, public, connect, entry):
    dns.set({NAME: entry})
    is_refusal(connect(proxy).get("http://allowed.test/"), 403, "address_denied")
    assert not public.conns
    assert "dropped" in proxy.finals(1)[0]["dns"]


def test_an_allowed_name_is_dialled_at_its_public_address(proxy, dns, public, connect):
    dns.set({NAME: PUBLIC})
    assert connect(proxy).get("http://allowed.test/").status == 200
    assert public.dialled() == [netns.PUB1 + ":80"]


def test_ipv6_alone_is_enough(proxy, dns, public, connect):
    dns.set({NAME: {"AAAA": [netns.PUB6]}})
    assert connect(proxy).get("http://allowed.test/").status == 200
    assert public.dialled() == [netns.PUB6 + ":80"]


def test_an_answer_that_changes_after_the_check_is_not_dialled(proxy, dns, public, origin, connect):
    inside = origin()
    inside.listen(80)
    dns.set({NAME: {"sequence": [PUBLIC, {"A": ["127.0.0.1"]}], "ttl": 0}})
    assert connect(proxy).get("http://allowed.test/").status == 200
    assert len(dns.asked(NAME, "A")) == 1
    is_refusal(connect(proxy).get("http://allowed.test/"), 403, "address_denied")
    assert not inside.conns


def test_a_cname_chain_ends_at_a_vetted_address_and_is_recorded(proxy, dns, public, connect):
    dns.set({NAME: {"CNAME": "edge.cdn.test"}, "edge.cdn.test": PUBLIC})
    assert connect(proxy).get("http://allowed.test/").status == 200
    assert "edge.cdn.test" in str(proxy.finals(1)[0]["dns"]["chain"])
    dns.set({NAME: {"CNAME": "inside.test"}, "inside.test": {"A": ["169.254.169.254"]}})
    is_refusal(connect(proxy).get("http://allowed.test/"), 403, "address_denied")


def test_a_refused_name_is_never_asked_for(proxy, dns, connect):
    for url in ("http://c2VjcmV0.attacker.test/", "http://allowed.test:8080/", "http://x.allowed.test/"):
        assert connect(proxy).get(url).status == 403
    assert not dns.asked()


def test_no_search_list_and_no_other_types(proxy, dns, public, connect):
    dns.set({NAME: PUBLIC})
    connect(proxy).get("http://allowed.test/")
    assert {q[0] for q in dns.asked()} == {NAME} and {q[1] for q in dns.asked()} <= {"A", "AAAA"}


def test_nxdomain_is_502_not_denied(proxy, dns, connect):
    dns.set({})
    answer = is_refusal(connect(proxy).get("http://allowed.test/"), 502, "dns_failed")
    assert "dns_error" in answer.get("proxy-status")


def test_servfail_is_502(proxy, dns, connect):
    dns.set({NAME: {"rcode": "SERVFAIL"}})
    is_refusal(connect(proxy).get("http://allowed.test/"), 502, "dns_failed")


def test_a_silent_resolver_is_504_in_five_seconds(proxy, dns, connect):
    dns.set({NAME: {"drop": True}})
    began = time.monotonic()
    is_refusal(connect(proxy).get("http://allowed.test/"), 504, "dns_timeout")
    assert time.monotonic() - began < 6


def test_the_timeout_is_a_setting(weir, dns, connect):
    proxy = weir([http(NAME)], {"dns": {"servers": [dns.server], "timeout": "300ms"}})
    dns.set({NAME: {"drop": True}})
    began = time.monotonic()
    is_refusal(connect(proxy).get("http://allowed.test/"), 504, "dns_timeout")
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("entry", [dict(PUBLIC, AAAA_drop=True), PUBLIC], ids=["AAAA is silent", "AAAA is empty"])
def test_a_missing_ipv6_answer_does_not_hold_up_ipv4(proxy, dns, public, connect, entry):
    dns.set({NAME: entry})
    began = time.monotonic()
    assert connect(proxy).get("http://allowed.test/").status == 200
    assert time.monotonic() - began < 3


def test_empty_and_foreign_packets_do_not_end_a_query(proxy, dns, public, connect):
    dns.set({NAME: dict(PUBLIC, before=[b"", b"\0\0\x81\x83" + bytes(8)])})
    assert connect(proxy).get("http://allowed.test/").status == 200


def test_a_truncated_answer_is_asked_again_over_tcp(proxy, dns, public, connect):
    dns.set({NAME: {"A": ["93.184.216.%d" % i for i in range(1, 60)]}})
    assert connect(proxy).get("http://allowed.test/").status == 200
    assert any(q[2] == "tcp" for q in dns.asked(NAME, "A"))


def test_one_question_serves_many_at_once(weir, dns, connect):
    proxy = weir([https(NAME, 9)], {"workers": 1})
    dns.set({NAME: {"A": ["127.0.0.1"], "delay": 0.3, "ttl": 30}})
    socks = [connect(proxy) for _ in range(20)]
    for sock in socks:
        sock.send("CONNECT allowed.test:9 HTTP/1.1\r\nHost: allowed.test:9\r\n\r\n")
    for sock in socks:
        is_refusal(sock.response("CONNECT"), 502, "connect_refused")
    assert len(dns.asked(NAME, "A")) == 1


def test_hosts_of_the_configuration_need_no_question_and_are_vetted(weir, dns, origin, connect):
    upstream = origin()
    upstream.listen(80)
    hosts = {"dns": {"servers": [dns.server], "hosts": {NAME: ["127.0.0.1"], "inside.test": ["10.0.0.1"]}}}
    proxy = weir([http(NAME), http("inside.test")], hosts)
    assert connect(proxy).get("http://allowed.test/").status == 200
    is_refusal(connect(proxy).get("http://inside.test/"), 403, "address_denied")
    assert not dns.asked()


def test_a_client_that_leaves_while_its_name_is_looked_up_leaves_nothing(proxy, dns, public, connect):
    dns.set({NAME: dict(PUBLIC, delay=0.3)})
    sock = connect(proxy)
    sock.send("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    sock.reset()
    record = proxy.finals(1)[0]
    assert record["reason"] == "client_aborted" and not public.conns


def test_weirs_own_interface_is_never_dialled(weir, dns, net, connect):
    dns.set({NAME: {"A": [netns.OWN]}})
    proxy = weir([{"host": NAME, "protocol": "http"}])
    is_refusal(connect(proxy).get("http://allowed.test/"), 403, "address_denied")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_weirs_own_store_is_never_dialled(weir, dns, silent, connect, host):
    dns.set({NAME: {"AAAA": ["::1"], "A": []} if ":" in host else {"A": ["127.0.0.1"], "ttl": 0}})
    rule = dict(tcp(NAME, silent.port), private=["127.0.0.0/8", "::1/128"])
    proxy = weir([rule], {"ledger": {"url": "redis://%s:%d/0" % (host, silent.port)}})
    is_refusal(connect(proxy).connect("%s:%d" % (NAME, silent.port)), 403, "address_denied")
    assert not silent.bytes().startswith(b"CONNECT") and "ended" not in proxy.log()


def test_weirs_own_resolver_is_never_dialled(weir, dns, connect):
    proxy = weir([http(NAME, 53)])
    is_refusal(connect(proxy).get("http://allowed.test:53/"), 403, "address_denied")
