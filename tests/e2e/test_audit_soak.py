"""Very many exchanges while the log is moved, cut, full and reloaded: as many records, one chain, no secret.

200 secrets are planted: 70 with the forms of as many kinds of key, 60 without a form, 70 that weir itself holds. A secret
is put only where it is promised to be known: one with a form, or that weir holds, anywhere and in any encoding; one
without a form where its place says that it is one.

By the client: the path, names and values of the query, names and values of fields, cookies, Authorization, userinfo of
a URL and of a CONNECT, Proxy-Authorization, the host, the name in a ClientHello, the fragment, the method, the
version, fields of framing, chunks, the body, and bytes that are no HTTP at all; at the gateway the path, the query,
the key, the model, what is no JSON; at the SOCKS5 door the login, the host, and bytes that are no SOCKS. By the origin:
the status line, fields, framing and chunks of what is no answer; by a name server: the end of a chain of names; by a
provider: an error that echoes the credential that weir sent it, in several encodings, and an answer that is none. By
the operator: a setting, a policy, words to `weir ctl`.

Searched, in either case, raw and decoded (rig/planted.py): every file of the audit log, the operator's log, all that
weir itself answered (a refusal may name the host that was asked for), what it tells its operator; and, for what weir
holds and nobody else says, its memory: it stands only where no core would have it. That no core is made at all, even
where nothing else forbids one, is test_credentials.py's.
"""
import base64
import glob
import hashlib
import json
import os
import queue
import random
import re
import resource
import signal
import socket
import string
import subprocess
import threading
import urllib.parse

import pytest
from rig import gateway as rig_gateway, hello, http1, provider as rig_provider, token as tokens
from rig.planted import Search, guises, noise, shaped
from rig.weir import SANITIZED, binary, free_port, proxy_and_health, wait_for
from rules import http as http_rule, https
from test_credentials import mappings

NAME, LIAR, LIES_AT, ALIAS = "allowed.test", "liar.test", 81, "alias%d.test"
BATCH = 40
CLIENTS = 4
ANSWERS_MAX = 32 << 20  # bytes of them that each client keeps
LEFT_OVER = 24  # characters in a row: a stack may have a register's remainder
FORMED, BARE, SENT, SILENT = 70, 60, 58, 12
HOSTLY = string.ascii_letters + string.digits + "_"
FITS_HOST = re.compile("[A-Za-z0-9_][A-Za-z0-9_-]{1,58}[A-Za-z0-9_]")
UNCERTAIN = ("AIza", "AKIA", "ASIA", "ATBB")  # of them, in small letters, most are known, not all
KINDS = ("anthropic", "openai", "gemini", "vercel", "openrouter", "litellm")


# -- where a secret is put: what may be put there (f: has a form, h: weir holds it, b: bare), and how

def ask(target, *fields, method="GET", host="nowhere.test", body=""):
    return "\r\n".join(["%s %s HTTP/1.1" % (method, target), "Host: " + host, *fields]) + "\r\n\r\n" + body


def at(path, *fields, host="nowhere.test", **how):
    return ask("http://%s%s" % (host, path), *fields, host=host, **how)


def basic(secret):
    return base64.b64encode(("user:" + secret).encode()).decode()


def fields(q):
    return ["Authorization: Bearer " + q, "Cookie: a=1; session=" + q, "X-Api-Key: " + q, "User-Agent: " + q,
            "Referer: http://nowhere.test/?t=" + q, "X-Other: " + q, "If-None-Match: \"%s\"" % q, "Via: 1.1 " + q]


def hidden(secret):
    """In a path, in encodings; a form is found behind no character of its own alphabet but a slash."""
    return "/" + "/".join(g for i, g in enumerate(guises(secret)) if i != 6)


def no_colon(q):
    """What stands before a colon is a field's name, and what stands behind it goes to the origin."""
    return q.replace(":", "%3A")


