"""egress.jsonl: situations from other proxies' bug reports.

A case is played against a weir of its own.  What it must and must not do is
prose; the phrases below are what a machine can see of it, and each is a check.
A case whose request is prose runs when its words are known (egress_identity.py,
egress_metering.py, egress_boundary.py) or scripts/ID exists, else it is later.
"""
import importlib.machinery
import importlib.util
import os
import re
import socket
import struct
import subprocess
import tempfile

import policy
from rig import client, dns, hello, netns, origin, socks, weir

from . import egress_boundary, egress_identity, egress_metering, egress_sight
from .live import Seen, Wrong, need

NEEDS_NET = True

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PORTS = [80, 443, 2222, 3128, 8000, 8080, 8443, 9000]
DOORS = [egress_identity, egress_metering, egress_sight]  # what else a case can need of its weir, and how it is asked there
PLACES = {"$PUB1": netns.PUB1, "$PUB2": netns.PUB2, "<proxy own address>": netns.OWN}
PROXY, SOCKS, DNS_DOOR = "127.0.0.1:3128", "127.0.0.1:1080", ("127.0.0.1", 5353)


# -- which cases

def script_of(case):
    path = os.path.join(HERE, "scripts", case["id"])
    return path if os.path.exists(path) else None


def requests_of(case):
    return case["request"] if isinstance(case["request"], list) else [case["request"]]


def is_prose(request):
    return isinstance(request, str)


def sentence_of(request):
    """(play, what its words say); (None, None): nothing plays it."""
    found = ((play, pattern.fullmatch(request)) for door in DOORS for pattern, play in door.SENTENCES)
    return next((pair for pair in found if pair[1]), (None, None))


def door_later(case):
    """What the doors say of it."""
    try:
        egress_identity.algorithm(case)
    except egress_identity.Unknown as why:
        return str(why)
    for request in requests_of(case):
        why = next(filter(None, (door.why_later(case, request) for door in DOORS)), None)
        if why:
            return why
    return None


def later(case, known):
    if script_of(case):
        return None
    if case["kind"] == "boundary":
        return egress_boundary.later(case)
    if any(is_prose(r) and not sentence_of(r)[0] for r in requests_of(case)):
        return "script"
    return door_later(case)


def groups(cases, known):
    return [{"cases": [case]} for case in cases]


# -- translation

def placed(value):
    """Every $PUB1 and the like replaced, at any depth."""
    if isinstance(value, str):
        for name, address in PLACES.items():
            value = value.replace(name, address)
        return value
    if isinstance(value, list):
        return [placed(v) for v in value]
    if isinstance(value, dict):
        return {k: placed(v) for k, v in value.items()}
    return value


def zones(case):
    """[zone]: more than one where the case wants a run for each of several answers."""
    out = [{}]
    for name, entry in case["dns"].items():
        if not isinstance(entry, dict):
            continue  # prose: a script's, or "recording server", which every run is
        each = [(k[:-5], v) for k, values in entry.items() if k.endswith("_each") for v in values]
        if each:
            out = [dict(zone, **{name: {family: [value]}}) for zone in out for family, value in each]
            continue
        if "A_seq" in entry:
            entry = {"sequence": [{"A": value} for value in entry["A_seq"]], "ttl": entry.get("ttl", 0)}
        out = [dict(zone, **{name: entry}) for zone in out]
    return out


def layers_of(case):
    """[[layer, ...]]: a list is variants of one policy, `layers` is one policy of several."""
    given = case["policy"] if isinstance(case["policy"], list) else [case["policy"]]
    return [variant.get("layers", [variant]) for variant in given]


def authority_host(request):
    found = re.match(r"CONNECT ([^\s:]+):", request.get("raw", ""))
    return found.group(1).lower() if found else None


def ech_hosts(case):
    """Hosts whose hello with ECH the case wants to pass: that is a rule with ech: allow."""
    wanted = results_of(case)
    return {authority_host(r) for r, (decision, _c) in zip(requests_of(case), wanted)
            if not is_prose(r) and r.get("tls", {}).get("ech") and decision.startswith("allow")}


def translated(layers, case):
    policies, settings = [], {}
    for layer in layers:
        own, more = policy.translate_egress(layer, ech_hosts(case))
        policies.append(own)
        settings.update(more)
    return egress_sight.injecting(case, policies), settings


