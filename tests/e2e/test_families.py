"""Each family of models, live: what it said counts when it can be true, and never for less than what came.

The client sees what the provider sent, the provider its own key, and the audit and the ledger what the provider bills;
a provider that sends nonsense, breaks off, stalls or lies is paid a ceiling, and the record says why.
"""
import json
import math
from fractions import Fraction

import pytest

from rig import gateway as rig_gateway
from rig import provider as rig_provider
from rig.gateway import ASK, SONNET, nano
from rig.provider import NANO, chunk, cost_nano, event, head, whole
from rig.weir import wait_for

pytestmark = pytest.mark.single

TERRA, FLASH = "gpt-6.1-terra", "gemini-3.8-flash"
EMBED, EMBED_GEMINI = "text-embedding-3-small", "gemini-embedding-001"
OWN = [("Authorization", "Bearer mine"), ("Cookie", "a=b"), ("x-goog-api-key", "mine"), ("x-kept", "yes")]
TEXT = "so it was said, "
SAID = [{"role": "user", "content": "hi"}]
PARTS = [{"role": "user", "parts": [{"text": "hi"}]}]


class Lie:
    """In place of a count: nothing at all."""


def without_lies(value):
    if isinstance(value, dict):
        return {k: without_lies(v) for k, v in value.items() if v is not Lie}
    return [without_lies(v) for v in value] if isinstance(value, list) else value


class Family:
    """How to ask, and how a provider answers with such counts: documents, one an event where it streams."""

    def __init__(self, kind, path, body, model, documents, headers=(), stream=False, done=False):
        self.kind, self.path, self.body, self.model = kind, "/" + kind + path, body, model
        self.documents, self.headers, self.stream, self.done = documents, headers, stream, done

    def ask(self, g, client=None):
        if client is None:
            return g.call(self.path, self.body, headers=[*OWN, *self.headers])
        return g.send(client, self.path, self.body, headers=[*OWN, *self.headers])

    def pieces(self, prompt, output):
        documents = [without_lies(one) for one in self.documents(prompt, output)]
        if not self.stream:
            return [json.dumps(documents[0]).encode()]
        return [event(one, one.get("type")) for one in documents] + ([event("[DONE]")] if self.done else [])

    def answer(self, prompt=30, output=7, bill=None, more=()):
        """Sends it, as it should be; keeps what was sent."""
        def answer(provider, conn, request, body):
            pieces = self.pieces(prompt, output)
            provider.sent = b"".join(pieces)
            if self.stream:
                conn.send(head(200, "text/event-stream", more, chunked=True))
                for piece in pieces:
                    conn.send(chunk(piece))
                conn.send(b"0\r\n\r\n")
            else:
                conn.send(whole(pieces[0], more=more))
            return bill
        return answer


def message(prompt, output):
    return [{"id": "msg_1", "type": "message", "role": "assistant", "model": SONNET, "stop_reason": "end_turn",
             "content": [{"type": "text", "text": TEXT}], "usage": {"input_tokens": prompt, "output_tokens": output}}]


def message_events(prompt, output):
    begun = {"id": "msg_1", "type": "message", "role": "assistant", "model": SONNET, "content": [],
             "usage": {"input_tokens": prompt, "output_tokens": 1}}
    return [{"type": "message_start", "message": begun},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": output}},
            {"type": "message_stop"}]


def chat_usage(prompt, output, **more):
    return dict({"prompt_tokens": prompt, "completion_tokens": output}, **more)


def chat(prompt, output, **more):
    return [{"id": "c1", "object": "chat.completion", "model": TERRA,
             "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
             "usage": chat_usage(prompt, output, **more)}]


def chat_events(prompt, output, **more):
    base = {"id": "c1", "object": "chat.completion.chunk", "model": TERRA}
    return [dict(base, choices=[{"index": 0, "delta": {"content": TEXT}}]),
            dict(base, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]),
            dict(base, choices=[], usage=chat_usage(prompt, output, **more))]


def response(prompt, output):
    return [{"id": "resp_1", "object": "response", "status": "completed", "model": TERRA,
             "output": [{"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": TEXT}]}],
             "usage": {"input_tokens": prompt, "output_tokens": output,
                       "input_tokens_details": {"cached_tokens": 10}, "output_tokens_details": {"reasoning_tokens": 2}}}]


def response_events(prompt, output):
    begun = {"id": "resp_1", "object": "response", "status": "in_progress", "model": TERRA, "output": [], "usage": None}
    return [{"type": "response.created", "response": begun},
            {"type": "response.output_text.delta", "delta": TEXT},
            {"type": "response.completed", "response": response(prompt, output)[0]}]


def embedding(prompt, _):
    return [{"object": "list", "model": EMBED, "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -1e-3]}],
             "usage": {"prompt_tokens": prompt, "total_tokens": prompt}}]


def generated(prompt, output):
    return [{"candidates": [{"content": {"parts": [{"text": TEXT}]}, "finishReason": "STOP"}], "modelVersion": FLASH,
             "usageMetadata": {"promptTokenCount": prompt, "candidatesTokenCount": output}}]


def generated_events(prompt, output):
    return [{"candidates": [{"content": {"parts": [{"text": TEXT}]}}],
             "usageMetadata": {"promptTokenCount": prompt, "candidatesTokenCount": 1}},
            *generated(prompt, output)]


def native_usage(prompt, output):
    return {"inputTokens": {"total": prompt, "cacheRead": 10}, "outputTokens": {"total": output, "reasoning": 2}}


def native(prompt, output, cost=Lie):
    return [{"content": [{"type": "text", "text": TEXT}], "finishReason": {"unified": "stop", "raw": "stop"},
             "usage": native_usage(prompt, output), "providerMetadata": {"gateway": {"cost": cost}}}]


def native_events(prompt, output, cost=Lie):
    return [{"type": "text-start", "id": "1"}, {"type": "text-delta", "id": "1", "delta": TEXT},
            {"type": "finish", "finishReason": {"unified": "stop", "raw": "stop"}, "usage": native_usage(prompt, output),
             "providerMetadata": {"gateway": {"cost": cost}}}]


def native_3(prompt, output, cost=Lie):
    """Version 3 has numbers where version 4 has objects."""
    return [dict(native(prompt, output, cost)[0], finishReason="stop", usage={
        "inputTokens": prompt, "outputTokens": output, "reasoningTokens": 2, "cachedInputTokens": 10})]


def asks_native(stream):
    return [("ai-language-model-id", "anthropic/claude-sonnet-5.5"),
            ("ai-language-model-streaming", str(stream).lower())]


PROMPT = {"prompt": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "maxOutputTokens": 100}
COMPLETIONS = {"model": TERRA, "max_completion_tokens": 100, "messages": SAID}
STREAMED = dict(COMPLETIONS, stream=True, stream_options={"include_usage": True})
RESPOND = {"model": TERRA, "input": "hi", "max_output_tokens": 100, "store": False}

FAMILIES = {
    "messages": Family("anthropic", "/v1/messages", ASK, SONNET, message),
    "messages, streamed": Family("anthropic", "/v1/messages", dict(ASK, stream=True), SONNET, message_events, stream=True),
    "chat": Family("openai", "/v1/chat/completions", COMPLETIONS, TERRA, chat),
    "chat, streamed": Family("openai", "/v1/chat/completions", STREAMED, TERRA, chat_events, stream=True, done=True),
    "responses": Family("openai", "/v1/responses", RESPOND, TERRA, response),
    "responses, streamed": Family("openai", "/v1/responses", dict(RESPOND, stream=True), TERRA, response_events, stream=True),
    "embeddings": Family("openai", "/v1/embeddings", {"model": EMBED, "input": "hi"}, EMBED, embedding),
    "gemini": Family("gemini", "/v1beta/models/%s:generateContent" % FLASH, {"contents": PARTS}, FLASH, generated),
    "gemini, streamed": Family("gemini", "/v1beta/models/%s:streamGenerateContent?alt=sse" % FLASH, {"contents": PARTS},
                               FLASH, generated_events, stream=True),
    "native v4": Family("vercel", "/v4/ai/language-model", PROMPT, SONNET, native, asks_native(False)),
    "native v4, streamed": Family("vercel", "/v4/ai/language-model", PROMPT, SONNET, native_events, asks_native(True),
                                  stream=True),
    "native v3": Family("vercel", "/v3/ai/language-model", PROMPT, SONNET, native_3, asks_native(False)),
}
CACHED = ("responses", "native")  # their answers say that ten tokens came from the cache


def bill_of(name, prompt, output):
    read = 10 if name.startswith(CACHED) else 0
    return cost_nano(FAMILIES[name].model, prompt - read, read=read, output=0 if name == "embeddings" else output)


def record_of(g, n=1):
    def pick():
        return [r for r in g.weir.finals() if r["kind"] == "gateway" and "usd" in r]
    return wait_for(lambda: pick()[n - 1] if len(pick()) >= n else None, what="the record")


