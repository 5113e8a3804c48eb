"""Upload caps: what a session sends to a host is never more than it may send, however it goes."""
import json
import subprocess

import pytest

from rig import hello, origin as origins, socks
from rig import token as tokens
from rig.weir import binary, free_port, wait_for
from rules import http, https, in_order, is_refusal, tcp
from test_forward import ACCEPT, WS, switching
from test_sessions import guarded  # noqa: F401 - a fixture
from test_sessions import SECRET

pytestmark = pytest.mark.single  # what threads share is in test_upload_together.py

NAME, OTHER, URL = "allowed.test", "other.test", "http://allowed.test/"
KIB = 1024
CHUNK = b"x" * (64 * KIB)


def is_cut(sock, most=64 * KIB * KIB):
    """Sends until it is cut: a reset shows where something is sent, or else where something is read."""
    said = 0
    while said < most and sock.send(CHUNK):
        said += len(CHUNK)
    return sock.read_all() == b"" and (said < most or sock.is_reset)


def post(sock, body, url=URL, headers=()):
    return sock.get(url, "POST", [*headers, ("Content-Length", str(len(body)))], body)


def by_connect(sock, port):
    return sock.connect("%s:%d" % (NAME, port)).status == 200


def by_socks(sock, port):
    return socks.open_tunnel(sock, NAME, port) == 0


DOORS = {"proxy": by_connect, "socks5": by_socks}


def behind(weir, door, rules, config=None):
    listen = {"proxy": ["127.0.0.1:%d" % free_port()], "socks5": ["127.0.0.1:%d" % free_port()]}
    return weir(rules, config=dict({"listen": {door: listen[door]}}, **(config or {})))


# -- cut on the way

@pytest.mark.parametrize("first", [b"", hello.hello(NAME)], ids=["tcp", "https"])
@pytest.mark.parametrize("door", sorted(DOORS))
def test_a_tunnel_is_cut_where_it_crosses_the_cap(weir, silent, connect, door, first):
    rule = https if first else tcp
    proxy = behind(weir, door, [rule(NAME, silent.port, upload="1MiB")])
    sock = connect(proxy)
    assert DOORS[door](sock, silent.port)
    sock.send(first or b"first")
    assert silent.wait(silent.bytes)  # what is reset at once no origin may see
    assert is_cut(sock)
    assert silent.wait(lambda: silent.conn().is_ended) and silent.conn().is_reset
    assert len(silent.bytes()) <= 1024 * KIB
    record = proxy.finals(1)[0]
    assert (record["decision"], record["reason"], record["outcome"]) == ("allow", "upload_exhausted", "exhausted")
    assert record["close"] == "weir" and record["bytes"]["up"] == 1024 * KIB


def test_small_writes_are_counted_like_large_ones(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port, upload="100B")])
    sock = connect(proxy)
    assert by_connect(sock, silent.port)
    for i in range(10):
        sock.send(b"0123456789")
        assert silent.wait(lambda: len(silent.bytes()) == 10 * (i + 1))
    sock.send(b"!")
    assert sock.read_all() == b"" and sock.is_reset
    assert silent.bytes() == b"0123456789" * 10


def test_who_stays_within_the_cap_ends_in_order(weir, echo, connect):
    proxy = weir([tcp(NAME, echo.port, upload="100KiB")])
    sock = connect(proxy)
    assert by_connect(sock, echo.port)
    sock.send(b"y" * (100 * KIB))
    sock.finish()
    assert sock.read_all() == b"y" * (100 * KIB) and not sock.is_reset
    assert proxy.finals(1)[0]["reason"] == "ok"


def test_answers_still_come_when_all_was_sent(weir, origin, connect):
    def serve(conn):
        while len(conn.data) < 1000 and conn.recv():
            pass
        for _ in range(64):
            conn.send(CHUNK)
        conn.close()
    upstream = origin(serve=serve)
    port = upstream.listen()
    sock = connect(weir([tcp(NAME, port, upload="1000B")]))
    assert by_connect(sock, port)
    sock.send(b"z" * 1000)
    assert len(sock.read_all()) == 64 * len(CHUNK)


# -- counted over all of a session's connections

