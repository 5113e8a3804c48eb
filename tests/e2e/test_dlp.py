"""Secrets in requests: those that weir holds never leave, and what looks like one only where a rule lets it."""
import base64
import json
import subprocess

import pytest

from rig import provider as rig_provider
from rig.weir import NotStarted, binary, proxy_and_health
from rules import http, in_order, is_refusal
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