def provider_saw_only_its_own(provider, family):
    asked = provider.requests[-1]
    field = rig_gateway.KEY_FIELDS[family.kind]
    mine = {f: asked.all(f) for f in ("authorization", "x-api-key", "x-goog-api-key", "cookie") if f != field}
    assert not any(mine.values()), mine
    assert asked.all(field) == [("Bearer " if field == "authorization" else "") + rig_provider.KEY]
    assert asked.get("x-kept") == "yes" and b"mine" not in provider.bytes()


# -- as it should be


@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_is_paid_what_its_provider_counts(gateway, provider, name):
    g, family = gateway(), FAMILIES[name]
    provider.answer = family.answer(130, 17, bill_of(name, 130, 17))
    answer = family.ask(g)
    assert answer.status == 200 and answer.is_complete and answer.body == provider.sent
    provider_saw_only_its_own(provider, family)
    assert g.spent() == provider.bill > 0
    record = record_of(g)
    assert record["outcome"] == "ok" and record["usd"]["basis"] == "table" and "flags" not in record
    assert nano(record["usd"]["charged"]) == provider.bill <= nano(record["usd"]["reserved"])
    assert record["usage"]["input"] == 130
    assert record["usage"].get("output", 0) == (0 if name == "embeddings" else 17)
    assert record["usage"].get("cache_read", 0) == (10 if name.startswith(CACHED) else 0)


@pytest.mark.parametrize("method, body", [
    ("embedContent", {"content": PARTS[0]}),
    ("batchEmbedContents", {"requests": [{"model": "models/" + EMBED_GEMINI, "content": part} for part in PARTS * 3]})])
@pytest.mark.parametrize("is_said", [True, False])
def test_gemini_s_embeddings_cost_their_prompt_or_else_its_bound(gateway, provider, method, body, is_said):
    g = gateway()
    said = {"embeddings": [{"values": [0.5, -1e-3]}]}
    if is_said:
        said["usageMetadata"] = {"promptTokenCount": 9}
    provider.answer = lambda provider, conn, request, _: conn.send(whole(said)) and cost_nano(EMBED_GEMINI, 9)
    answer = g.call("/gemini/v1beta/models/%s:%s" % (EMBED_GEMINI, method), body, headers=OWN)
    assert answer.status == 200 and json.loads(answer.body) == said
    assert provider.requests[0].all("x-goog-api-key") == [rig_provider.KEY]
    record, spent = record_of(g), g.spent()
    assert nano(record["usd"]["charged"]) == spent >= provider.bill > 0
    assert record["usd"]["basis"] == ("table" if is_said else "estimate") and (spent == provider.bill) == is_said
    assert spent <= nano(record["usd"]["reserved"])


def test_a_gemini_stream_that_is_one_array_is_paid_by_its_last_word(gateway, provider):
    g = gateway()
    sent = json.dumps(generated_events(30, 7)).encode()
    provider.answer = lambda provider, conn, request, _: conn.send(whole(sent)) and cost_nano(FLASH, 30, output=7)
    answer = g.call("/gemini/v1beta/models/%s:streamGenerateContent" % FLASH, {"contents": PARTS})
    assert answer.body == sent and g.spent() == provider.bill > 0


# -- what a gateway says that it cost


def costly(kind, cost, stream=False, documents=None, headers=(), path="/v1/chat/completions", body=None):
    make = documents or (chat_events if stream else chat)
    return Family(kind, path, body or (STREAMED if stream else COMPLETIONS), TERRA,
                  lambda prompt, output: make(prompt, output, **cost), headers, stream, done=stream and documents is None)


def in_metadata(prompt, output, cost):
    return [dict(chat(prompt, output)[0], providerMetadata={"gateway": {"cost": cost}})]


