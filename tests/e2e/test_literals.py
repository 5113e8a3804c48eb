"""An address in place of a name is no way past the meter: while a provider's host has it, it is refused."""
import json

import pytest

from rules import is_refusal

pytestmark = pytest.mark.single

HERE, ELSEWHERE = "127.0.0.1", "127.0.0.9"


@pytest.fixture
def by_address(gateway, upstream, echo):
    """A weir whose rules admit an address, and whose gateway has a provider."""
    def make(**more):
        return gateway(policy=[{"policy": "p", "allow": [
            {"host": HERE, "protocol": "http", "ports": [upstream.port]},
            {"host": HERE, "protocol": "tcp", "ports": [echo.port]}]}], **more).weir
    return make


def is_metered(answer, proxy):
    is_refusal(answer, 403, "metered_host")
    where = "http://%s/" % proxy.config["listen"]["gateway"][0]
    assert where in json.loads(answer.body)["error"]["message"]


@pytest.mark.parametrize("answers", [
    {"A": [HERE]}, {"A": [ELSEWHERE, HERE], "AAAA": ["2606:2800:21f::1"]}, {"AAAA": ["::ffff:" + HERE]},
    {"AAAA": ["64:ff9b::7f00:1"]}, {"CNAME": "edge.test"}])
def test_an_address_that_a_providers_host_has_is_refused(by_address, provider, dns, connect, upstream, echo, answers):
    proxy = by_address()
    dns.set({provider.name: answers, "edge.test": {"A": [HERE]}})
    is_metered(connect(proxy).get("http://%s:%d/" % (HERE, upstream.port)), proxy)
    is_metered(connect(proxy).connect("%s:%d" % (HERE, upstream.port)), proxy)
    is_metered(connect(proxy).connect("%s:%d" % (HERE, echo.port)), proxy)
    assert upstream.conns == [] and echo.conns == []
    assert [r["reason"] for r in proxy.finals(3)] == ["metered_host"] * 3


@pytest.mark.parametrize("answers", [{"A": [ELSEWHERE]}, {"rcode": "NXDOMAIN"}, {"AAAA": ["2606:2800:21f::1"]}])
def test_an_address_that_no_providers_host_has_is_reached(by_address, provider, dns, connect, upstream, echo, answers):
    proxy = by_address()
    dns.set({provider.name: answers})
    assert connect(proxy).get("http://%s:%d/" % (HERE, upstream.port)).status == 200
    client = connect(proxy)
    assert client.connect("%s:%d" % (HERE, echo.port)).status == 200
    client.send(b"x")
    assert client.read_until(lambda data: data == b"x")


def test_each_request_in_a_tunnel_is_asked_again(by_address, provider, dns, connect, upstream):
    proxy, request = by_address(), "GET / HTTP/1.1\r\nHost: %s:%d\r\n\r\n" % (HERE, upstream.port)
    dns.set({provider.name: {"A": [ELSEWHERE]}})
    client = connect(proxy)
    assert client.connect("%s:%d" % (HERE, upstream.port)).status == 200
    client.send(request)
    assert client.response().status == 200
    dns.set({provider.name: {"A": [HERE]}})
    client.send(request)
    is_metered(client.response(), proxy)
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("answers, status, reason", [
    ({"rcode": "SERVFAIL"}, 502, "dns_failed"), ({"drop": True}, 504, "dns_timeout"),
    ({"A_drop": True, "AAAA": ["2606:2800:21f::1"]}, 502, "dns_failed")])
def test_an_address_that_may_be_a_providers_is_refused(by_address, provider, dns, connect, upstream, answers, status, reason):
    proxy = by_address(config={"dns": {"servers": [dns.server], "timeout": "1s"}})
    dns.set({provider.name: answers})
    is_refusal(connect(proxy).get("http://%s:%d/" % (HERE, upstream.port)), status, reason)
    is_refusal(connect(proxy).connect("%s:%d" % (HERE, upstream.port)), status, reason)
    assert upstream.conns == []


def test_an_address_in_dns_hosts_is_the_providers(by_address, provider, dns, connect, upstream):
    proxy = by_address(config={"dns": {"servers": [dns.server], "hosts": {provider.name: [HERE]}}})
    dns.set({}, {"A": [ELSEWHERE]})
    is_metered(connect(proxy).get("http://%s:%d/" % (HERE, upstream.port)), proxy)
    assert dns.asked() == [] and upstream.conns == []


def test_without_providers_nothing_is_looked_up(weir, dns, connect, upstream):
    proxy = weir([{"host": HERE, "protocol": "http", "ports": [upstream.port]}])
    assert connect(proxy).get("http://%s:%d/" % (HERE, upstream.port)).status == 200
    assert dns.asked() == []
