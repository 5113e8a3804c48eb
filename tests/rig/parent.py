"""A parent proxy: answers CONNECT, keeps what it was asked, and connects where it is told."""
import select
import socket
import ssl
import threading

from . import origin, tls


class Parent:
    def __init__(self, address="127.0.0.1", port=0, context=None):
        self.asked, self.heads = [], []
        self.names = {}  # what it makes of a name: (address, port)
        self.says = {}  # target -> a whole answer instead
        self.answer = b"HTTP/1.1 200 Connection established\r\nX-Parent: its-own\r\n\r\n"
        self.upstream = origin.Upstream(serve=tls.tls_serve(context, self._serve) if context else self._serve)
        self.port = self.upstream.listen(port, address)
        self.url = "%s://%s:%d" % ("https" if context else "http", address, self.port)

    def close(self):
        self.upstream.close()

    def _serve(self, conn):
        while b"\r\n\r\n" not in conn.data:
            if not conn.recv(1):  # what comes behind the head is the origin's
                return
        head = conn.data.decode()
        target = head.split()[1]
        self.heads.append(head)
        self.asked.append(target)
        if target in self.says or "*" in self.says:
            conn.send(self.says.get(target, self.says.get("*")))
            conn.close()
            return
        host, _, port = target.rpartition(":")
        with socket.create_connection(self.names.get(host, (host.strip("[]"), int(port)))) as there:
            conn.send(self.answer)
            if isinstance(conn.sock, ssl.SSLSocket):
                self._carry(conn.sock, there)
                return
            back = threading.Thread(target=self._copy, args=(there, conn.sock))
            back.start()
            self._copy(conn.sock, there)
            back.join()

    @staticmethod
    def _carry(secure, there):
        """By one thread: an SSLSocket is no two threads' at once."""
        try:
            while True:
                ready = [secure] if secure.pending() else select.select([secure, there], [], [])[0]
                for one in ready:
                    piece = one.recv(65536)
                    if not piece:
                        secure.unwrap()
                        return
                    (there if one is secure else secure).sendall(piece)
        except (OSError, ValueError):
            pass

    @staticmethod
    def _copy(one, other):
        try:
            while True:
                piece = one.recv(65536)
                if not piece:
                    break
                other.sendall(piece)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass
