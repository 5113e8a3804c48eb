"""Each reason that this build can give, given: what the client is told and what is recorded.

The table is held against src/policy/reasons.def: a reason without a row here
must be in ELSEWHERE, with the test that shows it.
"""
import json
import pathlib
import re
import resource

import pytest

from rig import hello, netns, origin as origins
from rig.weir import free_port, wait_for
from rules import http, https, is_refusal, tcp

pytestmark = pytest.mark.single

NAME = "allowed.test"
REASONS_DEF = pathlib.Path(__file__).resolve().parents[2] / "src" / "policy" / "reasons.def"

RULES = {"policy": "test", "deny": [{"host": "denied.test"}], "allow": [
    http(NAME, [80, 9], methods=["GET", "POST"], paths=["/ok/**"], max_body="10B"), https("secure.test", [443, 4443]),
    http("wide.test", [80, 9], upgrade=["websocket"]), http("unrouted.test"), http("silent.test"), http("inside.test"),
    http("away.test"), http("mute.test"), tcp("bound.test", 4444, assurance="sni"),
]}
ZONE = {"unrouted.test": {"A": [netns.UNROUTED]}, "silent.test": {"A": [netns.SILENT]}, "inside.test": {"A": ["10.0.0.1"]},
        "away.test": {"rcode": "SERVFAIL"}, "mute.test": {"drop": True}}
LIMITS = {"target": "2KiB", "field": "2KiB", "head": "4KiB", "connect_timeout": "500ms", "response_timeout": "500ms", "head_timeout": "500ms",
          "response_head": "4KiB"}


def get(url, fields="", method="GET", version="1.1", host=None):
    authority = re.match(r"\w+://([^/?]*)", url).group(1)
    return "%s %s HTTP/%s\r\nHost: %s\r\n%s\r\n" % (method, url, version, host or authority, fields)


def connect_to(target):
    return "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target)


WS = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n"
OK_URL = "http://allowed.test/ok/x"
HEAD = b"HTTP/1.1 200 OK\r\n"

# reason, status, what the client sends, what the origin answers (None: the ordinary)
ANSWERED = [
    ("request_malformed", 400, "GET  http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", None),
    ("host_invalid", 400, connect_to("0177.0.0.1:443"), None),
    ("host_mismatch", 400, get(OK_URL, host="other.test"), None),
    ("version_unsupported", 505, get(OK_URL, version="1.2"), None),
    ("coding_unsupported", 501, get(OK_URL, "Transfer-Encoding: gzip, chunked\r\n", "POST"), None),
    ("expectation_failed", 417, get(OK_URL, "Expect: something\r\n"), None),
    ("head_too_large", 431, get(OK_URL, "X: y\r\n" * 1000), None),
    ("target_too_long", 414, get(OK_URL + "y" * 3000), None),
    ("body_too_large", 413, get(OK_URL, "Content-Length: 11\r\n", "POST"), None),
    ("host_not_allowed", 403, get("http://nowhere.test/"), None),
    ("host_denied", 403, get("http://denied.test/"), None),
    ("port_not_allowed", 403, get("http://allowed.test:81/ok/x"), None),
    ("protocol_not_allowed", 403, get("http://secure.test:443/"), None),
    ("method_not_allowed", 405, get(OK_URL, method="DELETE"), None),
    ("path_not_allowed", 403, get("http://allowed.test/other"), None),
    ("ip_literal_not_allowed", 403, get("http://93.184.215.14/"), None),
    ("address_denied", 403, get("http://inside.test/"), None),
    ("dns_failed", 502, get("http://away.test/"), None),
    ("dns_timeout", 504, get("http://mute.test/"), None),
    ("connect_refused", 502, get("http://wide.test:9/"), None),
    ("connect_unroutable", 502, get("http://unrouted.test/"), None),
    ("connect_timeout", 504, get("http://silent.test/"), None),
    ("loop_detected", 502, get("http://wide.test/", "Via: 1.1 weir\r\n"), None),
    ("upstream_malformed", 502, get("http://wide.test/"), b"SSH-2.0-x\r\n"),
    ("upstream_incomplete", 502, get("http://wide.test/"), b"HTTP/1.1 200 OK\r\nX: "),
    ("upstream_head_too_large", 502, get("http://wide.test/"), HEAD + b"X: yyyy\r\n" * 1000 + b"\r\n"),
    ("upgrade_failed", 502, get("http://wide.test/", WS), b"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
     b"Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n"),
    ("response_timeout", 504, get("http://wide.test/"), b""),
    ("client_timeout", 408, "GET http://allo", None),
]

