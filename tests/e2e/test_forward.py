"""Absolute-form HTTP: judged request by request, re-framed, and passed without what belongs to one hop."""
import base64
import hashlib
import json
import re
import threading

import pytest

from rig import http1, origin as origins
from rules import http, https, in_order, is_refusal

NAME = "allowed.test"


@pytest.fixture
def proxy(weir, upstream):
    return weir([http(NAME), http("other.test"), https("secure.test")])


def raw(answer_bytes):
    """An origin that answers every request with these bytes."""
    return lambda request: answer_bytes


# -- requests

def test_get_is_forwarded_in_origin_form(proxy, upstream, connect):
    answer = connect(proxy).get("http://allowed.test/a/b?c=d")
    assert (answer.status, answer.body) == (200, b"ok")
    seen = upstream.requests[0]
    assert (seen.method, seen.target, seen.get("host")) == ("GET", "/a/b?c=d", NAME)
    assert seen.all("via") == ["1.1 weir"]
    assert not seen.all("x-forwarded-for") and not seen.all("forwarded")
    record = proxy.finals(1)[0]
    assert record["kind"] == "http" and record["decision"] == "allow" and record["status"] == 200
    assert record["target"]["method"] == "GET" and record["target"]["path"] == "/a/b"
    assert record["target"]["query_keys"] == ["c"]


@pytest.mark.parametrize("target,seen", [
    ("http://allowed.test", "/"), ("http://allowed.test?x=1", "/?x=1"), ("http://allowed.test/%2e%2E/..;/a", "/%2e%2E/..;/a"),
    ("http://allowed.test/a//b?u=http://other.test/", "/a//b?u=http://other.test/"), ("HTTP://ALLOWED.test:80/x", "/x"),
])
def test_path_and_query_are_forwarded_byte_for_byte(proxy, upstream, connect, target, seen):
    assert connect(proxy).get(target, host=NAME).status == 200
    assert upstream.requests[0].target == seen


def test_options_without_a_path_is_asked_of_the_server(proxy, upstream, connect):
    connect(proxy).get("http://allowed.test", "OPTIONS")
    assert upstream.requests[0].target == "*"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
def test_a_body_with_length_arrives(proxy, upstream, connect, method):
    connect(proxy).get("http://allowed.test/", method, [("Content-Length", "5")], b"hello")
    assert upstream.requests[0].body == b"hello" and upstream.requests[0].get("content-length") == "5"


def test_a_chunked_body_is_reframed_and_trailers_dropped(proxy, upstream, connect):
    body = b"3;ext=\"x\"\r\nhel\r\n2\r\nlo\r\n0\r\nX-Trailer: secret\r\n\r\n"
    answer = connect(proxy).get("http://allowed.test/", "PUT", [("Transfer-Encoding", "chunked")], body)
    assert answer.status == 200
    seen = upstream.requests[0]
    assert seen.body == b"hello" and seen.framing == "chunked" and not seen.trailers


