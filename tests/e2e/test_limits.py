"""Every wait has a deadline, everything a peer can make grow has a cap, and one client cannot starve another."""
import select
import signal
import threading
import time

import pytest

from rig import netns, origin as origins
from rig.weir import free_port, proxy_and_health, wait_for
from rules import http, https, is_refusal, tcp

NAME = "allowed.test"
SLACK = 5  # how late a deadline may be on a busy machine


class Timed:
    def __enter__(self):
        self.began = time.monotonic()
        return self

    def __exit__(self, kind, value, trace):
        self.took = time.monotonic() - self.began


# -- deadlines

def test_a_slow_head_is_408_counted_from_its_first_byte(weir, connect):
    proxy = weir([http(NAME)], {"limits": {"head_timeout": "600ms"}})
    sock = connect(proxy)
    with Timed() as t:
        # each byte is in time; all together are not
        sock.send_pieces(b"GET http://allowed.test/aaaaaaaaaaaaaaaaaaaaaa", 1, 0.1)
        answer = sock.response()
    assert answer.status == 408 and answer.get("x-weir-reason") == "client_timeout"
    assert sock.read_all() == b""
    assert t.took < 6
    assert proxy.finals(1)[0]["reason"] == "client_timeout"


@pytest.mark.parametrize("is_kept", [False, True], ids=["first", "kept"])
@pytest.mark.parametrize("end", ["reset", "close"])
def test_a_client_that_is_gone_within_its_head_is_not_waited_for(weir, upstream, connect, is_kept, end):
    proxy = weir([http(NAME)], {"workers": 1, "limits": {"head_timeout": "600s"}})
    sock = connect(proxy)
    if is_kept:
        assert sock.get("http://allowed.test/").status == 200
    proxy.signal(signal.SIGSTOP)  # its bytes and its end come in one turn of the loop
    sock.send(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allo")
    getattr(sock, end)()
    proxy.signal(signal.SIGCONT)
    record = proxy.finals(1 + is_kept)[-1]
    assert (record["reason"], record["close"]) == ("client_aborted", "client")
    assert len(upstream.requests) == is_kept


def test_a_tunnel_without_first_bytes_is_closed(weir, silent, connect):
    proxy = weir([https(NAME, silent.port)], {"limits": {"hello_timeout": "400ms"}})
    sock = connect(proxy)
    assert sock.connect("allowed.test:%d" % silent.port).status == 200
    with Timed() as t:
        assert sock.read_all() == b""
    assert 0.3 < t.took < SLACK
    assert proxy.finals(1)[0]["reason"] == "client_timeout"
    assert silent.bytes() == b""


def test_a_dripped_hello_is_closed_too(weir, silent, connect):
    proxy = weir([https(NAME, silent.port)], {"limits": {"hello_timeout": "500ms"}})
    sock = connect(proxy)
    assert sock.connect("allowed.test:%d" % silent.port).status == 200
    with Timed() as t:
        sock.send_pieces(b"\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03" + bytes(40), 1, 0.1)
        sock.read_all()
    assert t.took < 8 and silent.bytes() == b""


def test_an_idle_kept_connection_is_closed_without_a_record(weir, upstream, connect):
    proxy = weir([http(NAME)], {"limits": {"idle_keepalive": "300ms"}})
    sock = connect(proxy)
    assert sock.get("http://allowed.test/").status == 200
    sock.read_all()
    fresh = connect(proxy)
    fresh.read_all()
    assert len(proxy.finals(1)) == 1


def test_an_idle_tunnel_is_closed(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port)], {"limits": {"idle": "400ms"}})
    sock = connect(proxy)
    assert sock.connect("allowed.test:%d" % silent.port).status == 200
    with Timed() as t:
        assert sock.read_all() == b""
    assert 0.3 < t.took < SLACK
    assert proxy.finals(1)[0]["reason"] == "idle_timeout"


