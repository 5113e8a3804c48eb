"""Names under a wildcard: what a client writes in them reaches a name server so often, and no more, by every door."""
import threading

import pytest

from rig import origin as origins, socks
from rig import token as tokens
from rig.weir import free_port, proxy_and_health, wait_for
from rules import http, https, in_order, is_refusal, tcp
from test_dns_door import REFUSED, door  # noqa: F401 - a fixture
from test_sessions import guarded  # noqa: F401 - a fixture
from test_sessions import SECRET

pytestmark = pytest.mark.single

WILD = "*.wild.test"


def url(label):
    return "http://%s.wild.test/" % label


def names(dns):
    return {q[0] for q in dns.asked()}


def test_so_many_new_names_are_looked_up_and_then_none(weir, upstream, connect, dns):
    proxy = weir([http(WILD), http("named.test")], {"limits": {"new_names": "3/h"}, "listen": proxy_and_health()})
    sock = connect(proxy)
    for label in "abc":
        assert sock.get(url(label)).status == 200
    answer = is_refusal(connect(proxy).get(url("stolen-bytes")), 429, "rate_limited")
    assert 0 < int(answer.get("retry-after")) <= 1200
    assert names(dns) == {"a.wild.test", "b.wild.test", "c.wild.test"}
    assert connect(proxy).get(url("a")).status == 200  # it is no new one
    assert connect(proxy).get("http://named.test/").status == 200  # nor is one that a rule names
    assert proxy.metric("weir_new_names_refused_total") == 1
    record = next(r for r in proxy.finals(6) if r["reason"] == "rate_limited")
    assert "limits.new_names" in record["error"] and record["decision"] == "deny"


def test_it_holds_together_whatever_the_door(weir, upstream, connect, dns):
    listen = {"proxy": ["127.0.0.1:%d" % free_port()], "socks5": ["127.0.0.1:%d" % free_port()]}
    proxy = weir([tcp(WILD, 80)], {"limits": {"new_names": "2/h"}, "listen": listen})
    assert connect(proxy).connect("a.wild.test:80").status == 200
    at, proxy.address = proxy.address, listen["socks5"][0]
    assert socks.open_tunnel(connect(proxy), "b.wild.test", 80) == 0
    assert socks.open_tunnel(connect(proxy), "c.wild.test", 80) == 1
    proxy.address = at
    is_refusal(connect(proxy).connect("d.wild.test:80"), 429, "rate_limited")
    assert names(dns) == {"a.wild.test", "b.wild.test"}


def test_the_dns_door_asks_no_more_either(door, dns):  # noqa: F811
    one = door([https(WILD)], "forward", config={"limits": {"new_names": "2/h"}})
    assert one.ask("a.wild.test").addresses == one.ask("b.wild.test").addresses == ["127.0.0.1"]
    assert one.ask("c.wild.test").rcode == REFUSED
    assert one.ask("a.wild.test").addresses == ["127.0.0.1"]
    assert names(dns) == {"a.wild.test", "b.wild.test"}
    assert [r["reason"] for r in in_order(one.weir.finals(4))] == ["ok", "ok", "rate_limited", "ok"]


def test_a_layer_that_names_it_makes_it_no_new_one(weir, upstream, connect, dns):
    proxy = weir([{"policy": "outer", "allow": [http(WILD)]}, {"policy": "inner", "allow": [http("a.wild.test"), http("b.wild.test")]}],
                 {"limits": {"new_names": "1/h"}})
    assert connect(proxy).get(url("a")).status == connect(proxy).get(url("b")).status == 200


def test_sessions_have_their_names_apart(guarded, upstream, connect, dns):  # noqa: F811
    proxy = guarded([http(WILD)], {"limits": {"new_names": "1/h"}}, bind="none")

    def ask(session, label):
        return connect(proxy).get(url(label), headers=[("Proxy-Authorization", tokens.basic(tokens.mint(SECRET, session)))])
    assert ask("s1", "a").status == 200
    is_refusal(ask("s1", "b"), 429, "rate_limited")
    assert ask("s2", "b").status == 200


def test_so_many_at_a_time(weir, upstream, connect, dns):
    hold = threading.Event()
    dns.set({}, {"A": ["127.0.0.1"], "ttl": 0, "hold": hold})
    proxy = weir([http(WILD), http("named.test")], {"limits": {"lookups": 2}, "listen": proxy_and_health(), "dns": {"servers": [dns.server], "timeout": "60s"}})
    first = [connect(proxy) for _ in range(2)]
    for i, sock in enumerate(first):
        sock.send("GET %s HTTP/1.1\r\nHost: %d.wild.test\r\n\r\n" % (url(str(i)), i))
    wait_for(lambda: proxy.metric("weir_dns_queries_total") == 2, what="two questions")
    is_refusal(connect(proxy).get(url("third")), 429, "concurrency_limited")
    hold.set()
    assert [sock.response().status for sock in first] == [200, 200]
    assert connect(proxy).get(url("fourth")).status == 200
    assert "third.wild.test" not in names(dns)


def test_who_goes_away_gives_its_place_back(weir, origin, connect, dns):
    upstream = origin(serve=origins.http_serve)
    upstream.listen(80)
    hold = threading.Event()
    dns.set({"fine.wild.test": {"A": ["127.0.0.1"]}}, {"A": ["127.0.0.1"], "ttl": 0, "hold": hold})
    proxy = weir([http(WILD)], {"limits": {"lookups": 1}, "listen": proxy_and_health()})
    sock = connect(proxy)
    sock.send("GET %s HTTP/1.1\r\nHost: gone.wild.test\r\n\r\n" % url("gone"))
    wait_for(lambda: proxy.metric("weir_dns_queries_total") == 1, what="a question")
    sock.reset()
    proxy.finals(1)
    hold.set()
    assert connect(proxy).get(url("fine")).status == 200