REPORTED = {
    "openrouter": (costly("openrouter", {"cost": 0.000123456}), ()),
    "openrouter, streamed": (costly("openrouter", {"cost": 0.000123456}, True), ()),
    "openrouter, the caller's key": (costly("openrouter", {
        "cost": 0.000023456, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.0001}}), ()),
    "litellm": (costly("litellm", {}), ["x-litellm-response-cost: 1.23456e-4"]),
    "litellm, messages": (Family("litellm", "/v1/messages", ASK, SONNET, message), ["x-litellm-response-cost: 1.23456e-4"]),
    "litellm, messages streamed": (Family("litellm", "/v1/messages", dict(ASK, stream=True), SONNET, message_events,
                                          stream=True), ["x-litellm-response-cost: 1.23456e-4"]),
    "vercel": (costly("vercel", {"cost": "0.000123456"}, documents=in_metadata), ()),
    "native v4": (costly("vercel", {"cost": "0.000123456"}, documents=native, headers=asks_native(False),
                         path="/v4/ai/language-model", body=PROMPT), ()),
    "native v4, streamed": (costly("vercel", {"cost": "0.000123456"}, True, native_events, asks_native(True),
                                   "/v4/ai/language-model", PROMPT), ()),
    "native v3": (costly("vercel", {"cost": "0.000123456"}, documents=native_3, headers=asks_native(False),
                         path="/v3/ai/language-model", body=PROMPT), ()),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_cost_that_a_trusted_gateway_reports_is_what_is_paid(gateway, provider, name):
    family, more = REPORTED[name]
    g = gateway(providers=[rig_gateway.row(family.kind, provider, settle="reported")])
    provider.answer = family.answer(30, 7, math.ceil(Fraction("0.000123456") * NANO), more)
    answer = family.ask(g)
    assert answer.status == 200 and answer.body == provider.sent
    provider_saw_only_its_own(provider, family)
    assert g.spent() == provider.bill == 123456
    record = record_of(g)
    assert record["usd"]["basis"] == "reported" and nano(record["usd"]["charged"]) == provider.bill
    assert (record["usage"]["input"], record["usage"]["output"]) == (30, 7)


@pytest.mark.parametrize("name", ["openrouter", "litellm", "vercel", "native v4"])
def test_a_cost_that_nobody_was_told_to_trust_changes_nothing(gateway, provider, name):
    family, more = REPORTED[name]
    g = gateway()
    is_native = name.startswith("native")
    bill = cost_nano(SONNET, 20, read=10, output=7) if is_native else cost_nano(TERRA, 30, output=7)
    provider.answer = family.answer(30, 7, bill, more)
    assert family.ask(g).status == 200
    assert g.spent() == provider.bill and record_of(g)["usd"]["basis"] == "table"


@pytest.mark.parametrize("cost", [0, -0.5, "-0.5", "much", 1e18, True, {}], ids=str)
def test_a_reported_cost_that_cannot_be_leaves_the_table_to_count(gateway, provider, cost):
    family = costly("openrouter", {"cost": cost})
    g = gateway(providers=[rig_gateway.row("openrouter", provider, settle="reported")])
    provider.answer = family.answer(30, 7, cost_nano(TERRA, 30, output=7))
    assert family.ask(g).body == provider.sent
    assert g.spent() == provider.bill > 0
    record = record_of(g)
    assert record["usd"]["basis"] == "table"
    assert record["flags"] == ["reported_zero" if cost == 0 else "usage_absurd"]


def test_a_reported_cost_above_what_was_held_is_paid_and_stops_the_next_call(gateway, provider):
    family = costly("openrouter", {"cost": 3})
    g = gateway(providers=[rig_gateway.row("openrouter", provider, settle="reported")])
    provider.answer = family.answer(30, 7, 3 * NANO)
    assert family.ask(g).status == 200
    assert g.spent() == provider.bill == 3 * NANO
    assert "actual_over_hold" in record_of(g)["flags"]
    refused = family.ask(g)
    assert refused.status == 402 and len(provider.requests) == 1


# -- nonsense, and less than was promised


def is_a_safe_charge(g, prompt=0, output=1, model=None, n=1, before=0):
    """Something, not more than was held, and marked as no count: of call n."""
    record, spent = record_of(g, n), g.spent() - before
    assert 0 < spent == nano(record["usd"]["charged"]) <= nano(record["usd"]["reserved"]), record
    assert record["usd"]["basis"] == "estimate", record
    if model:
        assert spent >= cost_nano(model, prompt, output=output), record
    return record