def test_bytes_either_way_keep_a_tunnel(weir, echo, connect):
    proxy = weir([tcp(NAME, echo.port)], {"limits": {"idle": "800ms"}})
    sock = connect(proxy)
    assert sock.connect("allowed.test:%d" % echo.port).status == 200
    assert sock.send_pieces(b"0123456789", 1, 0.2)  # two seconds, never 0.8 s idle
    assert sock.read_until(lambda data: data == b"0123456789")


def test_a_body_that_stops_is_cut(weir, upstream, connect):
    proxy = weir([http(NAME)], {"limits": {"idle": "400ms"}})
    sock = connect(proxy)
    sock.send("POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 100\r\n\r\nhalf")
    sock.read_all()
    assert not upstream.requests
    assert upstream.wait(lambda: all(c.is_ended for c in upstream.conns))
    assert len(proxy.finals(1)) == 1


@pytest.mark.soak
def test_a_body_below_the_rate_is_cut_after_its_first_minute(weir, upstream, connect):
    proxy = weir([http(NAME)], {"limits": {"body_rate": "1KiB/min"}})
    sock = connect(proxy, timeout=150)
    sock.send("POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 1000\r\n\r\n")
    with Timed() as t:
        sock.send_pieces(b"x" * 900, 1, 1)
    assert t.took < 140 and not upstream.requests


def test_an_origin_that_does_not_answer_is_504(weir, silent, connect):
    proxy = weir([http(NAME, silent.port)], {"limits": {"response_timeout": "400ms"}})
    with Timed() as t:
        is_refusal(connect(proxy).get("http://allowed.test:%d/" % silent.port), 504, "response_timeout")
    assert t.took < SLACK


def test_an_origin_that_stops_in_its_body_is_cut_visibly(weir, origin, connect):
    def serve(conn):
        conn.recv()
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        origins.silent_serve(conn)
    port = origin(serve=serve).listen()
    proxy = weir([http(NAME, port)], {"limits": {"idle": "400ms"}})
    answer = connect(proxy).get("http://allowed.test:%d/" % port)
    assert not answer.is_complete
    assert len(proxy.finals(1)) == 1


def test_an_address_that_never_answers_is_504(weir, dns, net, connect):
    dns.set({NAME: {"A": [netns.SILENT]}})
    proxy = weir([{"host": NAME, "protocol": "https"}], {"limits": {"connect_timeout": "500ms"}})
    with Timed() as t:
        is_refusal(connect(proxy).connect("allowed.test:443"), 504, "connect_timeout")
    assert t.took < SLACK


FLOOD = b"x" * (1 << 20)


def test_a_client_that_reads_nothing_stalls_the_origin_and_is_closed(weir, origin, connect):
    sent = []

    def serve(conn):
        while conn.send(FLOOD):
            sent.append(len(FLOOD))
            if len(sent) > 200:
                return
    upstream = origin(serve=serve)
    port = upstream.listen()
    proxy = weir([tcp(NAME, port)], {"limits": {"write_timeout": "1s"}})
    before = proxy.rss_kib()
    sock = connect(proxy)
    assert sock.connect("allowed.test:%d" % port).status == 200
    record = proxy.finals(1)[0]
    assert sum(sent) < 100 << 20, "weir swallowed what nobody read"
    assert not proxy.grew(before, 8 << 10)
    assert record["outcome"] != "ok"


def test_an_origin_that_reads_nothing_stalls_the_client_and_is_closed(weir, origin, connect):
    hold = []

    def serve(conn):
        hold.append(conn)
        conn.upstream.wait(lambda: len(hold) > 1, 8)  # never reads
    port = origin(serve=serve).listen()
    proxy = weir([tcp(NAME, port)], {"limits": {"write_timeout": "1s"}})
    before = proxy.rss_kib()
    sock = connect(proxy)
    assert sock.connect("allowed.test:%d" % port).status == 200
    taken = 0
    while taken < 100 and sock.send(FLOOD):
        taken += 1
    assert taken < 100, "weir swallowed what nobody read"
    assert not proxy.grew(before, 8 << 10)
    assert len(proxy.finals(1)) == 1


# -- sizes

