"""A balancer: connections that begin with a PROXY header of version 2, in exact bytes."""
import ipaddress
import socket
import struct

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
LOCAL, PROXY = 0x20, 0x21
ADDRESS = "127.0.0.9"  # where it connects from


def header(source, port=4242, to="198.51.100.2", command=PROXY, family=None, tlvs=b""):
    """What it says of a connection from `source`."""
    a, b = ipaddress.ip_address(source), ipaddress.ip_address(to)
    if a.version != b.version:
        b = ipaddress.ip_address("2001:db8::2" if a.version == 6 else "198.51.100.2")
    block = a.packed + b.packed + struct.pack("!HH", port, 443) + tlvs
    return whole(command, family if family is not None else {4: 0x11, 6: 0x21}[a.version], block)


def whole(command, family, block):
    return SIGNATURE + bytes([command, family]) + struct.pack("!H", len(block)) + block


class Balancer:
    """A weir behind one, as something rig.client connects to; `first` is what it says, pieces of it apart."""

    def __init__(self, weir, *first, listener="proxy", address=ADDRESS):
        self.weir, self.first, self.address = weir, first, address
        host, _, port = weir.config["listen"][listener][0].removeprefix("tls:").rpartition(":")
        self.to = host, int(port)

    def connect(self, timeout):
        sock = socket.create_connection(self.to, timeout, source_address=(self.address, 0))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in self.first:
            sock.sendall(piece)
        return sock