CHUNKED = ("Transfer-Encoding: chunked",)
POLITE = {  # the connection goes on; s: the secret, q: the same in percent escapes
    "path": ("fh", lambda s, q: at("/a/%s/b" % q)),
    "path, encoded": ("fh", lambda s, q: at(hidden(s))),
    "path, in every guise": ("h", lambda s, q: at("/" + "/".join(guises(s)))),
    "path, by its name": ("fhb", lambda s, q: at("/a;password=" + q)),
    "query": ("fhb", lambda s, q: at("/?q=%s&access_token=%s" % (q, q))),
    "name in a query": ("fh", lambda s, q: at("/?%s=1" % q)),
    "fields": ("fhb", lambda s, q: at("/", *fields(q))),
    "fields, to an origin": ("fhb", lambda s, q: at("/?q=" + q, *fields(q), "Authorization: Basic " + basic(s), host=NAME)),
    "name of a field": ("fhb", lambda s, q: at("/", "X-%s: 1" % no_colon(q), host=NAME)),
    "body": ("fhb", lambda s, q: at("/", "Content-Length: %d" % len(s), host=NAME, method="POST", body=s)),
    "trailers": ("fhb", lambda s, q: at("/", *CHUNKED, host=NAME, method="POST", body="1;%s\r\nx\r\n0\r\nX-T: %s\r\n\r\n" % (q, q))),
}
RUDE = {  # it does not
    "userinfo of a URL": ("fhb", lambda s, q: ask("http://user:%s@nowhere.test/" % q)),
    "userinfo of a CONNECT": ("fhb", lambda s, q: ask("user:%s@nowhere.test:443" % q, method="CONNECT")),
    # but for the slash, at which the authority would end: "http://user:7/..." is a host and its port
    "userinfo, raw": ("fh", lambda s, q: ask("http://user:%s@nowhere.test/" % s.replace("/", "%2F"))),
    "host": ("l", lambda s, q: ask("http://%s.nowhere.test/" % s, host=s + ".nowhere.test")),
    "host of a CONNECT": ("l", lambda s, q: ask(s + ".nowhere.test:443", method="CONNECT", host=s + ".nowhere.test:443")),
    "port": ("fh", lambda s, q: ask("nowhere.test:" + q, method="CONNECT")),
    "Host": ("fh", lambda s, q: ask("http://nowhere.test/", host=q)),
    "method": ("fh", lambda s, q: at("/", method=q)),
    "version": ("fhb", lambda s, q: "GET http://nowhere.test/ HTTP/%s\r\n\r\n" % q),
    "scheme": ("fh", lambda s, q: ask(q + "://nowhere.test/")),
    "fragment": ("fhb", lambda s, q: at("/#access_token=" + q)),
    "no HTTP": ("fh", lambda s, q: "%s\r\n\r\n" % s),
    "no field": ("fhb", lambda s, q: at("/", no_colon(q))),
    "blank before a colon": ("fhb", lambda s, q: at("/", "%s : %s" % (q, q))),
    "folded field": ("fhb", lambda s, q: at("/", "X-A: 1", " " + s)),
    "control character": ("fhb", lambda s, q: at("/", "Authorization: \x01" + s)),
    "length": ("fhb", lambda s, q: at("/", "Content-Length: " + q, method="POST")),
    "coding": ("fhb", lambda s, q: at("/", "Transfer-Encoding: " + q, method="POST")),
    "expectation": ("fhb", lambda s, q: at("/", "Expect: " + q, method="POST")),
    "upgrade": ("fhb", lambda s, q: at("/", "Connection: Upgrade", "Upgrade: " + q, host=NAME)),
    "override": ("fhb", lambda s, q: at("/", "X-HTTP-Method-Override: " + q, host=NAME)),
    "size of a chunk": ("fhb", lambda s, q: at("/", *CHUNKED, host=NAME, method="POST", body="%s\r\n" % q)),
    "trailer": ("fhb", lambda s, q: at("/", *CHUNKED, host=NAME, method="POST", body="0\r\n%s\r\n\r\n" % q)),
    "password": ("fhb", lambda s, q: at("/", "Proxy-Authorization: Basic " + basic(s))),
    "token": ("fhb", lambda s, q: at("/", "Proxy-Authorization: Bearer " + q)),
    "no token": ("fhb", lambda s, q: at("/", "Proxy-Authorization: " + q)),
    "name in a ClientHello": ("l", lambda s, q: tunnel(hello.hello(s + ".test"))),
    "no name in a ClientHello": ("fh", lambda s, q: tunnel(hello.hello(s[:63] + " !"))),
    "tunnel": ("fhb", lambda s, q: tunnel(s.encode())),
}
def login(user, password):
    """SOCKS5, with one."""
    return b"\5\1\2\1%c%s%c%s" % (len(user), user, len(password), password) + socks_connect(b"nowhere.test")


