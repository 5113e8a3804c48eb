"""weir forward: loopback ports of a sandbox without a network, each handed on to a Unix socket of weir."""
import hashlib
import json
import os
import socket
import subprocess
import threading

import pytest

from rig import socks
from rig import gateway as rig_gateway
from rig.client import Client
from rig.weir import WAIT, Manager, binary, free_port, wait_for
from rules import http, tcp

pytestmark = pytest.mark.single

NAME = "allowed.test"


class Forward:
    """A running weir forward; ports in the order of the sockets."""

    def __init__(self, log, *sockets, address="127.0.0.1"):
        self.address, self.ports = address, [free_port(address) for _ in sockets]
        host = "[%s]" % address if ":" in address else address
        ways = ["%s:%d=%s" % (host, port, path) for port, path in zip(self.ports, sockets)]
        self.log_path = log
        with Manager() as manager, open(log, "wb") as f:
            self.process = subprocess.Popen([binary(), "forward", *ways], stderr=f,
                                            env=dict(os.environ, NOTIFY_SOCKET=manager.name))
            wait_for(manager.was_told_ready, what="READY=1")

    def connect(self, timeout=WAIT, i=0):
        return socket.create_connection((self.address, self.ports[i]), timeout)

    def by(self, i):
        """The i-th port, as something a client connects to."""
        class Port:
            connect = staticmethod(lambda timeout=WAIT: self.connect(timeout, i))
        return Port

    def log(self):
        with open(self.log_path, encoding="utf-8") as f:
            return f.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(WAIT)


@pytest.fixture
def forward(tmp_path):
    made = []

    def make(*sockets, **how):
        made.append(Forward(str(tmp_path / ("forward%d.log" % len(made))), *map(str, sockets), **how))
        return made[-1]
    yield make
    for one in made:
        assert one.stop() == 0, one.log()


def accepted(server):
    """The connection of a client; the first that comes is the look whether anybody listens."""
    server.accept()[0].close()
    return server.accept()[0]


def refused(*ways):
    done = subprocess.run([binary(), "forward", *ways], capture_output=True, text=True, timeout=WAIT)
    return done.returncode, done.stderr


@pytest.fixture
def waiting(tmp_path):
    """waiting(backlog): a Unix socket somebody listens on, and its path."""
    made = []

    def make(backlog=512):
        path = str(tmp_path / ("own%d.sock" % len(made)))
        made.append(socket.socket(socket.AF_UNIX))
        made[-1].bind(path)
        made[-1].listen(backlog)
        made[-1].settimeout(WAIT)
        return made[-1], path
    yield make
    for one in made:
        one.close()


# -- what passes

def test_the_proxy_is_reached_by_a_port_and_its_socket_is_who_asks(weir, upstream, forward, tmp_path):
    path = str(tmp_path / "proxy.sock")
    proxy = weir([http(NAME, upstream.port)], listen="unix:" + path)
    with Client(forward(path)) as client:
        assert client.get("http://%s/x" % NAME).status == 200
        assert client.get("http://other.test/").get("x-weir-reason") == "host_not_allowed"
    records = proxy.finals(2)
    assert [r["decision"] for r in records] == ["allow", "deny"]
    assert all(r["client"]["door"] == "proxy" for r in records)


def test_gateway_and_socks5_are_reached_beside_it(weir, echo, forward, tmp_path):
    paths = {door: str(tmp_path / (door + ".sock")) for door in ("proxy", "gateway", "socks5")}
    weir([tcp(NAME, echo.port)], config={"listen": {door: ["unix:" + path] for door, path in paths.items()},
                                         "sessions": rig_gateway.laptop()})
    ports = forward(*paths.values())
    with Client(ports) as client:
        assert client.connect("%s:%d" % (NAME, echo.port)).status == 200
    with Client(ports.by(1)) as client:
        client.send("GET /weir/v1/session HTTP/1.1\r\nHost: weir\r\n\r\n")
        assert json.loads(client.response().body)["session"]["spent"] == "0"
    with Client(ports.by(2)) as client:
        assert socks.open_tunnel(client, NAME, echo.port) == 0
        client.send(b"hello")
        assert socks.read(client, 5) == b"hello"


