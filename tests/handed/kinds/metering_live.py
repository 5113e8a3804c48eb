"""metering.jsonl, live: the call goes through the gateway's door to a provider that plays the recorded answer.

The provider speaks TLS and sends the answer in pieces of any size.  What the client saw, what the provider was
asked, the audit record and the ledger's row must say what the case expects.  What was spent and held before is
written into the ledger beforehand.  A hold that a case gives is made so by moving the budget as far as the hold
that weir takes differs from it.
"""
import base64
import contextlib
import gzip
import json
import random
import re
import sqlite3
import subprocess
import tempfile
import threading
import zlib

from kinds.live import Wrong, need
from kinds.metering import REASONS
from rig import dns, gateway, ledger, provider, tls, weir
from rig.gateway import nano, usd

NEEDS_NET = True
CHUNK = 4  # cases of one group
ROOM = 10 ** 15  # n$, where a case says nothing of a budget
SESSION = ("weir:default", "acme", "s1")

KINDS = {"anthropic_messages": "anthropic", "openai_chat": "openai", "openai_responses": "openai",
         "openai_embeddings": "openai", "gemini": "gemini", "openrouter": "openrouter", "litellm": "litellm",
         "vercel_openai": "vercel", "vercel_native": "vercel"}
NOT_SERVED = {"openai_responses_ws": "WebSocket", "bedrock_converse": "Bedrock"}
# What the gateway refuses altogether: a case that expects a bill there is of a recorded call.
UNMETERED = {"batches": re.compile(r"/batches(/|$)"), "Interactions": re.compile(r"/interactions(/|\?|$)")}
POLICY = {"reserve": ("strict", "clamp"), "settle_by": ("table", "reported"), "hosted_tools": ("allow", "deny"),
          "unknown_model": ("deny",), "on_client_close": ("drain",), "background": ("allow", "deny"),
          "clamp_floor_tokens": None, "clamp_share": None}
ACCOUNTS = ("turn", "session", "tenant", "total")
STATE = {"hold_nano", "parallel_requests", "models_allowed"}
STATE |= {"%s_%s_nano" % (of, what) for of in ACCOUNTS for what in ("budget", "spent", "reserved")}
# Objects of the provider's that a request names.  A weir that runs knows of none that this case did not make.
REFERENCES = {"previous_response_id", "conversation", "cachedContent", "cached_content", "container", "file_id",
              "vector_store_ids", "item_reference"}


def refers(value):
    """Does it name such an object, at any depth?"""
    if isinstance(value, list):
        return any(map(refers, value))
    return isinstance(value, dict) and (bool(REFERENCES & set(value)) or any(map(refers, value.values())))


def later(case, known):
    request, policy, state = case["request"], case.get("policy") or {}, case.get("state") or {}
    bills = case["expect"]["action"] in ("settle", "hold", "mixed")
    if case["family"] not in KINDS:
        return NOT_SERVED.get(case["family"], "family " + case["family"])
    for key, value in policy.items():
        if key not in POLICY or (POLICY[key] and value not in POLICY[key]):
            return "policy %s: %s" % (key, value)
    for key in state:
        if key not in STATE:
            return "state " + key
    for what, path in UNMETERED.items():
        if bills and path.search(request["path"]):
            return what
    if bills and refers(request.get("body")):
        return "objects that another call made"
    return None


def groups(cases, known):
    return [{"cases": cases[i:i + CHUNK]} for i in range(0, len(cases), CHUNK)]


# -- the answer, as it was recorded


def body_of(response):
    """[pieces] as the provider sent them."""
    if "chunks_b64" in response:
        return [base64.b64decode(piece) for piece in response["chunks_b64"]]
    if "body_b64" in response:
        return [base64.b64decode(response["body_b64"])]
    if "sse" in response:
        return [response["sse"].encode()]
    return [json.dumps(response["body"]).encode()] if "body" in response else [b""]