def socks_connect(host):
    return b"\5\1\0\3%c%s" % (len(host), host) + (443).to_bytes(2, "big")


SOCKS = {  # at the SOCKS5 door
    "password": ("fhb", lambda s, q: login(b"user", s.encode())),
    "user": ("fhb", lambda s, q: login(s.encode(), b"x")),
    "host": ("l", lambda s, q: b"\5\1\0" + socks_connect(s.encode() + b".nowhere.test")),
    "no SOCKS": ("fhb", lambda s, q: s.encode()),
    "no method": ("fhb", lambda s, q: b"\5%c%s" % (min(len(s), 255), s.encode())),
}
LIES = {  # what an origin answers
    "status": lambda s: "HTTP/1.1 2oo %s\r\n\r\n" % s,
    "version": lambda s: "%s 200 OK\r\n\r\n" % s,
    "no field": lambda s: "HTTP/1.1 200 OK\r\n%s\r\n\r\n" % no_colon(s),
    "field": lambda s: "HTTP/1.1 200 OK\r\nX-A: \x01%s\r\n\r\n" % s,
    "length": lambda s: "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n" % s,
    "coding": lambda s: "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n" % s,
    "end": lambda s: "HTTP/1.1 200 %s" % s,
}
MODEL = {"max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}


def call(path, body, *fields_):
    text = body if isinstance(body, str) else json.dumps(body)
    return "\r\n".join(["POST %s HTTP/1.1" % path, "Host: weir", "Connection: close", "Content-Length: %d" % len(text.encode()),
                        *fields_]) + "\r\n\r\n" + text


CALLS = {  # at the gateway
    "path": ("fh", lambda s, q: call("/anthropic/" + q, "{}")),
    "no provider": ("fh", lambda s, q: call("/" + q, "{}")),
    "query": ("fhb", lambda s, q: call("/gemini/v1beta/models/gemini-9:generateContent?key=" + q, "{}")),
    "model": ("fh", lambda s, q: call("/anthropic/v1/messages", dict(MODEL, model=s))),
    "model in a path": ("fh", lambda s, q: call("/gemini/v1beta/models/%s:generateContent" % q, "{}")),
    "key": ("fhb", lambda s, q: call("/anthropic/v1/messages", dict(MODEL, model=rig_gateway.SONNET), "x-api-key: " + q)),
    "bearer": ("fhb", lambda s, q: call("/openai/v1/responses", "{}", "Authorization: Bearer " + q)),
    "no JSON": ("fhb", lambda s, q: call("/anthropic/v1/messages", '{"model":"%s' % s.replace('"', ""))),
    "object": ("fh", lambda s, q: call("/openai/v1/responses", {"model": "gpt-5.5", "input": "x", "previous_response_id": s})),
    "coding": ("fhb", lambda s, q: call("/anthropic/v1/messages", "{}", "Content-Encoding: " + q)),
}


REACHED = {"ok", "request_malformed", "host_invalid", "host_mismatch", "host_not_allowed", "expectation_failed",
           "session_invalid", "sni_mismatch", "tls_required", "upstream_malformed", "model_unpriced", "endpoint_not_metered",
           "object_not_owned", "encoding_unsupported"}


def tunnel(data):
    return ask(NAME + ":443", method="CONNECT", host=NAME + ":443").encode() + data


def rendered(place, secret):
    data = place(secret, urllib.parse.quote(secret, safe=""))
    return data if isinstance(data, bytes) else data.encode("latin-1")


class Plants:
    """200 secrets, and what is sent with them in it."""

    def __init__(self):
        self.formed, self.bare = shaped(FORMED), [noise() for _ in range(BARE)]
        self.sent = [noise(HOSTLY) if i % 3 == 0 else noise() for i in range(SENT)]
        self.silent = [tokens.new_secret() for _ in range(SILENT)]
        self.all = self.formed + self.bare + self.sent + self.silent
        self.told = self.all[:-SILENT]
        self.pools = {"f": self.formed, "h": self.sent, "b": self.bare,
                      "l": [s for s in self.formed + self.sent if FITS_HOST.fullmatch(s) and not s.startswith(UNCERTAIN)]}
        self.search = Search(self.all)
        self.others = Search([s for s in self.all if s not in self.pools["l"]])  # a refusal names the host that was asked for
        self.never_told = Search(self.silent, LEFT_OVER)
        self.never_echoed = Search(self.silent[len(KINDS):], LEFT_OVER)

    def pool(self, kinds):
        return [s for kind in kinds for s in self.pools[kind]]

    def pairs(self, places, most=None, dice=random):
        """(place, secret): all, or `most` of each place."""
        for kinds, place in places.values():
            pool = self.pool(kinds)
            for secret in dice.sample(pool, min(most or len(pool), len(pool))):
                yield place, secret

    def requests(self, places, **how):
        return [rendered(place, secret) for place, secret in self.pairs(places, **how)]

    def lies(self, **how):
        """Requests that the liar answers: which lie, about which secret."""
        return [at("/%d/%d" % (lie, secret), "Connection: close", host="%s:%d" % (LIAR, LIES_AT)).encode()
                for lie in range(len(LIES)) for secret in range(len(self.told))]

    def aliases(self):
        return {ALIAS % i: {"CNAME": secret + ".inside.test"} for i, secret in enumerate(self.pools["l"])}

    def lie(self, request):
        lie, secret = request.target.split("/")[1:]
        return list(LIES.values())[int(lie)](self.told[int(secret)]).encode("latin-1")

    def close(self):
        self.search.close()
        self.others.close()
        self.never_told.close()
        self.never_echoed.close()


# -- origins

def forgetful(conn):
    """Answers each whole request, and keeps none."""
    data = b""
    while piece := conn.sock.recv(1 << 16):
        data += piece
        try:
            while data:
                message, used = http1.read_request(data)
                if not message.is_complete:
                    break
                data = data[used:]
                conn.send(conn.upstream.reply(message))
        except http1.Incomplete:
            pass
    conn.close()


def once(conn):
    """The same, of one request."""
    conn.recv()
    conn.send(conn.upstream.reply(http1.read_request(conn.data)[0]))
    conn.close()


ECHOES = [call(path, dict(body, model=model) if model else body) for path, model, body in (
    ("/anthropic/v1/messages", rig_gateway.SONNET, MODEL), ("/openai/v1/chat/completions", "gpt-6.1-terra", MODEL),
    ("/gemini/v1beta/models/gemini-3.8-flash:generateContent", None, {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
    ("/vercel/v1/chat/completions", "openai/gpt-5.5", MODEL), ("/openrouter/v1/chat/completions", "openai/gpt-5.5", MODEL),
    ("/litellm/v1/chat/completions", "gpt-5.5", MODEL))]


def echo(plants):
    """A provider that answers with the key that it was shown, or with what is no answer."""
    seen = set()

    def answer(provider, conn, request, body):
        shown = [value for _, value in request.headers if any(secret in value for secret in plants.silent)]
        key = shown[0].rpartition(" ")[2]
        if key in seen:
            conn.send(b"HTTP/1.1 2oo %s\r\n\r\n" % key.encode())
        else:
            conn.send(rig_provider.whole({"error": {"message": "no such key: " + " ".join([key, *guises(key)])}}, 401,
                                         more=["Connection: close", "X-Key: " + key]))
        seen.symmetric_difference_update({key})
        conn.close()
    return answer


# -- clients

class Client(threading.Thread):
    """Asks without end, many at once on a connection; now and then it hangs up in the middle.  With visits: just these."""

    def __init__(self, g, traffic, seed, visits=None):
        super().__init__()
        self.g, self.traffic, self.visits = g, traffic, visits
        self.dice, self.is_over, self.said, self.faults, self.n = random.Random(seed), threading.Event(), [], [], 0
        self.start()

    def keep(self, data):
        if sum(map(len, self.said)) < ANSWERS_MAX:
            self.said.append(data)

    def run(self):
        while not self.is_over.is_set():
            try:
                if self.visits is None:
                    self.batches()
                else:
                    self.visit(*self.visits.get_nowait())
            except queue.Empty:
                return
            except OSError as fault:
                self.faults.append(fault)

    def visit(self, door, data):
        """One connection for it, to its end."""
        host, _, port = self.g.weir.config["listen"][door][0].rpartition(":")
        with socket.create_connection((host, int(port)), 60) as sock:
            try:
                sock.sendall(data)
                self.keep(sock.recv(1 << 16))
                if b"\r\nConnection: close" not in data:
                    sock.shutdown(socket.SHUT_WR)  # not before it was heard: that is to give up
                self.keep(b"".join(iter(lambda: sock.recv(1 << 16), b"")))
            except ConnectionError:
                pass

    def batches(self):
        with self.g.weir.connect(60) as sock:
            while not self.is_over.is_set() and self.turn(sock):
                if self.dice.random() < 0.2:
                    self.visit(*self.dice.choice(self.dice.choice([*self.traffic.rude, self.traffic.echoes])))

    def turn(self, sock):
        """False: another connection."""
        asks = [self.dice.choice(self.traffic.polite if self.dice.random() < 0.1 else self.traffic.plain) for _ in range(BATCH)]
        sock.sendall(b"".join(asks))
        want = self.dice.randrange(BATCH) if self.dice.random() < 0.05 else BATCH
        got = 0
        while got < want:
            data = sock.recv(1 << 16)
            if not data:
                return False
            self.keep(data)
            got += data.count(b"HTTP/1.1 ")
            if b"\r\nConnection: close" in data:  # a secret that weir holds leaves in no request, and ends them
                return False
        return want == BATCH


class Traffic:
    """What clients choose from; `most` of each place."""

    def __init__(self, plants, most=None, dice=random):
        self.plain = [at("/x", host=NAME if i == 0 else "nowhere.test").encode() for i in range(10)]
        self.polite = plants.requests(POLITE, most=most, dice=dice)
        lies, alias = plants.lies(), [at("/", "Connection: close", host=name).encode() for name in plants.aliases()]
        self.rude = [[("proxy", data) for data in plants.requests(RUDE, most=most, dice=dice)],
                     [("socks5", data) for data in plants.requests(SOCKS, most=most, dice=dice)],
                     [("proxy", data) for data in dice.sample(lies, min(most or len(lies), len(lies))) + alias],
                     [("gateway", data) for data in plants.requests(CALLS, most=most, dice=dice)]]
        self.echoes = [("gateway", data.encode()) for data in ECHOES * 2]

    def visits(self, dice):
        """Each of it once, but no echo."""
        out = [("proxy", data.replace(b"\r\nHost:", b"\r\nConnection: close\r\nHost:", 1)) for data in self.polite]
        out += [one for rude in self.rude for one in rude]
        return dice.sample(out, len(out))


# -- what is written

def files_of(path):
    """In the order of the chain, which each file's first line tells."""
    after, last = {}, {}
    for name in glob.glob(path + "*"):
        with open(name, "rb") as f:
            first = line = f.readline()
            for line in f:
                pass
        after[json.loads(first)["prev"]] = name
        last[name] = hashlib.sha256(line.rstrip(b"\n")).hexdigest()
    head, out = "0" * 64, []
    while head in after:
        out.append(after[head])
        head = last[out[-1]]
    assert len(out) == len(last), "files beside the chain: %s" % (set(last) - set(out))
    return out


def check(path):
    """Finals of exchanges: how many, how many of them had a place and no open record in time, and their reasons."""
    head, finals, opens, reasons, n, late = "0" * 64, set(), set(), set(), 0, 0
    for name in files_of(path):
        with open(name, "rb") as f:
            for line in f:
                line = line.rstrip(b"\n")
                record = json.loads(line)
                assert record["prev"] == head, name
                head = hashlib.sha256(line).hexdigest()
                if record["kind"] == "system":
                    continue
                if record["phase"] == "final":
                    n += 1
                    finals.add(record["id"])
                    reasons.add(record["reason"])
                    late += record["reason"] == "audit_unavailable"
                else:
                    opens.add(record["id"])
    assert n == len(finals), "an exchange has two"
    assert opens <= finals, "an exchange has none"
    return n, late, reasons


def reason(proxy, name):
    """How many were refused for it."""
    line = next(l for l in proxy.health("/metrics")[1].splitlines()
                if l.startswith("weir_refused_total{") and '"%s"' % name in l)
    return int(float(line.rsplit(" ", 1)[1]))


def would_be_core(pid, path):
    """What the kernel would write, were it to make one: all that may be written, but what weir keeps out of it."""
    with open("/proc/%d/mem" % pid, "rb", 0) as memory, open(path, "wb") as core:
        for start, end, flags in mappings(pid):
            if "dd" in flags:
                continue
            try:
                memory.seek(start)
                core.write(memory.read(end - start))
            except (OSError, ValueError, OverflowError):  # vsyscall, and what went away meanwhile
                continue


def mistake(proxy, plants):
    """The operator's own mistakes, which the log tells."""
    good = proxy.config
    policy = '{"policy": "test", "allow": [{"host": "https://user:%s@a.test"}], "%s": 1}' % (plants.formed[0], plants.formed[1])
    for n, (more, policies) in enumerate([({"log": {"level": plants.sent[0]}}, None), ({"workers": plants.formed[2]}, None),
                                          ({"tls": {"roots": "/nowhere/" + plants.sent[1]}}, None), ({}, [policy])]):
        with open(good["policies"][0], encoding="utf-8") as f:
            before = f.read()
        proxy.config = dict(good, **more)
        proxy.reload(policies)
        wait_for(lambda: proxy.log().count("reload refused") == n + 1, what="the refused reload")
        proxy.config = good
        proxy.write_policies([before])
        proxy.write_config()


def told_to_the_operator(proxy, plants):
    admin = proxy.config["listen"]["admin"][0][5:]
    for words in (["revoke", "acme", plants.formed[3]], ["revoke-token", "acme", plants.sent[2]], ["status"], ["connections"]):
        done = subprocess.run([binary(), "ctl", "-s", admin, *words], capture_output=True, text=True, check=False)
        yield done.stdout + done.stderr if len(words) == 1 else ""
    for path in ("/healthz", "/readyz", "/metrics"):
        yield proxy.health(path)[1]


def end(g, plants, clients, directory):
    """All is over: counted, searched, stopped.  The number of records, and the reasons in them."""
    proxy = g.weir
    wait_for(lambda: proxy.metric("weir_exchanges_open") == 0, what="the end of all")
    mistake(proxy, plants)
    answers, told, core = (os.path.join(directory, name) for name in ("answers", "told", "core"))
    with open(answers, "wb") as f:
        f.writelines(piece for client in clients for piece in client.said)
    with open(told, "w", encoding="utf-8") as f:
        f.writelines(told_to_the_operator(proxy, plants))
    would_be_core(proxy.process.pid, core)
    begun, unheard = int(proxy.metric("weir_exchanges_total")), reason(proxy, "audit_unavailable")
    assert proxy.stop() == 0
    written, late, reasons = check(proxy.config["audit"]["path"])
    assert written == begun - unheard + late, "as many records as exchanges that had a place"
    found = [f for name in [told, proxy.log_path, *files_of(proxy.config["audit"]["path"])] for f in plants.search.told(name)]
    found += plants.others.told(answers) + ([] if SANITIZED else plants.never_echoed.told(core))
    assert not found, "\n".join(found)
    with open(files_of(proxy.config["audit"]["path"])[-1], encoding="utf-8") as f:
        assert "~redacted.held." in f.read()
    return written, reasons


# -- the runs

@pytest.fixture
def plants():
    made = Plants()
    yield made
    made.close()


@pytest.fixture
def front(plants, gateway, provider, upstream, origin, dns, tmp_path):
    """front(config): a weir with four workers and all these secrets."""
    liar = origin(serve=once, reply=plants.lie)
    liar.listen(LIES_AT)
    upstream.serve = forgetful
    upstream.listen(443)
    dns.set(plants.aliases(), {"A": ["127.0.0.1"], "ttl": 60})
    provider.answer = echo(plants)
    held = {"P%d" % i: secret for i, secret in enumerate(plants.sent)}
    inner = {"S%d" % i: secret for i, secret in enumerate(plants.silent)}
    users = [{"user": name, "password": "env:" + name, "claims": {"sid": name, "tenant": "acme"}}
             for name in [*held, *list(inner)[len(KINDS) + 3:]]]
    rows = [rig_gateway.row(kind, provider) for kind in KINDS]
    for i, row in enumerate(rows):
        row["credential"]["value"] = "env:S%d" % i
    first = len(KINDS)

    def make(audit):
        return gateway(
            policy=[http_rule([NAME, *plants.aliases()]), http_rule(LIAR, LIES_AT), https(NAME, 443)], providers=rows,
            sessions=dict(rig_gateway.laptop("1000"), static=users, keys=[
                {"issuer": tokens.ISSUER, "audience": tokens.AUDIENCE, "alg": "HS256", "kid": "k1", "secret": "env:S%d" % first}]),
            environment=dict(held, **inner), config={
                "listen": dict(proxy_and_health(), gateway=["127.0.0.1:%d" % free_port()], socks5=["127.0.0.1:%d" % free_port()],
                               admin=["unix:%s" % (tmp_path / "admin.sock")]),
                "workers": 4, "redact": {"key": "env:S%d" % (first + 1)},
                "audit": dict(audit, path=str(tmp_path / "audit.jsonl"), key="env:S%d" % (first + 2))})
    return make


def test_of_200_secrets_planted_everywhere_none_is_written_anywhere(front, plants, provider, tmp_path):
    seed = random.randrange(10 ** 9)
    print("seed", seed)
    dice, g = random.Random(seed), front({})
    traffic, clients = Traffic(plants, 42, dice), []
    visits, answer = traffic.visits(dice), provider.answer

    def visit(places):
        made = queue.Queue()
        for place in places:
            made.put(place)
        some = [Client(g, None, None, made) for _ in range(CLIENTS)]
        for client in some:
            client.join()
        assert not [fault for client in some for fault in client.faults]
        clients.extend(some)
    provider.answer = rig_provider.refused(401, {"error": {"message": "no such key"}}, more=["Connection: close"])
    visit(visits + traffic.echoes)
    would_be_core(g.weir.process.pid, tmp_path / "core")
    assert SANITIZED or not plants.never_told.told(tmp_path / "core")
    provider.answer = answer
    visit(traffic.echoes)
    n = len(visits) + 2 * len(traffic.echoes)
    assert {key for r in provider.requests for _, value in r.headers for key in plants.silent if key in value} == \
        set(plants.silent[:len(KINDS)]), "each provider was shown its key"
    written, reasons = end(g, plants, clients, tmp_path)
    assert n * 0.9 <= written <= n * 1.1 and sorted(REACHED - reasons) == [], "each place is reached"


def churn(g, plants, n, directory):
    proxy = g.weir
    path, pid, moved = proxy.config["audit"]["path"], proxy.process.pid, 0
    seed = random.randrange(10 ** 9)
    print("seed", seed)
    dice = random.Random(seed)
    traffic = Traffic(plants, None, dice)
    clients = [Client(g, traffic, dice.random()) for _ in range(CLIENTS)]

    def move():
        nonlocal moved
        moved += 1
        os.rename(path, "%s.moved%d" % (path, moved))
        proxy.signal(signal.SIGUSR1)
        wait_for(lambda: os.path.exists(path), what="a new file")

    def fill():
        errors = proxy.metric("weir_audit_errors_total")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (os.path.getsize(path), resource.RLIM_INFINITY))
        wait_for(lambda: proxy.metric("weir_audit_errors_total") > errors, what="a full disk")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        wait_for(lambda: proxy.health("/readyz")[0] == 200, what="recovery")
    faults = [move, fill, proxy.reload]
    try:
        for step in range(1, 21):
            wait_for(lambda: proxy.metric("weir_audit_records_total") >= n * step / 20, 600, "records")
            faults[step % len(faults)]()
    finally:
        for client in clients:
            client.is_over.set()
        for client in clients:
            client.join()
    assert end(g, plants, clients, directory)[0] >= n * 0.95, "the rest are weir's own, and of what lasted"


FAULTY = {"open_after": "100ms", "progress": "1s", "segment": "4MiB"}


def test_many_exchanges_have_as_many_records_whatever_becomes_of_the_log(front, plants, tmp_path):
    churn(front(FAULTY), plants, 10000, tmp_path)


@pytest.mark.soak
def test_a_million_exchanges_have_a_million_records_and_no_secret(front, plants, tmp_path):
    churn(front(FAULTY), plants, 1000000, tmp_path)
