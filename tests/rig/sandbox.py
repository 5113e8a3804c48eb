"""A sandbox: a namespace whose only neighbour is weir's, and rules in weir's that let it no further.

weir's namespace forwards, so that it is the rules alone that hold: take one away and
the sandbox reaches the addresses outside.
"""
import select
import socket
import subprocess
import threading

from . import netns
from .weir import binary

WEIR = netns.Sandbox.WEIR
PORTS = {"proxy": 3128, "gateway": 8787, "socks5": 1080, "dns": 53}
NO_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--"]

RULES = """
table inet weir {
    chain input {
        type filter hook input priority 0; policy accept;
        iifname "s0" ct state established,related accept
        iifname "s0" tcp dport { 3128, 8787, 1080, 53 } accept
        iifname "s0" udp dport 53 accept
        iifname "s0" icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
        %(input)s
        iifname "s0" reject with icmpx type admin-prohibited
    }
    chain forward {
        type filter hook forward priority 0; policy accept;
        ct state established,related accept
        %(forward)s
        iifname "s0" reject with icmpx type admin-prohibited
    }
}
"""


def _sysctl(name, value):
    with open("/proc/sys/net/" + name, "w", encoding="ascii") as f:
        f.write(value)


def _route(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Sandbox(netns.Sandbox):
    """Made by the thread whose home is weir's namespace."""

    def __init__(self, net):
        super().__init__()
        with netns.inside(net.outside):  # whatever gets there finds its way back
            _route("route", "replace", "10.99.0.0/24", "via", "192.0.2.1")
            _route("-6", "route", "replace", "fd00:99::/64", "via", "fd00:77::1")
        for fd in (net.home, net.outside):  # each probe is to hear that it is rejected
            with netns.inside(fd):
                _sysctl("ipv4/icmp_ratelimit", "0")
                _sysctl("ipv6/icmp/ratelimit", "0")
        self.rules()

    def close(self):
        netns.nft_flush()
        super().close()

    def rules(self, forward="", **input_):
        """The boundary, with holes: lines before the last one of either chain."""
        text = RULES % {"forward": forward, "input": input_.get("input", "")}
        subprocess.run(["nft", "-f", "-"], input="table inet weir\ndelete table inet weir\n" + text, text=True, check=True)

    def start(self, *command, rights=False, **how):
        with netns.inside(self.fd):
            return subprocess.Popen([*([] if rights else NO_RIGHTS), *command], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, **how)

    def verify(self, *arguments, **how):
        """(exit status, standard output, standard error)"""
        process = self.start(binary(), "verify", *arguments, **how)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def inside(self):
        return netns.inside(self.fd)


class Answerer:
    """Says `answer` to each datagram that comes to `address` in the namespace `fd`."""

    def __init__(self, fd, address, port, answer):
        self.answer, self.is_over = answer, False
        with netns.inside(fd):
            self.sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
            self.sock.bind((address, port))
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while not self.is_over:
            if select.select([self.sock], [], [], 0.2)[0]:
                data, peer = self.sock.recvfrom(4096)
                self.sock.sendto(self.answer(data), peer)

    def close(self):
        self.is_over = True
        self.thread.join()
        self.sock.close()
