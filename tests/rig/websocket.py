"""Websocket frames (RFC 6455 5) in exact bytes: a client's, and an origin that says again what it hears."""
import os
import struct

from . import http1


def frame(opcode, payload, final=True, mask=None):
    head = bytes([(0x80 if final else 0) | opcode])
    masked = 0x80 if mask else 0
    if len(payload) < 126:
        head += bytes([masked | len(payload)])
    elif len(payload) < 65536:
        head += bytes([masked | 126]) + struct.pack("!H", len(payload))
    else:
        head += bytes([masked | 127]) + struct.pack("!Q", len(payload))
    return head + (mask + unmasked(payload, mask) if mask else payload)


def unmasked(payload, mask):
    key = mask * (len(payload) // 4 + 1)
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key[:len(payload)], "big")).to_bytes(len(payload), "big")


def read(data):
    """((opcode, final, payload), bytes used), or (None, 0) while there is less than a frame."""
    if len(data) < 2:
        return None, 0
    n, at = data[1] & 0x7f, 2
    if n >= 126:
        at += 2 if n == 126 else 8
        if len(data) < at:
            return None, 0
        n = int.from_bytes(data[2:at], "big")
    mask = None
    if data[1] & 0x80:
        mask, at = data[at:at + 4], at + 4
    if len(data) < at + n:
        return None, 0
    payload = bytes(data[at:at + n])
    return (data[0] & 0x0f, bool(data[0] & 0x80), unmasked(payload, mask) if mask else payload), at + n


def serve(head, upstream=None, greeting=b""):
    """Every frame as it came: again to its sender without the mask (a ping as a pong), and (opcode, payload) in `frames`."""
    def run(conn):
        owner = upstream or conn.upstream
        owner.frames = []
        while b"\r\n\r\n" not in conn.data:
            if not conn.recv():
                return
        request, used = http1.read_request(conn.data)
        conn.requests.append(request)
        conn.send(head + greeting)
        data = bytearray(conn.data[used:])
        while True:
            one, used = read(data)
            if one:
                del data[:used]
                owner.frames.append((one[0], one[2]))
                conn.send(frame(10 if one[0] == 9 else one[0], one[2], one[1]))
                continue
            piece = conn.recv()
            if not piece:
                conn.close()
                return
            data += piece
    return run


class Client:
    """Over a rig client whose upgrade was answered."""

    def __init__(self, sock):
        self.sock, self.controls, self.messages = sock, [], []
        self.opcode, self.parts = None, b""

    def send(self, opcode, payload, final=True):
        self.sock.send(frame(opcode, payload, final, os.urandom(4)))

    def send_message(self, opcode, data, fragments=1, between=()):
        size = len(data) // fragments + 1
        for i in range(fragments):
            self.send(opcode if i == 0 else 0, data[i * size:(i + 1) * size], i == fragments - 1)
            if i < fragments - 1:
                for control in between:
                    self.send(*control)

    def _take(self):
        one, used = read(self.sock.data)
        if not one:
            assert self.sock.recv(), "the connection ended within a frame: %r" % self.sock.data[:100]
            return
        self.sock.data = self.sock.data[used:]
        opcode, final, payload = one
        if opcode >= 8:
            self.controls.append((opcode, payload))
            return
        self.opcode = opcode or self.opcode
        self.parts += payload
        if final:
            self.messages.append((self.opcode, self.parts))
            self.parts = b""

    def message(self):
        while not self.messages:
            self._take()
        return self.messages.pop(0)

    def next_control(self):
        while not self.controls:
            self._take()
        return self.controls.pop(0)
