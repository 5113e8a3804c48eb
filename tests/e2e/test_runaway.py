"""A provider that keeps to no limit: its stream ends as one that reached it, once it has cost more than was held.

Each family's provider streams on until its connection ends.  The client gets a whole answer that says it is as long as
was allowed; the ledger has no less than what came, though it is more than was held; the record says that weir ended it.
And what a provider may rightly send is never cut, however few tokens its bytes are.
"""
import json

import pytest

from rig import gateway as rig_gateway
from rig.gateway import ASK, SONNET, nano
from rig.provider import chunk, cost_nano, event, head
from rig.weir import wait_for

pytestmark = pytest.mark.single

TERRA, FLASH = "gpt-6.1-terra", "gemini-3.8-flash"
TEXT, TOKENS = "so it was said, ", 4  # four bytes a token, as English has
PROMPT, LIMIT = 30, 100
MANY = 200000  # events: far more than any test lets pass
LONGEST = 128  # bytes of a token
SAID = [{"role": "user", "content": "hi"}]


class Family:
    """How to ask for a stream, how it begins and goes on, and how it ends when it is as long as was allowed."""

    def __init__(self, path, body, model, begin, text, end, counts=None, headers=()):
        self.path, self.body, self.model, self.headers = path, body, model, headers
        self.begin, self.text, self.end, self.counts = begin, text, end, counts

    def ask(self, g):
        return g.call(self.path, self.body, headers=list(self.headers))

    def first(self):
        return b"".join(event(one, one.get("type")) for one in self.begin)

    def piece(self, text, output=None):
        """`output`: with a running total."""
        one = self.text(text)
        more = [self.counts(PROMPT, output)] if output is not None else []
        if self.counts is not None and more and "type" not in more[0]:
            one, more = dict(one, **more[0]), []
        return b"".join(event(e, e.get("type")) for e in [one, *more])


def ends_as_messages(documents):
    stopped, last = documents[-2:]
    assert stopped["type"] == "message_delta" and stopped["delta"]["stop_reason"] == "max_tokens"
    assert stopped["usage"]["output_tokens"] > 0 and last == {"type": "message_stop"}
    assert documents[-3] == {"type": "content_block_stop", "index": 0}


def ends_as_chat(documents):
    stopped, last = documents[-2:]
    assert last == "[DONE]" and stopped["id"] == "c1" and stopped["model"] == TERRA
    assert stopped["choices"] == [{"index": 0, "delta": {}, "finish_reason": "length"}]


def ends_as_responses(documents):
    assert documents[-1]["type"] == "response.incomplete"
    response = documents[-1]["response"]
    assert response["id"] == "resp_1" and response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}


def ends_as_gemini(documents):
    assert documents[-1]["candidates"][0]["finishReason"] == "MAX_TOKENS"


def ends_as_native(documents):
    assert documents[-1]["type"] == "finish" and documents[-1]["finishReason"] == {"unified": "length", "raw": "length"}


CHUNK = {"id": "c1", "object": "chat.completion.chunk", "created": 1795900000, "model": TERRA}