def test_it_is_counted_over_connections_and_then_refused_before(weir, origin, connect):
    upstream = origin(serve=origins.echo_serve)
    port = upstream.listen()
    proxy = weir([tcp(NAME, port, upload="100KiB"), tcp(OTHER, port)])
    first = connect(proxy)
    assert by_connect(first, port)
    first.send(b"a" * (60 * KIB))
    first.finish()
    assert len(first.read_all()) == 60 * KIB
    second = connect(proxy)
    assert by_connect(second, port)
    assert is_cut(second)
    assert upstream.wait(lambda: all(c.is_ended for c in upstream.conns))
    assert len(upstream.bytes()) <= 100 * KIB
    before = len(upstream.conns)
    third = connect(proxy)
    is_refusal(third.connect("%s:%d" % (NAME, port)), 403, "upload_exhausted")
    assert len(upstream.conns) == before
    other = connect(proxy)
    assert other.connect("%s:%d" % (OTHER, port)).status == 200
    assert [r["reason"] for r in in_order(proxy.finals(3))] == ["ok", "upload_exhausted", "upload_exhausted"]


def test_an_idle_tunnel_keeps_nothing_from_others(weir, silent, upstream, connect):
    proxy = weir([tcp(NAME, silent.port, upload="512KiB"), http(NAME, upload="512KiB")])
    for _ in range(3):
        sock = connect(proxy)
        assert by_connect(sock, silent.port) and sock.send(b"hello")
    assert silent.wait(lambda: len(silent.bytes()) == 15)

    def the_rest_is_taken():
        """What does not fit is refused before a byte of it goes, so it can be asked again."""
        return post(connect(proxy), b"r" * (511 * KIB)).status == 200
    wait_for(the_rest_is_taken, what="leases that are given back")
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("is_https", [False, True], ids=["http", "https"])
def test_what_is_used_up_is_told_inside_a_tunnel(weir, origin, connect, is_https):
    upstream = origin(serve=origins.silent_serve)
    port = upstream.listen()
    proxy = weir([(https if is_https else http)(NAME, port, upload="600B")])
    first = connect(proxy)
    assert by_connect(first, port)
    greeting = hello.hello(NAME) if is_https else \
        b"POST / HTTP/1.1\r\nHost: %s:%d\r\nContent-Length: 100000\r\n\r\n" % (NAME.encode(), port)
    first.send(greeting)
    assert not is_https or upstream.wait(upstream.bytes)  # what is reset at once no origin may see
    first.send(b"x" * 4096)
    if is_https:
        first.read_all()
        assert upstream.wait(lambda: upstream.conn().is_ended)
    else:
        is_refusal(first.response(), 403, "upload_exhausted")
        assert upstream.bytes() == b""
        return
    before = len(upstream.bytes())
    assert before <= 600
    second = connect(proxy)
    assert by_connect(second, port)
    second.send(greeting)
    assert second.read_all()[:1] == b"\x15"  # an alert
    assert len(upstream.bytes()) == before
    assert [r["reason"] for r in proxy.finals(2)] == ["upload_exhausted"] * 2


# -- requests

def test_a_body_that_is_announced_longer_is_refused_before(weir, upstream, connect):
    proxy = weir([http(NAME, upload="10KiB")])
    answer = post(connect(proxy), b"b" * (11 * KIB))
    is_refusal(answer, 403, "upload_exhausted")
    assert not upstream.conns
    assert post(connect(proxy), b"b" * (9 * KIB)).status == 200
    is_refusal(post(connect(proxy), b"b" * KIB), 403, "upload_exhausted")
    assert len(upstream.requests) == 1
    record = in_order(proxy.finals(3))[0]
    assert (record["decision"], record["reason"], record["status"]) == ("deny", "upload_exhausted", 403)
    assert json.loads(answer.body)["error"]["type"] == "policy"


def test_a_body_without_a_length_is_cut_where_it_crosses(weir, silent, connect):
    proxy = weir([http(NAME, silent.port, upload="10KiB")])
    sock = connect(proxy)
    sock.send("POST http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\nTransfer-Encoding: chunked\r\n\r\n"
              % (NAME, silent.port, NAME, silent.port))
    assert silent.wait(lambda: silent.bytes().endswith(b"\r\n\r\n"))  # else it may not see the connection at all
    for _ in range(20):
        sock.send(b"400\r\n" + b"c" * KIB + b"\r\n")
    is_refusal(sock.response(), 403, "upload_exhausted")
    assert silent.wait(lambda: silent.conn().is_ended) and silent.conn().is_reset
    assert len(silent.bytes()) <= 10 * KIB
    assert proxy.finals(1)[0]["reason"] == "upload_exhausted"


def test_heads_and_urls_count(weir, upstream, connect):
    proxy = weir([http(NAME, upload="2KiB")])
    sock, answers = connect(proxy), []
    for _ in range(20):
        answers.append(sock.get(URL + "q" * 500))
        if answers[-1].status != 200:
            break
    is_refusal(answers[-1], 403, "upload_exhausted")
    assert 2 <= len(answers) <= 4
    assert len(upstream.bytes()) <= 2 * KIB