GARBAGE = {
    "no JSON": whole(b"<html>Bad luck</html>"),
    "nothing": whole(b""),
    "JSON that breaks off": whole(json.dumps(message(30, 7)[0]).encode()[:-9]),
    "another object": whole({"hello": ["you"]}),
    "a bare null": whole(b"null"),
    "control characters": whole(bytes(range(256))),
    "JSON that does not end in depth": whole(b'{"usage":' + b"[" * 5000),
    "keys twice": whole(b'{"usage":{"input_tokens":30,"output_tokens":7},"usage":{"input_tokens":0,"output_tokens":0},'
                        b'"content":[{"type":"text","text":"x"}]}'),
    "events where a document was asked for": whole(event(message(30, 7)[0]), kind="application/json"),
    "a document that is called a stream": whole(message(30, 7)[0], kind="text/event-stream"),
    "nonsense of events": whole(b"data: {]\n\nretry: x\nid\n:\n\n\n\0data\n\ndata: 7\n\n", kind="text/event-stream"),
    "lines": whole(json.dumps(message(30, 7)[0]).encode() + b"\n", kind="application/jsonl"),
}


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_passes_as_it_came_and_is_paid_a_ceiling(gateway, provider, what):
    g, sent = gateway(), GARBAGE[what]
    provider.answer = lambda provider, conn, request, body: conn.send(sent) and 0
    for n, stream in enumerate((False, True)):
        before, answer = g.spent(), g.messages(stream=stream)
        assert answer.status == 200 and answer.is_complete and answer.body == sent.split(b"\r\n\r\n", 1)[1]
        assert is_a_safe_charge(g, n=n + 1, before=before)["outcome"] == "ok"


@pytest.mark.parametrize("name", ["messages", "messages, streamed"])
def test_an_answer_of_the_wrong_type_is_still_paid(gateway, provider, name):
    """By its usage where it is what was asked for."""
    g, family = gateway(), FAMILIES[name]
    sent = b"".join(family.pieces(30, 7))
    for kind in ("image/png", "application/octet-stream", "", "text/event-stream;;", "application/jsonx"):
        before = g.spent()
        provider.answer = lambda provider, conn, request, body: conn.send(whole(sent, kind=kind)) and bill_of(name, 30, 7)
        assert family.ask(g).body == sent
        assert g.spent() - before >= bill_of(name, 30, 7), kind


def test_a_coding_that_is_none_breaks_the_answer_and_is_paid_a_ceiling(gateway, provider):
    g = gateway()
    for n, coding in enumerate(("gzip", "br", "zstd", "deflate", "x-unheard-of")):
        before = g.spent()
        provider.answer = lambda provider, conn, request, body: conn.send(
            whole(message(30, 7)[0], more=["Content-Encoding: " + coding])) and 0
        answer = g.messages()
        assert answer is None or not answer.is_complete or answer.status == 502, coding
        assert is_a_safe_charge(g, 30, 7, SONNET, n + 1, before)["reason"] == "upstream_malformed", coding


def breaks_off(family, pieces, partly, is_reset):
    """So many pieces, and a part of the next one."""
    def answer(provider, conn, request, body):
        all_of_it = family.pieces(30, 7)
        provider.sent = b"".join(all_of_it[:pieces]) + all_of_it[pieces][:partly]
        if family.stream:
            conn.send(head(200, "text/event-stream", chunked=True) + chunk(provider.sent))
        else:
            conn.send(head(200, "application/json", length=9999) + provider.sent)
        provider.go.wait(30)  # until the client has it: a reset may overtake what was sent
        if is_reset:
            conn.reset()
        else:
            conn.close()
        return 0
    return answer


@pytest.mark.parametrize("is_reset", [True, False], ids=["reset", "close"])
@pytest.mark.parametrize("name", [n for n in FAMILIES if n != "embeddings"])
def test_an_answer_that_breaks_off_in_the_middle_is_paid_a_ceiling(gateway, provider, name, is_reset):
    g, family = gateway(), FAMILIES[name]
    last = len(family.pieces(30, 7)) - 1
    provider.answer = breaks_off(family, max(last - 1, 0), 25, is_reset)
    with g.open() as client:
        family.ask(g, client)
        assert client.read_until(lambda data: b"\r\n\r\n" in data)
        provider.go.set()
        answer = client.response("POST")
    assert not answer.is_complete and provider.sent.startswith(answer.body)
    record = is_a_safe_charge(g, 1, 3, family.model)
    assert record["reason"] == "upstream_incomplete"


@pytest.mark.parametrize("limit, reason", [("response_timeout", "response_timeout"), ("idle", "idle_timeout")])
def test_a_provider_that_stalls_is_left_and_paid_a_ceiling(gateway, provider, limit, reason):
    g = gateway(config={"limits": {limit: "300ms"}})

    def stall(family):
        def answer(provider, conn, request, body):
            kind = "text/event-stream" if family.stream else "application/json"
            if limit == "idle":
                conn.send(head(200, kind, chunked=True) + chunk(family.pieces(30, 7)[0][:40]))
            while conn.recv():
                pass
            return 0
        return answer
    for n, (name, family) in enumerate(FAMILIES.items()):
        before, provider.answer = g.spent(), stall(family)
        with g.open() as client:
            family.ask(g, client)
            got = client.response("POST")
        if limit == "response_timeout":
            assert got.status == 504, name
        else:
            assert got is None or not got.is_complete, name
        assert is_a_safe_charge(g, n=n + 1, before=before)["reason"] == reason, name