# reason, CONNECT target, the first bytes
CLOSED = [
    ("sni_missing", lambda: hello.hello(None)), ("sni_mismatch", lambda: hello.hello("other.test")),
    ("tls_required", lambda: b"SSH-2.0-x\r\n"), ("tls_malformed", lambda: b"\x16\x03\x01\x00\x04\x00\x00\x00\x00"),
    ("ech_refused", lambda: hello.hello("secure.test", extra=hello.ech())),
]

ELSEWHERE = {
    "assurance_too_low": "below", "host_misdirected": "test_connect.py", "policy_changed": "test_running.py",
    "concurrency_limited": "test_limits.py", "audit_unavailable": "test_record.py", "draining": "test_running.py",
    "client_aborted": "test_dns.py", "idle_timeout": "test_limits.py",
    "overloaded": "below", "connect_failed": "below", "upload_exhausted": "test_upload.py", "dlp_blocked": "test_dlp.py",
    **dict.fromkeys((
        "budget_insufficient_for_request", "credential_refused", "cross_site_refused", "encoding_unsupported",
        "endpoint_not_metered", "hosted_tool_denied", "metered_host", "model_not_allowed", "model_unpriced",
        "object_not_owned", "session_budget_exhausted", "tenant_budget_exhausted", "turn_budget_exhausted",
        "turn_limit_reached", "upstream_tls_failed"), "test_gateway.py"),
    **dict.fromkeys((
        "ledger_unavailable", "profile_unknown", "rate_limited", "session_expired", "session_invalid",
        "session_not_attached", "session_owner_mismatch", "session_required", "session_revoked",
        "session_time_exhausted", "turn_ended"), "test_sessions.py"),
    "ledger_rollback": "tests/unit/ledger_sqlite_test.c",
    "internal": "a bug of weir's: tests/unit/policy_match_test.c",
}


@pytest.fixture
def upstream(origin):
    one = origin()
    one.listen(80)
    one.listen(4443)
    one.listen(4444)
    return one


@pytest.fixture
def proxy(weir, dns):
    one = weir(RULES, {"limits": LIMITS, "dns": {"servers": [dns.server], "timeout": "1s"}})
    dns.set(ZONE, {"A": ["127.0.0.1"]})
    return one


def says(reply):
    def serve(conn):
        conn.recv()
        if reply:
            conn.send(reply)
            conn.close()
        origins.silent_serve(conn)
    return serve


def is_one_sentence(text):
    return text.endswith(".") and not text.endswith("..") and ". " not in text


@pytest.mark.parametrize("reason,status,text,reply", ANSWERED, ids=[a[0] for a in ANSWERED])
def test_a_refusal_that_is_answered(proxy, upstream, connect, reason, status, text, reply):
    if reply is not None:
        upstream.serve = says(reply)
    sock = connect(proxy)
    sock.send(text)
    answer = is_refusal(sock.response(text.split(" ", 1)[0]), status, reason)
    error = json.loads(answer.body)["error"]
    assert error["reason"] == reason and error["request_id"] == answer.get("x-weir-request")
    assert set(error) >= {"type", "reason", "message", "request_id", "retryable", "rule"}
    assert is_one_sentence(error["message"]) and "%" not in error["message"]
    assert (answer.get("retry-after") is not None) == (status in (429, 503))
    record = proxy.finals(1)[0]
    assert (record["id"], record["reason"], record["status"]) == (answer.get("x-weir-request"), reason, status)
    assert len(proxy.finals()) == 1