def test_expect_is_answered_by_the_origin(proxy, upstream, connect):
    sock, interim = connect(proxy), []
    sock.send("POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    assert sock.read_until(lambda data: b"100 Continue" in data)
    sock.send(b"hello")
    assert sock.response(interim=interim).status == 200
    assert [m.status for m in interim] == [100]
    assert upstream.requests[0].body == b"hello"


def test_a_refused_request_gets_no_100_first(proxy, upstream, connect):
    sock, interim = connect(proxy), []
    sock.send("POST http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    assert sock.response(interim=interim).status == 403 and not interim


def test_one_connection_carries_many_requests_each_judged(proxy, upstream, connect):
    sock = connect(proxy)
    assert sock.get("http://allowed.test/1").status == 200
    is_refusal(sock.get("http://nowhere.test/2"), 403, "host_not_allowed")
    assert sock.get("http://other.test/3").status == 200
    assert [r.target for r in upstream.requests] == ["/1", "/3"]
    records = proxy.finals(3)
    assert [r["status"] for r in records] == [200, 403, 200]
    assert len({r["id"] for r in records}) == 3


def test_pipelined_requests_are_answered_in_order(proxy, upstream, connect):
    upstream.reply = lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (
        len(request.target), request.target.encode())
    sock = connect(proxy)
    sock.send(b"".join(b"GET http://allowed.test/%d HTTP/1.1\r\nHost: allowed.test\r\n\r\n" % i for i in range(20)))
    assert [sock.response().body for _ in range(20)] == [b"/%d" % i for i in range(20)]


def test_an_upstream_connection_is_used_again_for_the_same_host_only(proxy, upstream, connect):
    sock = connect(proxy)
    for url in ("http://allowed.test/1", "http://allowed.test/2", "http://other.test/3"):
        assert sock.get(url).status == 200
    assert [[r.target for r in c.requests] for c in upstream.conns] == [["/1", "/2"], ["/3"]]


def test_an_upstream_connection_with_unread_bytes_is_not_used_again(proxy, upstream, connect):
    evil = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL"
    upstream.reply = raw(origins.OK + evil)
    sock = connect(proxy)
    assert sock.get("http://allowed.test/1").body == b"ok"
    upstream.reply = raw(origins.OK)
    assert sock.get("http://allowed.test/2").body == b"ok"
    assert len(upstream.conns) == 2


def test_a_connection_the_origin_closed_is_replaced(proxy, upstream, connect):
    sock = connect(proxy)
    assert sock.get("http://allowed.test/1").status == 200
    upstream.reset()
    assert sock.get("http://allowed.test/2").status == 200


HOP = [("Connection", "X-Mine, keep-alive"), ("X-Mine", "1"), ("Keep-Alive", "timeout=5"), ("Proxy-Connection", "keep-alive"),
       ("Proxy-Authorization", "Basic c2VjcmV0"), ("TE", "trailers"), ("Trailer", "X"), ("Upgrade", "h2c"),
       ("HTTP2-Settings", "AAMAAABkAAQAAP__"), ("X-Weir-Session", "abc"), ("X-WEIR-anything", "x")]


def test_a_connection_the_origin_reset_behind_its_answer_is_replaced(weir, origin, connect):
    upstream = origin(serve=lambda conn: conn.recv() and conn.send(origins.OK) and conn.reset())
    upstream.listen(80)
    sock = connect(weir([http(NAME)]))
    request = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
    for _ in range(20):
        sock.send(request + request)
        assert [sock.response(timeout=5).status for _ in range(2)] == [200, 200]


@pytest.mark.parametrize("piece,status", [(b"HTTP/1.1 2", 502), (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", 200)],
                         ids=["head", "body"])
def test_a_reset_right_behind_bytes_is_seen_at_once(weir, origin, connect, piece, status):
    upstream = origin(serve=lambda conn: conn.recv() and conn.send(piece) and conn.reset())
    upstream.listen(80)
    proxy = weir([http(NAME)])
    for _ in range(20):
        answer = connect(proxy, timeout=5).get("http://allowed.test/")
        assert answer.status == status and answer.is_complete == (status == 502)
    assert {r["reason"] for r in proxy.finals(20)} == {"upstream_incomplete"}


def test_hop_by_hop_fields_and_weirs_own_never_reach_the_origin(proxy, upstream, connect):
    assert connect(proxy).get("http://allowed.test/", headers=HOP + [("X-Stays", "yes")]).status == 200
    seen = upstream.requests[0]
    for name, _value in HOP:
        assert not seen.all(name), name
    assert seen.get("x-stays") == "yes"
    assert b"c2VjcmV0" not in upstream.bytes()


def test_end_to_end_fields_pass_in_order(proxy, upstream, connect):
    sent = [("Cookie", "a=1; b=2"), ("Authorization", "Bearer abc"), ("X-A", "1"), ("x-a", "2"), ("X-Empty", ""),
            ("X-Latin", "caf\xe9")]
    connect(proxy).get("http://allowed.test/", headers=sent)
    seen = upstream.requests[0]
    assert seen.all("x-a") == ["1", "2"] and seen.get("cookie") == "a=1; b=2" and seen.get("x-latin") == "caf\xe9"


def test_via_is_appended_and_an_own_entry_is_a_loop(proxy, upstream, connect):
    assert connect(proxy).get("http://allowed.test/", headers=[("Via", "1.1 before")]).status == 200
    assert ", ".join(upstream.requests[0].all("via")) == "1.1 before, 1.1 weir"
    is_refusal(connect(proxy).get("http://allowed.test/", headers=[("Via", "1.0 a, HTTP/1.1 WEIR (x)")]), 502, "loop_detected")
    assert len(upstream.requests) == 1


def test_weirs_own_listener_is_never_dialled(weir, dns, connect, net):
    proxy = weir([http("self.test", 3128)], listen="127.0.0.1:3128")
    answer = connect(proxy).get("http://self.test:3128/")
    is_refusal(answer, 403, "address_denied")
    assert len(proxy.finals(1)) == 1


# -- rules in sight

def test_methods_of_a_rule(weir, upstream, connect):
    proxy = weir([http(NAME, methods=["GET"])])
    sock = connect(proxy)
    assert sock.get("http://allowed.test/").status == 200
    assert sock.get("http://allowed.test/", "HEAD").status == 200
    for method in ("POST", "DELETE", "OPTIONS", "PROPFIND"):
        answer = is_refusal(sock.get("http://allowed.test/", method), 405, "method_not_allowed")
        assert sorted(re.split(r", *", answer.get("allow"))) == ["GET", "HEAD"]
    assert [r.method for r in upstream.requests] == ["GET", "HEAD"]


@pytest.mark.parametrize("path,status", [
    ("/public/a", 200), ("/public/a/b/c", 200), ("/search", 200), ("/search/x", 403), ("/", 403), ("/publicity", 403),
    ("/public/../secret", 403), ("/public/%2e%2e/secret", 403), ("/public//x", 403), ("/public/a;b", 403),
    ("/public/%2f", 403), ("/public/%41", 403), ("/public/a%00", 403), ("/PUBLIC/a", 403), ("/public/x?y=/../", 200),
])
def test_paths_of_a_rule(weir, upstream, connect, path, status):
    proxy = weir([http(NAME, paths=["/public/**", "/search"])])
    answer = connect(proxy).get("http://allowed.test" + path)
    assert answer.status == status
    if status == 403:
        is_refusal(answer, 403, "path_not_allowed")
        assert not upstream.requests
    else:
        assert upstream.requests[0].target == path


@pytest.mark.parametrize("field", ["X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Host"])
def test_fields_that_rewrite_a_request_are_refused_under_a_narrow_rule_and_removed_elsewhere(weir, upstream, connect, field):
    narrow = weir([http(NAME, methods=["GET"], paths=["/**"])])
    answer = connect(narrow).get("http://allowed.test/", headers=[(field, "DELETE")])
    assert answer.status in (403, 405) and not upstream.requests
    assert "would change the " in json.loads(answer.body)["error"]["message"]
    wide = weir([http(NAME)])
    assert connect(wide).get("http://allowed.test/", headers=[(field, "DELETE")]).status == 200
    assert not upstream.requests[0].all(field)


@pytest.mark.parametrize("headers,body", [
    ([("Content-Length", "20")], b"x" * 20), ([("Transfer-Encoding", "chunked")], b"14\r\n" + b"x" * 20 + b"\r\n0\r\n\r\n"),
], ids=["announced", "chunked"])
def test_max_body_of_a_rule(weir, upstream, connect, headers, body):
    proxy = weir([http(NAME, max_body="10B")])
    answer = connect(proxy).get("http://allowed.test/", "POST", headers, body)
    assert answer.status == 413 and answer.get("x-weir-reason") == "body_too_large"
    assert not upstream.requests, "the origin saw a whole request"
    assert connect(proxy).get("http://allowed.test/", "POST", [("Content-Length", "10")], b"x" * 10).status == 200


def test_https_in_absolute_form_is_400(proxy, connect):
    answer = connect(proxy).get("https://secure.test/")
    assert answer.status == 400


# -- responses

@pytest.mark.parametrize("status", [204, 304])
def test_a_response_that_has_no_body_ends_with_its_head(proxy, upstream, connect, status):
    upstream.reply = raw(b"HTTP/1.1 %d X\r\nETag: \"x\"\r\n\r\n" % status)
    sock = connect(proxy)
    assert sock.get("http://allowed.test/").status == status
    assert sock.get("http://allowed.test/").status == status


def test_head_has_the_fields_and_no_body(proxy, upstream, connect):
    upstream.reply = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    sock = connect(proxy)
    answer = sock.get("http://allowed.test/", "HEAD")
    assert answer.get("content-length") == "1000" and answer.body == b""
    upstream.reply = raw(origins.OK)
    assert sock.get("http://allowed.test/").body == b"ok"


def test_interim_answers_pass_to_a_1_1_client(proxy, upstream, connect):
    upstream.reply = raw(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + origins.OK)
    sock, interim = connect(proxy), []
    sock.send("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    assert sock.response(interim=interim).body == b"ok"
    assert [m.status for m in interim] == [103]
    old, interim = connect(proxy), []
    old.send("GET http://allowed.test/ HTTP/1.0\r\nHost: allowed.test\r\n\r\n")
    assert old.response(interim=interim).body == b"ok" and not interim


@pytest.mark.parametrize("rest,reason", [(b"", "upstream_incomplete"), (b"HTTP/1.1 200\x00OK\r\n\r\n", "upstream_malformed")])
def test_who_got_an_interim_answer_is_still_told_what_failed(proxy, upstream, connect, rest, reason):
    heard = []

    def serve(conn):
        heard.append(conn.recv())
        conn.send(origins.OK)
        heard.append(conn.recv())
        conn.send(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + rest)
        conn.close()
    upstream.serve = serve
    sock, interim = connect(proxy), []
    assert sock.get("http://allowed.test/").status == 200
    sock.send("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    is_refusal(sock.response(interim=interim), 502, reason)
    assert [m.status for m in interim] == [103]
    assert len(heard) == 2, "it was asked again though it had begun to answer"
    assert in_order(proxy.finals(2))[1]["status"] == 502


def test_a_response_until_close_is_reframed(proxy, upstream, origin, connect):
    def serve(conn):
        conn.recv()
        conn.send(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100000)
        conn.close()
    upstream.serve = serve
    answer = connect(proxy).get("http://allowed.test/")
    assert answer.body == b"x" * 100000 and answer.framing == "chunked"


def test_a_cut_response_is_visibly_incomplete(proxy, upstream, connect):
    def serve(conn):
        conn.recv()
        conn.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        conn.close()
    upstream.serve = serve
    answer = connect(proxy).get("http://allowed.test/")
    assert not answer.is_complete
    record = proxy.finals(1)[0]
    assert record["reason"] == "upstream_incomplete" and record["outcome"] != "ok"


def test_fields_of_one_hop_are_taken_out_of_responses(proxy, upstream, connect):
    upstream.reply = raw(b"HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\n"
                         b"Alt-Svc: h3=\":443\"\r\nX-Weir-Reason: forged\r\nContent-Length: 2\r\nX-Stays: yes\r\n\r\nok")
    answer = connect(proxy).get("http://allowed.test/")
    for name in ("x-hop", "keep-alive", "proxy-authenticate", "alt-svc", "x-weir-reason"):
        assert not answer.all(name), name
    assert answer.get("x-stays") == "yes"


def test_an_origins_407_is_not_passed_on(proxy, upstream, connect):
    upstream.reply = raw(b"HTTP/1.1 407 Give me your password\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
    assert connect(proxy).get("http://allowed.test/").status == 502


def test_redirects_are_passed_not_followed(proxy, upstream, connect):
    upstream.reply = raw(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n")
    answer = connect(proxy).get("http://allowed.test/")
    assert (answer.status, answer.get("location")) == (302, "http://169.254.169.254/")
    assert len(upstream.requests) == 1


def test_each_piece_of_a_stream_is_forwarded_at_once(proxy, upstream, connect):
    def serve(conn):
        conn.recv()
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for word in (b"one", b"two", b"three"):
            conn.send(b"%x\r\n%s\r\n" % (len(word), word))
            with conn.upstream.changed:  # the next only when the client has this one
                conn.upstream.changed.wait_for(lambda: word in seen, 10)
        conn.send(b"0\r\n\r\n")
    seen = []
    upstream.serve = serve
    sock = connect(proxy)
    sock.send("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    for word in (b"one", b"two", b"three"):
        assert sock.read_until(lambda data: word in data, 5), "held back: %r" % word
        with upstream.changed:
            seen.append(word)
            upstream.changed.notify_all()
    assert sock.response().body == b"onetwothree"


def test_a_large_body_is_whole_both_ways(proxy, upstream, connect):
    upstream.reply = lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(request.body), request.body)
    body = bytes(range(256)) * 8192
    answer = connect(proxy).get("http://allowed.test/", "POST", [("Content-Length", str(len(body)))], body)
    assert answer.body == body
    assert proxy.finals(1)[0]["bytes"]["up"] >= len(body)


# -- websocket

KEY = "AQIDBAUGBwgJCgsMDQ4PEA=="
ACCEPT = base64.b64encode(hashlib.sha1((KEY + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
WS = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", KEY)]


def switching(accept):
    return ("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Accept: %s\r\n\r\n" % accept).encode()


def websocket_origin(conn):
    conn.recv()
    conn.requests.append(http1.read_request(conn.data)[0])
    conn.send(switching(ACCEPT))
    origins.echo_serve(conn)


def test_websocket_passes_where_the_rule_says_so(weir, upstream, connect):
    upstream.serve = websocket_origin
    proxy = weir([http(NAME, upgrade=["websocket"])])
    sock = connect(proxy)
    answer = sock.get("http://allowed.test/ws", headers=WS)
    assert answer.status == 101 and answer.get("sec-websocket-accept") == ACCEPT
    sock.send(b"\x81\x02hi")
    assert sock.read_until(lambda data: data == b"\x81\x02hi")
    sock.close()
    record = proxy.finals(1)[0]
    assert record["status"] == 101


def test_bytes_right_behind_a_101_in_pieces_arrive_unchanged(weir, upstream, connect):
    frames, may_go_on = bytes(range(256)) * 16, threading.Event()

    def serve(conn):
        conn.recv()
        conn.send(b"HTTP/1.1 100 Continue\r\n\r\n" + switching(ACCEPT)[:20])
        may_go_on.wait(origins.WAIT)
        conn.send(switching(ACCEPT)[20:] + frames)
        origins.silent_serve(conn)
    upstream.serve = serve
    proxy = weir([http(NAME, upgrade=["websocket"])])
    sock = connect(proxy)
    sock.send("GET http://allowed.test/ws HTTP/1.1\r\nHost: allowed.test\r\n" +
              "".join("%s: %s\r\n" % pair for pair in WS) + "\r\n")
    assert sock.read_until(lambda data: data.endswith(b"\r\n\r\n"))  # the 100: weir has the first piece
    may_go_on.set()
    assert sock.response(interim=[]).status == 101
    assert sock.read_until(lambda data: len(data) >= len(frames)) and sock.data == frames


def test_websocket_is_no_upgrade_without_a_rule(proxy, upstream, connect):
    answer = connect(proxy).get("http://allowed.test/ws", headers=WS)
    assert answer.status != 101
    assert all(not r.all("upgrade") for r in upstream.requests)


@pytest.mark.parametrize("accept", ["AAAAAAAAAAAAAAAAAAAAAAAAAAA=", ""])
def test_a_wrong_accept_is_no_websocket(weir, upstream, connect, accept):
    upstream.reply = raw(switching(accept))
    proxy = weir([http(NAME, upgrade=["websocket"])])
    is_refusal(connect(proxy).get("http://allowed.test/ws", headers=WS), 502, "upgrade_failed")


def test_a_101_nobody_asked_for_is_502(proxy, upstream, connect):
    upstream.reply = raw(switching(ACCEPT))
    assert connect(proxy).get("http://allowed.test/").status == 502


# -- the refusal's words

def test_a_refusal_never_names_addresses_or_other_rules(weir, dns, connect):
    dns.set({NAME: {"A": ["10.9.8.7"]}})
    proxy = weir([http(NAME, name="the-allowed-rule"), http("hidden.test", name="another-rule")])
    answer = is_refusal(connect(proxy).get("http://allowed.test/"), 403, "address_denied")
    text = json.dumps(answer.headers) + answer.body.decode()
    assert "10.9.8.7" not in text and "another-rule" not in text and "hidden.test" not in text
    record = proxy.finals(1)[0]
    assert "10.9.8.7" in json.dumps(record["dns"])
