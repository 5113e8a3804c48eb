"""The SOCKS5 door: the same question as by CONNECT, and the same answer."""
import socket
import subprocess
import threading

import pytest

from rig import hello, origin as origins, socks, tls
from rig import token as tokens
from rig.client import Client
from rig.weir import free_port, wait_for
from rules import http, https, tcp
from test_admin import ctl
from test_sessions import SECRET, sessions

NAME = "allowed.test"
PASSWORD = "-".join(["fixed", "words", "of", "a", "sandbox"])


@pytest.fixture
def door(weir):
    """door(rules, config): a weir of which the SOCKS5 door is what a client connects to."""
    def make(rules, config=None, listen=None, **how):
        listen = listen or ["127.0.0.1:%d" % free_port()]
        return weir(rules, config=dict({"listen": {"socks5": listen}}, **(config or {})), **how)
    return make


@pytest.fixture
def guarded(door):
    def make(rules, config=None, **more):
        return door(rules, dict({"sessions": sessions(**more)}, **(config or {})), environment={"KEY": SECRET})
    return make


def ended(sock):
    """Nothing more came, and it is over."""
    return sock.read_all() == b"" and sock.is_ended


# -- allowed

def test_tls_to_an_allowed_name_works_end_to_end(door, origin, authority):
    server = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    port = server.listen()
    proxy = door([https(NAME, port)])
    done = subprocess.run(["curl", "-sS", "-m", "60", "--cacert", authority.certificate, "--socks5-hostname",
                           proxy.address, "https://%s:%d/x" % (NAME, port)], capture_output=True)
    assert done.stdout == b"ok", done.stderr
    record = proxy.finals(1)[0]
    assert (record["kind"], record["decision"], record["assurance"]) == ("socks5", "allow", "sni")
    assert record["client"]["door"] == "socks5" and record["tls"]["sni"] == NAME
    assert record["target"] == {"host": NAME, "port": port, "protocol": "https"}
    assert record["upstream"]["addr"] == "127.0.0.1:%d" % port and "status" not in record


def test_a_tcp_rule_relays_at_once(door, echo, connect):
    proxy = door([tcp(NAME, echo.port)])
    sock = connect(proxy)
    assert socks.open_tunnel(sock, NAME, echo.port) == 0
    sock.send(b"\0anything")
    assert sock.read_until(lambda data: data == b"\0anything")
    sock.close()
    assert proxy.finals(1)[0]["target"]["protocol"] == "tcp"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_address_needs_a_rule_that_lists_it(door, origin, connect, host):
    server = origin(serve=origins.echo_serve)
    port = server.listen(0, host)
    rule = {"host": host, "protocol": "tcp", "ports": [port], "private": [host]}
    sock = connect(door([rule]))
    assert socks.open_tunnel(sock, host, port) == 0
    proxy = door([tcp(NAME, port)])
    assert socks.open_tunnel(connect(proxy), host, port) == 2
    assert proxy.finals(1)[0]["reason"] == "ip_literal_not_allowed"


def test_bytes_may_come_one_by_one_and_all_at_once(door, echo, connect):
    proxy = door([tcp(NAME, echo.port)])
    whole = socks.offer(socks.NONE) + socks.request(NAME, echo.port) + b"early"
    for every in (1, len(whole)):
        sock = connect(proxy)
        sock.send_pieces(whole, every)
        assert socks.read(sock, 2) == b"\5\0" and socks.read(sock, 10)[1] == 0
        assert socks.read(sock, 5) == b"early"