@pytest.mark.parametrize("path", ["/ok/../x", "/ok//x", "/ok/%61", "/ok/x;y", "/ok/%2e%2e/x"])
def test_a_path_that_is_not_in_plain_form_is_told_so(proxy, connect, path):
    answer = is_refusal(connect(proxy).get("http://allowed.test" + path), 403, "path_not_allowed")
    message = json.loads(answer.body)["error"]["message"]
    assert "not in its plain form" in message and is_one_sentence(message)
    assert "not in its plain form" in proxy.finals(1)[0]["error"]


def test_another_path_is_not_told_about_forms(proxy, connect):
    answer = is_refusal(connect(proxy).get("http://allowed.test/other"), 403, "path_not_allowed")
    assert json.loads(answer.body)["error"]["message"] == "Policy allows allowed.test:80, but not this path."


@pytest.mark.parametrize("text,words", [
    ("GET  http://wide.test/ HTTP/1.1\r\nHost: wide.test\r\n\r\n", "METHOD TARGET HTTP/1.1"),
    ("GET /ok/x HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "this is a proxy: ask it for http://host/path"),
    ("GET https://secure.test/ HTTP/1.1\r\nHost: secure.test\r\n\r\n", "for https use CONNECT"),
    (connect_to("0177.0.0.1:443"), "four decimal numbers"), (get("http://denied.test/"), "a deny rule names it"),
], ids=["malformed", "origin-form", "https", "octal", "denied"])
def test_a_refusal_says_what_to_mend(proxy, connect, text, words):
    sock = connect(proxy)
    sock.send(text)
    message = json.loads(sock.response().body)["error"]["message"]
    assert words in message and is_one_sentence(message)


def test_origin_form_names_no_host_in_its_record(proxy, connect):
    sock = connect(proxy)
    sock.send("GET /ok/x?token=not-for-the-log HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    is_refusal(sock.response(), 400, "request_malformed")
    assert proxy.finals(1)[0]["target"] == {"method": "GET", "path": "/ok/x", "query_keys": ["token"]}


@pytest.mark.parametrize("reason,make", CLOSED, ids=[c[0] for c in CLOSED])
def test_a_refusal_inside_a_tunnel_is_a_close_and_a_record(proxy, upstream, connect, reason, make):
    upstream.serve = origins.silent_serve
    sock = connect(proxy)
    assert sock.connect("secure.test:4443").status == 200
    sock.send(make())
    sock.finish()
    sock.read_all()
    assert proxy.finals(1)[0]["reason"] == reason
    assert upstream.bytes() == b""


def test_assurance_too_low(proxy, upstream, connect):
    """A tcp rule that wants the SNI can never have it: refused, or never loaded."""
    answer = connect(proxy).connect("bound.test:4444")
    if answer.status == 200:
        pytest.fail("an exchange bound by name only passed a rule that wants sni")
    is_refusal(answer, 403, "assurance_too_low")


def test_connect_failed_is_what_has_no_reason_of_its_own(proxy, dns, net, connect):
    with netns.Unreachable(net, netns.SILENT, netns.Unreachable.PROTOCOL):  # ENOPROTOOPT
        answer = is_refusal(connect(proxy).get("http://silent.test/"), 502, "connect_failed")
    assert json.loads(answer.body)["error"]["retryable"] is True
    assert proxy.finals(1)[0]["reason"] == "connect_failed"


def test_overloaded_without_a_descriptor_for_the_origin(weir, upstream, connect):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))
    proxy = weir([http(NAME)], {"workers": 1, "dns": {"hosts": {NAME: ["127.0.0.1"]}}}, preexec=few)
    held = []
    while proxy.descriptors() < 80:
        held.append(connect(proxy))
        answer = held[-1].get("http://nowhere.test/")
        if answer is None:  # a sanitizer had the last one open
            held.pop()
            break
        is_refusal(answer, 403, "host_not_allowed")
    answer = is_refusal(held[-1].get("http://allowed.test/"), 503, "overloaded")
    assert answer.get("retry-after") and not upstream.conns
    assert proxy.finals(len(held) + 1)[-1]["reason"] == "overloaded"
    held.pop(0).close()
    wait_for(lambda: held[-1].get("http://allowed.test/").status == 200, what="a descriptor that was given back")


