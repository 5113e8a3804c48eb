"""tls-clienthello.jsonl: the first bytes of a tunnel; relayed unchanged, or closed with nothing upstream."""
import time

from rig import client, hello, origin

from . import live
from .http_requests import raw
from .live import Wrong, need

NEEDS_NET = True
PAUSE = 0.2  # between a case's pieces, as its note says
LIMIT = 5


def later(case, known):
    if case["mode"] not in ("connect", "transparent"):
        return "mode " + case["mode"]
    return live.policy_later(case)


def groups(cases, known):
    return live.by_policy(cases, known, lambda case: case.get("then") == "stall")


def write(case, sock):
    data, at = raw(case), 0
    for cut in case.get("split") or []:
        sock.send(data[at:cut])
        time.sleep(PAUSE)
        at = cut
    sock.send(data[at:])
    if case.get("then") == "close":
        sock.finish()


def outcome(net, sock, sent):
    """"allow" once the origin has all of it, "deny" once weir has closed: whichever comes."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        if sent and net.upstream.bytes() == sent:
            return "allow"
        try:
            if not sock.recv(0.05):
                return "deny"
        except TimeoutError:
            pass
    raise Wrong("neither relayed nor closed; the origin saw %d of %d bytes" % (len(net.upstream.bytes()), len(sent)))


def allow(net, sock):
    net.upstream.conn().send(hello.ALERT)
    need(sock.read_until(lambda data: data == hello.ALERT), "the origin's answer came as %r", sock.data)


def deny(net, sock):
    is_told = sock.data[:1] == b"\x15" or sock.data.startswith(b"HTTP/1.1 4")  # in its own language: a fine way to say so
    need(not sock.data or is_told, "the client got %r", sock.data[:80])
    need(not net.upstream.bytes(), "the origin saw bytes: %r", net.upstream.bytes()[:80])


def judge(net, case, sock):
    right = [{"timeout": "deny"}.get(word, word) for word in (case["expect"], case.get("also_ok"))]
    came = outcome(net, sock, raw(case))
    need(came in right, "%s; the origin saw %r", came, net.upstream.bytes()[:80])
    {"allow": allow, "deny": deny}[came](net, sock)


def check(net, proxy, case):
    net.upstream.serve = origin.silent_serve
    before = len(proxy.finals())
    with client.Client(live.through(proxy, case)) as sock:
        status = 200
        if case["mode"] == "connect":
            answer = sock.connect(case["connect_target"])
            status = answer.status if answer else 0
        if status != 200:  # refused before any byte of TLS: right only where denying is
            need(case["expect"] != "allow" and status == 403, "CONNECT got %s", answer)
        else:
            write(case, sock)
            judge(net, case, sock)
    records = live.records_of(proxy, before, 1)
    need(len(records) == 1, "%d records", len(records))


def run_group(net, group):
    return live.run_each(net, group, check)
