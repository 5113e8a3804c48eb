"""egress.jsonl, kind identity: requests by whom a token says.

Tokens are described: in a request's bytes as <words>, in a sentence as "a token words".
A description with other words than those below makes its case later.
"""
import os
import re
import socket
import threading
import time

from rig import client, hello, issuer, token, weir

from .live import Seen, need

HOUR = 3600
AGENT = "User-Agent: agent/1\r\n"


class Unknown(Exception):
    """The case says what nothing here can play; the text is the reason for later."""


# -- tokens

class Described:
    """A token in the making: its claims, its header, and how it is signed."""

    def __init__(self, by, claims):
        self.by, self.claims, self.header, self.sign = by, claims, {}, None

    def has(self, **claims):
        self.claims.update(claims)

    def lacks(self, name):
        self.claims.pop(name, None)

    def expires(self, seconds):
        self.has(exp=int(time.time()) + seconds)

    def says(self, **header):
        self.header.update(header)

    def is_signed(self, sign):
        self.sign = sign

    def text(self):
        return self.by.sign(self.claims, self.sign, **self.header)


OTHERS = {"issuer": {"iss": "https://other.test"}, "audience": {"aud": "another"}}
WORDS = [
    (r"(?:a )?valid(?: claims| token)?|signed", lambda t: None),
    (r"(?:header )?alg[= ](\w+)", lambda t, alg: t.says(alg=alg)),
    (r"(?:header )?kid[= ](\S+)", lambda t, kid: t.says(kid=kid)),
    (r"(?:an )?(?:empty|no) signature|unsigned", lambda t: t.is_signed(lambda text: b"")),
    (r"expir(?:ing|es) in (\d+) s(?:econds)?", lambda t, s: t.expires(int(s))),
    (r"expired", lambda t: t.expires(-HOUR)),
    (r"not yet valid", lambda t: t.has(nbf=int(time.time()) + HOUR)),
    (r"(?:for |of |by )?(?:a |an |the )?(?:wrong |other |another )(issuer|audience)", lambda t, what: t.has(**OTHERS[what])),
    (r"(?:without|no) (exp|aud|iss|sid|tenant)", lambda t, name: t.lacks(name)),
    (r"(?:signed (?:with|by) )?(?:a |an |the )?(?:wrong|other|another|unknown) key|(?:a )?(?:bad|forged) signature",
     lambda t: t.is_signed(lambda text: os.urandom(len(t.by.signature(text))))),
    (r"(?:signed with )?(?:the )?public key as (?:an? |the )?(?:HMAC )?secret",
     lambda t: t.is_signed(lambda text: t.by.sign_with_public_key(text))),
]


def put_words(described, words):
    for part in filter(None, re.split(r",\s*|\s+and\s+|;\s*", words.strip())):
        for pattern, put in WORDS:
            found = re.fullmatch(pattern, part, re.IGNORECASE)
            if found:
                put(described, *found.groups())
                break
        else:
            raise Unknown("a token: " + part)


def described(by, words):
    """The token that these words are about."""
    made = Described(by, token.claims(ttl=HOUR))
    put_words(made, words)
    return made.text()


def is_described(words):
    try:
        put_words(Described(None, {}), words)
    except Unknown:
        return False
    return True


# -- in a request's bytes

PLACE = re.compile(r"(?<=Bearer )<([^<>]+)>")


def with_tokens(by, raw):
    return PLACE.sub(lambda found: described(by, found[1]), raw)


def has_unknown_token(raw):
    return any(not is_described(words) for words in PLACE.findall(raw))


# -- sentences

CONNECT = re.compile(r"CONNECT(?: (?P<target>\S+:\d+))? with an? (?P<before>[\w ]*?)\s*token\s*(?P<after>[^,]*)"
                     r"(?:, keep sending data for (?P<seconds>\d+) s)?")
DIRECT = re.compile(r"direct CONNECT (?P<target>\S+:\d+)")
RELAYED = re.compile(r"the same bytes through a local relay.*")


def head(target, bearer, is_other_order=False):
    fields = ["Host: %s\r\n" % target, AGENT, "Proxy-Authorization: Bearer %s\r\n" % bearer]
    if is_other_order:
        fields = fields[:0:-2] + fields[:1]
    return "CONNECT %s HTTP/1.1\r\n%s\r\n" % (target, "".join(fields))