QUESTIONS_EACH = 256  # of one client in one worker, under way: src/net/resolver.c


def test_overloaded_with_too_many_questions_under_way_of_one_client_alone(weir, upstream, dns, connect, tmp_path):
    dns.set({"known.silence.test": {"A": ["127.0.0.1"]}}, {"drop": True})
    socket_path = "unix:%s" % (tmp_path / "other.sock")
    proxy = weir([http("**.silence.test")],
                 {"workers": 1, "limits": {"client_connecting": 0, "lookups": 0}, "dns": {"servers": [dns.server], "timeout": "30s"},
                  "listen": {"proxy": ["127.0.0.1:%d" % free_port(), socket_path]}})
    for i in range(QUESTIONS_EACH):  # a client that goes away does not take its question back
        sock = connect(proxy)
        sock.send(connect_to("n%d.silence.test:80" % i))
        sock.close()
    assert {r["reason"] for r in proxy.finals(QUESTIONS_EACH)} == {"client_aborted"}
    is_refusal(connect(proxy).connect("more.silence.test:80"), 503, "overloaded")
    assert not dns.asked("more.silence.test")
    assert proxy.finals(QUESTIONS_EACH + 1)[-1]["reason"] == "overloaded"
    proxy.address = socket_path  # another client
    assert connect(proxy).get("http://known.silence.test/").status == 200


def test_head_gets_no_body_with_its_refusal(proxy, connect):
    answer = connect(proxy).get("http://nowhere.test/", "HEAD")
    assert answer.status == 403 and answer.body == b"" and answer.get("x-weir-reason") == "host_not_allowed"


def test_a_refused_absolute_form_request_keeps_the_connection(proxy, upstream, connect):
    sock = connect(proxy)
    is_refusal(sock.get("http://nowhere.test/"), 403, "host_not_allowed")
    assert sock.get("http://wide.test/").status == 200


def test_a_malformed_request_gets_one_answer_and_nothing_behind_it_is_read(proxy, upstream, connect):
    sock = connect(proxy)
    sock.send("GET  http://wide.test/ HTTP/1.1\r\nHost: wide.test\r\n\r\n" + get("http://wide.test/"))
    assert sock.response().status == 400
    assert sock.read_all() == b""
    assert not upstream.bytes()


def test_attacker_bytes_never_come_back_in_a_head(proxy, connect):
    sock = connect(proxy)
    sock.send(b"CONNECT x\xff\x1b[2Ky.test:443 HTTP/1.1\r\nHost: a\r\n\r\n")
    data = sock.read_all()
    assert data.startswith(b"HTTP/1.1 400 ") and b"\x1b" not in data and b"\xff" not in data


def test_developers_are_told_layer_and_trace(weir, connect):
    proxy = weir(RULES, {"errors": "developer"})
    error = json.loads(connect(proxy).get("http://nowhere.test/").body)["error"]
    assert {"layer", "trace", "fix"} & set(error)


def test_every_reason_is_in_a_test():
    known = set(re.findall(r'^REASON\(\w+, "(\w+)"', REASONS_DEF.read_text(), re.M))
    shown = {a[0] for a in ANSWERED} | {c[0] for c in CLOSED} | set(ELSEWHERE)
    assert known == shown
