"""A prompt that does not fit its budget byte by byte is counted by the provider's own free counter.

What that says bounds the call, and nothing else does: a counter that is wrong, silent or absurd changes nothing, and
nobody can make weir ask without end.  The client sees its answer or the refusal it would have had, the provider one
question and one call, the record the flag, and the ledger never less than the bill.
"""
import json
import threading

import pytest

from rig import gateway as rig_gateway
from rig import token as tokens
from rig.gateway import ASK, SONNET, nano, usd
from rig.provider import NANO, cost_nano, counting, head, messages, rate, whole
from rig.weir import free_port, wait_for

pytestmark = pytest.mark.single

TERRA, FLASH = "gpt-6.1-terra", "gemini-3.8-flash"
TEXT = "word " * 20000  # 100 kB
TOKENS = 25000
BILLED = 25100  # a little more than was counted, as it happens
MARGIN = TOKENS // 50 + 256
OUTPUT = 1024  # budget.floor
SAID = [{"role": "user", "content": TEXT}]
LONG = dict(ASK, messages=SAID, max_tokens=2000)
VERSION = [("anthropic-version", "2023-06-01"), ("x-mine", "1")]


class Family:
    def __init__(self, path, question, body, model, document, field):
        self.path, self.question, self.body, self.model = path, question, body, model
        self.document, self.field = document, field

    def answer(self, plain=BILLED, output=7):
        def answer(provider, conn, request, body):
            conn.send(whole(self.document(plain, output)))
            return cost_nano(self.model, plain, output=output)
        return answer


FAMILIES = {
    "messages": Family(
        "/anthropic/v1/messages", "/v1/messages/count_tokens", LONG, SONNET,
        lambda plain, output: {"type": "message", "model": SONNET, "stop_reason": "end_turn", "content": [],
                               "usage": {"input_tokens": plain, "output_tokens": output}}, "input_tokens"),
    "responses": Family(
        "/openai/v1/responses", "/v1/responses/input_tokens",
        {"model": TERRA, "input": TEXT, "max_output_tokens": 2000, "store": False}, TERRA,
        lambda plain, output: {"object": "response", "id": "resp_1", "status": "completed", "model": TERRA, "output": [],
                               "usage": {"input_tokens": plain, "output_tokens": output}}, "input_tokens"),
    "gemini": Family(
        "/gemini/v1beta/models/%s:generateContent" % FLASH, "/v1beta/models/%s:countTokens" % FLASH,
        {"contents": [{"role": "user", "parts": [{"text": TEXT}]}], "generationConfig": {"maxOutputTokens": 2000}}, FLASH,
        lambda plain, output: {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}],
                               "usageMetadata": {"promptTokenCount": plain, "candidatesTokenCount": output,
                                                 "totalTokenCount": plain + output}}, "totalTokens"),
}


def budget(model, prompt=60000):
    """Enough for so many tokens and a short answer, at the dearest rate of a prompt."""
    dearest = max(rate(model, "input_cost_per_token"), rate(model, "cache_creation_input_token_cost"))
    return usd(int((prompt * dearest + OUTPUT * rate(model, "output_cost_per_token")) * NANO))


def last_record(g, n=1):
    def pick():
        return [r for r in g.weir.finals() if r["kind"] == "gateway" and r["target"]["method"] == "POST"]
    return wait_for(lambda: pick()[n - 1] if len(pick()) >= n else None, what="the record")


def asked(provider):
    """Where to, without the query."""
    return [r.target.split("?")[0] for r in provider.requests]


def counts(g, result):
    return g.weir.metric("weir_token_counts_total", result)


@pytest.fixture
def watched(gateway):
    def make(usd_left, config=None, **more):
        return gateway(sessions=rig_gateway.laptop(usd_left), config=dict(
            {"listen": dict(rig_gateway.listen(), health=["127.0.0.1:%d" % free_port()])}, **(config or {})), **more)
    return make


# -- what fits once it is counted


@pytest.mark.parametrize("name", FAMILIES)
def test_a_prompt_that_fits_only_by_its_tokens_gets_its_call(watched, provider, name):
    family = FAMILIES[name]
    g = watched(budget(family.model))
    provider.answer = counting(family.answer(), TOKENS)
    answer = g.call(family.path, family.body)
    assert answer.status == 200, answer
    assert asked(provider) == [family.question, family.path[family.path.index("/v1"):]]
    assert g.spent() == provider.bill > 0
    record = last_record(g)
    assert record["decision"] == "allow" and "counted" in record["flags"]
    assert "actual_over_hold" not in record["flags"]
    assert nano(record["usd"]["reserved"]) >= provider.bill
    assert counts(g, "counted") == 1