def torn(data, dice):
    """The same bytes in pieces, some of them a single one."""
    pieces, at = [], 0
    while at < len(data):
        size = dice.choice([1, 2, 5, 30, 300, 3000, len(data)]) if len(pieces) < 100 else len(data)
        pieces.append(data[at:at + size])
        at += size
    return pieces


def events_end(data, count):
    """Where the first so many events end."""
    ends = [m.end() for m in re.finditer(rb"\r\n\r\n|\n\n|\r\r", data)]
    return ends[min(count, len(ends)) - 1]


STUB = {"status": 529, "headers": {"content-type": "application/json"},
        "body": {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}}


class Player:
    """What the provider does for one case."""

    def __init__(self, case):
        self.response = case.get("response") or STUB
        self.dice = random.Random(case["id"])
        self.is_gone = threading.Event()  # the client
        self.may_answer = threading.Event()
        if "parallel_requests" not in (case.get("state") or {}):
            self.may_answer.set()

    def head(self, length):
        fields = {"content-type": "text/event-stream"} if "sse" in self.response else {"content-type": "application/json"}
        fields.update({k.lower(): v for k, v in (self.response.get("headers") or {}).items()})
        for name in ("content-length", "transfer-encoding", "connection"):
            fields.pop(name, None)
        fields["transfer-encoding" if length is None else "content-length"] = "chunked" if length is None else str(length)
        lines = ["HTTP/1.1 %d Played" % self.response["status"]] + ["%s: %s" % pair for pair in fields.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def __call__(self, one, conn, request, body):
        self.may_answer.wait(weir.WAIT)
        data, closed_after = b"".join(body_of(self.response)), self.response.get("client_closed_after_events")
        if closed_after is not None:
            at = events_end(data, closed_after)
            conn.send(self.head(None) + provider.chunk(data[:at]))
            self.is_gone.wait(weir.WAIT)
            conn.send(provider.chunk(data[at:]) + b"0\r\n\r\n")
            return
        if self.dice.random() < 0.5:
            wire = self.head(len(data)) + data
        else:
            wire = self.head(None) + b"".join(map(provider.chunk, torn(data, self.dice))) + b"0\r\n\r\n"
        for piece in torn(wire, self.dice):
            if not conn.send(piece):
                return


# -- a weir for one case


def account_keys():
    issuer, tenant, sid = SESSION
    return {"turn": "t" + ledger.parts(issuer, tenant, sid, "t1"), "session": "s" + ledger.parts(issuer, tenant, sid),
            "tenant": "n" + ledger.parts("", tenant), "total": "a"}


def budgets(case):
    """{account: n$}; a hold that is given moves them all."""
    state = case.get("state") or {}
    caps = {of: state["%s_budget_nano" % of] for of in ACCOUNTS if "%s_budget_nano" % of in state}
    caps.setdefault("session", ROOM)
    if "hold_nano" in state:
        moved = own_hold(case) - state["hold_nano"]
        caps = {of: cap + moved for of, cap in caps.items()}
    return caps


def own_hold(case):
    """What weir reserves for it, by weir meter."""
    asked = dict(case, response=None, state={}, expect={})
    done = subprocess.run([weir.binary(), "meter", "--batch"], input=json.dumps(asked).encode(), capture_output=True, check=False)
    return json.loads(done.stdout)["reserve_nano"]


def seed(case, path, caps):
    """What was spent and is held, before this case's call."""
    state, keys = case.get("state") or {}, account_keys()
    book = ledger.Ledger(path)
    for of in caps:
        spent, held = (state.get("%s_%s_nano" % (of, what), 0) for what in ("spent", "reserved"))
        if spent or held:
            book.put("scope", keys[of], spent=spent, base=spent, reserved=held, gen=-1, claim=-1)
        if held:
            book.put("call", "held-%s#1" % of, state=ledger.HELD, amount=held, reserved_at=ledger.NOON, expires=2 ** 60,
                     session=ledger.parts(*SESSION), scopes=ledger.parts(keys[of], str(caps[of])))
    book.close()


def configuration(case, one, authority, resolver, caps):
    policy, state = case.get("policy") or {}, case.get("state") or {}
    claims = {"sid": SESSION[2], "tenant": SESSION[1], "budget": {"sessionUsd": usd(caps["session"])}}
    budget = {"floor": policy.get("clamp_floor_tokens", 1024), "share": policy.get("clamp_share", 0.5),
              "mode": "strict" if policy.get("reserve") == "strict" or "hold_nano" in state else "clamp"}
    if "turn" in caps:
        claims.update(turn="t1", gen=1)
        claims["budget"]["turnUsd"] = usd(caps["turn"])
    if "tenant" in caps:
        budget["tenants"] = {SESSION[1]: {"usd": usd(caps["tenant"])}}
    if "total" in caps:
        budget["total"] = {"usd": usd(caps["total"])}
    if "models_allowed" in state:
        claims["models"] = state["models_allowed"]
    if policy.get("hosted_tools") == "allow":
        claims["hostedTools"] = True
    row = gateway.row(KINDS[case["family"]], one, path="/m", settle=policy.get("settle_by", "table"))
    return {"listen": gateway.listen(), "dns": {"servers": [resolver.server]}, "tls": {"roots": authority.certificate},
            "sessions": {"required": False, "default": claims}, "budget": budget, "ledger": {"url": "sqlite:ledger.db"},
            "gateway": {"hosted": "refuse" if policy.get("hosted_tools") == "deny" else "strip", "providers": [row]}}


# -- what is asked, and what is seen


def request_of(case):
    """(path, body or None, headers)"""
    request = case["request"]
    headers = [(k, v) for k, v in (request.get("headers") or {}).items() if k.lower() != "content-length"]
    if "body_b64" in request:
        body = base64.b64decode(request["body_b64"])
    elif "body_raw" in request:
        body = request["body_raw"].encode()
    elif request.get("body") is not None and request["method"] != "GET":
        body = json.dumps(request["body"], separators=(",", ":")).encode()  # as weir meter writes it: its bytes are bounded
    else:
        body = None
    return "/m" + request["path"], body, headers


class Seen:
    """One case's call, from all sides."""

    def __init__(self, case, one, player, w):
        self.case, self.provider, self.weir, self.player = case, one, w, player
        self.gateway = gateway.Gateway(w)
        self.answers = self.run()
        self.answer = self.answers[0]
        weir.wait_for(lambda: w.finals(len(self.answers)), what="the record")
        self.record = next((r for r in w.finals() if "usd" in r), None) or w.finals(1)[0]
        self.asked = list(one.bodies)

    def run(self):
        path, body, headers = request_of(self.case)
        count = (self.case.get("state") or {}).get("parallel_requests", 1)
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(self.gateway.open()) for _ in range(count)]
            for client in clients:
                self.gateway.send(client, path, body, method=self.case["request"]["method"], headers=headers)
            if count > 1:
                self.await_all(clients)
            closed_after = self.player.response.get("client_closed_after_events")
            if closed_after is not None:
                seen = events_end(b"".join(body_of(self.player.response)), closed_after)
                clients[0].read_until(lambda data: len(data) >= seen)
                clients[0].reset()
                self.player.is_gone.set()
                return [None]
            return [client.response(self.case["request"]["method"]) for client in clients]

    def await_all(self, clients):
        """Each call has reached the provider or was refused."""
        def refused():
            return [r for r in self.weir.finals() if r["decision"] == "deny"]
        weir.wait_for(lambda: len(self.provider.requests) + len(refused()) == len(clients), what="all of the calls")
        self.player.may_answer.set()

    def usd(self, key):
        return nano(self.record.get("usd", {}).get(key, "0"))

    def reserved(self):
        return nano(self.gateway.purse()["reserved"])

    def spent(self):
        return nano(self.gateway.purse()["spent"])

    def row(self):
        """The ledger's, of this call."""
        with contextlib.closing(sqlite3.connect(self.weir.path("state/ledger.db"))) as db:
            db.row_factory = sqlite3.Row
            return db.execute("SELECT * FROM call WHERE key = ?", [self.record["id"] + "#1"]).fetchone()


