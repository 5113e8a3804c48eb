"""A certificate authority of the tests' own, origins that speak TLS with it, and clients of a weir that does."""
import socket
import ssl
import subprocess


class Authority:
    """Made once in `directory` by openssl; leaves for any names."""

    def __init__(self, directory):
        self.directory = directory
        self.certificate, self.key = self._path("ca.pem"), self._path("ca.key")
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                      "-days", "2", "-subj", "/CN=weir test CA", "-keyout", self.key, "-out", self.certificate,
                      "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=keyCertSign")
        self._leaves = {}

    def _path(self, name):
        return "%s/%s" % (self.directory, name)

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    def leaf(self, *names):
        """(certificate, key) files for these DNS names; "IP:127.0.0.1" is an address."""
        if names not in self._leaves:
            stem = self._path("%s-%d" % (names[0].replace(":", "-"), len(self._leaves)))
            request, config = stem + ".csr", stem + ".ext"
            with open(config, "w", encoding="ascii") as f:
                f.write("subjectAltName=" + ",".join(n if n.startswith("IP:") else "DNS:" + n for n in names))
            self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                          "/CN=" + names[0], "-keyout", stem + ".key", "-out", request)
            self._openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-days", "2",
                          "-CAcreateserial", "-extfile", config, "-out", stem + ".pem")
            self._leaves[names] = (stem + ".pem", stem + ".key")
        return self._leaves[names]

    def context(self, *names, alpn=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.leaf(*names))
        if alpn:
            context.set_alpn_protocols(alpn)
        return context

    def client(self):
        return ssl.create_default_context(cafile=self.certificate)


def tls_serve(context, inner):
    """An Upstream's serve: TLS, then `inner` over it; conn.data is the plain text."""
    def serve(conn):
        try:
            conn.sock = context.wrap_socket(conn.sock, server_side=True)
        except (ssl.SSLError, OSError):
            conn.recv()
            return
        inner(conn)
    return serve


def wrap(sock, context, name):
    """TLS on a socket, or within the TLS that it speaks already."""
    if isinstance(sock, (ssl.SSLSocket, Layered)):
        return Layered(sock, context, name)
    return context.wrap_socket(sock, server_hostname=name, suppress_ragged_eofs=False)


class Layered:
    """A socket whose TLS goes over something like a socket; unwrap() is its half-close."""

    def __init__(self, below, context, name):
        self.below, self.incoming, self.outgoing = below, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname=name)
        self._go_on(self.tls.do_handshake)

    def _go_on(self, act):
        while True:
            try:
                return act()
            except ssl.SSLWantReadError:
                self._flush()
                piece = self.below.recv(65536)
                self.incoming.write(piece) if piece else self.incoming.write_eof()
            except ssl.SSLZeroReturnError:  # a goodbye after our own
                return b""
            finally:
                self._flush()

    def _flush(self):
        if self.outgoing.pending:
            self.below.sendall(self.outgoing.read())

    def recv(self, n):
        return self._go_on(lambda: self.tls.read(n))

    def sendall(self, data):
        self.tls.write(data)
        self._flush()

    def crumble(self, data):
        """Sends it at once, a record for each byte."""
        for byte in data:
            self.tls.write(bytes((byte,)))
        self._flush()

    def finish(self):
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            self._flush()

    def getpeercert(self, *form):
        return self.tls.getpeercert(*form)

    def version(self):
        return self.tls.version()

    def settimeout(self, timeout):
        self.below.settimeout(timeout)

    def setsockopt(self, *option):
        self.below.setsockopt(*option)

    def close(self):
        self.below.close()


class Door:
    """A weir's tls: listener, as something rig.client connects to; `layered`: the client can half-close."""

    def __init__(self, weir, context, name="weir.test", listener="proxy", layered=False):
        self.context, self.name, self.layered = context, name, layered
        host, _, port = weir.config["listen"][listener][0].removeprefix("tls:").rpartition(":")
        self.address = host, int(port)

    def connect(self, timeout):
        sock = socket.create_connection(self.address, timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as clients do, for the end of a handshake is one write
        return Layered(sock, self.context, self.name) if self.layered else wrap(sock, self.context, self.name)
