"""Secrets in requests: those that weir holds never leave, and what looks like one only where a rule lets it."""
import base64
import json
import subprocess

import pytest

from rig import ca, provider as rig_provider, tls, websocket
from rig.weir import NotStarted, binary, proxy_and_health
from rules import http, https, in_order, is_refusal
from test_forward import ACCEPT, WS, switching
from test_sessions import SECRET, sessions

pytestmark = pytest.mark.single

NAME, URL = "allowed.test", "http://allowed.test/"
HELD = "-".join(["fixed", "words", "that", "weir", "keeps"])
SHAPED = "gh" + "p_" + "0123456789abcdefghijABCDEFGHIJ012345"
KIB = 1024


@pytest.fixture
def holding(weir):
    """holding(rules): a weir that holds a secret of which the client has a copy."""
    def make(rules, config=None):
        keeps = {"sessions": sessions(required=False, static=[
            {"user": "u", "password": "env:HELD", "claims": {"sid": "s", "tenant": "t"}}])}
        keeps["listen"] = proxy_and_health()
        return weir(rules, dict(keeps, **(config or {})), environment={"KEY": SECRET, "HELD": HELD})
    return make


def guises(secret):
    data = secret.encode()
    return [secret, data.hex(), base64.b64encode(b"x" + data).decode(), "".join("%%%02X" % b for b in data)]


def not_in(secret, text):
    return all(guise not in text for guise in guises(secret))


def ask(sock, url, method="GET", headers=(), body=b""):
    return sock.get(url, method, [*headers, *([("Content-Length", str(len(body)))] if body else [])], body)


# -- what weir holds

@pytest.mark.parametrize("guise", range(4), ids=["plain", "hex", "base64", "percent"])
@pytest.mark.parametrize("place", ["query", "path", "field", "body"])
def test_a_held_secret_leaves_in_no_part_of_a_request(holding, upstream, connect, place, guise):
    proxy, text = holding([http(NAME)]), guises(HELD)[guise]
    how = {"query": (URL + "?q=" + text.replace("+", "%2B"), "GET", [], b""), "path": (URL + "a/" + text, "GET", [], b""),
           "field": (URL, "GET", [("X-Note", text)], b""), "body": (URL, "POST", [], b"before " + text.encode() + b" behind")}
    answer = is_refusal(ask(connect(proxy), *how[place]), 403, "dlp_blocked")
    assert not_in(HELD, answer.body.decode())
    assert connect(proxy).get(URL).status == 200
    assert [r.target for r in upstream.requests] == ["/"] and not_in(HELD, upstream.bytes().decode())
    record = in_order(proxy.finals(2))[0]
    assert (record["decision"], record["reason"]) == ("deny", "dlp_blocked") and "dlp" in record["flags"]
    assert "weir holds" in record["error"] and not_in(HELD, json.dumps(record))
    assert proxy.metric("weir_dlp_found_total") == 1


@pytest.mark.parametrize("every", [1, 5, 4096])
def test_cut_into_chunks_it_does_not_leave_either(holding, silent, connect, every):
    proxy = holding([http(NAME, silent.port)])
    sock = connect(proxy)
    sock.send("POST http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\nTransfer-Encoding: chunked\r\n\r\n"
              % (NAME, silent.port, NAME, silent.port))
    assert silent.wait(silent.bytes)  # what is reset at once no origin may see
    body = b"before it " + HELD.encode() + b" and behind it"
    for at in range(0, len(body), every):
        piece = body[at:at + every]
        sock.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    is_refusal(sock.response(), 403, "dlp_blocked")
    assert silent.wait(lambda: silent.conn().is_ended) and silent.conn().is_reset
    assert HELD[:4].encode() not in silent.bytes().replace(b"\r\n", b"")


def test_late_in_a_long_body_it_is_cut_off_there(holding, silent, connect):
    proxy = holding([http(NAME, silent.port)])
    sock = connect(proxy)
    body = b"a line of it\n" * 40000 + HELD.encode() + b"\n" * 1000
    sock.send("POST http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\nContent-Length: %d\r\n\r\n"
              % (NAME, silent.port, NAME, silent.port, len(body)))
    assert silent.wait(silent.bytes)
    sock.send(body)
    is_refusal(sock.response(), 403, "dlp_blocked")
    assert silent.wait(lambda: silent.conn().is_ended) and silent.conn().is_reset
    assert not_in(HELD, silent.bytes().decode())