def test_a_websocket_is_cut_like_a_tunnel(weir, upstream, connect):
    def serve(conn):  # an echo would be there to be read
        conn.recv()
        conn.send(switching(ACCEPT))
        origins.silent_serve(conn)
    upstream.serve = serve
    proxy = weir([http(NAME, upgrade=["websocket"], upload="256KiB")])
    sock = connect(proxy)
    assert sock.get(URL, headers=WS).status == 101
    assert is_cut(sock) and upstream.wait(lambda: upstream.conn().is_ended)
    assert len(upstream.bytes()) <= 256 * KIB
    assert proxy.finals(1)[0]["reason"] == "upload_exhausted"


# -- which cap

@pytest.mark.parametrize("outer,inner,limit", [("1KiB", "1MiB", "1MiB"), ("1MiB", "1KiB", "0"), ("1MiB", None, "1KiB"),
                                               (None, None, "1KiB")])
def test_the_smallest_cap_holds(weir, upstream, connect, outer, inner, limit):
    def layer(name, cap):
        return {"policy": name, "allow": [http(NAME, **({"upload": cap} if cap else {}))]}
    proxy = weir([layer("outer", outer), layer("inner", inner)], {"limits": {"upload": limit}})
    assert post(connect(proxy), b"b" * 700).status == 200
    is_refusal(post(connect(proxy), b"b" * 700), 403, "upload_exhausted")


def test_sessions_are_counted_apart_and_a_family_together(guarded, upstream, connect):  # noqa: F811
    proxy = guarded([http(NAME, upload="2KiB")], bind="none")
    one, two = tokens.mint(SECRET, "s1"), tokens.mint(SECRET, "s2")
    part = tokens.mint(SECRET, "s1a", par="s1")

    def send(token, size):
        return post(connect(proxy), b"b" * size, headers=[("Proxy-Authorization", tokens.basic(token))])
    assert send(one, 1200).status == 200
    is_refusal(send(part, 1200), 403, "upload_exhausted")
    assert send(part, 200).status == 200
    assert send(two, 1200).status == 200
    assert len(upstream.requests) == 3


@pytest.mark.parametrize("claim,sizes", [(2000, [(1200, 200), (1200, 403)]), (0, [(0, 403)]), (10 ** 9, [(3000, 403), (900, 200)])])
def test_a_token_can_only_lower_it(guarded, upstream, connect, claim, sizes):  # noqa: F811
    proxy = guarded([http(NAME, upload="2200B")])
    token = tokens.mint(SECRET, "s1", limits={"uploadBytes": claim})
    for size, status in sizes:
        answer = post(connect(proxy), b"b" * size, headers=[("Proxy-Authorization", tokens.basic(token))])
        assert answer.status == status, answer
        if status == 403:
            is_refusal(answer, 403, "upload_exhausted")


def test_a_reload_that_lowers_it_ends_what_is_beyond(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port, upload="1MiB")])
    sock = connect(proxy)
    assert by_connect(sock, silent.port)
    sock.send(b"s" * 2000)
    assert silent.wait(lambda: len(silent.bytes()) == 2000)
    proxy.reload([{"policy": "test", "allow": [tcp(NAME, silent.port, upload="2001B")]}])
    sock.send(b"!")
    assert silent.wait(lambda: len(silent.bytes()) == 2001)
    proxy.reload([{"policy": "test", "allow": [tcp(NAME, silent.port, upload="1000B")]}])
    assert sock.read_all() == b"" and sock.is_reset
    assert proxy.finals(1)[0]["reason"] == "policy_changed"


@pytest.mark.command
def test_explain_and_check_know_it(tmp_path):
    policy = tmp_path / "p.yaml"
    policy.write_text("policy: p\nallow: [{ host: allowed.test, upload: 10MiB }]\n"
                      "expect: [{ allow: CONNECT allowed.test:443 }]\n")
    config = tmp_path / "weir.yaml"
    config.write_text("production: false\npolicies: [p.yaml]\n")
    done = subprocess.run([binary(), "explain", "-c", str(config), "--json", "https://allowed.test/"],
                          capture_output=True, text=True)
    assert json.loads(done.stdout)["upload"] == 10 << 20, done.stderr
    done = subprocess.run([binary(), "explain", "-c", str(config), "https://allowed.test/"], capture_output=True, text=True)
    assert "upload: 10485760 bytes" in done.stdout
    policy.write_text("policy: p\nallow: [{ host: allowed.test, upload: 0 }]\n")
    done = subprocess.run([binary(), "check", str(policy)], capture_output=True, text=True)
    assert done.returncode == 78 and "upload of nothing" in done.stdout + done.stderr