# -- lies


LIES = {"negative": -7, "fractional": 6.5, "absurd": 10 ** 18, "beyond every integer": 10 ** 30, "a string": "7",
        "null": None, "missing": Lie, "zero with text": 0, "an object": {"n": 7}, "true": True}


@pytest.mark.parametrize("lie", LIES)
def test_an_output_that_cannot_be_is_paid_a_ceiling(gateway, provider, lie):
    g = gateway()
    for n, name in enumerate(name for name in FAMILIES if name != "embeddings"):
        family, before = FAMILIES[name], g.spent()
        provider.answer = family.answer(30, LIES[lie], 0)
        assert family.ask(g).body == provider.sent, name
        is_a_safe_charge(g, 1, 3, family.model, n + 1, before)


@pytest.mark.parametrize("lie", LIES)
def test_a_prompt_that_cannot_be_is_paid_a_ceiling(gateway, provider, lie):
    g = gateway()
    for n, name in enumerate(FAMILIES):
        family, before = FAMILIES[name], g.spent()
        provider.answer = family.answer(LIES[lie], 7, 0)
        assert family.ask(g).body == provider.sent, name
        record = is_a_safe_charge(g, 1, 0 if name == "embeddings" else 3, family.model, n + 1, before)
        assert "usage_absurd" in record.get("flags", []) or LIES[lie] in (None, Lie), record


@pytest.mark.parametrize("name", ["chat", "chat, streamed"])
def test_parts_above_the_whole_are_a_lie(gateway, provider, name):
    g, plain = gateway(), FAMILIES[name]
    family = Family(plain.kind, "/v1/chat/completions", plain.body, TERRA,
                    lambda prompt, output: plain.documents(prompt, output, prompt_tokens_details={"cached_tokens": 10 ** 9}),
                    stream=plain.stream, done=plain.done)
    provider.answer = family.answer(30, 7, 0)
    assert family.ask(g).body == provider.sent
    assert is_a_safe_charge(g, 30, 7, TERRA)["flags"] == ["usage_absurd"]


@pytest.mark.parametrize("name", [n for n in FAMILIES if n.endswith("streamed")])
def test_counts_that_come_before_the_text_do_not_end_the_account(gateway, provider, name):
    g, plain = gateway(), FAMILIES[name]

    def documents(prompt, output):
        """All text once more behind the last word."""
        told = plain.documents(prompt, output)
        text = next(one for one in told if TEXT in json.dumps(one))
        text = {k: v for k, v in text.items() if k != "usageMetadata"}
        at = next(i for i, one in enumerate(told) if one.get("type") == "message_stop") if "messages" in name else len(told)
        return told[:at] + [text] * 40 + told[at:]
    family = Family(plain.kind, plain.path[len(plain.kind) + 1:], plain.body, plain.model, documents, plain.headers, True,
                    plain.done)
    provider.answer = family.answer(30, 1, 0)
    assert family.ask(g).body == provider.sent
    is_a_safe_charge(g, 1, 90, family.model)  # of at most 100


def test_a_stream_s_first_count_is_no_bill(gateway, provider):
    """What a message begins with is a placeholder, however the stream ends."""
    g, plain = gateway(), FAMILIES["messages, streamed"]
    family = Family("anthropic", "/v1/messages", plain.body, SONNET,
                    lambda prompt, output: [d for d in message_events(prompt, output) if d["type"] != "message_delta"],
                    stream=True)
    provider.answer = family.answer(30, 7, 0)
    assert family.ask(g).body == provider.sent
    is_a_safe_charge(g, 30, 3, SONNET)


def test_an_honest_call_behind_a_lie_is_paid_as_ever(gateway, provider):
    """The account of one call does not reach the next one's."""
    g, family = gateway(), FAMILIES["chat"]
    provider.answer = family.answer(-1, 10 ** 18, 0)
    assert family.ask(g).status == 200
    before = g.spent()
    provider.answer = family.answer(30, 7, cost_nano(TERRA, 30, output=7))
    assert family.ask(g).status == 200
    assert g.spent() - before == provider.bill > 0