def test_what_is_reserved_is_the_count_and_a_margin(watched, provider):
    g = watched(budget(SONNET))
    provider.answer = counting(messages(plain=BILLED), TOKENS)
    g.messages(**dict(LONG, max_tokens=OUTPUT))
    assert nano(last_record(g)["usd"]["reserved"]) == cost_nano(SONNET, TOKENS + MARGIN, output=OUTPUT)


def test_the_question_is_the_call_with_the_providers_key_and_no_more(watched, provider):
    g = watched(budget(SONNET))
    provider.answer = counting(messages(plain=BILLED), TOKENS)
    tools = [{"name": "f", "input_schema": {"type": "object"}}, {"type": "web_search_20250305", "name": "web_search"}]
    picture = {"type": "image", "source": {"type": "url", "url": "https://x.example.test/leak"}}
    said = [{"role": "user", "content": [picture, {"type": "text", "text": TEXT}]}]
    answer = g.call("/anthropic/v1/messages", dict(LONG, tools=tools, messages=said, stop_sequences=["x"]), headers=VERSION)
    assert answer.status == 200, (answer, asked(provider), provider.bodies and {k: str(v)[:300] for k, v in provider.bodies[0].items()}, last_record(g))
    question, call = provider.requests
    body = provider.bodies[0]
    assert question.get("x-api-key") == call.get("x-api-key") and question.get("x-mine") is None
    assert question.get("anthropic-version") == "2023-06-01"
    assert sorted(body) == ["messages", "model", "tools"] and body["model"] == provider.bodies[1]["model"]
    assert body["messages"] == provider.bodies[1]["messages"] and body["tools"] == provider.bodies[1]["tools"] == tools[:1]
    assert "leak" not in json.dumps(body)


