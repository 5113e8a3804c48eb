"""socks5.jsonl: what a SOCKS client writes, step by step; what came back, what the origin saw, what was recorded."""
import base64
import os

import policy
from rig import client, origin, weir

from . import live
from .live import need

NEEDS_NET = True
RECORDED = "socks5"
LOGIN_OK = "s3cret"  # the cases' password: too short for weir, so the runner's own stands in its place
PASSWORD = os.urandom(12).hex()


def later(case, known):
    return live.policy_later(case)


def own_password(group):
    """weir's, in the place of what is in no case."""
    return dict(group, environment={policy.PASSWORD[4:]: PASSWORD})


def groups(cases, known):
    return live.by_policy(cases, known, lambda case: case.get("then") == "stall")


def with_password(step):
    """A login of RFC 1929 with the cases' password: with the one this weir was given."""
    old = b"%c%s" % (len(LOGIN_OK), LOGIN_OK.encode())
    return step.replace(old, b"%c%s" % (len(PASSWORD), PASSWORD.encode())) if step[:1] == b"\1" else step


def steps(case):
    return [with_password(base64.b64decode(step)) for step in case["steps_b64"]]


def wants(case, key):
    value = case["expect"].get(key)
    return value if isinstance(value, list) or value is None else [value]


class Talk:
    """The client's side: each answer as long as its message is."""

    def __init__(self, case, sock):
        self.case, self.sock, self.expect = case, sock, case["expect"]
        self.method = self.auth = self.rep = None

    def take(self, n):
        """The next n bytes, or what came before the end."""
        try:
            self.sock.read_until(lambda data: len(data) >= n)
        except TimeoutError:
            pass
        out, self.sock.data = self.sock.data[:n], self.sock.data[n:]
        return out

    def send(self, data):
        if self.case.get("split_every"):
            self.sock.send_pieces(data, self.case["split_every"])
        else:
            self.sock.send(data)

    def run(self):
        todo = steps(self.case)
        glued = len(todo) == 1
        self.send(todo.pop(0))
        if "method" not in self.expect:
            return
        answer = self.take(2)
        self.method = answer[1] if answer[:1] == b"\5" and len(answer) == 2 else None
        if "auth" in self.expect:
            self.send(todo.pop(0))
            answer = self.take(2)
            self.auth = answer[1] if answer[:1] == b"\1" and len(answer) == 2 else None
        if todo or glued:
            if todo:
                self.send(todo.pop(0))
            answer = self.take(10)
            self.rep = answer[1] if answer[:1] == b"\5" and len(answer) == 10 else None
        for step in todo:
            self.send(step)


def judge_handshake(case, talk):
    expect = case["expect"]
    if "method" in expect:
        need(talk.method in wants(case, "method"), "method %r", talk.method)
    if expect.get("auth") == "nonzero":
        need(talk.auth not in (0, None), "auth %r", talk.auth)
    elif "auth" in expect:
        need(talk.auth == expect["auth"], "auth %r", talk.auth)
    if expect.get("rep"):
        silent = expect.get("no_reply_ok") and talk.rep is None
        need(silent or talk.rep in expect["rep"], "reply %r", talk.rep)
    elif "rep" in expect:
        need(talk.rep is None, "reply %r", talk.rep)


def is_open(case, talk):
    return talk.rep == 0 and bool(case["expect"].get("tunnel") or case["expect"].get("tunnel_ok"))


def judge_inside(net, case, sock):
    """What the last steps brought about in the tunnel."""
    expect, sent = case["expect"], b"".join(steps(case)[2:])
    if "inner_status" in expect:
        answer = sock.response()
        need(answer is not None and answer.status in expect["inner_status"], "inside: %s", answer)
    if expect.get("upstream_bytes") == "request":
        weir.wait_for(lambda: net.upstream.bytes(), what="the request at the origin")
        first = sent.split(b"\r\n", 1)[0]
        need(net.upstream.bytes().startswith(first), "the origin saw %r", net.upstream.bytes()[:80])
    elif sent and not expect.get("upstream_bytes"):
        need(not net.upstream.bytes(), "the origin saw %r", net.upstream.bytes()[:80])


def judge_end(case, sock):
    if case["expect"].get("close") or case["expect"].get("then") == "close":
        sock.read_all()
        need(sock.is_ended, "the connection stays open")


NOBODY = "127.0.0.9"  # nothing listens there


def play_upstream(net, case):
    """Where the name leads, or what is wrong with it."""
    said, _, what = case.get("upstream", "").partition(":")
    entries = {"": {"A": ["127.0.0.1"]}, "refuse": {"A": [NOBODY]}, "resolves": {"A": what.split(",")},
               "nxdomain": {"rcode": "NXDOMAIN"}, "servfail": {"rcode": "SERVFAIL"}, "timeout": {"drop": True}}
    need(said in entries, "no origin can play %r", said)
    net.dns.set({}, dict(entries[said], ttl=0))


def check(net, proxy, case):
    net.upstream.serve = origin.http_serve if "80" in case["id"] else origin.silent_serve
    play_upstream(net, case)
    before = len(proxy.finals())
    with client.Client(proxy) as sock:
        talk = Talk(case, sock)
        talk.run()
        judge_handshake(case, talk)
        if is_open(case, talk):
            judge_inside(net, case, sock)
        judge_end(case, sock)
        if talk.rep != 0:
            need(not net.upstream.bytes(), "the origin saw %r", net.upstream.bytes()[:80])
    records = live.records_of(proxy, before, 1)
    need(len(records) == 1 and records[0]["kind"] == RECORDED, "records %r", records)


def run_group(net, group):
    group["settings"]["listen"] = {"socks5": ["127.0.0.1:1080"]}
    return live.run_each(net, own_password(group), check)
