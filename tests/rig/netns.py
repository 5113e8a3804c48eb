"""Network namespaces, so that a test may bind any port and own any address.

enter() moves the calling thread into a fresh namespace, with a second one
behind a veth pair where the public addresses of the tests live: weir never
dials an address of its own interfaces, so origins must stand elsewhere.
Nothing is left behind: a namespace ends with its last process and socket.
"""
import contextlib
import ctypes
import os
import select
import socket
import struct
import subprocess
import sys
import threading

CLONE_NEWNET = 0x40000000
CLONE_NEWNS = 0x00020000
MS_REC_PRIVATE = 0x4000 | 0x40000
ETH_P_IP = 0x0800

PUB1 = "93.184.215.14"
PUB2 = "93.184.216.34"
PUB6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
OWN = "93.184.217.1"  # looks public, and is on weir's own interface
SILENT = "93.184.218.1"  # packets go out and nothing comes back
UNROUTED = "93.184.219.1"  # there is no way to it

# What the namespace outside answers for, without an address for each.
OUTSIDE = ["93.184.215.0/24", "93.184.216.0/24", "10.20.30.0/24", "2606:2800:21f::/48"]

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        err = ctypes.get_errno()
        raise OSError(err, "%s: %s" % (what, os.strerror(err)))


def _ip(*args):
    subprocess.run(["ip", *args], check=True)


def as_root():
    """Run this program again as root of a user namespace when it has no rights of its own."""
    if os.geteuid() != 0:
        os.execvp("unshare", ["unshare", "-Ur", "--", sys.executable, *sys.argv])


@contextlib.contextmanager
def inside(fd):
    """The calling thread (and the sockets and children it makes) stand in `fd`'s namespace."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    _check(_libc.setns(fd, CLONE_NEWNET), "setns")
    try:
        yield
    finally:
        _check(_libc.setns(home, CLONE_NEWNET), "setns")
        os.close(home)


def _fresh():
    _check(_libc.unshare(CLONE_NEWNET), "unshare")
    _ip("link", "set", "lo", "up")
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)


def apart():
    """A fresh namespace; this thread stays where it is."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        return _fresh()
    finally:
        _check(_libc.setns(home, CLONE_NEWNET), "setns")
        os.close(home)


class Net:
    """home: where weir and its clients are; outside: where the public addresses are."""

    def __init__(self):
        self.outside = _fresh()
        self.home = _fresh()  # where this thread stays
        self._join()

    def _join(self):
        out = "/proc/%d/fd/%d" % (os.getpid(), self.outside)
        _ip("link", "add", "w0", "type", "veth", "peer", "name", "w1")
        _ip("link", "set", "w1", "netns", out)
        _ip("addr", "add", "192.0.2.1/30", "dev", "w0")
        _ip("addr", "add", "fd00:77::1/64", "dev", "w0", "nodad")
        _ip("addr", "add", OWN + "/32", "dev", "w0")
        _ip("link", "set", "w0", "up")
        with inside(self.outside):
            _ip("addr", "add", "192.0.2.2/30", "dev", "w1")
            _ip("addr", "add", "fd00:77::2/64", "dev", "w1", "nodad")
            _ip("link", "set", "w1", "up")
            for prefix in OUTSIDE:
                _ip("route", "add", "local", prefix, "dev", "lo")
            _ip("route", "add", OWN + "/32", "via", "192.0.2.1")
        _ip("route", "add", "default", "via", "192.0.2.2")
        _ip("route", "add", "unreachable", UNROUTED + "/32")
        _ip("-6", "route", "add", "default", "via", "fd00:77::2")