def test_calls_at_once_share_what_is_left(watched, provider):
    one = cost_nano(SONNET, TOKENS + MARGIN, output=OUTPUT)
    g = watched(usd(2 * one + one // 2))
    provider.answer = counting(messages(plain=BILLED), TOKENS)
    said = []
    callers = [threading.Thread(target=lambda: said.append(g.messages(**LONG).status)) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert set(said) <= {200, 402} and said.count(200) >= 2
    assert g.spent() == provider.bill <= 2 * one + one // 2
    assert len(provider.requests) <= 6 + said.count(200)


# -- when it is not asked


def test_a_call_that_fits_by_its_bytes_is_not_counted(watched, provider):
    g = watched("5")
    provider.answer = counting(messages(plain=BILLED), TOKENS)
    assert g.messages(**LONG).status == 200
    assert asked(provider) == ["/v1/messages"] and "counted" not in last_record(g).get("flags", [])


def refused_unasked(g, provider, path, body, status=402):
    answer = g.call(path, body)
    assert answer.status == status, answer
    assert provider.requests == [] and "counted" not in last_record(g).get("flags", [])


def test_it_can_be_turned_off(watched, provider):
    refused_unasked(watched(budget(SONNET), count_tokens=False), provider, "/anthropic/v1/messages", LONG)


def test_where_no_prompt_at_all_would_fit_nobody_is_asked(watched, provider):
    refused_unasked(watched("0.001"), provider, "/anthropic/v1/messages", LONG)


@pytest.mark.parametrize("path", ["/openai/v1/chat/completions", "/litellm/v1/messages", "/openrouter/api/v1/messages",
                                  "/vercel/v1/messages", "/litellm/v1/responses"])
def test_families_and_gateways_without_a_counter_are_left_with_the_bytes(watched, provider, path):
    model = SONNET if path.endswith("/messages") else TERRA
    body = dict(FAMILIES["responses"].body) if path.endswith("/responses") else dict(LONG, model=model)
    refused_unasked(watched(budget(model)), provider, path, body)


@pytest.mark.parametrize("more", [{"fallbacks": [{"model": "claude-haiku-5-5"}]}, {"unheard_of": {"a": 1}}], ids=str)
def test_a_request_whose_count_would_prove_nothing_is_not_counted(watched, provider, more):
    refused_unasked(watched(budget(SONNET)), provider, "/anthropic/v1/messages", dict(LONG, **more))


# -- a counter that is wrong


def test_a_counter_that_lies_costs_one_call_and_stops_the_next(watched, provider):
    g = watched(budget(SONNET))
    provider.answer = counting(messages(plain=90000), 10)
    assert g.messages(**LONG).status == 200
    assert g.spent() == provider.bill
    record = last_record(g)
    assert {"counted", "actual_over_hold"} <= set(record["flags"])
    refused = g.messages(**LONG)
    assert refused.status == 402 and len(provider.requests) == 2
    assert g.spent() == provider.bill


def raw(data):
    return lambda conn: conn.send(data)


BAD = {
    "garbage": raw(b"\x00\x01 nothing\r\n\r\n"),
    "no json": raw(whole(b"<html>25000</html>")),
    "an error": raw(whole({"input_tokens": TOKENS}, status=500)),
    "not there": raw(whole({"input_tokens": TOKENS}, status=404)),
    "elsewhere": raw(whole({"input_tokens": TOKENS}, status=302, more=["Location: /"])),
    "nothing": raw(whole({"input_tokens": 0})),
    "less than nothing": raw(whole({"input_tokens": -5})),
    "a part": raw(whole({"input_tokens": 2.5})),
    "a word": raw(whole({"input_tokens": "25000"})),
    "absurd": raw(whole(b'{"input_tokens": 123456789012345678901234567890}')),
    "elsewhere in it": raw(whole({"usage": {"input_tokens": TOKENS}})),
    "twice": raw(whole(b'{"input_tokens": 25000, "input_tokens": 30000}')),
    "cut short": raw(head(200, "application/json", length=100) + b'{"input_tokens": 25000}'),
    "huge": raw(whole(b'{"input_tokens": 25000, "x": "' + b"x" * 100000 + b'"}')),
    "packed": raw(whole({"input_tokens": TOKENS}, more=["Content-Encoding: gzip"])),
    "gone": lambda conn: conn.reset(),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_plain_count_leaves_the_refusal(watched, provider, name):
    g = watched(budget(SONNET), config={"limits": {"response_timeout": "3s"}})
    provider.answer = counting(messages(plain=BILLED), BAD[name])
    answer = g.messages(**LONG)
    assert answer.status == 402, answer
    assert asked(provider) == ["/v1/messages/count_tokens"]
    record = last_record(g)
    assert record["reason"] == "session_budget_exhausted" and record["flags"] == ["counted"]
    assert g.spent() == 0 and counts(g, "counted") == 0
    assert sum(counts(g, r) for r in ["malformed", "refused", "unreachable"]) == 1


def test_a_counter_that_does_not_answer_is_not_waited_for(watched, provider):
    g = watched(budget(SONNET), config={"limits": {"response_timeout": "300ms"}})
    provider.answer = counting(messages(plain=BILLED), lambda conn: provider.go.wait())
    assert g.messages(**LONG).status == 402
    assert counts(g, "unreachable") == 1 and g.spent() == 0
    provider.go.set()


def test_who_goes_away_meanwhile_leaves_nothing_behind(watched, provider):
    g = watched(budget(SONNET))
    provider.answer = counting(messages(plain=BILLED), lambda conn: provider.go.wait())
    with g.open() as client:
        g.send(client, "/anthropic/v1/messages", LONG)
        assert provider.wait(lambda: len(provider.requests) == 1)
        client.reset()
    assert last_record(g)["reason"] == "client_aborted"
    provider.go.set()
    assert g.spent() == 0 and asked(provider) == ["/v1/messages/count_tokens"]


# -- how often


def test_a_refused_call_is_counted_once_and_within_its_sessions_rate(gateway, provider):
    g = gateway(sessions={"keys": [{"issuer": tokens.ISSUER, "audience": tokens.AUDIENCE, "alg": "HS256", "secret": "env:KEY"}]})
    token = tokens.mint(rig_gateway.SECRET, budget={"sessionUsd": budget(SONNET)}, limits={"requestsPerMinute": 3})
    provider.answer = counting(messages(plain=BILLED), 90000)
    said = [g.messages(token, **LONG).status for _ in range(6)]
    assert said == [402] * 3 + [429] * 3
    assert asked(provider) == ["/v1/messages/count_tokens"] * 3