def test_a_request_inside_is_judged_like_any(door, upstream, connect):
    proxy = door([http(NAME, paths=["/open/**"])])
    sock = connect(proxy)
    assert socks.open_tunnel(sock, NAME, 80) == 0
    sock.send("GET /open/x HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME)
    assert sock.response().status == 200
    sock.send("GET /shut HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME)
    answer = sock.response()
    assert (answer.status, answer.get("x-weir-reason")) == (403, "path_not_allowed")
    assert [r.target for r in upstream.requests] == ["/open/x"]
    records = proxy.finals(3)
    assert sorted(r["kind"] for r in records) == ["http", "http", "socks5"]
    outer = next(r for r in records if r["kind"] == "socks5")
    assert all(r["parent"] == outer["id"] for r in records if r["kind"] == "http")


# -- refused

def test_a_name_that_is_refused_is_never_looked_up(door, connect, dns):
    proxy = door([https(NAME)])
    sock = connect(proxy)
    assert socks.open_tunnel(sock, "other.test", 443) == 2 and ended(sock)
    record = proxy.finals(1)[0]
    assert (record["reason"], record["status"], record["close"]) == ("host_not_allowed", 2, "weir")
    assert record["target"]["host"] == "other.test" and not dns.asked()


def test_a_hello_for_another_name_reaches_nobody(door, silent, connect):
    proxy = door([https(NAME, silent.port)])
    sock = connect(proxy)
    assert socks.open_tunnel(sock, NAME, silent.port) == 0
    sock.send(hello.hello("other.test"))
    assert sock.read_all()[:1] == b"\x15"  # an alert
    assert proxy.finals(1)[0]["reason"] == "sni_mismatch" and not silent.bytes()


@pytest.mark.parametrize("entry,reply,reason", [
    ({"A": ["10.0.0.1"]}, 2, "address_denied"), ({"rcode": "NXDOMAIN"}, 4, "dns_failed"),
    ({"A": ["127.0.0.9"]}, 5, "connect_refused")])
def test_a_reply_tells_what_kind_of_failure_it_was(door, connect, dns, entry, reply, reason):
    dns.set({NAME: dict(entry, ttl=0)})
    proxy = door([tcp(NAME, 9)])
    assert socks.open_tunnel(connect(proxy), NAME, 9) == reply
    record = proxy.finals(1)[0]
    assert (record["reason"], record["status"]) == (reason, reply)


@pytest.mark.parametrize("command,reply", [(socks.BIND, 7), (socks.UDP, 7), (0, 7)])
def test_what_is_no_connect_is_refused(door, connect, command, reply):
    proxy = door([https(NAME)])
    sock = connect(proxy)
    assert socks.greet(sock, socks.NONE) == socks.NONE
    assert socks.ask(sock, NAME, 443, command) == reply and ended(sock)
    record = proxy.finals(1)[0]
    assert record["reason"] == "request_malformed" and "CONNECT" in record["error"]


@pytest.mark.parametrize("first", [b"\4\1\1\273\1\2\3\4\0", b"CONNECT allowed.test:443 HTTP/1.1\r\n\r\n",
                                   b"\x16\3\1\1\0", b"\0"])
def test_what_is_not_socks_5_is_closed_without_a_word(door, connect, first):
    proxy = door([https(NAME)])
    sock = connect(proxy)
    sock.send(first)
    assert ended(sock)
    assert [r["reason"] for r in proxy.finals(1)] == ["request_malformed"]


@pytest.mark.parametrize("name", [b"evil.test\0.allowed.test", b"allowed.test\0", b"allowed.test:443", b"a@allowed.test",
                                  b"[::1]", b"0x7f.1", b"allowed.test\n", b"\xc3\xa9.test", b""])
def test_a_name_is_read_on_its_full_length(door, connect, dns, name):
    proxy = door([https("*", broad=True)])
    assert socks.open_tunnel(connect(proxy), name, 443) == 1
    assert proxy.finals(1)[0]["reason"] == "host_invalid" and not dns.asked()


def test_a_handshake_that_stalls_is_ended(door, connect):
    proxy = door([https(NAME)], {"limits": {"head_timeout": "300ms"}})
    for bytes_so_far in (b"\5", socks.offer(socks.NONE) + b"\5\1"):
        sock = connect(proxy)
        sock.send(bytes_so_far)
        sock.read_all()
        assert sock.is_ended
    assert [r["reason"] for r in proxy.finals(2)] == ["client_timeout"] * 2


# -- who asks

def test_a_token_is_the_password(guarded, echo, connect):
    proxy = guarded([tcp(NAME, echo.port)])
    token = tokens.mint(SECRET, "s1")
    sock = connect(proxy)
    assert socks.greet(sock, socks.NONE, socks.LOGIN) == socks.LOGIN
    assert len(token) > 255 and socks.log_in(sock, socks.by_token(token)) == 0
    assert socks.ask(sock, NAME, echo.port) == 0
    sock.close()
    record = proxy.finals(1)[0]
    assert record["session"]["sid"] == "s1" and record["session"]["tenant"] == "acme"


def test_curl_brings_a_token_that_needs_both_fields(guarded, upstream):
    proxy = guarded([http(NAME)])
    token = tokens.mint(SECRET)
    url = "socks5h://%s:%s@%s" % (token[:255], token[255:], proxy.address)
    done = subprocess.run(["curl", "-sS", "-m", "60", "-x", url, "http://%s/" % NAME], capture_output=True)
    assert done.stdout == b"ok", done.stderr


def test_a_static_user_has_a_password(door, echo, connect):
    static = [{"user": "sandbox1", "password": "env:PASSWORD", "claims": {"sid": "s1", "tenant": "local"}}]
    proxy = door([tcp(NAME, echo.port)], {"sessions": {"static": static}}, environment={"PASSWORD": PASSWORD})
    for user, password, status in (("sandbox1", PASSWORD, 0), ("sandbox1\0", PASSWORD, 1), ("sandbox1", PASSWORD[:-1], 1),
                                   ("sandbox1", "", 1), ("", PASSWORD, 1)):
        sock = connect(proxy)
        assert socks.greet(sock, socks.LOGIN) == socks.LOGIN
        assert socks.log_in(sock, socks.login(user, password)) == status
        assert status or socks.ask(sock, NAME, echo.port) == 0
    reasons = [r["reason"] for r in proxy.finals(4)]
    assert reasons[:4] == ["session_invalid"] * 4


def test_who_brings_nothing_is_told_before_it_asks(guarded, connect, dns):
    proxy = guarded([https(NAME)])
    for methods in ((socks.NONE,), (1,), ()):
        sock = connect(proxy)
        assert socks.greet(sock, *methods) == socks.NOTHING and ended(sock)
    records = proxy.finals(3)
    assert {r["reason"] for r in records} == {"session_required"} and not dns.asked()


def test_a_login_is_good_or_the_destination_is_not_even_heard(guarded, connect, dns):
    proxy = guarded([https(NAME)])
    sock = connect(proxy)
    sock.send(socks.offer(socks.LOGIN) + socks.login("weir", "no token") + socks.request(NAME, 443))
    assert socks.read(sock, 4) == b"\5\2\1\1" and ended(sock)
    record = proxy.finals(1)[0]
    assert record["reason"] == "session_invalid" and not record.get("target") and not dns.asked()


def test_a_client_may_not_skip_the_login(guarded, connect):
    proxy = guarded([https(NAME)])
    sock = connect(proxy)
    assert socks.greet(sock, socks.NONE, socks.LOGIN) == socks.LOGIN
    assert socks.log_in(sock, socks.request(NAME, 443)) == 1 and ended(sock)


def test_where_nobody_has_a_session_any_login_is_as_good_as_none(door, echo, connect):
    proxy = door([tcp(NAME, echo.port)])
    sock = connect(proxy)
    assert socks.greet(sock, socks.LOGIN) == socks.LOGIN
    assert socks.log_in(sock, socks.login("any", "body")) == 0
    assert socks.ask(sock, NAME, echo.port) == 0


def test_a_socket_that_is_armed_needs_no_login(door, echo, tmp_path):
    """Identity is the socket: a sandbox of its own behind each."""
    admin = "unix:%s/admin" % tmp_path
    one, other = "unix:%s/one" % tmp_path, "unix:%s/other" % tmp_path
    proxy = door([tcp(NAME, echo.port)], {"sessions": sessions(), "listen": {"socks5": [one, other], "admin": [admin]}},
                 environment={"KEY": SECRET})
    assert ctl(proxy, "arm", one[5:], stdin=tokens.mint(SECRET, "s1"))[0] == 0
    replies = []
    for path in (one, other):
        proxy.address = path
        with Client(proxy) as sock:
            replies.append(socks.greet(sock, socks.NONE))
            if replies[-1] == socks.NONE:
                assert socks.ask(sock, NAME, echo.port) == 0
    assert replies == [socks.NONE, socks.NOTHING]
    records = {r["client"]["addr"]: r for r in proxy.finals(2)}
    assert records[one]["session"]["sid"] == "s1" and records[other]["reason"] == "session_required"


# -- limits, reload

def test_open_tunnels_are_judged_again(door, echo, connect):
    proxy = door([tcp(NAME, echo.port), tcp("stays.test", echo.port)])
    gone, stays = connect(proxy), connect(proxy)
    assert socks.open_tunnel(gone, NAME, echo.port) == socks.open_tunnel(stays, "stays.test", echo.port) == 0
    proxy.reload([{"policy": "less", "allow": [tcp("stays.test", echo.port)]}])
    gone.read_all()
    assert proxy.finals(1)[0]["reason"] == "policy_changed"
    stays.send(b"pong")
    assert stays.read_until(lambda data: data == b"pong")


def test_tunnels_of_every_door_are_one_number(door, echo, connect):
    proxy = door([tcp(NAME, echo.port)], {"limits": {"tunnels": 1}})
    first = connect(proxy)
    assert socks.open_tunnel(first, NAME, echo.port) == 0
    assert socks.open_tunnel(connect(proxy), NAME, echo.port) == 1
    assert proxy.finals(1)[0]["reason"] == "concurrency_limited"


def test_a_client_that_goes_away_meanwhile_is_recorded(door, connect, dns):
    held = threading.Event()
    dns.set({NAME: {"A": ["127.0.0.1"], "hold": held}})
    proxy = door([tcp(NAME, 9)])
    sock = connect(proxy)
    sock.send(socks.offer(socks.NONE) + socks.request(NAME, 9))
    wait_for(lambda: dns.asked(NAME), what="the question")
    sock.sock.shutdown(socket.SHUT_RDWR)
    record = proxy.finals(1)[0]
    held.set()
    assert record["reason"] == "client_aborted"
