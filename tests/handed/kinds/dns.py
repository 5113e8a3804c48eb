"""dns.jsonl: exact questions to the DNS door; what came back, what the resolver was asked, what was recorded."""
import base64
import socket
import struct
import threading
import time

from rig import weir
from rig.dns import QTYPES, read_question

from .live import Wrong, need

NEEDS_NET = True
DOOR = ("127.0.0.1", 5353)
STUB = ("127.0.0.1", 5300)
SILENCE = 0.5  # what is never answered
OFTEN = 12  # an answer may wait for the resolver's time-out
RCODES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED", 16: "BADVERS"}
AD, TC, QR, RA = 0x0020, 0x0200, 0x8000, 0x0080


# -- the resolver behind weir

class Stub:
    """Answers as the case says, with the question's id and letters; what it does not say has no data."""

    def __init__(self):
        self.asked, self.case, self._lock = [], None, threading.Lock()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(STUB)
        self.tcp = socket.create_server(STUB)
        threading.Thread(target=self._serve_udp, daemon=True).start()
        threading.Thread(target=self._serve_tcp, daemon=True).start()

    def play(self, case):
        with self._lock:
            self.case, self.asked = case, []

    def _answer(self, query, transport):
        _name, qtype, end = read_question(query)
        has_opt = struct.unpack("!H", query[10:12])[0] > 0
        with self._lock:
            self.asked.append(query)
            rows, case = self.case.get("upstream", []), self.case
        fit = [r for r in rows if r["qtype"] == QTYPES.get(qtype) and r.get("when", "") in ("", "has_opt" if has_opt else "no_opt")]
        same = [r for r in fit if r["transport"] == transport] or fit
        if not same:
            if not rows and case["id"].endswith("-silent"):
                return None
            return query[:2] + b"\x81\x80" + query[4:6] + b"\0\0\0\0\0\0" + query[12:end]
        raw = base64.b64decode(same[0]["answer_b64"])
        if len(raw) < 12:
            return raw
        asked, theirs = query[12:end], raw[12:12 + end - 12]
        raw = query[:2] + raw[2:]
        return raw[:12] + asked + raw[end:] if theirs.lower() == asked.lower() else raw

    def _serve_udp(self):
        while True:
            query, sender = self.udp.recvfrom(65536)
            answer = self._answer(query, "udp")
            if answer is not None:
                self.udp.sendto(answer, sender)

    def _serve_tcp(self):
        while True:
            conn, _ = self.tcp.accept()
            threading.Thread(target=self._serve_one, args=(conn,), daemon=True).start()

    def _serve_one(self, conn):
        with conn, conn.makefile("rb") as f:
            while head := f.read(2):
                answer = self._answer(f.read(struct.unpack("!H", head)[0]), "tcp")
                if answer is None:
                    return
                conn.sendall(struct.pack("!H", len(answer)) + answer)


# -- the client

class Answer:
    """One message of weir's, read."""

    def __init__(self, raw):
        self.raw = raw
        self.id, self.flags, questions, answers, _, additional = struct.unpack("!6H", raw[:12])
        self.rcode, self.answers, self.ttls, self.ede, self.has_opt = self.flags & 15, [], [], None, False
        at = self._name(12) + 4 if questions else 12
        self.question = raw[12:at]
        for _ in range(answers + additional):
            at = self._record(at)
        need(at == len(raw), "bytes behind the answer's records")

    def _name(self, at):
        while self.raw[at] and self.raw[at] < 0xc0:
            at += 1 + self.raw[at]
        return at + (2 if self.raw[at] >= 0xc0 else 1)

    def _record(self, at):
        at = self._name(at)
        kind, _class, ttl, n = struct.unpack("!HHIH", self.raw[at:at + 10])
        data = self.raw[at + 10:at + 10 + n]
        if kind == 41:
            self.has_opt = True
            self.rcode |= ttl >> 24 << 4
            if data[:2] == b"\0\x0f":
                self.ede = struct.unpack("!H", data[4:6])[0]
        else:
            family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
            text = socket.inet_ntop(family, data) if family else data.hex()
            self.answers.append([QTYPES.get(kind, str(kind)), text])
            self.ttls.append(ttl)
        return at + 10 + n


def ask_udp(query, timeout):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(timeout)
        sock.connect(DOOR)
        sock.send(query)
        try:
            return [Answer(sock.recv(65536))], False
        except socket.timeout:
            return [], False


def ask_tcp(case, query, timeout, wanted):
    data, is_closed = b"", False
    with socket.create_connection(DOOR, timeout) as sock:
        sock.sendall(query if case.get("framed") else struct.pack("!H", len(query)) + query)
        while True:
            answers, rest = [], data
            while len(rest) >= 2 and len(rest) - 2 >= (n := struct.unpack("!H", rest[:2])[0]):
                answers.append(Answer(rest[2:2 + n]))
                rest = rest[2 + n:]
            if len(answers) >= wanted > 0 or is_closed:
                return answers, is_closed
            try:
                piece = sock.recv(65536)
            except socket.timeout:
                return answers, False
            except ConnectionError:
                piece = b""
            data, is_closed = data + piece, not piece


def ask(case, query, action):
    timeout = SILENCE if action == "drop" else OFTEN
    if case["transport"] == "udp":
        return ask_udp(query, timeout)
    return ask_tcp(case, query, timeout, 0 if action == "close" else len(case["expect"].get("multi", [0])))


# -- judging

