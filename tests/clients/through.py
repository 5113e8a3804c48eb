"""One client through weir's proxy door, and what is wrong with how that went.

Three witnesses are held against each other: what the client printed, what a tap before
weir heard it ask, and weir's audit journal.
"""
import collections
import json
import pathlib
import re
import shutil
import string
import tempfile

from clients import live, proxied
from rig import tap as taps
from rig import token as tokens
from rig.weir import wait_for

# Every exchange is somebody's, and refusals are as they are told to strangers.
CONFIG = {"errors": "public", "sessions": {"keys": [{"issuer": tokens.ISSUER, "audience": tokens.AUDIENCE, "alg": "HS256",
                                                     "secret": "env:KEY"}]}}
PACKAGE = {"name": "weir-probe", "dist-tags": {"latest": "1.0.0-" + proxied.ANSWER},
           "versions": {"1.0.0-" + proxied.ANSWER: {"name": "weir-probe", "version": "1.0.0-" + proxied.ANSWER}}}

def reply(request):
    """The origin's."""
    text = json.dumps(PACKAGE) if request.target.endswith("/weir-probe") else proxied.CONTENT
    return ("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)).encode()


def put(text, words):
    return string.Template(text).substitute(words)


class Trip:
    """A client's life, and what was asked and recorded in it."""

    def __init__(self, weir, token, authority, directory, modules=pathlib.Path("/nonexistent")):
        host, _, port = weir.address.rpartition(":")
        self.weir, self.token = weir, token
        self.seen = len(weir.finals())
        self.tap = taps.Tap((host, int(port)))
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="home-", dir=directory))
        self.modules = modules
        who = "weir:%s@" % token if token else ""
        self.words = {"home": str(self.home), "here": str(live.HERE), "authority": authority, "modules": str(modules),
                      "node": live.newer_node(modules)}
        self.environment = proxied.variables("http://%s127.0.0.1:%d" % (who, self.tap.port), authority)

    def run(self, client, patience=live.PATIENCE, **words):
        self.words.update(words)
        for name, text in getattr(client, "files", {}).items():
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text(put(text, self.words))
        work = self.home / "work"
        work.mkdir()
        said = dict(self.environment, **{k: put(v, self.words) for k, v in client.environment.items()})
        self.output, self.status = live.live([put(word, self.words) for word in client.command],
                                             live.surroundings(self.home, self.modules, said), work, patience)
        self.asked = self.tap.asked()
        return self

    # -- what was seen

    def text(self):
        """The output, however it was wrapped and coloured."""
        return " ".join(re.sub("\x1b\\[[0-9;]*m", "", self.output).split())

    def records(self):
        """weir's, once there is one for each request that was heard: then there may be no more."""
        try:
            wait_for(lambda: len(self.weir.finals()) - self.seen >= len(self.asked), what="a record of each exchange")
        except AssertionError:
            pass  # not_recorded() says which is missing
        return self.weir.finals()[self.seen:]

    def calls(self):
        return self.records()

    # -- what is wrong

    def not_recorded(self):
        """Exactly one final record for each exchange, and of nothing else."""
        heard = collections.Counter(place(m) for m in self.asked)
        written = collections.Counter(recorded(r) for r in self.records())
        for what, n in (heard - written).items():
            yield "%d records of %s are missing" % (n, what)
        for what, n in (written - heard).items():
            yield "%d records of %s too many" % (n, what)

    def not_its_own(self, who):
        """Every exchange but the one that was asked for a token is its session's."""
        for r in self.records():
            if r["reason"] != "session_required" and (r.get("session") or {}).get("sid") != who:
                yield "an exchange of nobody: %s" % recorded(r)

    def close(self):
        self.tap.close()
        shutil.rmtree(self.home, ignore_errors=True)


def place(message):
    """What a request is about, in the words of a record."""
    target = message.target
    if message.method == "CONNECT":
        return "CONNECT " + (target if ":" in target else target + ":443")
    if target.startswith("http://"):
        host, _, path = target[len("http://"):].partition("/")
    else:
        host, path = message.get("host", ""), target.lstrip("/")
    return "%s %s/%s" % (message.method, host if ":" in host else host + ":80", path.partition("?")[0])


def recorded(record):
    target = record["target"]
    if record["kind"] == "connect":
        return "CONNECT %s:%s" % (target["host"], target["port"])
    return "%s %s:%s%s" % (target["method"], target["host"], target["port"], target["path"])


# -- a program that fetches one URL

# What each reason's sentence has, and its status.
SAYS = {"host_not_allowed": ("do not try another way", 403), "metered_host": ("reached only through the gateway", 403),
        "session_required": ("A session token is wanted", 407)}


def shown(text, reason):
    """The most of a refusal that a text has."""
    sentence, status = SAYS[reason]
    return proxied.SENTENCE if sentence in text else proxied.REASON if reason in text else \
        proxied.NUMBER if str(status) in text else proxied.NOTHING


def fetch(trip, program, scheme, host):
    return trip.run(program, url="%s://%s/it" % (scheme, host))


def allowed(trip, program, scheme):
    """What is wrong with how it fetched what it may."""
    fetch(trip, program, scheme, proxied.ALLOWED)
    if trip.status != 0 or proxied.ANSWER not in trip.output:
        yield "it ended with %s and shows no answer" % trip.status
    first = [m.get("proxy-authorization") is not None for m in trip.asked][:1]
    if first != [not program.is_asked]:
        yield "its first request %s a credential" % ("has" if any(first) else "has not")
    yield from trip.not_recorded()
    yield from trip.not_its_own(program.name)


def expected(program, what):
    """What it is refused for, how often it asks, and what it shows."""
    reason = "session_required" if what == proxied.NO_TOKEN else "host_not_allowed"
    asks = program.tries + (program.is_asked and what != proxied.NO_TOKEN)
    is_clear = what == proxied.CLEAR and program.clear == "http"
    return reason, asks, program.shows_clear if is_clear else program.shows


def refused(trip, program, what):
    """What is wrong with how it took a refusal."""
    fetch(trip, program, "http" if what == proxied.CLEAR else "https", proxied.REFUSED)
    reason, asks, shows = expected(program, what)
    if trip.status is None or (trip.status == 0) != (what in program.content):
        yield "it ended with %s" % trip.status
    if len(trip.asked) != asks:
        yield "it asked %d times, not %d" % (len(trip.asked), asks)
    if shown(trip.text(), reason) != shows:
        yield "of the refusal it shows %s, not %s" % (shown(trip.text(), reason), shows)
    if what == proxied.TUNNEL and program.words not in trip.text():
        yield "it does not show %r" % program.words
    if {r["reason"] for r in trip.records()[asks - program.tries:]} != {reason}:
        yield "refused for %s" % [r["reason"] for r in trip.records()]
    yield from trip.not_recorded()
