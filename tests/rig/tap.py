"""A tap before one of weir's doors: what clients asked there, told apart from what weir says it was asked."""
import socket
import threading

from . import http1
from .origin import Upstream


class Tap(Upstream):
    """Between the clients and weir: what each side said stays here."""

    def __init__(self, door):
        super().__init__(serve=self._carry)
        self.door, self.down = door, b""
        self.port = self.listen()

    def _carry(self, conn):
        with socket.create_connection(self.door) as far:
            back = threading.Thread(target=self._back, args=(conn, far), daemon=True)
            back.start()
            try:
                while piece := conn.recv():
                    far.sendall(piece)
                far.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # weir is done with it: the client hears so
            back.join()

    def _back(self, conn, far):
        try:
            while piece := far.recv(65536):
                with self.changed:
                    self.down += piece
                if not conn.send(piece):
                    far.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        conn.close()

    def asked(self):
        """Every request so far, in clear: also those in a tunnel, but for its TLS."""
        all_ = []
        for conn in list(self.conns):
            data = conn.data
            try:
                while data and data[0] != 0x16:
                    message, used = http1.read_request(data)
                    all_.append(message)
                    data = data[used:]
            except http1.Incomplete:
                pass
        return all_
