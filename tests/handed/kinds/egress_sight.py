"""egress.jsonl: what needs sight of the requests inside TLS: rules with methods or paths, and credentials.

weir opens the client's TLS under a CA of its own; origins prove themselves by an authority of the tests'.
"""
import os

from rig import ca, origin, tls
from rig.client import Client
from rig.gateway import laptop

from .egress_identity import opts_of
from .live import Seen

SENTENCES = []


def why_later(case, request):
    return None


def secrets_of(case):
    return opts_of(case).get("secrets", {})


def needs_sight(case):
    layers = case["policy"] if isinstance(case["policy"], list) else [case["policy"]]
    rules = [rule for layer in layers for part in layer.get("layers", [layer]) for rule in part.get("allow") or []]
    return bool(secrets_of(case)) or any(r.get("proto") == "https" and ("methods" in r or "paths" in r) for r in rules)


class Sight:
    """What stands on both sides of the opened TLS."""

    def __init__(self, directory):
        for name in ("ca", "origins"):
            os.mkdir("%s/%s" % (directory, name))
        self.ca, self.authority = ca.Ca(directory + "/ca"), tls.Authority(directory + "/origins")
        self.secrets = {}

    def serve(self, name):
        return tls.tls_serve(self.authority.context(name), origin.http_serve)

    def ask(self, sock, request):
        """The request inside the TLS of a tunnel."""
        try:
            inside = Client(ca.Opened(sock, self.ca.trusting(), request["tls"]["sni"]))
        except OSError:  # closed before anything was said
            return Seen(200, is_closed=True)
        with inside:
            inside.send(request["inner"])
            answer = inside.response(request["inner"].split(" ", 1)[0])
        if answer and 300 <= answer.status < 400:
            return Seen(200, False, [answer])  # it came through; where it leads is the client's to follow
        return Seen(answer.status if answer else 0, answer is None, [answer])


def prepare(net, case, directory):
    """(settings, environment)"""
    if not needs_sight(case):
        return {}, {}
    net.sight = Sight(directory)
    rows, environment = {}, {}
    for name, secret in secrets_of(case).items():
        environment[name] = net.sight.secrets[name] = os.urandom(24).hex()
        rows[name] = dict({"value": "env:" + name, "hosts": secret["hosts"]},
                          **({"placeholder": secret["placeholder"]} if "placeholder" in secret else {}))
    settings = {"tls": {"roots": net.sight.authority.certificate, "intercept": net.sight.ca.setting}}
    if rows:
        settings.update(credentials=rows, sessions=laptop())
    return settings, environment


def injecting(case, policies):
    """The rules of hosts that a secret is for put it in."""
    for policy in policies:
        for rule in policy.get("allow") or []:
            for name, secret in secrets_of(case).items():
                if rule["host"] in secret["hosts"]:
                    more = {} if "placeholder" in secret else {"header": "authorization", "scheme": "Bearer"}
                    rule["inject"] = dict(more, credential=name)
    return policies


# -- what must be

def unfollowed(run):
    answer = run.seen[0].answers[0]
    assert answer.status == 302 and answer.get("location"), answer


def no_secret_upstream(run):
    data = b"".join(repr(r.headers).encode() + r.body for r in run.upstream.requests)
    for secret in run.net.sight.secrets.values():
        assert secret.encode() not in data
    for secret in secrets_of(run.case).values():
        assert secret.get("placeholder", "\0").encode() not in data


def nothing_asked(run):
    assert not run.upstream.requests, run.upstream.requests


PHRASES = [("3xx returned to the client untouched", unfollowed), ("send the real A_KEY or the placeholder", no_secret_upstream),
           ("forward the attacker key", nothing_asked)]