# -- what the case expects


def was_refused(seen, wanted=True):
    need(not seen.provider.requests, "the provider was asked")
    need(seen.answer.status >= 400, "the client got %d", seen.answer.status)


def was_played(seen):
    need(len(seen.provider.requests) == 1, "the provider was asked %d times, the client got %r %s", len(seen.provider.requests),
         seen.answer, seen.record.get("error", ""))
    if seen.answer is None:
        return
    need(seen.answer.is_complete, "the client's answer is not whole")
    need(seen.answer.status == seen.player.response["status"], "the client got %d", seen.answer.status)
    need(seen.answer.get("content-encoding") is None, "the client got an encoded answer")
    if seen.record.get("usd"):
        need(seen.answer.get("x-weir-budget-remaining") is not None, "the client was not told what remains")
    is_hidden = added_usage(seen)
    wanted = plain(seen.player.response)
    if wanted is not None and not is_hidden:
        need(seen.answer.body == wanted, "the client got %r", seen.answer.body[:300])
    elif wanted is not None:
        need(documents(seen.answer.body) == without_usage(documents(wanted)), "the client got %r", seen.answer.body[:300])


def added_usage(seen):
    """Was usage asked for on the client's behalf?"""
    own = seen.case["request"].get("body")
    own = own if isinstance(own, dict) else {}
    sent = seen.asked[0] if seen.asked and isinstance(seen.asked[0], dict) else {}
    return includes_usage(sent) and not includes_usage(own)