SIZES = [
    ("target", {"target": "1KiB"}, "GET http://allowed.test/%s HTTP/1.1\r\nHost: allowed.test\r\n\r\n" % ("a" * 2000), 414,
     "target_too_long"),
    ("head", {"head": "2KiB", "target": "1KiB", "field": "1KiB"}, "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n%s\r\n" % ("X: yyyyyyyyyy\r\n" * 200), 431,
     "head_too_large"),
    ("fields", {"fields": 10}, "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n%s\r\n" % ("X: y\r\n" * 11), 431,
     "head_too_large"),
    ("field", {"field": "1KiB"}, "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nX: %s\r\n\r\n" % ("y" * 2000), 431,
     "head_too_large"),
    ("body", {"body": "1KiB"}, "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 2000\r\n\r\n", 413,
     "body_too_large"),
]


@pytest.mark.parametrize("limits,text,status,reason", [s[1:] for s in SIZES], ids=[s[0] for s in SIZES])
def test_sizes_are_capped(weir, upstream, connect, limits, text, status, reason):
    proxy = weir([http(NAME)], {"limits": limits})
    sock = connect(proxy)
    sock.send(text)
    answer = sock.response()
    assert (answer.status, answer.get("x-weir-reason")) == (status, reason)
    assert not upstream.bytes()


def test_ordinary_sizes_pass(weir, upstream, connect):
    proxy = weir([http(NAME)])
    fields = [("X-%d" % i, "y" * 40) for i in range(100)] + [("X-Long", "z" * 8000)]
    assert connect(proxy).get("http://allowed.test/" + "a" * 8000, headers=fields).status == 200


def test_an_endless_head_takes_no_memory(weir, connect):
    proxy = weir([http(NAME)])
    before = proxy.rss_kib()
    sock = connect(proxy)
    for _ in range(64):
        if not sock.send(b"A" * (1 << 16)):
            break
    answer = sock.response()
    assert answer is None or answer.status in (400, 414, 431)
    assert not proxy.grew(before, 4 << 10)


def test_a_large_response_head_is_502(weir, upstream, connect):
    upstream.reply = lambda request: b"HTTP/1.1 200 OK\r\n" + b"X: %s\r\n" % (b"y" * 1000) * 40 + b"Content-Length: 2\r\n\r\nok"
    proxy = weir([http(NAME)], {"limits": {"response_head": "16KiB"}})
    is_refusal(connect(proxy).get("http://allowed.test/"), 502, "upstream_head_too_large")


# -- counts

def test_connections_of_one_client_are_capped(weir, upstream, connect):
    proxy = weir([http(NAME)], {"limits": {"client_connections": 5}})
    held = [connect(proxy) for _ in range(5)]
    for sock in held:
        assert sock.get("http://allowed.test/").status == 200
    sock = connect(proxy)
    answer = is_refusal(sock.get("http://allowed.test/"), 429, "concurrency_limited")
    assert int(answer.get("retry-after")) >= 1
    held[0].close()

    def is_served():
        again = connect(proxy)
        answer = again.get("http://allowed.test/")
        again.close()
        return answer is not None and answer.status == 200
    wait_for(is_served, what="a place after one was given back")


def test_connects_beyond_the_cap_are_answered_until_as_many_again_and_64_are_there(weir, silent, connect):
    cap = 2
    proxy = weir([tcp(NAME, silent.port)],
                 {"workers": 1, "limits": {"client_connections": cap, "head_timeout": "60s"}, "listen": proxy_and_health()})
    target = "allowed.test:%d" % silent.port
    held = [connect(proxy) for _ in range(cap)]
    for sock in held:
        assert sock.connect(target).status == 200
    surplus = [connect(proxy) for _ in range(cap + 64)]
    for sock in surplus:  # let in, and its place not given back before it is answered
        sock.send("CONNECT %s HTTP/1.1\r\n" % target)
    wait_for(lambda: proxy.metric("weir_connections_open") == cap + len(surplus), what="all of them")
    for _ in range(3):
        assert connect(proxy).connect(target) is None
    assert proxy.metric("weir_connections_dropped_total") == 3
    for sock in surplus:
        sock.send("Host: %s\r\n\r\n" % target)
        answer = is_refusal(sock.response("CONNECT"), 429, "concurrency_limited")
        assert answer.get("proxy-connection") == "close" and int(answer.get("retry-after")) >= 1
    assert {r["reason"] for r in proxy.finals(len(surplus))} == {"concurrency_limited"}
    for sock in surplus:
        sock.close()

    def is_answered():
        sock = connect(proxy)
        answer = sock.connect(target)
        sock.close()
        return answer
    is_refusal(wait_for(is_answered, what="a place to be told so"), 429, "concurrency_limited")


