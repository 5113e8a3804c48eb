"""mode: report lets through what the lists would refuse, says so in the record, and relaxes nothing else."""
import pytest

from rig import hello, netns, origin as origins
from rules import is_refusal

POLICY = {"policy": "test", "mode": "report", "allow": [{"host": "allowed.test", "protocol": ["http", "https"]}],
          "deny": [{"host": "denied.test"}]}


@pytest.fixture
def public(net, origin):
    upstream = origin()
    for port in (80, 443, 8080):
        upstream.listen(port, "::", net.outside)
    return upstream


@pytest.fixture
def proxy(weir, dns):
    one = weir(POLICY)
    dns.set({}, {"A": [netns.PUB1]})
    return one


@pytest.mark.parametrize("url,reason", [("http://other.test/", "host_not_allowed"), ("http://denied.test/", "host_denied"),
                                        ("http://allowed.test:8080/", "port_not_allowed")])
def test_what_the_lists_would_refuse_passes_and_is_recorded(proxy, public, connect, url, reason):
    assert connect(proxy).get(url).status == 200
    record = proxy.finals(1)[0]
    assert record["decision"] == "allow" and record["status"] == 200
    assert (record["would"]["decision"], record["would"]["reason"]) == ("deny", reason)


def test_a_start_warns_of_it(proxy):
    assert "[only_reports]" in proxy.log()


def test_what_is_allowed_has_no_would(proxy, public, connect):
    assert connect(proxy).get("http://allowed.test/").status == 200
    assert "would" not in proxy.finals(1)[0]


def test_a_tunnel_passes_too(proxy, public, connect):
    public.serve = origins.silent_serve
    sock = connect(proxy)
    assert sock.connect("other.test:443").status == 200
    data = hello.hello("other.test")
    sock.send(data)
    assert public.wait(lambda: public.bytes() == data)
    sock.close()
    assert proxy.finals(1)[0]["would"]["reason"] == "host_not_allowed"


def test_the_address_guard_is_not_relaxed(proxy, dns, public, connect):
    dns.set({}, {"A": ["10.0.0.1"]})
    is_refusal(connect(proxy).get("http://other.test/"), 403, "address_denied")
    assert proxy.finals(1)[0]["would"]["reason"] == "host_not_allowed", "what the lists said is kept"
    dns.set({}, {"A": ["169.254.169.254"]})
    is_refusal(connect(proxy).get("http://allowed.test/"), 403, "address_denied")
    assert not public.conns


def test_shape_and_loops_are_not_relaxed(proxy, public, connect):
    answer = connect(proxy).get("http://0177.0.0.1/")
    assert answer.status == 400
    is_refusal(connect(proxy).get("http://other.test/", headers=[("Via", "1.1 weir")]), 502, "loop_detected")
    assert not public.conns
