"""A tls: listener: whoever connects there speaks TLS with weir first, and then what it would speak anywhere."""
import os
import shutil
import signal
import ssl
import subprocess
import threading

import pytest

from rig import client as rig_client, gateway as rig_gateway, origin as origins, provider as rig_provider, socks, tls
from rig import token as tokens
from rig.ca import Ca, Inside
from rig.gateway import ASK
from rig.weir import WAIT, binary, free_port, wait_for
from rules import http, https, in_order, is_refusal, tcp
from test_forward import WS, websocket_origin
from test_sessions import SECRET, sessions

NAME, WEIR = "allowed.test", "weir.test"


@pytest.fixture
def own(authority, tmp_path):
    """own(names): writes the certificate of weir's own that is for them; what tls.listen says."""
    def make(*names):
        paths = [str(tmp_path / "own.pem"), str(tmp_path / "own.key")]
        for source, path in zip(authority.leaf(*(names or (WEIR, "IP:127.0.0.1"))), paths):
            shutil.copy(source, path)
            os.chmod(path, 0o600)
        return {"cert": "file:" + paths[0], "key": "file:" + paths[1]}
    return make


@pytest.fixture
def secured(weir, authority, own):
    """secured(rules): a weir whose proxy listens with TLS."""
    def make(rules, config=None, **how):
        config = dict({"listen": {"proxy": ["tls:127.0.0.1:%d" % free_port()], "health": ["127.0.0.1:%d" % free_port()]}},
                      **(config or {}))
        config["tls"] = dict({"roots": authority.certificate, "listen": own()}, **config.get("tls", {}))
        return weir(rules, config=config, **how)
    return make


@pytest.fixture
def enter(authority):
    """enter(weir): a client that has shaken hands with it."""
    made = []

    def make(proxy, context=None, **how):
        made.append(rig_client.Client(tls.Door(proxy, context or authority.client(), **how)))
        return made[-1]
    yield make
    for one in made:
        one.close()


def opened(client, port, name=NAME):
    assert client.connect("%s:%d" % (name, port)).status == 200
    return client


def half_closed(client):
    client.sock.finish()
    return client


# -- everything that goes through a listener goes through this one

def test_requests_are_judged_as_at_any_listener(secured, enter, upstream):
    proxy = secured([http(NAME)])
    client = enter(proxy)
    assert client.get("http://allowed.test/x").body == b"ok"
    is_refusal(client.get("http://denied.test/x"), 403, "host_not_allowed")
    assert client.get("http://allowed.test/y").body == b"ok"
    assert [r.target for r in upstream.requests] == ["/x", "/y"]
    records = proxy.finals(3)
    assert [(r["kind"], r["reason"], r["client"]) for r in records] == [
        ("http", reason, {"addr": "127.0.0.1", "door": "proxy"}) for reason in ("ok", "host_not_allowed", "ok")]
    assert (proxy.metric("weir_tls_clients_total"), proxy.metric("weir_tls_clients_failed_total")) == (1, 0)


def test_a_tunnel_carries_the_clients_own_tls(secured, enter, origin, authority):
    site = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    port = site.listen()
    proxy = secured([https(NAME, port)])
    client = opened(enter(proxy), port)
    within = tls.wrap(client.sock, authority.client(), NAME)
    within.sendall(b"GET /in HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    assert within.recv(65536).endswith(b"ok") and site.requests[0].target == "/in"
    within.finish()
    client.close()
    record, = proxy.finals(1)
    assert (record["kind"], record["decision"], record["assurance"], record["tls"]["sni"]) == ("connect", "allow", "sni", NAME)


def test_what_is_opened_inside_is_tls_in_tls(secured, enter, origin, authority, tmp_path):
    site = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    port, ca = site.listen(), Ca(tmp_path / "ca")
    proxy = secured([https(NAME, port, methods=["GET", "POST"])], config={"tls": {"intercept": ca.setting}})
    inside = Inside.open(tls.Door(proxy, authority.client()), ca.trusting(), NAME, port)
    host = "%s:%d" % (NAME, port)
    body = bytes(range(256)) * 1024
    site.reply = lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(request.body), request.body)
    for n in (0, len(body)):
        inside.send(b"POST /p HTTP/1.1\r\nHost: %b\r\nContent-Length: %d\r\n\r\n%b" % (host.encode(), n, body[:n]))
        assert inside.response("POST").body == body[:n]
    inside.send("DELETE / HTTP/1.1\r\nHost: %s\r\n\r\n" % host)
    is_refusal(inside.response("DELETE"), 405, "method_not_allowed")
    assert inside.certificate()["subjectAltName"] == (("DNS", NAME),)
    inside.close()
    records = proxy.finals(4)
    assert sorted(r["kind"] for r in records) == ["connect", "http", "http", "http"]
    assert [r["flags"] for r in records if r["kind"] == "connect"] == [["intercepted"]]