def test_the_request_behind_a_blocked_one_is_answered(holding, upstream, connect):
    sock = connect(holding([http(NAME)]))
    sock.send("".join("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (url, NAME) for url in (URL + "?q=" + HELD, URL)))
    is_refusal(sock.response(), 403, "dlp_blocked")
    assert sock.response().status == 200
    assert [r.target for r in upstream.requests] == ["/"]


def test_inside_a_tunnel_that_carries_http_too(holding, upstream, connect):
    proxy = holding([http(NAME)])
    sock = connect(proxy)
    assert sock.connect(NAME + ":80").status == 200
    sock.send("GET /?x=%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (HELD, NAME))
    is_refusal(sock.response(), 403, "dlp_blocked")
    assert not upstream.requests


@pytest.mark.parametrize("guise", range(3), ids=["plain", "hex", "base64"])
def test_nor_in_a_model_call(gateway, provider, guise):
    g = gateway()
    text = "my key is %s, I think" % guises(rig_provider.KEY)[guise]
    answer = g.messages(messages=[{"role": "user", "content": text}])
    assert (answer.status, answer.get("x-weir-reason")) == (403, "dlp_blocked")
    assert g.messages().status == 200 and len(provider.requests) == 1
    record = in_order(g.weir.finals(2))[0]
    assert record["reason"] == "dlp_blocked" and "dlp" in record["flags"] and "usd" not in record


@pytest.mark.parametrize("place", ["field", "query", "a request without a body"])
def test_nor_beside_a_model_call(gateway, provider, place):
    g, secret = gateway(), guises(rig_provider.KEY)[1]
    call = {"model": "claude-haiku-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
    how = {"field": ("/anthropic/v1/messages", call, {"headers": [("X-Note", secret)]}),
           "query": ("/anthropic/v1/messages?beta=" + secret, call, {}),
           "a request without a body": ("/anthropic/v1/models?after_id=" + secret, None, {"method": "GET"})}
    path, body, more = how[place]
    answer = g.call(path, body, **more)
    assert (answer.status, answer.get("x-weir-reason")) == (403, "dlp_blocked")
    assert not provider.requests
    record = g.weir.finals(1)[0]
    assert record["reason"] == "dlp_blocked" and "dlp" in record["flags"] and secret not in json.dumps(record)


def test_what_authenticates_to_weir_is_no_leak(holding, upstream, connect):
    proxy = holding([http(NAME)])
    basic = base64.b64encode(b"u:" + HELD.encode()).decode()
    assert connect(proxy).get(URL, headers=[("Proxy-Authorization", "Basic " + basic)]).status == 200
    assert not_in(HELD, upstream.bytes().decode())


# -- what looks like one

@pytest.mark.parametrize("dlp,status", [(None, 200), ("mark", 200), ("block", 403)])
@pytest.mark.parametrize("place", ["query", "field", "body"])
def test_what_looks_like_a_secret_is_for_the_rule_to_say(weir, upstream, connect, place, dlp, status):
    proxy = weir([http(NAME, **({"dlp": dlp} if dlp else {}))])
    how = {"query": (URL + "?q=" + SHAPED, "GET", [], b""), "field": (URL, "GET", [("X-Note", SHAPED)], b""),
           "body": (URL, "POST", [], json.dumps({"a": [1, {"note": SHAPED}]}).encode())}
    answer = ask(connect(proxy), *how[place])
    assert answer.status == status
    assert len(upstream.requests) == (status == 200)
    record = proxy.finals(1)[0]
    assert ("dlp" in record.get("flags", [])) == (dlp is not None)
    if dlp:
        assert "looks like a secret" in record["error"]
    assert SHAPED not in json.dumps(record)
    if status == 403:
        is_refusal(answer, 403, "dlp_blocked")
        assert SHAPED not in upstream.bytes().decode()


def test_layers_hold_the_strictest(weir, upstream, connect):
    proxy = weir([{"policy": "outer", "allow": [http(NAME, dlp="block")]}, {"policy": "inner", "allow": [http(NAME, dlp="mark")]}])
    is_refusal(connect(proxy).get(URL + "?q=" + SHAPED), 403, "dlp_blocked")


@pytest.mark.parametrize("dlp,status", [(None, 200), ("mark", 200), ("block", 403)])
def test_a_compressed_body_cannot_be_judged(weir, upstream, connect, dlp, status):
    proxy = weir([http(NAME, **({"dlp": dlp} if dlp else {}))])
    assert ask(connect(proxy), URL, "POST", [("Content-Encoding", "gzip")], b"\x1f\x8bx").status == status


@pytest.mark.parametrize("dlp", [None, "mark", "block"])
def test_a_clean_body_arrives_as_it_was(holding, upstream, connect, dlp):
    proxy = holding([http(NAME, **({"dlp": dlp} if dlp else {}))])
    body = b"".join(b"%d: nothing to be seen in this line\n" % i for i in range(10000))
    assert ask(connect(proxy), URL, "POST", body=body).status == 200
    sock = connect(proxy)
    sock.send("POST %s HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % (URL, NAME))
    for at in range(0, len(body), 30000):
        piece = body[at:at + 30000]
        sock.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    sock.send(b"0\r\n\r\n")
    assert sock.response().status == 200
    assert [r.body for r in upstream.requests] == [body, body]


def test_an_answer_may_say_what_it_likes(weir, origin, connect):
    upstream = origin(reply=lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(SHAPED), SHAPED.encode()))
    upstream.listen(80)
    assert connect(weir([http(NAME, dlp="block")])).get(URL).body == SHAPED.encode()


# -- messages of a websocket

def asks_for(origin, host):
    """The request that begins a websocket."""
    return "GET %s/chat HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (origin, host, "".join("%s: %s\r\n" % pair for pair in WS))


@pytest.fixture
def chat(holding, upstream, connect):
    """chat(dlp): a websocket under a rule with that; what its origin sees is upstream's."""
    def make(dlp, *more, **how):
        upstream.serve = websocket.serve(switching(ACCEPT), **how)
        proxy = holding([http(NAME, upgrade=["websocket"], **({"dlp": dlp} if dlp else {}))])
        sock = connect(proxy)
        answer = sock.get(URL + "chat", headers=[*WS, *more])
        assert answer.status == 101, answer
        return proxy, websocket.Client(sock)
    return make


@pytest.mark.parametrize("dlp", ["block", "mark"])
def test_clean_messages_pass_both_ways_whole(chat, upstream, dlp):
    """In fragments, with a ping among them, byte by byte, and long ones."""
    _, ws = chat(dlp)
    long = bytes(range(256)) * (1 * KIB)  # more than one look
    for opcode, data, fragments in ((1, b"hello", 1), (1, b"", 1), (2, b"abc", 3), (2, long, 1), (2, long, 7)):
        ws.send_message(opcode, data, fragments, between=[(9, b"still there?")] if fragments > 1 else [])
        for answer in ([(10, b"still there?")] * (fragments - 1) if fragments > 1 else []):
            assert ws.next_control() == answer
        assert ws.message() == (opcode, data)
    ws.sock.send_pieces(websocket.frame(1, b"slowly", mask=b"abcd"))
    assert ws.message() == (1, b"slowly")
    ws.send(8, b"\x03\xe8")
    assert ws.next_control() == (8, b"\x03\xe8")


@pytest.mark.parametrize("how", ["whole", "in fragments", "byte by byte", "late in a long one", "in a ping", "in a close"])
@pytest.mark.parametrize("secret,dlp", [(SHAPED, "block"), (HELD, "mark")])
def test_a_message_with_a_secret_is_cut_off(chat, upstream, how, secret, dlp):
    proxy, ws = chat(dlp)
    ws.send_message(1, b"before it")
    assert ws.message() == (1, b"before it")
    data = b"token %s behind" % secret.encode()
    if how == "whole":
        ws.send(1, data)
    elif how == "in fragments":
        ws.send_message(1, data, 9)
    elif how == "byte by byte":
        ws.sock.send_pieces(websocket.frame(2, data, mask=b"wxyz"))
    elif how == "late in a long one":
        ws.send_message(1, b"word " * (40 * KIB) + data, 3)
    else:
        ws.send(9 if how == "in a ping" else 8, b"\x03\xe8"[:2 * (how == "in a close")] + data)
    assert ws.next_control() == (8, b"\x03\xf0dlp_blocked") and ws.sock.read_all() == b""
    assert upstream.wait(lambda: upstream.conn().is_ended)
    assert upstream.conn().is_reset or how.startswith("late")  # then it may hear so while it answers
    assert not_in(secret, b"".join(data for _, data in upstream.frames).decode("latin1"))
    record = proxy.finals(1)[0]
    assert (record["reason"], record["close"], record["status"]) == ("dlp_blocked", "weir", 101)
    assert {"dlp", "websocket"} <= set(record["flags"]) and "message" in record["error"] and not_in(secret, json.dumps(record))
    assert proxy.metric("weir_dlp_found_total") == 1


def test_a_message_that_looks_like_a_secret_is_marked_where_the_rule_says_so(chat, upstream):
    proxy, ws = chat("mark")
    ws.send(1, SHAPED.encode())
    assert ws.message() == (1, SHAPED.encode())
    ws.send(8, b"\x03\xe8")
    assert ws.next_control() == (8, b"\x03\xe8")
    ws.sock.close()
    record = proxy.finals(1)[0]
    assert {"dlp", "websocket"} <= set(record["flags"]) and "message has what looks like a secret" in record["error"]


def test_what_comes_early_is_looked_at_and_refused_before_the_upgrade(holding, upstream, connect):
    upstream.serve = websocket.serve(switching(ACCEPT))
    proxy = holding([http(NAME, upgrade=["websocket"], dlp="block")])
    sock = connect(proxy)
    sock.send(asks_for("http://" + NAME, NAME).encode()
              + websocket.frame(1, SHAPED.encode(), mask=b"abcd"))
    is_refusal(sock.response(), 403, "dlp_blocked")
    assert upstream.wait(lambda: upstream.conn().is_ended) and upstream.frames == []


BAD = {
    "not masked": (websocket.frame(1, b"x"), "not masked"), "an extension's bit": (b"\xc1\x80abcd", "extension"),
    "no opcode": (b"\x83\x80abcd", "opcode"), "a long ping": (b"\x89\xfe\x00\x7eabcd" + bytes(126), "control frame"),
    "continues nothing": (b"\x80\x80abcd", "continues no message"), "begins within": (b"\x01\x80abcd\x81\x80abcd", "within another"),
    "a length in more bytes": (b"\x81\xfe\x00\x01abcdx", "fewest bytes"),
    "behind its close": (websocket.frame(8, b"", mask=b"abcd") + websocket.frame(1, b"x", mask=b"abcd"), "behind a close"),
}


@pytest.mark.parametrize("data,why", BAD.values(), ids=BAD)
def test_what_is_no_websocket_is_cut_off(chat, upstream, data, why):
    proxy, ws = chat("mark")
    ws.sock.send(data)
    assert ws.next_control() == (8, b"\x03\xearequest_malformed") and ws.sock.read_all() == b""
    record = proxy.finals(1)[0]
    assert record["reason"] == "request_malformed" and why in record["error"], record


def test_no_extension_hides_a_message(chat, upstream, holding, connect):
    """Offered none, and none is taken; without dlp both is left to the ends."""
    offer = ("Sec-WebSocket-Extensions", "permessage-deflate")
    for dlp, passed in (("mark", None), (None, "permessage-deflate")):
        chat(dlp, offer)
        assert upstream.conns[-1].requests[0].get("sec-websocket-extensions") == passed
    upstream.serve = websocket.serve(switching(ACCEPT + "\r\nSec-WebSocket-Extensions: permessage-deflate"))
    proxy = holding([http(NAME, upgrade=["websocket"], dlp="mark")])
    is_refusal(connect(proxy).get(URL, headers=[*WS, offer]), 502, "upgrade_failed")


def test_no_close_frame_goes_into_another_one(chat, upstream):
    """The origin is in the middle of a frame: the client cannot be told, and is cut off."""
    proxy, ws = chat("block", greeting=websocket.frame(1, b"half of it")[:5])
    assert ws.sock.read_until(lambda data: len(data) == 5)
    ws.send(1, SHAPED.encode())
    assert len(ws.sock.read_all()) == 5 and ws.sock.is_ended
    assert proxy.finals(1)[0]["reason"] == "dlp_blocked"


def test_messages_inside_tls_are_looked_at_too(weir, origin, authority, tmp_path):
    site = origin()
    site.serve = tls.tls_serve(authority.context(NAME), websocket.serve(switching(ACCEPT), site))
    port, own = site.listen(), ca.Ca(tmp_path)
    proxy = weir([https(NAME, port, upgrade=["websocket"], dlp="block")], {"tls": {"roots": authority.certificate, "intercept": own.setting}})
    with ca.Inside.open(proxy, own.trusting(), NAME, port) as sock:
        sock.send(asks_for("", "%s:%d" % (NAME, port)))
        assert sock.response().status == 101
        ws = websocket.Client(sock)
        ws.send(1, b"clean")
        assert ws.message() == (1, b"clean")
        ws.send(1, SHAPED.encode())
        assert ws.next_control() == (8, b"\x03\xf0dlp_blocked")
    assert site.frames == [(1, b"clean")]


# -- rules

@pytest.mark.parametrize("rule", [{"protocol": "https"}, {"protocol": "tcp", "ports": [7]}])
def test_a_rule_that_cannot_look_is_no_policy(weir, rule):
    with pytest.raises(NotStarted):
        weir([dict(rule, host=NAME, dlp="block")])


@pytest.mark.command
def test_explain_knows_it(tmp_path):
    (tmp_path / "p.yaml").write_text("policy: p\nallow: [{ host: allowed.test, protocol: http, dlp: mark }]\n")
    (tmp_path / "weir.yaml").write_text("production: false\npolicies: [p.yaml]\n")
    command = [binary(), "explain", "-c", str(tmp_path / "weir.yaml"), "GET", URL]
    assert "dlp: mark" in subprocess.run(command, capture_output=True, text=True).stdout
    assert json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True).stdout)["dlp"] == "mark"