def judge_rcode(expect, answer):
    name = RCODES.get(answer.rcode, str(answer.rcode))
    right = expect.get("rcode_in") or [expect["rcode"]] if expect.get("rcode") or expect.get("rcode_in") else None
    need(right is None or name in right, "rcode %s", name)


def judge_answers(expect, answer, size):
    if "answers" in expect and not (expect.get("also_ok") == "answer" and answer.rcode == 0):
        need(sorted(answer.answers) == sorted(expect["answers"]), "answers %s", answer.answers)
    if "answers_subset" in expect:
        need(all(a in expect["answers_subset"] for a in answer.answers), "answers %s", answer.answers)
    need(len(answer.answers) >= expect.get("min_answers", 0), "%d answers", len(answer.answers))
    need(size <= expect.get("max_size", 65535), "%d bytes", size)
    low, high = expect.get("ttl_range", [0, 0xffffffff])
    need(all(low <= ttl <= high for ttl in answer.ttls), "ttl %s", answer.ttls)


def judge(case, query, answer):
    expect = case["expect"]
    need(answer.flags & QR and answer.id == struct.unpack("!H", query[:2])[0], "it is no answer to this question")
    need(not answer.flags & AD, "AD is set")
    need(not answer.question or query[12:12 + len(answer.question)] == answer.question, "another question: %r", answer.question)
    if expect.get("also_ok") == "answer" and answer.rcode == 0:
        return
    judge_rcode(expect, answer)
    judge_answers(expect, answer, len(answer.raw))
    if "has_opt" in expect:
        need(answer.has_opt == expect["has_opt"], "OPT: %s", answer.has_opt)
    if "tc" in expect:
        need(bool(answer.flags & TC) == expect["tc"], "TC: %s", bool(answer.flags & TC))
    if expect.get("ede") and answer.has_opt:
        need(answer.ede in expect["ede"], "EDE %s", answer.ede)


def judge_many(case, answers):
    wanted = case["expect"]["multi"]
    came = sorted((a.id, RCODES.get(a.rcode)) for a in answers)
    need(came == sorted((w["id"], w["rcode"]) for w in wanted), "answers %s", came)


def judge_upstream(case, stub):
    expect = case["expect"]
    if "upstream_queries" in expect:
        most = expect["upstream_queries"]
        need(len(stub.asked) <= (max(most) if isinstance(most, list) else most), "the resolver was asked %d times", len(stub.asked))
    secret = expect.get("upstream_must_not_contain")
    need(not secret or not any(secret.encode() in q for q in stub.asked), "%s reached the resolver", secret)


def follow_up(case):
    more = case.get("follow_up")
    if more:
        answers, _ = ask_udp(base64.b64decode(more["query_b64"]), OFTEN)
        need(not any(more["must_not_answer"] in a for one in answers for _kind, *a in one.answers), "it answered what it was told")


def outcome(case, query, answers, is_closed):
    action = case["expect"]["action"]
    if action == "drop":
        need(not answers, "an answer came")
    elif action == "close":
        need(not answers and is_closed, "the connection stays open, or an answer came")
    elif not answers:
        need(case["expect"].get("drop_ok"), "no answer came")
    elif "multi" in case["expect"]:
        judge_many(case, answers)
    else:
        judge(case, query, answers[0])


def check(net, proxy, case):
    query = base64.b64decode(case["query_b64"])
    net.stub.play(case)
    begun = time.monotonic()
    answers, is_closed = ask(case, query, case["expect"]["action"])
    took = (time.monotonic() - begun) * 1000
    need(took <= case["expect"].get("within_ms", 60000), "it took %d ms", took)
    if case.get("framed") and case["transport"] == "tcp" and "multi" not in case["expect"]:
        query = query[2:]
    outcome(case, query, answers, is_closed)
    judge_upstream(case, net.stub)
    follow_up(case)


# -- cases

def settings_of(case):
    own = case["policy"]
    door = {"mode": own.get("dns_mode", "forward")}
    if "synthetic_v4" in own:
        door["pool4"] = own["synthetic_v4"] + "/32"
    return {"dns": {"servers": ["%s:%d" % STUB], "door": door}, "listen": {"dns": ["%s:%d" % DOOR]},
            "limits": dict(weir.FREE_OF_LIMITS, head_timeout="1s", idle_keepalive="1s")}


def later(case, known):
    unknown = set(case["policy"]) - {"hosts", "dns_mode", "synthetic_v4", "address_exceptions"}
    return "policy " + ", ".join(sorted(unknown)) if unknown else None


def policy_of(case):
    """An https rule for each host; where the resolver's answers are public nothing is opened."""
    exceptions = case["policy"].get("address_exceptions", [])
    return {"policy": "case", "allow": [dict({"host": h["host"], "protocol": "https", "ports": h.get("ports", [443])},
                                             **({"private": exceptions} if exceptions else {}))
                                        for h in case["policy"]["hosts"]]}


def groups(cases, known):
    return [{"cases": [case]} for case in cases]  # a cache of its own for each


def run_one(net, case):
    with weir.Weir([policy_of(case)], settings_of(case)) as proxy:
        check(net, proxy, case)
        need(proxy.process.poll() is None, "weir ended")


def run_group(net, group):
    if not hasattr(net, "stub"):
        net.stub = Stub()
    outcomes = []
    for case in group["cases"]:
        try:
            run_one(net, case)
            outcomes.append((case["id"], "passed", ""))
        except (Wrong, AssertionError, OSError) as why:
            outcomes.append((case["id"], "failed", str(why)))
    return outcomes