def includes_usage(body):
    return bool((body.get("stream_options") or {}).get("include_usage"))


def plain(response):
    """The answer's text, or None where this runner cannot decode it."""
    data = b"".join(body_of(response))
    coding = next((v for k, v in (response.get("headers") or {}).items() if k.lower() == "content-encoding"), "identity")
    decoders = {"identity": bytes, "gzip": gzip.decompress, "deflate": zlib.decompress}
    return decoders[coding](data) if coding in decoders else None


def documents(text):
    return [line[5:].strip() if line[5:].strip() == b"[DONE]" else json.loads(line[5:])
            for line in text.splitlines() if line.startswith(b"data:")]


def without_usage(events):
    kept = []
    for event in events:
        if isinstance(event, dict) and "usage" in event:
            if event.get("choices") == []:
                continue
            event = {k: v for k, v in event.items() if k != "usage"}
        kept.append(event)
    return kept


def action(seen, wanted):
    if wanted == "deny":
        was_refused(seen)
    elif wanted == "settle":
        was_played(seen)
        need(seen.reserved() == before(seen, "reserved"), "something stayed reserved")
    elif wanted == "hold":
        was_played(seen)
        need(seen.reserved() > before(seen, "reserved"), "nothing stayed reserved")
    elif wanted == "allow":
        was_played(seen)
        need(seen.spent() == before(seen, "spent"), "an answer that says no was charged")
    elif wanted == "mixed":
        need({a.status for a in seen.answers} <= {seen.player.response["status"], 402}, "the clients got %s",
             [a.status for a in seen.answers])
    else:
        raise Wrong("what is %s?" % wanted)


def before(seen, what):
    return (seen.case.get("state") or {}).get("session_%s_nano" % what, 0)


def cost(seen, wanted):
    need(seen.spent() - before(seen, "spent") == wanted, "%d was spent", seen.spent() - before(seen, "spent"))
    need(seen.usd("charged") == wanted, "the record has %s", seen.record.get("usd"))
    row = seen.row()
    if row is not None:
        need((row["charged"], row["cost"]) == (wanted, wanted), "the row has %d", row["charged"])
    else:
        need(wanted == 0, "the ledger has no row")