FAMILIES = {
    "messages": Family(
        "/anthropic/v1/messages", dict(ASK, stream=True), SONNET,
        [{"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": SONNET, "content": [],
            "usage": {"input_tokens": PROMPT, "output_tokens": 1}}},
         {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}],
        lambda text: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        ends_as_messages,
        lambda _, output: {"type": "message_delta", "delta": {}, "usage": {"output_tokens": output}}),
    "chat": Family(
        "/openai/v1/chat/completions",
        {"model": TERRA, "max_completion_tokens": LIMIT, "messages": SAID, "stream": True,
         "stream_options": {"include_usage": True}}, TERRA,
        [dict(CHUNK, choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}}])],
        lambda text: dict(CHUNK, choices=[{"index": 0, "delta": {"content": text}}]),
        ends_as_chat,
        lambda prompt, output: {"usage": {"prompt_tokens": prompt, "completion_tokens": output}}),
    "responses": Family(
        "/openai/v1/responses", {"model": TERRA, "input": "hi", "max_output_tokens": LIMIT, "store": False, "stream": True},
        TERRA,
        [{"type": "response.created", "response": {
            "id": "resp_1", "object": "response", "status": "in_progress", "model": TERRA, "output": [], "usage": None}}],
        lambda text: {"type": "response.output_text.delta", "delta": text},
        ends_as_responses),
    "gemini": Family(
        "/gemini/v1beta/models/%s:streamGenerateContent?alt=sse" % FLASH,
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "generationConfig": {"maxOutputTokens": LIMIT}}, FLASH,
        [],
        lambda text: {"candidates": [{"content": {"parts": [{"text": text}]}}]},
        ends_as_gemini,
        lambda prompt, output: {"usageMetadata": {"promptTokenCount": prompt, "candidatesTokenCount": output}}),
    "native": Family(
        "/vercel/v4/ai/language-model",
        {"prompt": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "maxOutputTokens": LIMIT}, SONNET,
        [{"type": "text-start", "id": "1"}],
        lambda text: {"type": "text-delta", "id": "1", "delta": text},
        ends_as_native,
        headers=[("ai-language-model-id", "anthropic/claude-sonnet-5.5"), ("ai-language-model-streaming", "true")]),
}
COUNTED = [name for name, family in FAMILIES.items() if family.counts is not None]


def runs_on(family, counts=False, pack=1, end=b"\n"):
    """Until nobody listens; `pack` events in one piece.  Bills nothing: what came is what counts."""
    def answer(provider, conn, request, body):
        conn.send(head(200, "text/event-stream", chunked=True))
        pieces, said = [family.first()], 0
        for n in range(MANY):
            said += TOKENS
            pieces.append(family.piece(TEXT, said if counts else None).replace(b"\n", end))
            if n % pack == pack - 1:
                if not conn.send(chunk(b"".join(pieces))):
                    return 0
                pieces = []
        provider.is_through = True
        return 0
    return answer


def documents_of(body):
    """The stream's documents; it is whole events to its end."""
    body = body.replace(b"\r\n", b"\n")
    assert body.endswith(b"\n\n"), body[-200:]
    data = [line[6:] for line in body.decode().split("\n") if line.startswith("data: ")]
    return [one if one == "[DONE]" else json.loads(one) for one in data]


def record_of(g):
    return wait_for(lambda: next((r for r in g.weir.finals() if r["kind"] == "gateway" and "usd" in r), None),
                    what="the record")


def was_cut(g, provider, family, answer):
    """As the family ends; the provider was left; no less is charged than came."""
    assert answer.status == 200 and answer.is_complete
    documents = documents_of(answer.body)
    family.end(documents)
    assert provider.wait(lambda: provider.billed == [0]) and not getattr(provider, "is_through", False)
    record, came = record_of(g), answer.body.count(TEXT.encode()) * TOKENS
    assert "stream_cut" in record["flags"] and "actual_over_hold" in record["flags"], record
    assert record["usd"]["basis"] == "estimate", record
    charged = nano(record["usd"]["charged"])
    assert charged == g.spent() >= cost_nano(family.model, PROMPT if family.counts else 0, output=came)
    assert charged > nano(record["usd"]["reserved"])
    return came