def keep_sending(sock, target, seconds):
    """A hello, and a byte now and then, until weir closes; False: it never does."""
    sock.send(hello.hello(target.rpartition(":")[0]))
    deadline = time.monotonic() + max(seconds, weir.WAIT)
    while time.monotonic() < deadline:
        sock.send(b"x")
        try:
            if not sock.recv(0.05):
                return True
        except TimeoutError:
            pass
    return False


def play_connect(net, proxy, case, found):
    words = " , ".join(filter(None, (found["before"], found["after"])))
    target = found["target"] or target_of(case)
    with client.Client(proxy) as sock:
        sock.send(head(target, described(net.issuer, words)))
        answer = sock.response("CONNECT")
        if answer is None or answer.status != 200 or not found["seconds"]:
            return Seen(answer.status if answer else 0, answer is None, [answer] if answer else [])
        return Seen(200, keep_sending(sock, target, int(found["seconds"])), [answer])


def target_of(case):
    rule = case["policy"]["allow"][0]
    return "%s:%d" % (rule["host"], rule.get("ports", [443])[0])


class Relay:
    """What a helper in the sandbox could be: it passes on one connection's bytes."""

    def __init__(self, proxy):
        self.proxy, self.listener = proxy, socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        inner, _ = self.listener.accept()
        outer = self.proxy.connect()
        back = threading.Thread(target=self._pass, args=(outer, inner), daemon=True)
        back.start()
        self._pass(inner, outer)
        back.join()
        inner.close()
        outer.close()

    @staticmethod
    def _pass(source, sink):
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def connect(self, timeout):
        return socket.create_connection(self.listener.getsockname(), timeout)


def ask(door, target, bearer, is_other_order=False):
    with client.Client(door) as sock:
        sock.send(head(target, bearer, is_other_order))
        answer = sock.response("CONNECT")
        return Seen(answer.status if answer else 0, answer is None, [answer] if answer else [])


def play_direct(net, proxy, case, found):
    net.asked = found["target"], described(net.issuer, "valid")
    return ask(proxy, *net.asked)


def play_relayed(net, proxy, case, found):
    return ask(Relay(proxy), *net.asked, is_other_order=True)


SENTENCES = [(CONNECT, play_connect), (DIRECT, play_direct), (RELAYED, play_relayed)]


def why_later(case, request):
    """None: it can be played."""
    if opts_of(case).get("on_expiry", "close") != "close":
        return "on_expiry " + opts_of(case)["on_expiry"]
    if not isinstance(request, str):
        return "token" if has_unknown_token(request.get("raw", "")) else None
    found = CONNECT.fullmatch(request)
    if found and not all(is_described(found[k] or "") for k in ("before", "after")):
        return "token"
    return None


# -- the weir

def algorithm(case):
    """What opts.identity names; None: the case has no identities."""
    said = opts_of(case).get("identity")
    if said is None:
        return None
    found = re.fullmatch(r"jwt(?: (\w+))?", said) if isinstance(said, str) else None
    if not found or (found[1] or "HS256") not in issuer.ALGORITHMS:
        raise Unknown("identity %s" % said)
    return found[1] or "HS256"


def opts_of(case):
    policies = case["policy"] if isinstance(case["policy"], list) else [case["policy"]]
    return {k: v for one in policies for layer in one.get("layers", [one]) for k, v in layer.get("opts", {}).items()}


def prepare(net, case, directory):
    """(settings, environment); net.issuer is whose tokens are good."""
    alg = algorithm(case)
    if alg is None:
        return {}, {}
    net.issuer = issuer.Issuer(alg, directory)
    return {"sessions": {"required": True, "keys": [net.issuer.row()]}}, net.issuer.environment


# -- what must be

def expired_recorded(run):
    for record in run.records:
        need((record["reason"], record["close"]) == ("session_expired", "weir"), "closed by %s: %s", record["close"],
             record["reason"])
        need(record["bytes"]["up"] == len(run.upstream.bytes()), "bytes %s, the origin saw %d", record["bytes"],
             len(run.upstream.bytes()))


def one_verdict(run):
    verdicts = {(r["decision"], r["reason"], r.get("rule")) for r in run.records}
    need(len(verdicts) == 1, "verdicts %s", verdicts)


def not_past_expiry(run):
    need(all(s.is_closed for s in run.seen), "the tunnel outlived its token")


PHRASES = [("close reason identity_expired", expired_recorded), ("verdict depends only on", one_verdict),
           ("relay past expiry", not_past_expiry)]