def cost_min(seen, wanted):
    need(seen.usd("charged") >= wanted, "charged %s", seen.record["usd"])


def cost_max(seen, wanted):
    need(seen.usd("charged") <= wanted, "charged %s", seen.record["usd"])


def tokens(seen, wanted):
    said = seen.record.get("usage") or {}
    read, write = said.get("cache_read", 0), said.get("cache_write", 0)
    counts = {"input_total": said.get("input", 0), "cache_read": read, "cache_write": write,
              "input_uncached": said.get("input", 0) - read - write, "output_total": said.get("output", 0),
              "reasoning": said.get("reasoning", 0)}
    need(all(counts[k] == v for k, v in wanted.items()), "the record has %s", said)
    row = seen.row()
    need(row is None or (row["input"], row["output"]) == (counts["input_total"], counts["output_total"]), "the row has other tokens")


def basis(seen, wanted):
    if "usd" in seen.record:  # what is free has none
        need(seen.record["usd"].get("basis") == wanted, "the record has %s", seen.record["usd"])
        need((seen.row()["flags"] & 3) == {"table": 0, "estimate": 1, "reported": 2}[wanted], "the row has flags %d", seen.row()["flags"])


def flagged(seen, wanted):
    need(wanted in seen.record.get("flags", []), "the record has %s", seen.record.get("flags"))


def ledger_flag(seen, wanted):
    bits = {"estimated": 1, "reported": 2, "malformed": 4, "cut": 8, "over_hold": 16, "actual_over_hold": 16, "lost": 32}
    need(seen.row()["flags"] & bits[wanted], "the row has flags %d", seen.row()["flags"])


def estimated(seen, wanted):
    need((seen.record["usd"].get("basis") == "estimate") == wanted, "the record has %s", seen.record["usd"])


def reservation(seen, wanted):
    need((seen.reserved() > before(seen, "reserved")) == (wanted == "kept"), "%d is reserved", seen.reserved())


def held_at_least(seen, wanted):
    if seen.case["expect"]["action"] == "allow":
        need(seen.usd("reserved") >= wanted, "reserved %s", seen.record["usd"])


def held_at_most(seen, wanted):
    if seen.case["expect"]["action"] == "allow":
        need(seen.usd("reserved") <= wanted, "reserved %s", seen.record["usd"])


def clamp(seen, wanted):
    limit = seen.asked[0]
    for key in wanted["field"].split("."):
        limit = limit[key]
    need(wanted["min"] <= limit <= wanted["max"], "the provider was asked for %s", limit)
    need((seen.answer.get("x-weir-clamped") or "").split("=")[1].split(";")[0] == str(limit), "the client was told %s",
         seen.answer.get("x-weir-clamped"))


def rewrite(seen, wanted):
    for path, value in wanted.items():
        found = seen.asked[0]
        for key in path.split("."):
            found = found[key]
        need(found == value, "%s is %s upstream", path, found)


def deny_reason(seen, wanted):
    accepted = {REASONS.get(wanted, wanted)}
    if refers(seen.case["request"].get("body")):
        accepted = {"object_not_owned"}
    elif "hold_nano" in (seen.case.get("state") or {}):  # where nothing can be clamped both words are right
        accepted |= {"session_budget_exhausted", "budget_insufficient_for_request"}
    need(seen.answer.get("x-weir-reason") in accepted, "it was refused for %s", seen.answer.get("x-weir-reason"))
    need(seen.record["reason"] in accepted, "the record has %s", seen.record["reason"])


def http_status(seen, wanted):
    wanted = 404 if refers(seen.case["request"].get("body")) else wanted
    need(seen.answer.status == wanted, "it was refused with %d", seen.answer.status)


def error_shape(seen, wanted):
    body = json.loads(seen.answer.body)
    error = body["error"]
    shapes = {"anthropic": body.get("type") == "error" and {"type", "message"} <= set(error),
              "openai": {"message", "type", "code", "param"} <= set(error),
              "google": {"code", "message", "status"} <= set(error) and error.get("code") == seen.answer.status}
    need(shapes[wanted], "the refusal is %s", body)