def test_tunnels_of_one_client_are_capped(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port)], {"limits": {"tunnels": 3}})
    held = [connect(proxy) for _ in range(3)]
    for sock in held:
        assert sock.connect("allowed.test:%d" % silent.port).status == 200
    is_refusal(connect(proxy).connect("allowed.test:%d" % silent.port), 429, "concurrency_limited")
    held[0].close()
    proxy.finals(2)
    assert connect(proxy).connect("allowed.test:%d" % silent.port).status == 200


def test_lookups_and_dials_under_way_are_capped(weir, dns, connect):
    answer_now = threading.Event()
    dns.set({NAME: {"A": ["127.0.0.1"], "hold": answer_now}})
    proxy = weir([https(NAME, 9)], {"limits": {"client_connecting": 2}})
    socks = [connect(proxy) for _ in range(3)]
    for sock in socks:
        sock.send("CONNECT allowed.test:9 HTTP/1.1\r\nHost: allowed.test:9\r\n\r\n")
    third = select.select([sock.sock for sock in socks], [], [], SLACK)[0]
    assert len(third) == 1
    late = next(sock for sock in socks if sock.sock is third[0])
    is_refusal(late.response("CONNECT"), 429, "concurrency_limited")
    answer_now.set()
    for sock in socks:
        if sock is not late:
            is_refusal(sock.response("CONNECT"), 502, "connect_refused")


def test_beyond_the_rate_answers_come_later_but_are_the_same(weir, upstream, connect):
    proxy = weir([http(NAME)], {"limits": {"client_rate": "10/s"}})
    sock = connect(proxy)
    with Timed() as t:
        answers = [sock.get("http://allowed.test/").status for _ in range(20)]
        is_refusal(sock.get("http://other.test/"), 403, "host_not_allowed")
    assert answers == [200] * 20
    assert t.took > 0.5


# -- one and the others

def two_doors(weir, rules, tmp_path, **limits):
    """A proxy with two clients: loopback, and a Unix socket."""
    path = str(tmp_path / "other.sock")
    tcp_door = "127.0.0.1:%d" % free_port()
    proxy = weir(rules, {"listen": {"proxy": [tcp_door, "unix:" + path]}, "limits": limits})

    class Other:
        address = "unix:" + path
        connect = proxy.connect.__func__
    return proxy, Other()


def test_one_client_at_its_caps_leaves_the_other_alone(weir, upstream, connect, tmp_path):
    proxy, other = two_doors(weir, [http(NAME)], tmp_path, client_connections=5)
    held = [connect(proxy) for _ in range(20)]
    assert connect(other).get("http://allowed.test/").status == 200
    assert held


def test_a_slowloris_does_not_stop_others(weir, upstream, connect):
    proxy = weir([http(NAME)], {"limits": {"head_timeout": "5s"}})
    slow = [connect(proxy) for _ in range(200)]
    for sock in slow:
        sock.send(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allo")
    with Timed() as t:
        for _ in range(20):
            assert connect(proxy).get("http://allowed.test/").status == 200
    assert t.took < SLACK


def test_a_flood_of_refusals_does_not_stop_others(weir, upstream, connect, tmp_path):
    proxy, other = two_doors(weir, [http(NAME)], tmp_path)
    flood = [connect(proxy) for _ in range(20)]
    for sock in flood:
        sock.send(b"GET http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\n\r\n" * 50)
    with Timed() as t:
        assert connect(other).get("http://allowed.test/").status == 200
    assert t.took < SLACK
    for sock in flood:
        assert sock.response().status == 403