def test_websocket_passes(secured, enter, upstream):
    upstream.serve = websocket_origin
    proxy = secured([http(NAME, upgrade=["websocket"])])
    client = enter(proxy)
    assert client.get("http://allowed.test/ws", headers=WS).status == 101
    client.send(b"\x81\x02hi")
    assert client.read_until(lambda data: data == b"\x81\x02hi")
    client.close()
    assert proxy.finals(1)[0]["flags"] == ["websocket"]


def test_a_clients_end_is_passed_on_and_the_origins_comes_back(secured, enter, origin):
    """Half-close, by close_notify: what the origin says after it arrives."""
    def serve(conn):
        while conn.recv():
            pass
        conn.send(b"after the end: " + conn.data)
        conn.close()
    site = origin(serve=serve)
    port = site.listen()
    proxy = secured([tcp(NAME, port)])
    client = opened(enter(proxy, layered=True), port)
    client.send("all")
    half_closed(client)
    assert client.read_all() == b"after the end: all" and not client.is_reset
    record, = proxy.finals(1)
    assert (record["outcome"], record["close"], record["bytes"]) == ("ok", "client", {"up": 3, "down": 18})


def test_a_client_that_is_cut_off_is_cut_off_at_the_origin(secured, enter, echo):
    proxy = secured([tcp(NAME, echo.port)])
    client = opened(enter(proxy), echo.port)
    client.send("x")
    assert client.read_until(lambda data: data == b"x")
    client.reset()
    assert echo.wait(lambda: echo.conn().is_reset)
    record, = proxy.finals(1)
    assert (record["reason"], record["close"]) == ("client_aborted", "client")


def test_an_end_without_a_goodbye_is_none(secured, enter, echo):
    """TLS says when it ends: a FIN alone may be anybody's."""
    proxy = secured([tcp(NAME, echo.port)])
    client = opened(enter(proxy), echo.port)
    client.send("x")
    assert client.read_until(lambda data: data == b"x")
    os.close(client.sock.detach())
    assert echo.wait(lambda: echo.conn().is_ended)
    assert proxy.finals(1)[0]["reason"] == "client_aborted"


class Talk:
    """Both ways by one thread: an SSLSocket is no two threads' at once."""

    def __init__(self, sock):
        self.sock, self.sent, self.got = sock, 0, bytearray()
        sock.setblocking(False)

    def write(self, data):
        try:
            while self.sent < len(data):
                self.sent += self.sock.send(data[self.sent:self.sent + 65536])
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        return True

    def read(self):
        try:
            while True:
                piece = self.sock.recv(65536)
                assert piece, "it ended"
                self.got += piece
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        return True


def test_bytes_both_ways_arrive_unchanged_and_wait_for_who_is_slow(secured, enter, echo):
    proxy = secured([tcp(NAME, echo.port)])
    client = opened(enter(proxy), echo.port)
    data, before, talk = os.urandom(1 << 20) * 6, proxy.rss_kib(), Talk(client.sock)
    wait_for(lambda: talk.write(data) and len(echo.conn().data) > 1 << 20, what="an origin that has some of it")  # nothing is read yet
    assert not proxy.grew(before, 8192)
    wait_for(lambda: talk.write(data) and talk.read() and len(talk.got) == len(data), what="all of it")
    assert bytes(talk.got) == data
    client.close()
    assert proxy.finals(1)[0]["bytes"] == {"up": len(data), "down": len(data)}


