"""A raw client: bytes out in pieces, all that comes back read strictly."""
import socket
import time

from . import http1

WAIT = 30


class Client:
    def __init__(self, weir, timeout=WAIT):
        self.sock, self.data = weir.connect(timeout), b""
        self.is_ended = self.is_reset = False
        self.timeout = timeout

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()

    def close(self):
        self.sock.close()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    # -- out

    def send(self, data):
        """False when weir no longer takes bytes: what it answered can still be read."""
        if isinstance(data, str):
            data = data.encode("utf-8")
        try:
            self.sock.sendall(data)
            return True
        except OSError:
            return False

    def send_pieces(self, data, every=1, pause=0.0):
        """`pause` is part of what is tested: bytes that come slowly."""
        for i in range(0, len(data), every):
            if not self.send(data[i:i + every]):
                return False
            if pause:
                time.sleep(pause)
        return True

    def finish(self):
        """No more from this side."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    # -- in

    def recv(self, timeout=None):
        """One more read into self.data; False at the end."""
        self.sock.settimeout(timeout or self.timeout)
        try:
            piece = self.sock.recv(65536)
        except socket.timeout:
            raise TimeoutError("nothing came; so far %r" % self.data[-200:]) from None
        except OSError:
            piece, self.is_reset = b"", True
        self.data += piece
        self.is_ended = not piece
        return bool(piece)

    def read_until(self, condition, timeout=None):
        """Reads until condition(self.data); False when the end came first."""
        while not condition(self.data):
            if self.is_ended or not self.recv(timeout):
                return condition(self.data)
        return True

    def read_all(self, timeout=None):
        """Everything up to the end of the connection."""
        while not self.is_ended and self.recv(timeout):
            pass
        data, self.data = self.data, b""
        return data

    def response(self, method="GET", timeout=None, interim=None):
        """The next final response; 1xx before it go into `interim`.  None: closed without one."""
        while True:
            try:
                message, used = http1.read_response(self.data, self.is_ended, method)
                if message.is_complete or self.is_ended:
                    self.data = self.data[used:]
                    if message.status >= 200 or message.status == 101:
                        return message
                    if interim is not None:
                        interim.append(message)
                    continue
            except http1.Incomplete:
                if self.is_ended:
                    return None
            self.recv(timeout)

    def connect(self, target, extra="", host=None):
        """CONNECT and its answer."""
        self.send("CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (target, host or target, extra))
        return self.response("CONNECT")

    def get(self, url, method="GET", headers=(), body=b"", host=None):
        """An absolute-form request and its answer."""
        authority = url.split("//", 1)[1].split("/", 1)[0].split("?", 1)[0]
        head = "%s %s HTTP/1.1\r\nHost: %s\r\n" % (method, url, host or authority)
        head += "".join("%s: %s\r\n" % pair for pair in headers)
        self.send(head.encode("latin1") + b"\r\n" + body)
        return self.response(method)
