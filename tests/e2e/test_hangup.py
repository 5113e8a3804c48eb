"""A model that reasons out of sight, and a client or a weir that is gone: the bill is never above the ledger.

The clock is the test's own: minutes of reasoning pass in no time.  The provider bills by the same clock, as fast
as the fastest model that weir is told of, until it sees the connection end (or, where the family does not stop
for that, to the end).
"""
import json
import math

import pytest

from rig import gateway as rig_gateway
from rig import provider as rig_provider
from rig.clock import Clock
from rig.gateway import nano
from rig.weir import START_WAIT, wait_for

pytestmark = pytest.mark.single

RATE = 400  # tokens a second: gateway.max_tokens_per_second
MANY = 16
LONG = 300  # seconds
LEASE = 900
TEXT = "why is the build red? " * 40
CHAT = [{"role": "user", "content": TEXT}]
PARTS = {"contents": [{"role": "user", "parts": [{"text": TEXT}]}]}


class Family:
    """One way to ask: what is sent, what the provider says before it falls silent, and what it then makes."""

    def __init__(self, path, model, body, limit=None, events=None, answers=1, runs_on=False, headers=()):
        self.path, self.model, self.body, self.headers = path, model, body, headers
        self.limit, self.answers, self.runs_on = limit or rig_provider.limit(model), answers, runs_on
        self.events = events  # None: not even a head

    def bill(self, seconds, prompt):
        made = self.limit if self.runs_on else min(self.limit, math.ceil(RATE * seconds))
        return rig_provider.cost_nano(self.model, prompt, output=made * self.answers)


def messages(**more):
    return dict({"model": "claude-sonnet-5-5", "max_tokens": 128000, "messages": CHAT}, **more)


def started(prompt):
    return [rig_provider.event({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "content": [],
        "usage": {"input_tokens": prompt, "output_tokens": 1}}}, "message_start")]


def created(prompt):
    return [rig_provider.event({"type": "response.created", "response": {
        "id": "resp_1", "object": "response", "status": "in_progress", "model": "gpt-6.2-sol", "output": [],
        "usage": None}}, "response.created")]


NATIVE = [("ai-language-model-id", "anthropic/claude-sonnet-5.5"), ("ai-language-model-specification-version", "4")]

FAMILIES = {
    "messages": Family("/anthropic/v1/messages", "claude-sonnet-5-5", messages()),
    "messages, streamed": Family("/anthropic/v1/messages", "claude-sonnet-5-5", messages(stream=True), events=started),
    "messages, a small limit": Family("/anthropic/v1/messages", "claude-sonnet-5-5", messages(max_tokens=2000), 2000),
    "chat": Family("/openai/v1/chat/completions", "gpt-6.1-terra", {"model": "gpt-6.1-terra", "messages": CHAT}),
    "chat, several answers, streamed": Family(
        "/openai/v1/chat/completions", "gpt-6.1-terra",
        {"model": "gpt-6.1-terra", "messages": CHAT, "n": 4, "stream": True}, answers=4, events=lambda prompt: []),
    "responses": Family("/openai/v1/responses", "gpt-6.2-sol", {"model": "gpt-6.2-sol", "input": TEXT, "store": False}),
    "responses, streamed": Family("/openai/v1/responses", "gpt-6.2-sol", {
        "model": "gpt-6.2-sol", "input": TEXT, "stream": True, "store": False}, events=created),
    "gemini": Family("/gemini/v1beta/models/gemini-3.8-flash:generateContent", "gemini-3.8-flash", PARTS, runs_on=True),
    "gemini, streamed": Family("/gemini/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse", "gemini-3.8-flash",
                               PARTS, runs_on=True, events=lambda prompt: []),
    "AI Gateway": Family("/vercel/v4/ai/language-model", "claude-sonnet-5-5", {
        "prompt": [{"role": "user", "content": [{"type": "text", "text": TEXT}]}]},
        headers=NATIVE + [("ai-language-model-streaming", "false")]),
    "embeddings": Family("/openai/v1/embeddings", "text-embedding-3-small", {
        "model": "text-embedding-3-small", "input": TEXT}, limit=1),
}


class Thinker:
    """The provider's side: silent from the question on; what each call made is billed when its connection ends."""

    def __init__(self, clock):
        self.clock = clock

    def __call__(self, provider, conn, request, body):
        family, since = FAMILIES[request.get("x-family")], self.clock.now
        prompt = len(json.dumps(body)) // 2
        if family.events is not None:
            conn.send(rig_provider.head(200, "text/event-stream", chunked=True))
            for event in family.events(prompt):
                conn.send(rig_provider.chunk(event))
        while conn.recv():
            pass
        return family.bill(self.clock.now - since, prompt)


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path)


@pytest.fixture
def timed(gateway, clock):
    """A weir that lives by the test's clock; one worker, so that any question wakes it."""
    def make():
        return gateway(sessions=rig_gateway.laptop("100000"), environment=clock.environment, config={
            "workers": 1, "budget": {"drain": "0s"}, "ledger": {"url": "sqlite:ledger.db"}, "limits": {
                "client_rate": 0, "client_connections": 0, "idle": "3600s", "response_timeout": "3600s",
                "write_timeout": "3600s"}})
    return make


def ask_all(g, provider, names):
    clients = []
    for name in names:
        clients.append(g.open())
        g.send(clients[-1], FAMILIES[name].path, FAMILIES[name].body, headers=[*FAMILIES[name].headers, ("x-family", name)])
    assert provider.wait(lambda: len(provider.requests) == len(names), START_WAIT), "not all of the calls came"
    for client, name in zip(clients, names):
        if FAMILIES[name].events is not None:
            assert client.read_until(lambda data: b"\r\n\r\n" in data)
    return clients


def calls(g):
    return [r for r in g.weir.finals() if r["kind"] == "gateway" and "usd" in r]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_client_that_hangs_up_on_a_silent_model_pays_all_that_it_made(timed, provider, clock, name):
    g, provider.answer = timed(), Thinker(clock)
    clients = ask_all(g, provider, [name] * MANY)
    for i, client in enumerate(clients):
        clock.advance_to(3 + (LONG - 3) * i / (MANY - 1))
        client.reset()
        assert provider.wait(lambda: len(provider.billed) > i, START_WAIT), "the call goes on"
    wait_for(lambda: len(calls(g)) == MANY, START_WAIT, "the records")
    for record, bill in zip(calls(g), provider.billed):
        assert nano(record["usd"]["reserved"]) >= nano(record["usd"]["charged"]) >= bill > 0, record
        assert record["reason"] == "client_aborted" and record["usd"]["basis"] == "estimate"
    assert g.spent() == sum(nano(r["usd"]["charged"]) for r in calls(g)) >= provider.bill


def test_calls_that_a_killed_weir_left_behind_are_charged_in_full_and_marked_lost(timed, provider, clock):
    g, provider.answer = timed(), Thinker(clock)
    clients = ask_all(g, provider, (list(FAMILIES) * 2)[:MANY])
    reserved = nano(g.purse()["reserved"])
    clock.advance(LONG)
    g.weir.process.kill()
    g.weir.process.wait()
    for client in clients:
        client.close()
    assert reserved >= provider.bill > 0
    g.weir.start()
    assert nano(g.purse()["reserved"]) == reserved and g.purse()["spent"] == "0", "freed, though nobody knows what it cost"
    clock.advance(LEASE)
    assert g.spent() == reserved
    shown = g.ledger("show", "acme", "s1")
    assert shown.stdout.count("lost") >= MANY, shown.stdout + shown.stderr
