"""A parent proxy: answers CONNECT, keeps what it was asked, and connects where it is told."""
import socket
import threading

from . import origin


class Parent:
    def __init__(self, address="127.0.0.1", port=0):
        self.asked, self.heads = [], []
        self.names = {}  # what it makes of a name: (address, port)
        self.says = {}  # target -> a whole answer instead
        self.answer = b"HTTP/1.1 200 Connection established\r\nX-Parent: its-own\r\n\r\n"
        self.upstream = origin.Upstream(serve=self._serve)
        self.port = self.upstream.listen(port, address)
        self.url = "http://%s:%d" % (address, self.port)

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
            back = threading.Thread(target=self._copy, args=(there, conn.sock))
            back.start()
            self._copy(conn.sock, there)
            back.join()

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
