"""Fake origins: what weir dialled and sent is kept in exact bytes.

Upstream listens where it is told; each connection is served by its own thread
with the upstream's `serve` (http_serve by default), and stays in `conns`.
"""
import socket
import threading
import time

from . import http1, netns

WAIT = 30  # a condition that takes longer than this is not coming

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Conn:
    def __init__(self, upstream, sock):
        self.upstream, self.sock = upstream, sock
        self.local = sock.getsockname()[:2]  # the address weir chose to dial
        self.peer = sock.getpeername()[:2]
        self.data, self.requests = b"", []
        self.is_ended = False  # weir's FIN or RST came
        self.is_reset = False

    def recv(self, limit=65536):
        """More bytes, kept; b"" at the end."""
        try:
            piece = self.sock.recv(limit)
        except OSError:
            piece, self.is_reset = b"", True
        with self.upstream.changed:
            self.data += piece
            self.is_ended = self.is_ended or not piece
            self.upstream.changed.notify_all()
        return piece

    def send(self, data):
        try:
            self.sock.sendall(data)
            return True
        except OSError:
            return False

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def http_serve(conn):
    """Answers each whole request with upstream.reply(request), keeping the connection."""
    taken, is_continued = 0, False
    while conn.recv():
        while True:
            rest = conn.data[taken:]
            try:
                message, used = http1.read_request(rest)
            except http1.Incomplete:
                break
            if not message.is_complete:
                if message.get("expect", "").lower() == "100-continue" and not is_continued:
                    is_continued = conn.send(b"HTTP/1.1 100 Continue\r\n\r\n")
                break
            taken, is_continued = taken + used, False
            with conn.upstream.changed:
                conn.requests.append(message)
                conn.upstream.requests.append(message)
                conn.upstream.changed.notify_all()
            if not conn.send(conn.upstream.reply(message)):
                return
    conn.close()


def echo_serve(conn):
    while True:
        piece = conn.recv()
        if not piece:
            conn.close()
            return
        conn.send(piece)


def silent_serve(conn):
    """Says nothing, and ends when weir does."""
    while conn.recv():
        pass
    conn.close()


def patient_serve(conn):
    """Says nothing, and leaves its own end to the test."""
    while conn.recv():
        pass


class Upstream:
    def __init__(self, serve=http_serve, reply=None):
        self.serve = serve
        self.reply = reply or (lambda request: OK)
        self.conns, self.requests, self.faults = [], [], []
        self.changed = threading.Condition()
        self._listeners = []

    def listen(self, port=0, address="127.0.0.1", fd=None):
        """`fd`: the namespace the port is in.  Returns the port."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        if fd is None:
            sock = self._bind(family, address, port)
        else:
            with netns.inside(fd):
                sock = self._bind(family, address, port)
        self._listeners.append(sock)
        threading.Thread(target=self._accept, args=(sock,), daemon=True).start()
        return sock.getsockname()[1]

    @staticmethod
    def _bind(family, address, port):
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind((address, port))
        sock.listen(1024)
        return sock

    def _accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                conn = Conn(self, sock)
            except OSError:
                if listener.fileno() < 0:
                    return
                continue
            with self.changed:
                self.conns.append(conn)
                self.changed.notify_all()
            threading.Thread(target=self._run, args=(conn,), daemon=True).start()

    def _run(self, conn):
        try:
            self.serve(conn)
        except http1.Malformed as fault:  # weir sent what it must never send
            with self.changed:
                self.faults.append("weir sent upstream: %s" % fault)
                self.changed.notify_all()
            conn.sock.close()
        except OSError:
            pass

    # -- what was seen

    def wait(self, condition, timeout=WAIT):
        """True when condition() held within the time."""
        with self.changed:
            return self.changed.wait_for(condition, timeout)

    def conn(self, i=0):
        """The i-th connection, once it is there: weir knows of it before accept() does."""
        if not self.wait(lambda: len(self.conns) > i):
            raise AssertionError("the origin has %d connections, not %d" % (len(self.conns), i + 1))
        return self.conns[i]

    def bytes(self):
        return b"".join(c.data for c in self.conns)

    def dialled(self):
        return ["%s:%d" % (c.local[0].replace("::ffff:", ""), c.local[1]) for c in self.conns]

    def reset(self):
        """Ends every connection and forgets all; weir has seen the end when this returns."""
        with self.changed:
            conns, self.conns, self.requests, self.faults = self.conns, [], [], []
        for conn in conns:
            conn.close()
        deadline = time.monotonic() + 2
        for conn in conns:
            conn.sock.settimeout(max(0.01, deadline - time.monotonic())) if conn.sock.fileno() >= 0 else None
            try:
                while conn.sock.recv(65536):
                    pass
            except OSError:
                pass
            conn.sock.close()

    def close(self):
        for sock in self._listeners:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()
        for conn in self.conns:
            try:
                conn.sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads it
            except OSError:
                pass
            conn.sock.close()
