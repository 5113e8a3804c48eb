"""tls-clienthello.jsonl: the first bytes of a tunnel; relayed unchanged, or closed with nothing upstream."""
import time

from rig import client, hello, origin

from . import live
from .http_requests import raw
from .live import Wrong, need

NEEDS_NET = True
PAUSE = 0.2  # between a case's pieces, as its note says


def later(case, known):
    if case["mode"] != "connect":
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


def allow(net, case, sock):
    sent = raw(case)
    upstream = net.upstream
    came = upstream.wait(lambda: len(upstream.bytes()) >= len(sent), 5)
    need(came and upstream.bytes() == sent, "the origin saw %d of %d bytes, %s", len(upstream.bytes()), len(sent),
         "a prefix" if sent.startswith(upstream.bytes()) else "changed")
    upstream.conns[0].send(hello.ALERT)
    need(sock.read_until(lambda data: data == hello.ALERT), "the origin's answer came as %r", sock.data)


def deny(net, case, sock):
    got = sock.read_all()
    need(not got or got[0] == 0x15, "the client got %r", got[:80])  # an alert is a fine way to say so
    need(not net.upstream.bytes(), "the origin saw bytes: %r", net.upstream.bytes()[:80])


EXPECT = {"allow": allow, "deny": deny, "timeout": deny}


def judge(net, case, sock):
    try:
        EXPECT[case["expect"]](net, case, sock)
    except (Wrong, TimeoutError) as why:
        if "also_ok" not in case:
            raise Wrong(str(why)) from None
        EXPECT[case["also_ok"]](net, case, sock)


def check(net, proxy, case):
    net.upstream.serve = origin.silent_serve
    before = len(proxy.finals())
    with client.Client(proxy) as sock:
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