class Unreachable:
    """While it lasts, a TCP packet to `address` outside is answered by ICMP "unreachable" with that code.

    The kernel gives each code another errno, and for some it sends none by itself.
    """

    PROTOCOL = 2

    def __init__(self, net, address, code):
        self.to, self.code = socket.inet_aton(address), code
        self.stop = os.pipe()
        with inside(net.outside):
            self.tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
            self.tap.bind(("w1", ETH_P_IP))
            self.out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, value, trace):
        os.close(self.stop[1])
        self.thread.join()
        os.close(self.stop[0])
        self.tap.close()
        self.out.close()

    def _serve(self):
        while not select.select([self.tap, self.stop[0]], [], [])[0].count(self.stop[0]):
            packet = self.tap.recv(65536)
            if packet[9] == socket.IPPROTO_TCP and packet[16:20] == self.to:
                self._answer(packet)

    def _answer(self, packet):
        """RFC 792: the IP header and eight bytes of what could not be delivered."""
        body = struct.pack("!BBHI", 3, self.code, 0, 0) + packet[:28]
        total = sum(struct.unpack("!18H", body))
        total = (total & 0xffff) + (total >> 16)
        total = ~(total + (total >> 16)) & 0xffff
        self.out.sendto(body[:2] + struct.pack("!H", total) + body[4:], (socket.inet_ntoa(packet[12:16]), 0))


class Sandbox:
    """A namespace behind weir's: its only way anywhere is over `s0`, which is weir's end.

    What runs in it is run by run() and by the sockets that are made inside().
    """
    WEIR, WEIR6 = "10.99.0.1", "fd00:99::1"
    OWN, OWN6 = "10.99.0.2", "fd00:99::2"

    def __init__(self):
        self.fd = apart()
        _ip("link", "add", "s0", "type", "veth", "peer", "name", "s1")
        _ip("link", "set", "s1", "netns", self.place)
        _ip("addr", "add", self.WEIR + "/24", "dev", "s0")
        _ip("addr", "add", self.WEIR6 + "/64", "dev", "s0", "nodad")
        _ip("link", "set", "s0", "up")
        with inside(self.fd):
            _ip("addr", "add", self.OWN + "/24", "dev", "s1")
            _ip("addr", "add", self.OWN6 + "/64", "dev", "s1", "nodad")
            _ip("link", "set", "s1", "up")
            _ip("route", "add", "default", "via", self.WEIR)
            _ip("-6", "route", "add", "default", "via", self.WEIR6)
        for family in ("ipv4", "ipv6"):  # as a router has it
            with open("/proc/sys/net/%s/conf/all/forwarding" % family, "w") as f:
                f.write("1")

    @property
    def place(self):
        return "/proc/%d/fd/%d" % (os.getpid(), self.fd)

    def run(self, *command, **how):
        """A command in it, its output captured."""
        return subprocess.run(["nsenter", "--net=" + self.place, *command], capture_output=True, text=True,
                              timeout=how.pop("timeout", 60), **how)

    def connect(self, address, port, timeout=30):
        with inside(self.fd):
            return socket.create_connection((address, port), timeout)

    def close(self):
        subprocess.run(["ip", "link", "del", "s0"], check=False)
        os.close(self.fd)


def nft(path, *arguments):
    subprocess.run(["nft", *arguments, "-f", str(path)], check=True)


LED = 0x99  # the mark of sockets that lead() leads


def lead(port):
    """What carries the mark is led to that port, whatever it connects to."""
    rules = """table inet led {
        chain out {
            type nat hook output priority -100
            meta mark %d meta l4proto tcp redirect to :%d
        }
    }
    """ % (LED, port)
    subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)


class Led:
    """As a weir to connect to: a connection to `to`, which is led to its transparent door."""

    def __init__(self, to):
        host, _, port = to.rpartition(":")
        self.to = (host, int(port))

    def connect(self, timeout):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, LED)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(timeout)
        sock.connect(self.to)
        return sock


def nft_flush():
    subprocess.run(["nft", "flush", "ruleset"], check=True)


def nft_flush_table(name):
    """One table, where others are a container engine's."""
    subprocess.run(["nft", "-f", "-"], input="table inet %s\ndelete table inet %s\n" % (name, name), text=True, check=True)


def enter():
    return Net()


def own_mounts():
    """What this thread and its children mount is theirs alone, and ends with them."""
    _check(_libc.unshare(CLONE_NEWNS), "unshare")
    _check(_libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None), "mount")
