"""TLS ClientHellos in exact bytes, well-formed unless asked otherwise."""
import os
import struct


def vec(size, body):
    return len(body).to_bytes(size, "big") + body


def ext(number, body):
    return struct.pack("!H", number) + vec(2, body)


def server_name(name):
    raw = name.encode("latin1") if isinstance(name, str) else name
    return ext(0, vec(2, b"\0" + vec(2, raw)))


ECH = 0xFE0D


def ech(number=ECH):
    """The outer form of RFC 9849: GREASE and the real one look alike."""
    return ext(number, b"\0" + struct.pack("!HH", 1, 1) + b"\7" + vec(2, os.urandom(32)) +
               vec(2, os.urandom(144)))


def client_hello(sni=None, extra=b"", share=os.urandom(32), size=None, session=os.urandom(32)):
    """The handshake message; `size` pads it to that many bytes (RFC 7685)."""
    exts = (server_name(sni) if sni is not None else b"") + \
        ext(0xFF01, b"\0") + ext(10, vec(2, b"\0\x1d\0\x17")) + ext(11, b"\x01\0") + \
        ext(13, vec(2, b"\x04\x03\x08\x04\x04\x01")) + ext(43, b"\x04\x03\x04\x03\x03") + \
        ext(51, vec(2, b"\0\x1d" + vec(2, share))) + extra
    head = b"\x03\x03" + os.urandom(32) + vec(1, session) + \
        vec(2, b"\x13\x01\x13\x02\xc0\x2b\xc0\x2f") + b"\x01\0"
    if size is not None:
        exts += ext(21, bytes(max(0, size - 4 - len(head) - 2 - len(exts) - 4)))
    return b"\x01" + vec(3, head + vec(2, exts))


def records(message, size=16384, kind=22, version=b"\x03\x01"):
    """The message in TLS records of at most `size` bytes each."""
    return b"".join(bytes([kind]) + version + vec(2, message[i:i + size])
                    for i in range(0, len(message), size))


def hello(sni=None, **how):
    return records(client_hello(sni, **how))


# RFC 8446 4.1.3: a ServerHello with this random is a HelloRetryRequest.
RETRY_RANDOM = bytes.fromhex("CF21AD74E59A6111BE1D8C021E65B891C2A211167ABB8C5E079E09E2C8A8339C")


def server_hello(session=b"", retry=False):
    exts = ext(43, b"\x03\x04") + (ext(51, b"\0\x17") if retry else
                                   ext(51, b"\0\x1d" + vec(2, os.urandom(32))))
    body = b"\x03\x03" + (RETRY_RANDOM if retry else os.urandom(32)) + vec(1, session) + \
        b"\x13\x01\0" + vec(2, exts)
    return records(b"\x02" + vec(3, body), version=b"\x03\x03")


ALERT = b"\x15\x03\x03\x00\x02\x02\x28"  # handshake_failure: a whole record, for an origin that declines
