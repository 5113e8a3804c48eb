"""CONNECT: what is allowed becomes a tunnel to the vetted name; everything else is answered, and nothing goes upstream."""
import json

import pytest

from rig import hello, origin as origins, tls
from rules import http, https, is_refusal, tcp

NAME = "allowed.test"


@pytest.fixture
def patient(origin):
    """One that leaves its end of a connection open until the test closes it."""
    upstream = origin(serve=origins.patient_serve)
    upstream.port = upstream.listen()
    return upstream


def opened(proxy, connect, port, name=NAME):
    sock = connect(proxy)
    answer = sock.connect("%s:%d" % (name, port))
    assert answer is not None and answer.status == 200, answer
    return sock


def relayed(upstream, data):
    return upstream.wait(lambda: upstream.bytes() == data)


# -- allowed

def test_tls_to_an_allowed_host_works_end_to_end(weir, origin, connect, authority):
    upstream = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    port = upstream.listen()
    proxy = weir([https(NAME, port)])
    sock = opened(proxy, connect, port)
    with authority.client().wrap_socket(sock.sock, server_hostname=NAME) as secure:
        secure.sendall(b"GET /secret HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        assert secure.recv(4096) == origins.OK
    assert [r.target for r in upstream.requests] == ["/secret"]
    record = proxy.finals(1)[0]
    assert record["decision"] == "allow" and record["outcome"] == "ok"
    assert record["kind"] == "connect" and record["assurance"] == "sni"
    assert record["tls"]["sni"] == NAME
    assert record["upstream"]["addr"] == "127.0.0.1:%d" % port
    assert record["bytes"]["up"] > 200 and record["bytes"]["down"] > 200
    assert "/secret" not in json.dumps(record)


def test_the_200_carries_no_framing(weir, silent, connect):
    proxy = weir([https(NAME, silent.port)])
    sock = connect(proxy)
    answer = sock.connect("%s:%d" % (NAME, silent.port))
    for name in ("content-length", "transfer-encoding", "connection", "proxy-connection"):
        assert not answer.all(name)


def test_case_and_one_trailing_dot_name_the_same_host(weir, silent, connect):
    proxy = weir([https(NAME, silent.port)])
    data = hello.hello("aLLowed.TEST")
    sock = opened(proxy, connect, silent.port, "ALLOWED.test.")
    sock.send(data)
    assert relayed(silent, data)


# -- refused

REFUSED = [
    ("a host no rule has", "other.test:443", "host_not_allowed"),
    ("a longer look-alike", "notallowed.test:443", "host_not_allowed"),
    ("a subdomain", "www.allowed.test:443", "host_not_allowed"),
    ("a port no rule has", "allowed.test:22", "port_not_allowed"),
    ("a denied host", "denied.test:443", "host_denied"),
    ("an address in place of a name", "93.184.215.14:443", "ip_literal_not_allowed"),
    ("an IPv6 address", "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443", "ip_literal_not_allowed"),
]


@pytest.mark.parametrize("target,reason", [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_a_refused_connect_says_why_and_closes(weir, dns, connect, target, reason):
    proxy = weir({"policy": "test", "allow": [https(NAME)], "deny": [{"host": "denied.test", "why": "not here"}]})
    sock = connect(proxy)
    answer = is_refusal(sock.connect(target), 403, reason)
    assert answer.get("connection") == "close" and answer.get("proxy-connection") == "close"
    body = json.loads(answer.body)["error"]
    assert body["type"] == "policy" and body["reason"] == reason and body["retryable"] is False
    assert body["request_id"] == answer.get("x-weir-request") and body["message"]
    sock.send(b"\x16\x03\x01")  # what a hasty client has sent behind it
    assert sock.read_all() == b""
    record = proxy.finals(1)[0]
    assert record["id"] == answer.get("x-weir-request")
    assert (record["decision"], record["reason"], record["status"]) == ("deny", reason, 403)
    assert not dns.asked(), "a refused name was looked up"


def test_a_deny_rule_that_looks_at_requests_denies_the_address_where_it_cannot(weir, upstream, connect):
    """With an address and a method: a CONNECT shows no method, an absolute-form request does."""
    proxy = weir({"policy": "test", "allow": [http(NAME)],
                  "deny": [{"name": "no-deletes-there", "host": "127.0.0.1", "methods": ["DELETE"]}]})
    answer = is_refusal(connect(proxy).connect("allowed.test:80"), 403, "host_denied")
    assert json.loads(answer.body)["error"]["rule"] == "no-deletes-there"
    is_refusal(connect(proxy).get("http://allowed.test/", "DELETE"), 403, "host_denied")
    assert not upstream.conns
    assert connect(proxy).get("http://allowed.test/").status == 200
    assert [r.method for r in upstream.requests] == ["GET"]
    assert {(r["kind"], r["target"]["method"], r["reason"]) for r in proxy.finals(3)} == {
        ("connect", "CONNECT", "host_denied"), ("http", "DELETE", "host_denied"), ("http", "GET", "ok")}


def test_why_of_a_deny_rule_is_told_to_the_client(weir, connect):
    proxy = weir({"policy": "test", "allow": [https(NAME)],
                  "deny": [{"host": "gist.test", "why": "publishing is not part of the task"}]})
    answer = connect(proxy).connect("gist.test:443")
    assert json.loads(answer.body)["error"]["message"] == "Policy denies gist.test:443: publishing is not part of the task."


MALFORMED = [
    ("no port", "allowed.test"), ("port zero", "allowed.test:0"), ("port too large", "allowed.test:65536"),
    ("leading zero", "allowed.test:0443"), ("empty host", ":443"), ("userinfo", "u@allowed.test:443"),
    ("octal address", "0177.0.0.1:443"), ("decimal address", "2130706433:443"), ("hex address", "0x7f000001:443"),
    ("brackets round a name", "[allowed.test]:443"), ("zone id", "[fe80::1%25eth0]:443"),
    ("empty label", "allowed..test:443"), ("percent", "allowed%2etest:443"), ("backslash", "allowed.test\\:443"),
    ("non-ASCII", "all\u00f6wed.test:443"), ("absolute URI", "http://allowed.test/"),
]


@pytest.mark.parametrize("target", [m[1] for m in MALFORMED], ids=[m[0] for m in MALFORMED])
def test_a_malformed_target_is_400(weir, dns, connect, target):
    proxy = weir([https(NAME), https("*", broad=True)])
    sock = connect(proxy)
    answer = sock.connect(target, host="allowed.test")
    assert answer.status == 400 and answer.get("x-weir-reason") in ("host_invalid", "request_malformed")
    assert sock.read_all() == b""
    assert not dns.asked()
    assert proxy.finals(1)[0]["status"] == 400


# -- the first bytes

HELLOS = [
    ("no SNI", lambda: hello.hello(None), "sni_missing"),
    ("another name", lambda: hello.hello("other.test"), "sni_mismatch"),
    ("a name that begins alike", lambda: hello.hello("allowed.test.evil.test"), "sni_mismatch"),
    ("SSH", lambda: b"SSH-2.0-OpenSSH_9.2p1\r\n", "tls_required"),
    ("a NUL in the name", lambda: hello.hello("allowed.test\0.evil"), "tls_malformed"),
    ("two names", lambda: hello.hello(None, extra=hello.server_name(NAME) + hello.server_name(NAME)), "tls_malformed"),
    ("a record too long", lambda: b"\x16\x03\x01\x40\x01" + bytes(16385), "tls_malformed"),
    ("an alert first", lambda: hello.ALERT + hello.hello(NAME), "tls_malformed or tls_required"),
    ("a second message in the record", lambda: hello.records(hello.client_hello(NAME) * 2), "tls_malformed"),
    ("ECH", lambda: hello.hello(NAME, extra=hello.ech()), "ech_refused"),
    ("ECH of a draft", lambda: hello.hello(NAME, extra=hello.ech(0xFE0A)), "ech_refused"),
]


@pytest.mark.parametrize("make,reason", [h[1:] for h in HELLOS], ids=[h[0] for h in HELLOS])
def test_a_wrong_hello_closes_with_nothing_upstream(weir, silent, connect, make, reason):
    proxy = weir([https(NAME, silent.port)])
    sock = opened(proxy, connect, silent.port)
    sock.send(make())
    rest = sock.read_all()
    assert rest == b"" or rest[0] == 0x15  # an alert is a polite close
    record = proxy.finals(1)[0]
    assert record["decision"] == "deny" and record["reason"] in reason.split(" or ")
    assert silent.bytes() == b""
    assert record.get("bytes", {}).get("up", 0) == 0


def test_http_where_only_tls_is_allowed_is_told_so(weir, silent, connect):
    proxy = weir([https(NAME, silent.port)])
    sock = opened(proxy, connect, silent.port)
    sock.send(b"GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    is_refusal(sock.response(), 403, "tls_required")
    assert sock.read_all() == b"" and silent.bytes() == b""
    record = proxy.finals(1)[0]
    assert len(proxy.finals()) == 1 and record["kind"] == "connect"
    assert (record["decision"], record["reason"]) == ("deny", "tls_required") and record["bytes"]["up"] == 0


@pytest.mark.parametrize("first", [b"EHLO client.test\r\n", b"GET /", b"GET / HTTP/1.1", b"USER a HTTP/1.\r\n"])
def test_what_is_no_request_line_is_not_answered_in_http(weir, silent, connect, first):
    proxy = weir([https(NAME, silent.port)])
    sock = opened(proxy, connect, silent.port)
    sock.send(first)
    assert sock.read_all() == b"" and silent.bytes() == b""
    assert proxy.finals(1)[0]["reason"] == "tls_required"


@pytest.mark.parametrize("name", ["other.test", "Other.TEST", "ghp_" + "x1Y2z3" * 6 + ".test"], ids=["plain", "case", "secret"])
def test_a_record_of_a_mismatch_has_the_name_that_was_sent(weir, silent, connect, name):
    proxy = weir([https(NAME, silent.port)])
    sock = opened(proxy, connect, silent.port)
    sock.send(hello.hello(name))
    sock.read_all()
    record = proxy.finals(1)[0]
    assert record["reason"] == "sni_mismatch" and record["target"]["host"] == NAME
    assert record["tls"]["sni"] == "other.test" or record["tls"]["sni"].startswith("~redacted.")


def test_ech_passes_where_the_rule_says_so(weir, silent, connect):
    proxy = weir([https(NAME, silent.port, ech="allow")])
    data = hello.hello(NAME, extra=hello.ech())
    sock = opened(proxy, connect, silent.port)
    sock.send(data)
    assert relayed(silent, data)
    sock.close()
    record = proxy.finals(1)[0]
    assert record["tls"]["ech"] is True and record["assurance"] in ("name", "address")


def test_to_a_literal_tls_carries_no_sni(weir, net, origin, connect):
    upstream = origin(serve=origins.silent_serve)
    upstream.listen(443, "::", net.outside)
    proxy = weir([{"host": "93.184.215.14", "protocol": "https"}])
    sock = connect(proxy)
    assert sock.connect("93.184.215.14:443").status == 200
    data = hello.hello(None)
    sock.send(data)
    assert relayed(upstream, data)
    other = connect(proxy)
    assert other.connect("93.184.215.14:443").status == 200
    other.send(hello.hello("allowed.test"))
    other.read_all()
    assert upstream.bytes() == data
    assert proxy.finals(1)[-1]["reason"] == "sni_mismatch"


def test_a_hello_one_byte_at_a_time_is_relayed_unchanged(weir, silent, connect):
    proxy = weir([https(NAME, silent.port)])
    data = hello.hello(NAME, size=1900)  # post-quantum size: more than one segment
    sock = opened(proxy, connect, silent.port)
    sock.send_pieces(data, 1)
    assert relayed(silent, data)


@pytest.mark.parametrize("size", [1, 2, 7, 40, 500])
def test_a_hello_in_many_records_is_relayed_unchanged(weir, silent, connect, size):
    proxy = weir([https(NAME, silent.port)])
    message = hello.client_hello(NAME)
    data = hello.records(message, max(size, len(message) // 60 + 1))  # at most 64 records
    sock = opened(proxy, connect, silent.port)
    sock.send(data)
    assert relayed(silent, data)


def test_a_hello_of_sixteen_kib_is_relayed(weir, silent, connect):
    proxy = weir([https(NAME, silent.port)])
    data = hello.hello(NAME, size=16000)
    sock = opened(proxy, connect, silent.port)
    sock.send(data)
    assert relayed(silent, data)


def test_early_bytes_are_held_until_the_200_and_dropped_on_refusal(weir, silent, connect):
    proxy = weir([https(NAME, silent.port)])
    data = hello.hello(NAME)
    sock = connect(proxy)
    sock.send(b"CONNECT allowed.test:%d HTTP/1.1\r\nHost: allowed.test\r\n\r\n" % silent.port + data)
    assert sock.response("CONNECT").status == 200
    assert relayed(silent, data)


def retry_origin(conn):
    """Asks for a second hello, then says nothing."""
    while conn.recv():
        if len(conn.data) > 100 and not conn.requests:
            conn.requests.append("retried")
            conn.send(hello.server_hello(retry=True))


def after_retry(weir, origin, connect, second):
    """(upstream, first hello, second as sent, socket, proxy)"""
    upstream = origin(serve=retry_origin)
    port = upstream.listen()
    proxy = weir([https(NAME, port)])
    first = hello.hello(NAME)
    sock = opened(proxy, connect, port)
    sock.send(first)
    assert sock.read_until(lambda data: len(data) > 50)
    sock.send(second)
    return upstream, first, sock, proxy


def test_the_hello_after_a_retry_passes_with_the_same_name(weir, origin, connect):
    second = hello.hello(NAME)
    upstream, first, _sock, _proxy = after_retry(weir, origin, connect, second)
    assert relayed(upstream, first + second)


@pytest.mark.parametrize("second,reason", [
    (lambda: hello.hello("other.test"), "sni_mismatch"), (lambda: hello.hello(None), "sni_mismatch or sni_missing"),
    (lambda: hello.hello(NAME, extra=hello.ech()), "sni_mismatch or ech_refused"),
], ids=["another name", "no name", "ECH"])
def test_the_hello_after_a_retry_is_checked_too(weir, origin, connect, second, reason):
    upstream, first, sock, proxy = after_retry(weir, origin, connect, second())
    sock.read_all()
    record = proxy.finals(1)[0]
    assert record["decision"] == "deny" and record["reason"] in reason.split(" or ")
    assert record["tls"]["sni"] == ("other.test" if reason == "sni_mismatch" else NAME)
    assert upstream.bytes() == first


# -- http in a tunnel

def test_http_in_a_tunnel_is_judged_and_forwarded(weir, origin, connect):
    upstream = origin()
    port = upstream.listen()
    proxy = weir([http(NAME, port, methods=["GET"])])
    sock = opened(proxy, connect, port)
    for path in ("/one", "/two"):  # the inner connection is kept
        sock.send("GET %s HTTP/1.1\r\nHost: allowed.test:%d\r\n\r\n" % (path, port))
        assert sock.response().body == b"ok"
    sock.send("POST /three HTTP/1.1\r\nHost: allowed.test:%d\r\nContent-Length: 0\r\n\r\n" % port)
    is_refusal(sock.response("POST"), 405, "method_not_allowed")
    assert [r.target for r in upstream.requests] == ["/one", "/two"]
    sock.close()
    records = proxy.finals(4)
    outer = [r for r in records if r["kind"] == "connect"]
    inner = [r for r in records if r["kind"] == "http"]
    assert len(outer) == 1 and len(inner) == 3
    assert all(r["parent"] == outer[0]["id"] for r in inner)


@pytest.mark.parametrize("host", ["other.test", "allowed.test.evil.test", "also.test"])
def test_http_in_a_tunnel_has_its_host_pinned(weir, origin, connect, host):
    upstream = origin()
    port = upstream.listen()
    proxy = weir([http(NAME, port), http("also.test", port)])
    sock = opened(proxy, connect, port)
    sock.send("GET / HTTP/1.1\r\nHost: %s:%d\r\n\r\n" % (host, port))
    answer = sock.response()
    assert (answer.status, answer.get("x-weir-reason")) in ((421, "host_misdirected"), (403, "host_not_allowed"))
    assert not upstream.requests


def test_a_connect_in_a_tunnel_is_refused(weir, origin, connect):
    upstream = origin()
    port = upstream.listen()
    proxy = weir([http(NAME, port)])
    sock = opened(proxy, connect, port)
    sock.send("CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n")
    assert sock.response().status in (400, 403, 405)
    assert not upstream.requests


# -- tcp

def test_tcp_relays_what_the_server_says_first(weir, origin, connect):
    def banner(conn):
        conn.send(b"220 ready\r\n")
        origins.echo_serve(conn)
    upstream = origin(serve=banner)
    port = upstream.listen()
    proxy = weir([tcp(NAME, port)])
    sock = opened(proxy, connect, port)
    assert sock.read_until(lambda data: data == b"220 ready\r\n")
    sock.data = b""
    sock.send(b"\0anything at all\xff")
    assert sock.read_until(lambda data: data == b"\0anything at all\xff")
    sock.close()
    assert proxy.finals(1)[0]["assurance"] in ("name", "address")


def test_bulk_through_a_tunnel_arrives_whole_both_ways(weir, echo, connect):
    proxy = weir([tcp(NAME, echo.port)])
    sock = opened(proxy, connect, echo.port)
    block = bytes(range(256)) * 1024
    for _ in range(16):
        sock.send(block)
        got = len(sock.data) + len(block)
        assert sock.read_until(lambda data: len(data) >= got)
    assert sock.data == block * 16
    sock.finish()
    assert not sock.recv()
    record = proxy.finals(1)[0]
    assert record["bytes"] == {"up": 16 * len(block), "down": 16 * len(block)}


def test_an_end_goes_through_each_way_alone(weir, patient, connect):
    proxy = weir([tcp(NAME, patient.port)])
    sock = opened(proxy, connect, patient.port)
    sock.send(b"question")
    sock.finish()
    conn = patient.conn()
    assert patient.wait(lambda: conn.is_ended and conn.data == b"question")
    conn.send(b"answer")
    conn.close()
    assert sock.read_all() == b"answer"
    assert proxy.finals(1)[0]["reason"] not in ("client_aborted",)


def test_the_origins_end_leaves_the_client_room_to_finish(weir, patient, connect):
    proxy = weir([tcp(NAME, patient.port)])
    sock = opened(proxy, connect, patient.port)
    assert patient.wait(lambda: patient.conns)
    patient.conn().close()
    assert sock.read_all() == b""
    sock.send(b"late")
    assert relayed(patient, b"late")


def test_a_reset_goes_through(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port)])
    sock = opened(proxy, connect, silent.port)
    assert silent.wait(lambda: silent.conns)
    sock.reset()
    assert silent.wait(lambda: silent.conn().is_ended)
    assert len(proxy.finals(1)) == 1


# -- dialling

def test_a_closed_port_is_connect_refused(weir, connect):
    proxy = weir([https(NAME, 9)])
    is_refusal(connect(proxy).connect(NAME + ":9"), 502, "connect_refused")


def test_the_next_address_is_tried(weir, dns, silent, connect):
    dns.set({NAME: {"A": ["127.0.0.99", "127.0.0.1"]}})  # nobody listens on the first
    proxy = weir([https(NAME, silent.port)])
    data = hello.hello(NAME)
    sock = opened(proxy, connect, silent.port)
    sock.send(data)
    assert relayed(silent, data)