@pytest.mark.parametrize("limit, how, reason", [
    ({"idle": "300ms"}, {}, "idle_timeout"),
    ({}, {"upload": "100B"}, "upload_exhausted")])
def test_a_tunnels_limits_hold(secured, enter, echo, limit, how, reason):
    proxy = secured([tcp(NAME, echo.port, **how)], config={"limits": limit})
    client = opened(enter(proxy), echo.port)
    client.send("x" * 50)
    assert client.read_until(lambda data: data == b"x" * 50)
    client.send("x" * (100 if how else 0))
    client.read_all()
    assert client.is_reset
    assert proxy.finals(1)[0]["reason"] == reason
    assert len(echo.conn().data) <= 100


# -- who does not speak it

@pytest.mark.parametrize("listener, kind", [("proxy", "http"), ("gateway", "gateway")])
def test_plain_http_is_told_so_in_plain_http(secured, connect, listener, kind):
    proxy = secured([http(NAME)], config={"listen": {listener: ["tls:127.0.0.1:%d" % free_port()]}})
    client = connect(proxy)
    client.send("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    answer = client.response()
    assert answer.status == 400 and b"begins with https://" in answer.body
    assert client.read_all() == b""
    record, = proxy.finals(1)
    assert (record["kind"], record["decision"], record["reason"]) == (kind, "deny", "request_malformed")


# -- SOCKS inside TLS

@pytest.fixture
def socks_inside(secured, enter):
    """socks_inside(rules): a weir whose SOCKS5 door listens with TLS, and a maker of clients that have shaken hands with it."""
    def make(rules, **how):
        listen = {"socks5": ["tls:127.0.0.1:%d" % free_port()], "health": ["127.0.0.1:%d" % free_port()]}
        proxy = secured(rules, dict({"listen": listen}, **how.pop("config", {})), **how)
        return proxy, lambda: enter(proxy, listener="socks5")
    return make


def test_socks_inside_tls_is_judged_as_at_any_listener(socks_inside, echo, upstream):
    proxy, client = socks_inside([tcp(NAME, echo.port), http(NAME, upstream.port)])
    one = client()
    assert socks.open_tunnel(one, NAME, echo.port) == 0
    one.send(b"\0anything")
    assert one.read_until(lambda data: data == b"\0anything")
    one.close()
    assert socks.open_tunnel(client(), "denied.test", echo.port) == 2
    inside = client()
    assert socks.open_tunnel(inside, NAME, upstream.port) == 0
    inside.send("GET /x HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n\r\n" % (NAME, upstream.port))
    assert inside.response().body == b"ok" and [r.target for r in upstream.requests] == ["/x"]
    records = [(r["target"]["host"], r["decision"]) for r in proxy.finals(4) if r["kind"] == "socks5"]
    assert sorted(records) == [(NAME, "allow"), (NAME, "allow"), ("denied.test", "deny")]


def test_a_clients_own_tls_goes_through_socks_inside_tls(socks_inside, origin, authority):
    server = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    port = server.listen()
    proxy, client = socks_inside([https(NAME, port)])
    outer = client()
    assert socks.open_tunnel(outer, NAME, port) == 0
    within = tls.wrap(outer.sock, authority.client(), NAME)
    within.sendall(b"GET /in HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    assert within.recv(65536).endswith(b"ok") and server.requests[0].target == "/in"
    within.finish()
    outer.close()
    assert (lambda r: (r["kind"], r["tls"]["sni"], r["assurance"]))(proxy.finals(1)[0]) == ("socks5", NAME, "sni")


def test_a_login_inside_tls_is_whose_session_it_is(socks_inside, echo):
    proxy, client = socks_inside([tcp(NAME, echo.port)], config={"sessions": sessions()}, environment={"KEY": SECRET})
    assert socks.open_tunnel(client(), NAME, echo.port) is None
    one = client()
    assert socks.open_tunnel(one, NAME, echo.port, tokens.mint(SECRET, "s1")) == 0
    one.close()
    assert [(r["decision"], (r["session"] or {}).get("sid")) for r in in_order(proxy.finals(2))] == [("deny", None), ("allow", "s1")]


@pytest.mark.parametrize("first", [socks.offer(socks.NONE), b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n"])
def test_plain_socks_where_tls_is_spoken_is_closed_and_recorded(socks_inside, connect, first):
    proxy, _ = socks_inside([http(NAME)])
    client = connect(proxy)
    client.send(first)
    assert client.read_all() == b""
    assert (lambda r: (r["kind"], r["reason"], r["error"]))(proxy.finals(1)[0]) == ("socks5", "request_malformed", "no TLS")


def test_what_is_no_tls_is_closed_without_a_word(secured, connect):
    proxy = secured([http(NAME)])
    for first in (b"\x05\x01\x00", b"\x00" * 100, b"SSH-2.0-x\r\n"):
        client = connect(proxy)
        client.send(first)
        assert client.read_all() == b""
    assert [(r["reason"], r["close"], r.get("status")) for r in proxy.finals(3)] == [("request_malformed", "weir", None)] * 3
    assert (proxy.metric("weir_tls_clients_total"), proxy.metric("weir_tls_clients_failed_total")) == (0, 3)


def old(context):
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def h2(context):
    context.set_alpn_protocols(["h2"])
    return context


def elsewhere(context):
    return ssl.create_default_context()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("change, reason, close", [
    (old, "tls_malformed", "weir"), (h2, "tls_malformed", "weir"), (elsewhere, "client_aborted", "client")])
def test_a_handshake_that_fails_has_one_record(secured, authority, enter, change, reason, close):
    """Versions before 1.2; no HTTP/1.1 among the protocols; a client that does not trust the certificate."""
    proxy = secured([http(NAME)])
    with pytest.raises((ssl.SSLError, ConnectionError)):
        enter(proxy, context=change(authority.client()))
    record, = proxy.finals(1)
    assert (record["reason"], record["close"], record["kind"]) == (reason, close, "http") and record["error"]
    assert proxy.metric("weir_tls_clients_failed_total") == 1


def test_a_broken_hello_is_answered_with_an_alert(secured, connect):
    proxy = secured([http(NAME)])
    client = connect(proxy)
    client.send(b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00")
    assert client.read_all()[:1] == b"\x15"
    assert proxy.finals(1)[0]["reason"] == "tls_malformed"


def test_a_hello_that_does_not_come_in_time_is_recorded_and_none_is_not(secured, connect):
    proxy = secured([http(NAME)], config={"limits": {"hello_timeout": "300ms"}})
    nothing, some, gone = connect(proxy), connect(proxy), connect(proxy)
    some.send(b"\x16\x03\x01\x02")
    gone.close()
    nothing.read_all(), some.read_all()
    record, = proxy.finals(1)
    assert (record["reason"], record["close"]) == ("client_timeout", "weir") and record["ms"]["total"] >= 299
    wait_for(lambda: proxy.metric("weir_connections_open") == 0, what="the end of all")
    assert len(proxy.finals()) == 1


def test_what_is_agreed_on(secured, authority, enter):
    """HTTP/1.1, TLS 1.2 at least, and nothing to resume from."""
    proxy = secured([http(NAME)])
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = authority.client()
        context.minimum_version = context.maximum_version = version
        context.set_alpn_protocols(["h2", "http/1.1"])
        client = enter(proxy, context=context)
        assert client.sock.selected_alpn_protocol() == "http/1.1" and client.sock.compression() is None
        is_refusal(client.get("http://denied.test/"), 403, "host_not_allowed")
        assert not client.sock.session.has_ticket


def test_refused_handshakes_without_end_are_summed(secured, connect):
    proxy = secured([http(NAME)], config={"limits": {"refusals": "2/min"}})
    for _ in range(3):
        client = connect(proxy)
        client.send(b"\x00")
        client.read_all()
    proxy.stop()
    assert len(proxy.finals()) == 2
    assert sum(int(r["count"]) for r in proxy.audit() if r["kind"] == "system" and r.get("reason") == "request_malformed") == 1


def test_handshakes_are_slowed_like_requests(secured, connect, enter):
    """A handshake is counted in place of its connection's first request, and waits in its place."""
    proxy = secured([http(NAME)], config={"limits": {"client_rate": "1/s"}})
    is_refusal(enter(proxy).get("http://denied.test/"), 403, "host_not_allowed")
    assert proxy.finals(1)[0].get("flags", []) == []
    clients = [connect(proxy) for _ in range(3)]
    for client in clients:
        client.send(b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00")
    assert all(client.read_all()[:1] == b"\x15" for client in clients)
    assert ["delayed"] in [r.get("flags") for r in proxy.finals(4) if r["reason"] == "tls_malformed"]


def test_who_leaves_while_its_handshake_waits_has_a_record(secured, connect):
    proxy = secured([http(NAME)], config={"limits": {"client_rate": "1/s"}})
    clients = [connect(proxy) for _ in range(3)]
    for client in clients:
        client.send(b"\x16\x03\x01\x02")
        client.reset()
    assert [(r["reason"], r["close"]) for r in proxy.finals(3)] == [("client_aborted", "client")] * 3


# -- one byte in each record: who reads on as long as something comes lets nobody else have a turn

def served_meanwhile(weir, flood, ask):
    """Both are there when weir wakes up; what came first is over last."""
    weir.signal(signal.SIGSTOP)
    flood()
    ask()
    weir.signal(signal.SIGCONT)
    return [r for r in weir.finals(2) if r["kind"] in ("http", "gateway", "connect")]


CRUMBS = 4000


@pytest.fixture
def both(own, authority):
    """What a weir with one worker needs to be told of one listener with TLS, and one without."""
    def make(listener):
        return {"workers": 1, "tls": {"roots": authority.certificate, "listen": own()},
                "listen": {listener: ["tls:127.0.0.1:%d" % free_port(), "127.0.0.1:%d" % free_port()]}}
    return make


def plainly(weir, listener, connect):
    class Plain:
        address = weir.config["listen"][listener][1]
        connect = weir.connect.__func__
    return connect(Plain())


def test_a_head_in_crumbs_keeps_nobody_waiting(weir, both, enter, connect):
    proxy = weir([http(NAME)], config=both("proxy"))
    flooder, other = enter(proxy, layered=True), plainly(proxy, "proxy", connect)
    head = b"GET http://crumbs.test/ HTTP/1.1\r\nHost: crumbs.test\r\nX: %b\r\n\r\n" % (b"x" * CRUMBS)
    records = served_meanwhile(proxy, lambda: flooder.sock.crumble(head),
                               lambda: other.send("GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n"))
    assert [r["target"]["host"] for r in records] == ["other.test", "crumbs.test"]


def test_a_hello_in_crumbs_keeps_nobody_waiting(weir, both, enter, connect, echo):
    proxy = weir([https(NAME, echo.port)], config=both("proxy"))
    flooder, other = opened(enter(proxy, layered=True), echo.port), plainly(proxy, "proxy", connect)
    hello = b"\x16\x03\x01" + (CRUMBS + 4).to_bytes(2, "big") + b"\x01" + CRUMBS.to_bytes(3, "big") + bytes(CRUMBS)
    records = served_meanwhile(proxy, lambda: flooder.sock.crumble(hello),
                               lambda: other.send("GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n"))
    assert [r["reason"] for r in records] == ["host_not_allowed", "tls_malformed"]


def test_a_call_in_crumbs_keeps_nobody_waiting(gateway, provider, both, enter, connect):
    weir = gateway(both("gateway")).weir
    flooder, other = enter(weir, listener="gateway", layered=True), plainly(weir, "gateway", connect)
    flooder.send("POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                 "Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % CRUMBS)
    assert flooder.read_until(lambda data: data.endswith(b"\r\n\r\n"))  # it waits for the body
    records = served_meanwhile(weir, lambda: flooder.sock.crumble(b" " * CRUMBS),
                               lambda: other.send("nonsense\r\n\r\n"))
    assert [r["target"].get("method") for r in records] == [None, "POST"]


def test_who_has_too_many_connections_is_told_so_in_tls(secured, enter):
    proxy = secured([http(NAME)], config={"limits": {"client_connections": 1}})
    first, second = enter(proxy), enter(proxy)
    is_refusal(second.get("http://allowed.test/"), 429, "concurrency_limited")
    is_refusal(first.get("http://denied.test/"), 403, "host_not_allowed")


# -- real clients

def test_curl_asks_through_it(secured, authority, upstream, origin):
    site = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    port = site.listen()
    proxy = secured([http(NAME), https(NAME, port)])
    for url in ("http://allowed.test/c", "https://allowed.test:%d/s" % port):
        told = subprocess.run(["curl", "-sS", "-m", "60", "-x", "https://" + proxy.address, "--proxy-cacert", authority.certificate,
                               "--cacert", authority.certificate, url], capture_output=True)
        assert told.stdout == b"ok", told.stderr
    assert [r.target for r in upstream.requests + site.requests] == ["/c", "/s"]
    assert [r["outcome"] for r in proxy.finals(2)] == ["ok", "ok"]


STREAM = """
import http.client, ssl, sys
conn = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), context=ssl.create_default_context(cafile=sys.argv[2]))
conn.request("POST", "/anthropic/v1/messages", sys.argv[3], {"Content-Type": "application/json"})
answer = conn.getresponse()
while line := answer.readline():
    print(line.decode().strip(), flush=True)
"""
FETCH = """
const [base, body] = process.argv.slice(2)
const answer = await fetch(base + "/anthropic/v1/messages", { method: "POST", body, headers: { "content-type": "application/json" } })
for await (const part of answer.body) process.stdout.write(part)
"""


@pytest.fixture
def paid(gateway, own, authority):
    """A gateway that listens with TLS."""
    return lambda: gateway({"listen": {"gateway": ["tls:127.0.0.1:%d" % free_port()]},
                            "tls": {"roots": authority.certificate, "listen": own()}})


def test_a_gateways_stream_passes_event_by_event(paid, provider, authority, enter):
    go = threading.Event()

    def answer(provider, conn, request, body):
        conn.send(rig_provider.head(200, "text/event-stream", chunked=True))
        for n in range(3):
            conn.send(rig_provider.chunk(rig_provider.event({"type": "ping", "n": n}, "ping")))
            go.wait(WAIT)
            go.clear()
        conn.send(b"0\r\n\r\n")
        return 0
    provider.answer = answer
    weir = paid().weir
    client = enter(weir, listener="gateway")
    rig_gateway.Gateway.send(None, client, "/anthropic/v1/messages", dict(ASK, stream=True))
    for n in range(3):
        assert client.read_until(lambda data: b'"n": %d' % n in data or b'"n":%d' % n in data)
        go.set()
    assert client.read_until(lambda data: data.endswith(b"0\r\n\r\n"))


@pytest.mark.plain
def test_python_and_node_call_the_gateway_by_https(paid, provider, authority, tmp_path):
    g = paid()
    port = g.weir.config["listen"]["gateway"][0].rpartition(":")[2]
    provider.answer = rig_provider.messages(text="hello")
    (tmp_path / "fetch.mjs").write_text(FETCH)
    body = '{"model": "%s", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}' % ASK["model"]
    for command in (["/usr/bin/python3", "-c", STREAM, port, authority.certificate, body],
                    ["node", str(tmp_path / "fetch.mjs"), "https://127.0.0.1:" + port, body]):
        told = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, NODE_EXTRA_CA_CERTS=authority.certificate))
        assert '"hello"' in told.stdout, told.stderr
    g.ledger("verify")
    assert len([r for r in g.weir.finals(2) if r["outcome"] == "ok"]) == 2


# -- the certificate

def serial(client):
    return client.sock.getpeercert()["serialNumber"]


def test_a_reload_takes_a_new_certificate_for_new_connections(secured, enter, echo, own):
    proxy = secured([tcp(NAME, echo.port)])
    before = opened(enter(proxy), echo.port)
    own(WEIR, "other.test")  # its file is watched: no signal is needed
    wait_for(lambda: serial(enter(proxy)) != serial(before), what="the new certificate")
    before.send("still")
    assert before.read_until(lambda data: data == b"still")


@pytest.mark.parametrize("text", ["", "no certificate"])
def test_a_broken_one_changes_nothing(secured, enter, tmp_path, text):
    proxy = secured([http(NAME)])
    now = serial(enter(proxy))
    (tmp_path / "own.pem").write_text(text)
    proxy.signal(signal.SIGHUP)
    wait_for(lambda: proxy.metric("weir_reload_failures_total") > 0, what="a refused reload")
    assert serial(enter(proxy)) == now


def test_a_reload_without_one_keeps_what_its_listener_shows(secured, enter, own):
    proxy = secured([http(NAME)])
    proxy.config["listen"] = dict(proxy.config["listen"], proxy=[proxy.address])
    del proxy.config["tls"]["listen"]
    proxy.reload()
    wait_for(lambda: proxy.metric("weir_reloads_total") > 0, what="the reload")
    is_refusal(enter(proxy).get("http://denied.test/"), 403, "host_not_allowed")


def test_a_reload_closes_the_tunnels_that_policy_no_longer_allows(secured, enter, echo):
    proxy = secured([tcp(NAME, echo.port)])
    client = opened(enter(proxy), echo.port)
    proxy.reload([{"policy": "test", "allow": [http(NAME)]}])
    client.read_all()
    assert proxy.finals(1)[0]["reason"] == "policy_changed"


def test_a_drain_says_goodbye_and_waits_for_tunnels(secured, enter, echo):
    proxy = secured([tcp(NAME, echo.port)])
    idle, busy = enter(proxy), opened(enter(proxy, layered=True), echo.port)
    proxy.signal(signal.SIGTERM)
    assert idle.read_all() == b"" and not idle.is_reset
    busy.send("x")
    assert busy.read_until(lambda data: data == b"x")
    half_closed(busy)
    busy.read_all()
    assert proxy.process.wait(WAIT) == 0
    assert [r["outcome"] for r in proxy.finals(1)] == ["ok"]


def test_a_stop_records_the_handshakes_it_cuts(secured, connect):
    proxy = secured([http(NAME)])
    client = connect(proxy)
    client.send(b"\x16\x03\x01\x02")
    wait_for(lambda: proxy.metric("weir_tls_clients_total") == 1, what="the handshake")
    proxy.stop()
    assert [(r["reason"], r["close"]) for r in proxy.finals()] == [("draining", "weir")]


# -- the configuration

CONFIG = """production: false
policies: [policy.yaml]
listen: { proxy: ["tls:127.0.0.1:3129"] }
tls: { listen: { cert: file:own.pem, key: file:own.key } }
audit: { path: audit.jsonl }
"""


def made(directory, stem, *more):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                    "/CN=weir.test", "-keyout", str(directory / (stem + ".key")), "-out", str(directory / (stem + ".pem")),
                    *(more or ("-days", "30"))], check=True, capture_output=True)


def made_over(directory, stem):
    made(directory, stem)
    subprocess.run(["openssl", "x509", "-in", stem + ".pem", "-signkey", stem + ".key", "-days", "-1", "-out", stem + ".pem"],
                   cwd=directory, check=True, capture_output=True)


def checked(directory, config=CONFIG):
    (directory / "policy.yaml").write_text("policy: test\nallow: [{ host: allowed.test }]\n")
    (directory / "weir.yaml").write_text(config)
    return subprocess.run([binary(), "check", "-c", "weir.yaml"], cwd=directory, text=True, capture_output=True)


@pytest.mark.command
def test_what_is_wrong_with_the_certificate_fails_the_check(tmp_path):
    made(tmp_path, "own")
    assert checked(tmp_path).returncode == 0
    os.chmod(tmp_path / "own.key", 0o644)
    assert "weir.yaml:4:43: error: file:own.key: every user of this machine can read it" in checked(tmp_path).stderr
    os.chmod(tmp_path / "own.key", 0o600)
    made(tmp_path, "other")
    own = (tmp_path / "own.pem").read_text()
    for text, why in (((tmp_path / "other.pem").read_text(), "the key is not the certificate's"),
                      ("nonsense", "the certificate is none in PEM"), (None, "No such file")):
        (tmp_path / "own.pem").unlink() if text is None else (tmp_path / "own.pem").write_text(text)
        done = checked(tmp_path)
        assert done.returncode == 78 and "weir.yaml:4:" in done.stderr and why in done.stderr, done.stderr
    (tmp_path / "own.pem").write_text(own)
    (tmp_path / "own.key").write_text("nonsense")
    assert "no private key in PEM" in checked(tmp_path).stderr


@pytest.mark.command
@pytest.mark.parametrize("more, why", [
    (None, "the certificate has expired"), (("-days", "1"), "is over within 3 days"),
    (("-days", "30", "-addext", "extendedKeyUsage=clientAuth"), "is not for a server")])
def test_a_certificate_that_is_over_or_for_something_else_is_told(tmp_path, more, why):
    made(tmp_path, "own", *more) if more else made_over(tmp_path, "own")
    assert why in checked(tmp_path).stderr


@pytest.mark.command
@pytest.mark.parametrize("change, why", [
    (("tls: { listen: { cert: file:own.pem, key: file:own.key } }\n", ""),
     'weir.yaml:3:18: error: a listener with tls: wants a certificate: tls: { listen: { cert: file:weir.pem, key: file:weir.key } }'),
    ((", key: file:own.key", ""), "tls.listen is a certificate and its key: key is not written"),
    (("listen: { proxy", "listen: { dns: [\"tls:127.0.0.1:5353\"], proxy"), "tls: is for listen.proxy, listen.gateway and listen.socks5"),
    (("tls:127.0.0.1:3129", "tls:unix:/x.sock"), '"tls:unix:/x.sock" is no place to listen at'),
    (('["tls:127.0.0.1:3129"]', '["tls:127.0.0.1:3129"], gateway: ["127.0.0.1:3129"]'), "[listener_conflict]")])
def test_what_is_wrong_with_the_listeners_fails_the_check(tmp_path, change, why):
    made(tmp_path, "own")
    done = checked(tmp_path, CONFIG.replace(*change))
    assert done.returncode == 78 and why in done.stderr, done.stderr


@pytest.mark.command
def test_env_says_https_where_there_is_tls(tmp_path):
    made(tmp_path, "own")
    checked(tmp_path)
    told = subprocess.run([binary(), "env", "-c", str(tmp_path / "weir.yaml")], text=True, capture_output=True).stdout
    assert "export HTTPS_PROXY='https://127.0.0.1:3129'" in told
    told = subprocess.run([binary(), "env", "--proxy", "https://weir.test:3129", "--bundle", "/b.pem"], text=True,
                          capture_output=True).stdout
    assert "export GIT_PROXY_SSL_CAINFO='/b.pem'" in told and "proxyHost" not in told
    told = subprocess.run([binary(), "env", "--gateway", "https://weir.test:8787"], text=True, capture_output=True).stdout
    assert "export ANTHROPIC_BASE_URL='https://weir.test:8787/anthropic'" in told