# -- expectations

def results_of(case):
    """[(decision, client)] for each request of the case."""
    expect, n = case["expect"], len(requests_of(case))
    clients = expect["client"] if isinstance(expect["client"], list) else [expect["client"]] * n
    if expect["decision"] != "per-request" or isinstance(expect["results"], str):
        return list(zip([expect["decision"]] * n, clients))
    decisions = []
    for text in expect["results"]:
        choice = re.search(r"recommended: (.*)\)", text)
        text = choice.group(1) if choice else text
        decisions.append("deny" if "deny" in text else text)
    return list(zip(decisions, clients))


def statuses_of(text, decision):
    """(statuses that are right, whether closing a tunnel is): of words like "400 or 403"."""
    found = {int(s) for s in re.findall(r"\b([345]\d\d)\b", text)}
    if "2xx" in text or re.search(r"\b200\b", text) or decision.startswith("allow"):
        found.add(200)
    if "as documented" in text:
        found |= {200} if decision.startswith("allow") else {403}
    if "NOERROR" in text:
        found.add(200)
    if "REFUSED" in decision or "NXDOMAIN" in decision:
        found.add(403)
    if 403 in found:
        found.add(405)  # a method that is refused
    return found, "close" in text


# -- playing a request

def hello_of(tls):
    extra = hello.ech() if tls.get("ech") else b""
    return hello.hello(tls["sni"], extra=extra, size=tls.get("hello_bytes"))


def tunnel(net, sock, request):
    """After the 200: the hello or other bytes, until the origin has them or weir closed."""
    if net.sight and "tls" in request and "inner" in request:
        return net.sight.ask(sock, request)
    if "tls" in request:
        data = hello_of(request["tls"])
    elif "inner" in request:
        data = request["inner"].encode()
    else:
        return Seen(200)
    already = len(net.upstream.bytes())
    if "1 byte each" in str(request.get("tls", {}).get("segments")):
        sock.send_pieces(data, 1, 0.005 if len(data) < 500 else 0.001)
    else:
        sock.send(data)
    if "inner" in request and "tls" not in request and data.startswith((b"GET", b"POST")):
        answer = sock.response()
        return Seen(answer.status if answer else 0, answer is None, [answer])
    conns = net.upstream.conns

    def came():
        return net.upstream.bytes()[already:] == data
    while not came():
        try:
            if not sock.recv(0.05):
                return Seen(200, is_closed=True)
        except TimeoutError:
            if not net.upstream.wait(came, 0.05) and sock.is_ended:
                return Seen(200, is_closed=True)
    conns[-1].send(hello.ALERT)
    need(sock.read_until(lambda got: got == hello.ALERT), "the origin's answer came as %r", sock.data)
    return Seen(200)


def play_sentence(net, proxy, case, request):
    play_it, words = sentence_of(request)
    net.upstream.serve = net.provider.serve if net.provider else origin.patient_serve
    return play_it(net, proxy, case, words)


def octets(text):
    """A client's writes: hex digits and "text", parted by bars."""
    def of(piece):
        return b"".join(quoted.encode("latin1").decode("unicode_escape").encode("latin1") if quoted else bytes.fromhex(digits)
                        for quoted, digits in re.findall(r'"([^"]*)"|([0-9a-fA-F]+)', piece))
    return [of(piece) for piece in text.split("|")]


class ThroughSocks:
    """The door beside the proxy's."""
    address = SOCKS

    def connect(self, timeout):
        return weir.Weir.connect(self, timeout)


def play_socks(net, request):
    """Greeting and request; a reply is 200 or 403, or there is none."""
    greeting, *rest = octets(request["hex"])
    with client.Client(ThroughSocks()) as sock:
        sock.send(greeting)
        method = socks.read(sock, 2)
        for step in rest:
            sock.send(step)
        reply = socks.read(sock, 10) if method == b"\5\0" else b""
        if len(reply) == 10 and reply[1] == 0:
            return Seen(200)
        sock.read_all()
        return Seen(403 if reply else 0, sock.is_ended)