@pytest.mark.parametrize("pack", [1, 5000], ids=["piece by piece", "in a flood"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_stream_without_an_end_ends_as_its_family_does(gateway, provider, name, pack):
    """By its text alone."""
    g, family = gateway(), FAMILIES[name]
    provider.answer = runs_on(family, pack=pack)
    answer = family.ask(g)
    came = was_cut(g, provider, family, answer)
    assert came > LIMIT  # no sooner than what was allowed can have been there
    assert len(answer.body) < 4 << 20


@pytest.mark.parametrize("name", COUNTED)
def test_running_totals_end_a_stream_as_soon_as_they_cost_more_than_is_held(gateway, provider, name):
    g, family = gateway(), FAMILIES[name]
    provider.answer = runs_on(family, counts=True)
    came = was_cut(g, provider, family, family.ask(g))
    held = nano(record_of(g)["usd"]["reserved"])
    assert cost_nano(family.model, PROMPT, output=came) > held


def test_lines_that_end_as_windows_ends_them_are_cut_between_events_too(gateway, provider):
    g, family = gateway(), FAMILIES["gemini"]
    provider.answer = runs_on(family, counts=True, pack=7, end=b"\r\n")
    was_cut(g, provider, family, family.ask(g))


def test_an_event_without_an_end_is_broken_off(gateway, provider):
    """There is no place to end it well."""
    g, family = gateway(), FAMILIES["messages"]

    def answer(provider, conn, request, body):
        conn.send(head(200, "text/event-stream", chunked=True) + chunk(family.first()))
        conn.send(chunk(b"".join(family.piece(TEXT, n * TOKENS) for n in range(200)) + b"data: "))
        while conn.send(chunk(b"x" * 1024)):
            pass
        return 0
    provider.answer = answer
    answer = family.ask(g)
    assert answer.status == 200
    assert provider.wait(lambda: provider.billed == [0])
    record = record_of(g)
    assert "stream_cut" in record["flags"] and g.spent() == nano(record["usd"]["charged"]) > 0


def test_the_next_call_is_refused_when_a_runaway_took_all(gateway, provider):
    g, family = gateway(sessions=rig_gateway.laptop("0.01")), FAMILIES["messages"]
    provider.answer = runs_on(family, pack=100)
    was_cut(g, provider, family, family.ask(g))
    assert family.ask(g).status == 402 and len(provider.requests) == 1


def fits(family, texts, output):
    """A whole stream, as the family ends it by itself."""
    ends = {
        "messages": [{"type": "content_block_stop", "index": 0},
                     {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": output}},
                     {"type": "message_stop"}],
        "chat": [dict(CHUNK, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]),
                 dict(CHUNK, choices=[], usage={"prompt_tokens": PROMPT, "completion_tokens": output})],
        "responses": [{"type": "response.completed", "response": {
            "id": "resp_1", "object": "response", "status": "completed", "model": TERRA, "output": [],
            "usage": {"input_tokens": PROMPT, "output_tokens": output}}}],
        "gemini": [{"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}],
                    "usageMetadata": {"promptTokenCount": PROMPT, "candidatesTokenCount": output}}],
        "native": [{"type": "finish", "finishReason": {"unified": "stop", "raw": "stop"},
                    "usage": {"inputTokens": {"total": PROMPT}, "outputTokens": {"total": output}}}],
    }
    name = next(n for n, one in FAMILIES.items() if one is family)
    tail = b"".join(event(one, one.get("type")) for one in ends[name]) + (event("[DONE]") if name == "chat" else b"")
    sent = family.first() + b"".join(family.piece(text) for text in texts) + tail

    def answer(provider, conn, request, body):
        provider.sent = sent
        for at in range(0, len(sent), 700):
            if at == 0:
                conn.send(head(200, "text/event-stream", chunked=True))
            conn.send(chunk(sent[at:at + 700]))
        conn.send(b"0\r\n\r\n")
        return cost_nano(family.model, PROMPT, output=output)
    return answer


@pytest.mark.parametrize("text", [" ", "<", "\u2500", "\x07"], ids=["spaces", "signs", "rules", "escapes"])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_longest_tokens_there_are_reach_their_limit_uncut(gateway, provider, name, text):
    """All that was allowed, each token as long as any is; on the wire its escapes are longer."""
    g, family = gateway(), FAMILIES[name]
    one = text * (LONGEST // len(text.encode()))
    provider.answer = fits(family, [one] * LIMIT, LIMIT)
    answer = family.ask(g)
    assert answer.status == 200 and answer.is_complete and answer.body == provider.sent
    record = record_of(g)
    assert record["usd"]["basis"] == "table" and "flags" not in record
    assert g.spent() == provider.bill > 0