def test_a_large_body_arrives_unchanged_both_ways(weir, origin, forward, tmp_path):
    sent = os.urandom(1 << 16) * 128
    server = origin(reply=lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(request.body) + request.body)
    port, path = server.listen(), str(tmp_path / "proxy.sock")
    weir([http(NAME, port)], listen="unix:" + path)
    with Client(forward(path)) as client:
        writer = threading.Thread(target=client.send, args=(
            b"POST http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\nContent-Length: %d\r\n\r\n" % (
                NAME.encode(), port, NAME.encode(), port, len(sent)) + sent,))
        writer.start()
        got = client.response("POST").body
        writer.join()
    assert hashlib.sha256(got).digest() == hashlib.sha256(sent).digest()


def test_a_half_close_passes_each_way_and_the_other_way_goes_on(waiting, forward):
    server, path = waiting()
    with forward(path).connect() as client:
        client.sendall(b"question")
        client.shutdown(socket.SHUT_WR)
        peer = accepted(server)
        with peer, peer.makefile("rb") as f:
            peer.settimeout(WAIT)
            assert f.read() == b"question"
            peer.sendall(b"answer")
            peer.shutdown(socket.SHUT_WR)
        with client.makefile("rb") as f:
            assert f.read() == b"answer"


def test_an_ipv6_loopback_port_is_one_too(waiting, forward):
    server, path = waiting()
    with forward(path, address="::1").connect() as client:
        client.sendall(b"x")
        with accepted(server) as peer:
            assert peer.recv(1) == b"x"


def test_a_hundred_clients_at_once_each_get_their_own_answer(weir, origin, forward, tmp_path):
    server = origin(reply=lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(request.target) +
                    request.target.encode())
    port, path = server.listen(), str(tmp_path / "proxy.sock")
    weir([http(NAME, port)], {"limits": {"client_rate": 0, "client_connecting": 256}}, listen="unix:" + path)
    door = forward(path)
    clients = [Client(door) for _ in range(100)]
    for i, client in enumerate(clients):
        client.send("GET http://%s:%d/%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n" % (NAME, port, i, NAME, port))
    for i, client in enumerate(clients):
        assert client.response().body == b"/%d" % i
        client.close()


# -- what does not

def is_cut(client):
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_while_weir_is_away_a_client_is_closed_and_later_ones_are_served(weir, upstream, forward, tmp_path):
    path = str(tmp_path / "proxy.sock")
    proxy = weir([http(NAME, upstream.port)], listen="unix:" + path)
    door = forward(path)
    proxy.stop()
    with door.connect() as client:
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert is_cut(client)
    assert "is weir running" in door.log()
    proxy.start()
    with Client(door) as client:
        assert client.get("http://%s/" % NAME).status == 200


def test_more_than_256_clients_are_turned_away_until_one_has_gone(waiting, forward):
    server, path = waiting()
    door, peers, clients = forward(path), [], []
    server.accept()[0].close()
    for _ in range(256):
        clients.append(door.connect())
        clients[-1].sendall(b"x")
        peers.append(server.accept()[0])
    with door.connect() as late:
        late.sendall(b"x")
        assert is_cut(late)
    assert "too many" in door.log()
    clients.pop().close()
    peers.pop().close()

    def is_served():
        with door.connect() as client:
            client.sendall(b"x")
            server.setblocking(False)
            try:
                server.accept()[0].close()
                return True
            except BlockingIOError:
                return False
    wait_for(is_served, what="a place")
    for one in clients + peers:
        one.close()


def test_a_missing_socket_is_said_and_nothing_listens(tmp_path):
    port = free_port()
    status, said = refused("%d=%s" % (port, tmp_path / "none.sock"))
    assert status == 69 and "no such socket" in said and "none.sock" in said


def test_a_taken_port_is_said(waiting):
    _, path = waiting()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        status, said = refused("%d=%s" % (taken.getsockname()[1], path))
    assert status == 69 and "another process listens there" in said


@pytest.mark.parametrize("way,words", [
    ("0.0.0.0:3128=/run/x", "no loopback address"), ("10.0.0.1:3128=/run/x", "no loopback address"),
    ("[::]:3128=/run/x", "no loopback address"), ("3128", "no way"), ("0=/run/x", "neither a port"),
    ("localhost:1=/run/x", "neither a port"), ("3128=", "no path"), ("3128=/" + 200 * "x", "no path")])
def test_what_is_no_way_from_loopback_to_a_socket_is_refused(way, words):
    status, said = refused(way)
    assert status == 64 and words in said


def test_a_signal_ends_it_with_clients_open(waiting, forward):
    server, path = waiting()
    door = forward(path)
    with door.connect() as client:
        client.sendall(b"x")
        with accepted(server):
            assert door.stop() == 0
            assert is_cut(client)
