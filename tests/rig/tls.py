"""A certificate authority of the tests' own, and origins that speak TLS with it."""
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
