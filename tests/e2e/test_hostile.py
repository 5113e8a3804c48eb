"""Clients and origins that mean harm: what one exchange leaves behind never reaches another."""
import base64
import hashlib
import threading

import pytest

from rig import netns, origin as origins
from rig.weir import wait_for
from rules import http, https, in_order, is_refusal, tcp

NAME = "allowed.test"
OVERRIDE = [("X-HTTP-Method-Override", "DELETE")]  # seen only when the rule is known: after the dial


# -- an origin is its own exchange's

def test_a_refused_requests_origin_is_not_the_next_ones(weir, upstream, echo, connect):
    proxy = weir([http(NAME, methods=["GET"]), tcp("other.test", echo.port)])
    sock = connect(proxy)
    is_refusal(sock.get("http://allowed.test/", headers=OVERRIDE), 405, "method_not_allowed")
    assert sock.connect("other.test:%d" % echo.port).status == 200
    sock.send(b"DELETE / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    assert sock.read_until(lambda data: data.endswith(b"\r\n\r\n"))
    assert sock.data.startswith(b"DELETE /") and not upstream.requests
    sock.close()
    assert in_order(proxy.finals(2))[1]["upstream"]["addr"].endswith(":%d" % echo.port)


def test_refused_requests_keep_no_connections_to_origins(weir, upstream, connect):
    proxy = weir([http(NAME, methods=["GET"])])
    sock = connect(proxy)
    for _ in range(5):
        assert sock.get("http://allowed.test/", headers=OVERRIDE).status == 405
        assert sock.get("http://allowed.test/").status == 200
    sock.close()
    proxy.finals(10)
    for conn in list(upstream.conns):  # their ends reach nobody who is gone
        conn.close()
    wait_for(lambda: all(conn.is_ended for conn in upstream.conns), what="the end of each connection")
    assert connect(proxy).get("http://allowed.test/").status == 200


def test_what_an_origin_says_before_it_is_asked_is_no_answer(weir, origin, connect):
    has_spoken = threading.Event()

    def serve(conn):
        conn.send(origins.OK)
        has_spoken.set()
        origins.silent_serve(conn)
    early = origin(serve=serve)
    early.port = early.listen()
    proxy = weir([http(NAME, early.port)])
    sock = connect(proxy)
    assert sock.connect("allowed.test:%d" % early.port).status == 200
    assert has_spoken.wait(10)
    sock.send(b"GET / HTTP/1.1\r\nHost: allowed.test:%d\r\n\r\n" % early.port)
    is_refusal(sock.response(), 502, "upstream_malformed")
    record = next(r for r in proxy.finals(2) if r["kind"] == "http")
    assert record["error"] == "the origin answered before it was asked" and not early.bytes()


def test_the_request_behind_one_that_such_an_origin_spoilt_is_answered(weir, origin, upstream, connect):
    early = origin(serve=lambda conn: (conn.send(origins.OK), conn.recv(), conn.close()))
    port = early.listen()
    proxy = weir([http(NAME, [80, port])])
    for _ in range(8):  # whether it has spoken by then is a race, and which answer it has may differ
        sock = connect(proxy)
        sock.send("".join("GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (host, host) for host in (
            "allowed.test:%d" % port, "allowed.test")))
        assert sock.response().status in (200, 502) and sock.response().status == 200


# -- a policy that has gone decides nothing any more

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT = base64.b64encode(hashlib.sha1((KEY + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
WS = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", KEY)]


def websocket_origin(conn):
    conn.recv()
    conn.send(("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
               "Sec-WebSocket-Accept: %s\r\n\r\n" % ACCEPT).encode())
    origins.echo_serve(conn)


def reload(proxy, allow):
    before = proxy.log().count("reloaded")
    proxy.reload([{"policy": "new", "allow": allow}])
    wait_for(lambda: proxy.log().count("reloaded") > before, what="the reload")


def asked(dns, name):
    return any(query[0] == name for query in list(dns.queries))


def test_a_policy_removed_during_the_lookup_opens_no_tunnel(weir, dns, echo, connect):
    answer_now = threading.Event()
    dns.set({"slow.test": {"A": ["127.0.0.1"], "hold": answer_now}})
    proxy = weir([tcp("slow.test", echo.port)])
    sock = connect(proxy)
    sock.send("CONNECT slow.test:%d HTTP/1.1\r\nHost: slow.test\r\n\r\n" % echo.port)
    wait_for(lambda: asked(dns, "slow.test"), what="the question")
    reload(proxy, [tcp("other.test", echo.port)])
    answer_now.set()
    is_refusal(sock.response("CONNECT"), 403, "host_not_allowed")
    record = proxy.finals(1)[0]
    assert (record["decision"], record["generation"]) == ("deny", 2)


@pytest.mark.parametrize("is_tunnelled", [False, True], ids=["direct", "in a tunnel"])
@pytest.mark.parametrize("stays", [False, True], ids=["closed", "kept"])
def test_a_websocket_is_judged_again_as_a_websocket(weir, upstream, connect, is_tunnelled, stays):
    upstream.serve = websocket_origin
    allowed = [http(NAME, upgrade=["websocket"])]
    proxy = weir(allowed)
    sock = connect(proxy)
    if is_tunnelled:
        assert sock.connect("allowed.test:80").status == 200
    assert sock.get("http://allowed.test/ws", headers=WS).status == 101
    sock.send(b"one")
    assert sock.read_until(lambda data: data == b"one")
    for _ in range(2):
        reload(proxy, allowed if stays else [http(NAME)])
    sock.send(b"two")
    assert sock.read_until(lambda data: data == b"onetwo") == stays
    sock.close()
    for record in proxy.finals(2 if is_tunnelled else 1):
        assert record["reason"] == ("ok" if stays else "policy_changed")
        assert record["decision"] == "allow" and record["bytes"]["down"] > len("onetwo") * stays


def test_a_report_says_what_a_policy_that_is_gone_would_have_done(weir, dns, net, origin, connect):
    echo = origin(serve=origins.echo_serve)
    echo.port = echo.listen(0, "::", net.outside)  # a layer that reports opens no loopback
    dns.set({NAME: {"A": [netns.PUB1]}})
    policy = {"policy": "test", "mode": "report", "allow": [https(NAME, echo.port)],
              "deny": [{"name": "not-there", "host": NAME, "why": "it is a test"}]}
    proxy = weir(policy)
    sock = connect(proxy)
    assert sock.connect("allowed.test:%d" % echo.port).status == 200
    for _ in range(2):
        before = proxy.log().count("reloaded")
        proxy.reload([policy])
        wait_for(lambda: proxy.log().count("reloaded") > before, what="the reload")
    sock.close()
    assert "not-there" in proxy.finals(1)[0]["would"]["rule"]
