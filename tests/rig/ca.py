"""An interception CA of weir's making, and clients that trust it."""
import ssl
import subprocess

from . import client as rig_client
from . import tls
from .weir import binary


class Ca:
    """Made in `directory` by weir ca."""

    def __init__(self, directory, *options):
        self.directory = str(directory)
        self.run("init", *options)
        self.certificate, self.key = self.path("ca.pem"), self.path("ca.key")
        self.bundle = self.path("bundle.pem")

    def path(self, name):
        return "%s/%s" % (self.directory, name)

    def run(self, what, *options):
        done = subprocess.run([binary(), "ca", what, self.directory, *options], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def setting(self):
        return {"cert": "file:" + self.certificate, "key": "file:" + self.key}

    def trusting(self):
        return ssl.create_default_context(cafile=self.bundle)


class Inside(rig_client.Client):
    """What is said in the TLS of a client's tunnel."""

    def __init__(self, outer, context, name):
        super().__init__(outer)
        self.outer, self.context, self.name = outer, context, name

    @staticmethod
    def open(proxy, context, name, port=443, extra="", sni=None):
        """CONNECT, and TLS in it."""
        client = rig_client.Client(proxy)
        answer = client.connect("%s:%d" % (name, port), extra)
        assert answer.status == 200, answer
        return Inside(Opened(client, context, sni or name), context, name)

    def certificate(self):
        return self.sock.getpeercert()


class Opened:
    """A tunnel, as something rig.client connects to: that is the TLS handshake."""

    def __init__(self, client, context, name):
        self.client, self.context, self.name = client, context, name

    def connect(self, timeout):
        self.client.sock.settimeout(timeout)
        return tls.wrap(self.client.sock, self.context, self.name)
