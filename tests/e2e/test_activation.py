"""Sockets that a service manager opened: weir takes those that its configuration names, and needs no right to them."""
import ctypes
import os
import socket
import stat

import pytest

from rig import origin as origins, tls
from rig.weir import free_port
from rules import http, https
from test_admin import ctl
from test_dns_door import Answer, asked_of, query
from test_transparent import SOMEWHERE, SOMEWHERE6, Way, curl

pytestmark = pytest.mark.single

NAME = "allowed.test"
PR_CAPBSET_DROP, NET_BIND_SERVICE, TPROXY = 24, 10, (12, 13)  # CAP_NET_ADMIN, CAP_NET_RAW: either is enough


def without(*rights):
    """A preexec_fn: root without them, once it runs another program."""
    libc = ctypes.CDLL(None, use_errno=True)

    def drop():
        for right in rights:
            if libc.prctl(PR_CAPBSET_DROP, right, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "prctl")
    return drop


@pytest.fixture
def bound(net):
    """bound(address, port, ...): a socket as the service manager makes it."""
    made = []

    def make(address, port=0, kind=socket.SOCK_STREAM, options=()):
        family = socket.AF_UNIX if address.startswith("/") else socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, kind)
        made.append(sock)
        for option in [(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1), *options]:
            sock.setsockopt(*option)
        sock.bind(address if family == socket.AF_UNIX else (address, port))
        if kind == socket.SOCK_STREAM:
            sock.listen()
        return sock
    yield make
    for one in made:
        one.close()


def text(sock):
    return "127.0.0.1:%d" % sock.getsockname()[1]


class Early:
    """As a weir to connect to: before there is one."""

    def __init__(self, sock):
        self.at = sock.getsockname()

    def connect(self, timeout):
        sock = socket.create_connection(self.at[:2], timeout)
        return sock


GET = "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (NAME, NAME)


def test_who_comes_before_weir_and_while_it_restarts_is_served(weir, upstream, connect, bound, net):
    sock = bound("127.0.0.1")
    first = connect(Early(sock))
    assert first.send(GET)
    proxy = weir([http(NAME)], {"workers": 2}, listen=text(sock), sockets=[sock])
    assert first.response().status == 200
    assert proxy.stop() == 0
    second = connect(Early(sock))
    assert second.send(GET)
    proxy.start()
    assert second.response().status == 200
    assert [r["status"] for r in proxy.finals(2)] == [200, 200]


def test_a_port_below_1024_needs_no_right(weir, upstream, connect, bound, net):
    sock = bound("127.0.0.1", 443)
    how = {"listen": "127.0.0.1:443", "preexec": without(NET_BIND_SERVICE)}
    proxy = weir([http(NAME)], start=False, **how)
    proxy.start(wait=False)
    assert proxy.process.wait(30) == 69 and "cannot listen" in proxy.log()
    proxy = weir([http(NAME)], sockets=[sock], **how)
    assert connect(proxy).get("http://%s/" % NAME).status == 200


def test_the_dns_door_takes_both_of_its_sockets(weir, bound, net):
    port = free_port()
    tcp, udp = bound("127.0.0.1", port), bound("127.0.0.1", port, socket.SOCK_DGRAM)
    weir([http(NAME)], {"workers": 2, "listen": {"dns": ["127.0.0.1:%d" % port]}}, sockets=[udp, tcp])
    for number in range(8):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(30)
            sock.connect(("127.0.0.1", port))
            sock.send(query(NAME, number=number))
            assert Answer(sock.recv(4096), asked_of(query(NAME))).addresses
    message = query(NAME)
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        sock.sendall(len(message).to_bytes(2, "big") + message)
        assert Answer(sock.recv(4096)[2:], asked_of(message)).addresses


def test_a_unix_sockets_file_stays_the_service_managers(weir, upstream, connect, bound, tmp_path):
    path, admin = str(tmp_path / "proxy.sock"), str(tmp_path / "admin.sock")
    sockets = [bound(path), bound(admin)]
    os.chmod(path, 0o600)
    proxy = weir([http(NAME)], {"listen": {"proxy": ["unix:" + path], "admin": ["unix:" + admin]}}, sockets=sockets)
    assert connect(proxy).get("http://%s/" % NAME).status == 200
    assert proxy.finals(1)[0]["client"]["addr"] == "unix:" + path
    assert ctl(proxy, "status")[0] == 0
    assert proxy.stop() == 0
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    for one in sockets:  # nobody looked whether somebody is there: that would start the service
        one.setblocking(False)
        with pytest.raises(BlockingIOError):
            one.accept()


def test_tproxy_needs_no_right_where_the_service_manager_had_it(weir, origin, authority, bound, net):
    way = Way("tproxy")
    try:
        site = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
        site.listen(443)
        IPV6_TRANSPARENT, IP_TRANSPARENT = 75, 19
        sockets = [bound("127.0.0.1", 15001, options=[(socket.SOL_IP, IP_TRANSPARENT, 1)]),
                   bound("::1", 15001, options=[(socket.IPPROTO_IPV6, IPV6_TRANSPARENT, 1)])]
        proxy = weir([https(NAME)], {"listen": {"transparent": way.at}}, sockets=sockets, preexec=without(*TPROXY))
        for to in (SOMEWHERE, "[%s]" % SOMEWHERE6):
            done = curl(way, "--cacert", authority.certificate, "https://%s/" % NAME, to=to)
            assert done.stdout == "ok", done.stderr
        assert [r["decision"] for r in proxy.finals(2)] == ["allow", "allow"]
    finally:
        way.close()


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_socket_that_no_listener_names_is_refused(weir, bound, net, kind):
    sock = bound("127.0.0.1", kind=kind)
    proxy = weir([], start=False, sockets=[sock])
    proxy.start(wait=False)
    assert proxy.process.wait(30) == 69
    assert "a socket was handed over that no listener of the configuration names address=%s" % text(sock) in proxy.log()


def test_what_is_no_listening_socket_is_refused(weir, net):
    one, other = socket.socketpair()
    with one, other:
        proxy = weir([], start=False, sockets=[one])
        proxy.start(wait=False)
        assert proxy.process.wait(30) == 69 and "descriptor 3 is no socket that listens" in proxy.log()


def test_what_was_handed_to_another_process_is_left_alone(weir, upstream, connect, net):
    proxy = weir([http(NAME)], environment={"LISTEN_PID": "1", "LISTEN_FDS": "1"})
    assert connect(proxy).get("http://%s/" % NAME).status == 200