def play_dns(request):
    """One question over UDP; NOERROR is 200, a refusal 403."""
    kinds = {"A": 1, "AAAA": 28, "TXT": 16, "HTTPS": 65}
    query = b"\x12\x34\1\0\0\1\0\0\0\0\0\0" + dns.encode_name(request["name"])
    query += struct.pack("!HH", kinds[request["type"]], 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(30)
        sock.connect(DNS_DOOR)
        sock.send(query)
        rcode = sock.recv(4096)[3] & 15
    return Seen({0: 200, 2: 502, 3: 403, 5: 403}[rcode])


def play(net, proxy, request):
    if request["via"] == "socks5":
        return play_socks(net, request)
    if request["via"] == "dns":
        return play_dns(request)
    raw = request["raw"]
    data = (egress_identity.with_tokens(net.issuer, raw) if net.issuer else raw).encode("utf-8")
    is_opaque = request["via"] == "connect" and "GET " not in request.get("inner", "")
    net.upstream.serve = origin.silent_serve if is_opaque else net.serve
    if net.sight and "tls" in request:
        net.upstream.serve = net.sight.serve(authority_host(request))
    with client.Client(proxy) as sock:
        sock.send(data)
        answers = []
        wanted = len(re.findall(rb"(?m)^[A-Z]+ \S+ HTTP/1\.1\r$", data)) if b"/2 HTTP" in data else 1
        for _ in range(wanted):
            answer = sock.response(data.split(b" ", 1)[0].decode("latin1"))
            if answer is None:
                break
            answers.append(answer)
        if not answers:
            return Seen(0, True)
        if request["via"] == "connect" and answers[0].status == 200:
            return tunnel(net, sock, request)
        if answers[-1].get("connection", "").lower() == "close":
            sock.read_all()
        return Seen(answers[0].status, sock.is_ended, answers)


# -- what must and must not be: phrase -> check(run)

class Run:
    """One playing of a case: everything the phrases look at."""

    def __init__(self, net, proxy, case, seen):
        self.net, self.proxy, self.case, self.seen = net, proxy, case, seen
        self.upstream, self.dns, self.provider = net.upstream, net.dns, net.provider

    @property
    def records(self):
        return [r for r in self.proxy.finals() if not r.get("parent")]

    def everything_written(self):
        text = self.proxy.log()
        with open(self.proxy.config["audit"]["path"], encoding="utf-8", errors="replace") as f:
            text += f.read()
        return text + "".join(str(a.headers) + a.body.decode("utf-8", "replace") for s in self.seen for a in s.answers
                              if a is not None and a.status >= 400)


def no_connection(run):
    need(not run.upstream.conns, "weir dialled %s", run.upstream.dialled())


def no_bytes(run):
    need(not run.upstream.bytes(), "the origin saw %r", run.upstream.bytes()[:80])


def not_to(address):
    def check(run):
        need(not any(place.startswith(address + ":") for place in run.upstream.dialled()),
             "weir dialled %s", run.upstream.dialled())
    return check


def not_asked(name):
    def check(run):
        need(not run.dns.asked(name), "weir asked for %s", name)
    return check


def no_question(run):
    need(not run.dns.asked(), "weir asked %s", run.dns.asked())


def canonical_host(run):
    hosts = {r["target"]["host"] for r in run.records}
    need(all(h == h.lower() and not h.endswith(".") for h in hosts) and len(hosts) == 1, "hosts recorded: %s", hosts)


def one_lookup(run):
    need(len(run.dns.asked(qtype="A")) <= len(run.seen), "asked %s", run.dns.asked())


def no_secret(run):
    text = run.everything_written()
    need("SECRET1" not in text and "SECRET2" not in text, "a query value was written down")


def no_control(run):
    with open(run.proxy.config["audit"]["path"], "rb") as f:
        lines = f.read()
    need(not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", lines), "a control byte is in the audit log")


def closed(run):
    """The origin's connection where there is one, else the client's."""
    conns = run.upstream.conns
    if conns:
        need(run.upstream.wait(lambda: all(c.is_ended for c in conns), 5), "the origin's connection stayed open")
    else:
        need(all(s.is_closed for s in run.seen), "the connection stayed open")


def in_audit(*path):
    def check(run):
        for record in run.records:
            value = record
            for key in path:
                value = (value or {}).get(key)
            need(value is not None, "the record has no %s: %s", ".".join(path), record)
    return check


def dropped(run):
    if all(s.status != 200 for s in run.seen):
        in_audit("dns", "dropped")(run)


def header_gone(*names):
    def check(run):
        for request in run.upstream.requests:
            for name in names:
                need(not request.all(name), "the origin saw %s", name)
    return check


def proxy_only_gone(run):
    header_gone("proxy-authorization", "proxy-connection")(run)
    for request in run.upstream.requests:
        need(not any(name.lower().startswith("x-weir-") for name, _ in request.headers), "the origin saw %s", request.headers)


def not_forwarded_host(run):
    need(b"other.example.net" not in run.upstream.bytes(), "the origin saw the other host")


def host_is_authority(run):
    need(all(r.get("host") == "api.example.com" for r in run.upstream.requests), "Host at the origin: %s",
         run.upstream.requests)


def one_framed(run):
    need(len(run.upstream.requests) == 1 and b"/evil" in run.upstream.requests[0].body, "the origin saw %s",
         run.upstream.requests)


def query_untouched(run):
    need([r.target for r in run.upstream.requests] == ["/redirect?u=http://evil.test/"], "the origin saw %s",
         run.upstream.requests)


def refusal_is_whole(run):
    answer, record = run.seen[0].answers[0], run.records[0]
    need(answer.get("x-weir-reason") and b'"request_id"' in answer.body and b'"reason"' in answer.body,
         "the refusal says too little: %s", answer)
    need(answer.get("x-weir-request") == record["id"], "the id in the answer is not the record's")


def no_upgrade(run):
    need(all(a.status != 101 for s in run.seen for a in s.answers), "an upgrade went through")


def bytes_recorded(run):
    for key in ("bytes", "ms", "upstream", "close"):
        in_audit(key)(run)


def one_record_each(run):
    wanted = sum(max(1, len([a for a in s.answers if a is not None])) if s.status != 200 or s.answers else 1
                 for s in run.seen)
    weir.wait_for(lambda: len(run.records) >= wanted, what="%d final records" % wanted)
    need(len(run.records) == wanted, "%d records, wanted %d", len(run.records), wanted)


def told_by(proxy, command, *arguments):
    """The end of weir COMMAND on the configuration of this one, with its secrets."""
    return subprocess.run([weir.binary(), command, "-c", proxy.path("weir.yaml"), *arguments], capture_output=True,
                          text=True, env=dict(os.environ, **(proxy.environment or {})))


def explain_agrees(run):
    for request, seen in zip(requests_of(run.case), run.seen):
        target = re.match(r"CONNECT (\S+)", request["raw"]).group(1)
        told = told_by(run.proxy, "explain", "--answer", netns.PUB1, target)
        need((told.returncode == 0) == (seen.status == 200), "explain says %r of %s, live said %d",
             told.stdout[:200] + told.stderr[:200], target, seen.status)


def warns(word):
    def check(run):
        told = told_by(run.proxy, "check")
        need(word in (told.stdout + told.stderr).lower(), "check prints no warning: %r", told.stdout + told.stderr)
    return check


def dns_denied(run):
    denied = [r for r in run.records if r["kind"] == "dns" and r["decision"] == "deny"]
    need(len(denied) == 2, "denials recorded: %s", denied)
    need(not any(name.endswith("attacker.test") for name, *_ in run.dns.asked()), "weir asked %s", run.dns.asked())


def http_recorded(run):
    need(any(r.get("target", {}).get("method") == "GET" for r in run.proxy.finals()), "no record has the inner method: %s",
         run.proxy.finals())


def answers_in_order(run):
    need([a.status for a in run.seen[0].answers] == [200, 403], "answers %s", run.seen[0].answers)


def reason_is(word):
    def check(run):
        need(all(r["reason"] == word for r in run.records), "reasons %s", [r["reason"] for r in run.records])
    return check


PHRASES = [
    ("open any upstream connection", no_connection), ("send any byte upstream", no_bytes),
    ("forward the ClientHello", no_bytes), ("connect to 127.0.0.1", not_to("127.0.0.1")),
    ("dial $PUB2", not_to(netns.PUB2)), ("connect to attacker.test", not_asked("attacker.test")),
    ("contact attacker.test", not_asked("attacker.test")), ("resolve or dial any", no_question),
    ("no DNS query", no_question), ("saw no query at all", no_question),
    ("audit line carries the canonical host", canonical_host), ("exactly one lookup", one_lookup),
    ("SECRET1", no_secret), ("emit raw ESC", no_control), ("audit line escapes", no_control),
    ("one request gives one JSON object", no_control), ("connection closed", closed),
    ("chain recorded in the audit line", in_audit("dns", "chain")), ("the dropped address is in the audit", dropped),
    ("removed before forwarding", header_gone("upgrade", "connection", "http2-settings")),
    ("upstream sees neither", header_gone("connection", "x-a")), ("forward Host: other", not_forwarded_host),
    ("upstream Host equals", host_is_authority), ("whose body is framed", one_framed),
    ("query untouched", query_untouched), ("403 with a stable reason header", refusal_is_whole),
    ("relay raw bytes after a 101", no_upgrade), ("one summary) with bytes each way", bytes_recorded),
    ("policy explain prints the same", explain_agrees), ("third allow entry is dead", warns("warning")),
    ("both logged as dns denials", dns_denied), ("inner request parsed and checked", http_recorded), ("responses in order", answers_in_order),
    ("reason class sni_mismatch", reason_is("sni_mismatch")), ("reason sni_missing", reason_is("sni_missing")),
    ("header ignored and dropped", header_gone("x-upstream-https-proxy")),
    ("forward Proxy-Authorization, Proxy-Connection or any X-Weir", proxy_only_gone),
    ("load warns when a metered host", warns("[metered_host]")), *egress_identity.PHRASES, *egress_metering.PHRASES,
    *egress_sight.PHRASES,
]


def check_phrases(run):
    one_record_each(run)
    expect = run.case["expect"]
    for text in expect["must"] + expect["must_not"] + [str(expect["client"])]:
        for phrase, check in PHRASES:
            if phrase in text:
                check(run)


def check_outcome(case, index, seen):
    decision, told = results_of(case)[index]
    right, may_close = statuses_of(told, decision)
    if seen.is_closed and seen.status in (0, 200) and "deny" in decision and (may_close or "reason" in told):
        return
    is_denied = decision.startswith(("deny", "error")) and " or allow" not in decision
    if is_denied and may_close:
        need(seen.is_closed or seen.status in right - {200}, "request %d: status %d, wanted a close", index + 1, seen.status)
        return
    need(seen.is_closed or "then close" not in decision, "request %d: the tunnel stayed open", index + 1)
    need(not (decision.startswith("allow") and seen.is_closed and seen.status == 200 and not seen.answers),
         "request %d: the tunnel was closed", index + 1)
    need(seen.status in right, "request %d: status %d, wanted %s (%s: %s)", index + 1, seen.status, sorted(right),
         decision, told)


# -- cases

def stage(net):
    if not hasattr(net, "upstream"):
        net.upstream = origin.Upstream()
        for port in PORTS:
            net.upstream.listen(port, "::", net.outside)
            if port != 3128:
                net.upstream.listen(port)
        net.dns = dns.Dns()
    net.serve = origin.http_serve
    net.issuer = net.provider = net.sight = None
    return net


def start(net, policies, settings):
    """As the scripts want it: nothing but policies."""
    return weir.Weir(policies, dict(settings, dns={"servers": [net.dns.server]}), listen=PROXY)


def made(net, policies, settings, case, directory, listen=None, start=True):
    """A weir with what the case needs of it."""
    config, environment = dict(settings), {}
    for door in DOORS:
        more, secrets = door.prepare(net, case, directory)
        config.update(more)
        environment.update(secrets)
    config["dns"] = {"servers": [net.dns.server]}
    config["limits"] = dict({"hello_timeout": "60s"}, **config.get("limits", {}))  # a hello byte by byte takes its time
    config["listen"] = dict(config.get("listen", {}), proxy=listen or [PROXY])
    ways = {request["via"] for request in requests_of(case) if not is_prose(request)}
    if "socks5" in ways:
        config["listen"]["socks5"] = [SOCKS]
    if "dns" in ways:
        config["listen"]["dns"] = ["%s:%d" % DNS_DOOR]
    return weir.Weir(policies, config, environment=environment, start=start)


def upstream_of(case):
    """The origin's part, where the case gives it one."""
    text = case.get("upstream", "")
    redirect = re.match(r"(3\d\d) Location: (\S+)", text)
    if redirect:
        there = b"HTTP/1.1 %s Elsewhere\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % tuple(
            part.encode() for part in redirect.groups())
        return lambda request: there
    if text.startswith("replies 101"):
        reply = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nmore"
        return lambda request: reply
    return lambda request: origin.OK


def load_only(case, layers):
    """policy-load-error: check and run both refuse it, and the message names the place."""
    policies, settings = translated(layers, case)
    with tempfile.TemporaryDirectory() as directory:
        proxy = weir.Weir(policies, settings, listen=PROXY, directory=directory, start=False)
        told = subprocess.run([weir.binary(), "check", "-c", proxy.path("weir.yaml")], capture_output=True, text=True)
        need(told.returncode == 78, "check ended with %d: %r", told.returncode, told.stdout + told.stderr)
        need(re.search(r"policy0\.yaml:\d+:\d+", told.stdout + told.stderr), "no place in %r", told.stdout + told.stderr)
        run = subprocess.run([weir.binary(), "run", "-c", proxy.path("weir.yaml")], capture_output=True, text=True,
                             timeout=10)
        need(run.returncode == 78, "run ended with %d", run.returncode)


def live(net, case, layers, zone):
    policies, settings = translated(layers, case)
    net.dns.set(zone)
    net.upstream.reply = upstream_of(case)
    listen = [PROXY] + (["%s:3128" % netns.OWN] if "<proxy own address>" in str(case["dns"]) else [])
    requests = [placed(r) for r in requests_of(case)]
    with tempfile.TemporaryDirectory() as directory, made(net, policies, settings, case, directory, listen) as proxy:
        seen = []
        for index, request in enumerate(requests):
            seen.append(play_sentence(net, proxy, case, request) if is_prose(request) else play(net, proxy, request))
            check_outcome(case, index, seen[-1])
        check_phrases(Run(net, proxy, case, seen))
    net.upstream.reset()


def is_sightless(policies_of, case):
    """Without a CA an https rule that needs sight must be refused at load."""
    with tempfile.TemporaryDirectory() as directory:
        policies, settings = translated(policies_of, case)
        proxy = weir.Weir(policies, settings, listen=PROXY, directory=directory, start=False)
        told = subprocess.run([weir.binary(), "check", "-c", proxy.path("weir.yaml")], capture_output=True, text=True)
        return told.returncode == 78 and "needs_sight" in told.stdout + told.stderr


def needs_gateway(net, layers, case):
    """A rule that names a provider's host must be refused at load."""
    policies, settings = translated(layers, case)
    with tempfile.TemporaryDirectory() as directory:
        proxy = made(net, policies, settings, case, directory, start=False)
        told = told_by(proxy, "check")
        need(told.returncode == 78 and "[metered_host]" in told.stderr, "a rule that names a metered host was loaded: %r",
             told.stdout + told.stderr)


def has_blind_rule(layers):
    return any(rule.get("proto") == "https" and ("methods" in rule or "paths" in rule)
               for layer in layers for rule in layer.get("allow") or [])


def play_case(net, case):
    for layers in layers_of(case):
        if case["expect"]["decision"] == "policy-load-error":
            load_only(case, layers)
            continue
        if has_blind_rule(layers):
            need(is_sightless(layers, case), "an https rule with methods or paths was not refused at load (needs_sight)")
        hosts = egress_metering.metered_hosts(case)
        if egress_metering.names_metered(layers, hosts):
            needs_gateway(net, layers, case)
            layers = egress_metering.without_metered(layers, hosts)
        for zone in zones(case):
            if case["kind"] == "boundary":
                egress_boundary.play(net, case, translated(layers, case)[0], placed(zone))
                continue
            live(net, case, layers, placed(zone))


def run_script(net, case):
    loader = importlib.machinery.SourceFileLoader("script", script_of(case))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("script", loader))
    loader.exec_module(module)
    module.run(net, case)


def run_group(net, group):
    net, outcomes = stage(net), []
    for case in group["cases"]:
        try:
            if script_of(case):
                run_script(net, case)
            else:
                play_case(net, case)
            need(not net.upstream.faults, "%s", "; ".join(net.upstream.faults))
            outcomes.append((case["id"], "passed", ""))
        except (Wrong, AssertionError, TimeoutError, subprocess.TimeoutExpired) as why:
            outcomes.append((case["id"], "failed", str(why)))
        net.upstream.reset()
    return outcomes
