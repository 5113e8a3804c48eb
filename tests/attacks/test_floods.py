"""One sandbox asks for all that there is of something: certificates, lookups, checks of tokens, connections.  The next one is served."""
import pytest

from rig import client as rig_client
from rig import hello, origin as origins, tls
from rig import token as tokens
from rig.ca import Inside
from rig.leaves import Leaves
from rig.weir import proxy_and_health, wait_for
from rules import http, https, is_refusal
from test_intercept import ask, ca, opening  # noqa: F401 - fixtures
from test_sessions import SECRET, guarded, sessions  # noqa: F401 - a fixture
from test_sessions import ask as ask_plainly

MINE = "mine.test"


@pytest.fixture
def site(origin, authority):
    one = origin(serve=tls.tls_serve(authority.context(MINE, "*.wild.test"), origins.http_serve))
    one.port = one.listen()
    return one


def said(sid):
    return "Proxy-Authorization: %s\r\n" % tokens.basic(tokens.mint(SECRET, sid))


def with_ca(opening, ca, site, limits=None, environment=None, **intercept):  # noqa: F811
    return opening([https("*.wild.test", site.port, assurance="host"), https(MINE, site.port, assurance="host")],
                   environment=dict({"KEY": SECRET}, **(environment or {})), config={
                       "sessions": sessions(bind="none"), "listen": proxy_and_health(), "limits": limits or {}, "tls": {"intercept": dict(ca.setting, **intercept)}})


def test_certificates_for_ever_new_names_end_where_new_names_end(opening, ca, site):  # noqa: F811
    proxy = with_ca(opening, ca, site, {"new_names": "5/h"})
    for i in range(40):
        with rig_client.Client(proxy) as client:
            answer = client.connect("n%d.wild.test:%d" % (i, site.port), said("greedy"))
            assert answer.status == (200 if i < 5 else 429)
            if answer.status == 200:
                ca.trusting().wrap_socket(client.sock, server_hostname="n%d.wild.test" % i).close()
    assert proxy.metric("weir_leaves_made_total") == 5
    one = Inside.open(proxy, ca.trusting(), MINE, site.port, said("modest"))
    assert ask(one, host="%s:%d" % (MINE, site.port)).status == 200


def test_who_waits_for_certificates_takes_no_others_place(opening, ca, site, tmp_path):  # noqa: F811
    """None is made for a while: so many wait, more are turned away, and what has one goes on."""
    leaves = Leaves(tmp_path)
    proxy = with_ca(opening, ca, site, environment=leaves.environment, waiting=4)
    mine = Inside.open(proxy, ca.trusting(), MINE, site.port, said("modest"))
    leaves.hold()
    held = []
    for i in range(30):
        client = rig_client.Client(proxy)
        assert client.connect("n%d.wild.test:%d" % (i, site.port), said("greedy")).status == 200
        client.send(hello.hello("n%d.wild.test" % i))
        held.append(client)
    wait_for(lambda: proxy.metric("weir_leaves_refused_total") >= 25, what="those that are turned away")
    assert ask(mine, host="%s:%d" % (MINE, site.port)).status == 200
    assert ask(Inside.open(proxy, ca.trusting(), MINE, site.port, said("modest")), host="%s:%d" % (MINE, site.port)).status == 200
    leaves.release()
    for client in held:
        client.close()
    assert {r["reason"] for r in proxy.finals(25) if r["target"]["host"] != MINE} <= {"overloaded", "client_aborted"}


def test_checks_of_bad_tokens_keep_nobody_waiting(guarded, upstream, connect):  # noqa: F811
    proxy = guarded(config={"limits": {"refusals": "30/min"}}, bind="none")
    flood = [connect(proxy) for _ in range(20)]
    bad = tokens.mint("another secret that is long enough for it, as this one is")
    for sock in flood:
        sock.send(("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nProxy-Authorization: %s\r\n\r\n" % tokens.basic(bad)) * 20)
    good = connect(proxy)
    for _ in range(5):
        assert ask_plainly(good, tokens.mint(SECRET)).status == 200
    assert all(sock.response().get("x-weir-reason") == "session_invalid" for sock in flood)
    assert len(upstream.requests) == 5


def test_a_request_without_an_end_takes_no_memory(weir, upstream, connect):
    proxy = weir([http("allowed.test")])
    before = proxy.rss_kib()
    for text in (b"GET http://allowed.test/ HTTP/1.1\r\nX: ", b"GET http://allowed.test/", b"POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n"):
        sock = connect(proxy)
        sock.send(text)
        sock.send(b"a" * (4 << 20))
        assert sock.response().status in (400, 413, 414, 431)
    assert not proxy.grew(before, 4096)
    is_refusal(connect(proxy).get("http://elsewhere.test/"), 403, "host_not_allowed")
