"""Nothing stays behind: memory is flat and descriptors come back."""
import resource
import selectors
import socket

import pytest

from rig import origin as origins
from rig.weir import SANITIZED, wait_for
from rules import http, tcp

NAME = "allowed.test"
OFF = {"client_connections": 0, "client_rate": 0, "client_connecting": 0}
KEPT = 48  # descriptors workers rightly keep: idle pipes, a resolver's sockets, kept connections to origins


class Sink:
    """An origin for very many connections: one thread would be too many for each."""

    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.listener.getsockname()[1]
        self.socks = []

    def accept(self, n):
        self.listener.settimeout(30)
        while len(self.socks) < n:
            self.socks.append(self.listener.accept()[0])

    def close(self):
        for sock in self.socks + [self.listener]:
            sock.close()


@pytest.fixture
def sink(net):
    one = Sink()
    yield one
    one.close()


def idle_tunnels(weir, sink, n):
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    proxy = weir([tcp(NAME, sink.port)], {"limits": OFF})
    base, memory = proxy.descriptors(), proxy.rss_kib()
    head = ("CONNECT allowed.test:%d HTTP/1.1\r\nHost: allowed.test\r\n\r\n" % sink.port).encode()
    socks = []
    for i in range(n):
        sock = proxy.connect(30)
        sock.sendall(head)
        socks.append(sock)
        if i % 50 == 49 or i == n - 1:
            sink.accept(i + 1)
    for sock in socks:
        assert sock.recv(4096).startswith(b"HTTP/1.1 200 ")
    each = (proxy.rss_kib() - memory) * 1024 / n
    assert proxy.descriptors() >= 2 * n
    socks[0].sendall(b"alive")
    socks[-1].sendall(b"alive")
    got = []
    for sock in sink.socks:
        sock.setblocking(False)
        sink.selector.register(sock, selectors.EVENT_READ)
    while len(got) < 2:
        for key, _ in sink.selector.select(10) or pytest.fail("idle tunnels no longer relay"):
            got.append(key.fileobj.recv(64))
    assert got == [b"alive"] * 2
    for sock in socks + sink.socks:
        sock.close()
    proxy.finals(n, timeout=60)
    wait_for(lambda: proxy.descriptors() <= base + KEPT, 30, "descriptors back near %d" % base)
    if not SANITIZED:  # their allocators keep what is freed
        wait_for(lambda: (proxy.rss_kib() - memory) * 1024 < each * n / 2, 30, "memory to go back")
    return each


def test_idle_tunnels_cost_little_and_leave_nothing(weir, sink):
    each = idle_tunnels(weir, sink, 3000)
    assert SANITIZED or each < 4096, "%d bytes for each idle tunnel" % each


@pytest.mark.soak
def test_as_many_idle_tunnels_as_descriptors_allow(weir, sink):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    n = min(10000, (hard - 200) // 2)
    each = idle_tunnels(weir, sink, n)
    assert SANITIZED or each < 3072, "%d bytes for each of %d idle tunnels" % (each, n)


def quick_serve(conn):
    """Answers each GET without keeping its bytes."""
    rest = b""
    while True:
        try:
            piece = conn.sock.recv(65536)
        except OSError:
            return
        if not piece:
            return
        rest += piece
        while b"\r\n\r\n" in rest:
            rest = rest.split(b"\r\n\r\n", 1)[1]
            conn.sock.sendall(origins.OK)


REQUEST = b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n"


def ask(sock, n):
    for _ in range(n):
        sock.sendall(REQUEST)
        data = b""
        while not data.endswith(b"ok"):
            piece = sock.recv(65536)
            assert piece, "closed in the middle"
            data += piece


def sequential(weir, origin, n, per_connection):
    upstream = origin(serve=quick_serve)
    upstream.listen(80)
    proxy = weir([http(NAME)], {"limits": OFF})

    def some(count):
        for _ in range(count // per_connection):
            with proxy.connect() as sock:
                ask(sock, per_connection)
    some(max(n // 10, 500))  # warm: pools and arenas have their size now
    base, memory = proxy.descriptors(), proxy.rss_kib()
    some(n)
    wait_for(lambda: proxy.descriptors() <= base + KEPT, 30, "descriptors back near %d" % base)
    return proxy.rss_kib() - memory


@pytest.mark.parametrize("per_connection", [1, 100])
def test_sequential_requests_leave_memory_flat(weir, origin, per_connection):
    grown = sequential(weir, origin, 3000, per_connection)
    assert SANITIZED or grown < 1024, "%d KiB grown" % grown


@pytest.mark.soak
def test_a_hundred_thousand_requests_leave_memory_flat(weir, origin):
    grown = sequential(weir, origin, 100000, 10)
    assert SANITIZED or grown < 1024, "%d KiB grown" % grown


@pytest.mark.parametrize("data", [b"GET http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\n\r\n", b"\0\r\n\r\n", b"GET http://all",
                                  b"CONNECT allowed.test:9 HTTP/1.1\r\nHost: a\r\n\r\n"],
                         ids=["refused", "malformed", "half", "nobody there"])
def test_failures_leave_nothing(weir, data):
    proxy = weir([http(NAME), tcp(NAME, 9)], {"limits": OFF})

    def some(n):
        for _ in range(n):
            with proxy.connect() as sock:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(65536):
                    pass
    some(200)
    base, memory = proxy.descriptors(), proxy.rss_kib()
    some(1000)
    proxy.finals(1200)
    wait_for(lambda: proxy.descriptors() <= base + KEPT, what="descriptors back near %d" % base)
    assert SANITIZED or proxy.rss_kib() - memory < 1024
    assert len(proxy.finals()) == 1200
