"""The gateway's door of a weir, and what its session and its ledger say."""
import json
import os
import socket
import subprocess

from . import client as rig_client
from . import provider as rig_provider
from . import token as tokens
from . import weir as rig_weir
from .weir import free_port, wait_for

SECRET = tokens.new_secret()
ENVIRONMENT = {"PROVIDER_KEY": rig_provider.KEY, "KEY": SECRET}
SONNET = "claude-sonnet-5-5"
ASK = {"model": SONNET, "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
# Where each kind of provider wants its key.
KEY_FIELDS = {"anthropic": "x-api-key", "openai": "authorization", "gemini": "x-goog-api-key",
              "vercel": "authorization", "openrouter": "authorization", "litellm": "authorization"}


def row(kind, provider, **more):
    """A provider of the configuration, reached by /KIND."""
    credential = {"header": KEY_FIELDS[kind], "value": "env:PROVIDER_KEY"}
    if credential["header"] == "authorization":
        credential["scheme"] = "Bearer"
    return dict({"name": kind, "kind": kind, "path": "/" + kind, "upstream": provider.url, "hosts": [provider.name],
                 "credential": credential}, **more)


def listen():
    return {"proxy": ["127.0.0.1:%d" % free_port()], "gateway": ["127.0.0.1:%d" % free_port()]}


def laptop(usd="1", **claims):
    """Sessions: whoever brings no token is this one."""
    return {"required": False, "default": dict({"sid": "s1", "tenant": "acme", "budget": {"sessionUsd": usd}}, **claims)}


def nano(text):
    whole, _, part = text.partition(".")
    return int(whole) * 10 ** 9 + int(part.ljust(9, "0") or 0)


def usd(amount):
    """n$ as weir writes them."""
    return ("%d.%09d" % divmod(amount, 10 ** 9)).rstrip("0").rstrip(".")


class Door:
    """The gateway of a weir, as something rig.client connects to."""

    def __init__(self, weir):
        self.weir = weir
        self.host, _, self.port = weir.config["listen"]["gateway"][0].rpartition(":")

    def connect(self, timeout):
        return socket.create_connection((self.host, int(self.port)), timeout)


class Gateway:
    def __init__(self, weir):
        self.weir, self.door = weir, Door(weir)

    def open(self):
        return rig_client.Client(self.door)

    def send(self, client, path, body=None, token=None, method="POST", headers=()):
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = ["%s %s HTTP/1.1" % (method, path), "Host: weir"]
        if token:
            lines.append("x-api-key: " + token)
        lines += ["%s: %s" % pair for pair in headers]
        if body is not None:
            lines.append("Content-Length: %d" % len(data))
        client.send("\r\n".join(lines).encode() + b"\r\n\r\n" + data)

    def call(self, path, body=None, token=None, method="POST", headers=()):
        with self.open() as client:
            self.send(client, path, body, token, method, headers)
            return client.response(method)

    def messages(self, token=None, headers=(), **more):
        return self.call("/anthropic/v1/messages", dict(ASK, **more), token, headers=headers)

    def purse(self, token=None):
        answer = self.call("/weir/v1/session", token=token, method="GET")
        assert answer.status == 200, answer
        return json.loads(answer.body)["session"]

    def ledger(self, *arguments, **how):
        """weir ledger, on the ledger of a weir that runs."""
        return subprocess.run([rig_weir.binary(), "ledger", *arguments, "-c", self.weir.path("weir.yaml")],
                              env=dict(os.environ, **self.weir.environment), capture_output=True, text=True,
                              check=False, **how)

    def spent(self, token=None):
        """n$, once nothing is reserved any more."""
        purse = wait_for(lambda: (lambda p: p if p["reserved"] == "0" else None)(self.purse(token)), what="an end")
        return nano(purse["spent"])