def error_code(seen, wanted):
    need(json.loads(seen.answer.body)["error"]["code"] == wanted, "the refusal is %r", seen.answer.body)


def should_retry(seen, wanted):
    need(seen.answer.get("x-should-retry") == wanted, "x-should-retry is %s", seen.answer.get("x-should-retry"))


def next_call(seen, wanted):
    asked = len(seen.provider.requests)
    path, body, headers = request_of(seen.case)
    answer = seen.gateway.call(path, body, method=seen.case["request"]["method"], headers=headers)
    need((answer.status in (400, 402) and len(seen.provider.requests) == asked) == (wanted == "deny"),
         "the next call got %d", answer.status)


def admitted(seen, wanted):
    need(len(seen.provider.requests) == wanted, "%d reached the provider", len(seen.provider.requests))


def strips_usage(seen, wanted):
    need(added_usage(seen) == wanted, "usage was %sasked for on the client's behalf", "not " if wanted else "")


# Last: what makes another call.
CHECKS = {
    "action": action, "deny_reason": deny_reason, "http_status": http_status, "error_shape": error_shape,
    "error_code": error_code, "x_should_retry": should_retry, "upstream_called": lambda seen, wanted: was_refused(seen),
    "cost_nano": cost, "cost_nano_min": cost_min, "cost_nano_max": cost_max, "tokens": tokens, "basis": basis,
    "anomaly": flagged, "ledger_flag": ledger_flag, "estimated": estimated, "reservation": reservation,
    "reserve_nano_min": held_at_least, "reserve_nano_max": held_at_most, "clamp": clamp, "request_rewrite": rewrite,
    "strip_usage_chunk": strips_usage, "admitted": admitted, "next_call": next_call,
}
MUTE = {"tool", "hint", "settlements"}  # only `weir meter` says these


def check(case, seen):
    unknown = set(case["expect"]) - set(CHECKS) - MUTE
    need(not unknown, "what is %s?", ", ".join(sorted(unknown)))
    for key, judge in CHECKS.items():
        if key in case["expect"]:
            try:
                judge(seen, case["expect"][key])
            except Wrong as why:
                raise Wrong("%s is not %s: %s" % (key, json.dumps(case["expect"][key]), why)) from None
    book = seen.gateway.ledger("verify", "--prices", seen.weir.config["gateway"]["prices"])
    need(book.returncode == 0, "the ledger: %s%s", book.stdout, book.stderr)
    need(provider.KEY not in seen.weir.log(), "the log has the provider's key")


def run_case(net, authority, case):
    one, player = provider.Provider(authority), Player(case)
    one.answer = player
    caps = budgets(case)
    w = weir.Weir([{"policy": "case", "allow": []}], configuration(case, one, authority, net.dns, caps), environment=gateway.ENVIRONMENT, start=False)
    try:
        w.config["gateway"]["prices"] = w.path("prices.json")
        with open(w.path("prices.json"), "w", encoding="utf-8") as f:
            json.dump(case["prices"], f)
        w.write_config()
        seed(case, w.path("state/ledger.db"), caps)
        with w:
            w.start()
            check(case, Seen(case, one, player, w))
            need(not one.faults, "%s", "; ".join(one.faults))
    finally:
        one.close()


def run_group(net, group):
    outcomes = []
    if not hasattr(net, "dns"):
        net.dns = dns.Dns()
        net.dns.set({}, {"A": ["127.0.0.1"], "ttl": 0})
    with tempfile.TemporaryDirectory(prefix="weir-test-ca-") as directory:
        authority = tls.Authority(directory)
        for case in group["cases"]:
            try:
                run_case(net, authority, case)
                outcomes.append((case["id"], "passed", ""))
            except (Wrong, AssertionError, TimeoutError) as why:
                outcomes.append((case["id"], "failed", str(why)))
    return outcomes
