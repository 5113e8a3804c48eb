"""The requests of real clients, as each makes them: answered, and stopped when the money is gone.

What the clients themselves make of it is tests/clients; it needs what this does not: the clients.
"""
import json

import pytest

from rig import families, provider as rig_provider, token as tokens
from rig.gateway import SECRET, nano
from test_gateway import keyed

pytestmark = pytest.mark.single

TEXT = [{"type": "text", "text": "What is the answer?", "cache_control": {"type": "ephemeral"}}]
SCHEMA = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
          "properties": {"command": {"description": "what", "type": "string"}}, "required": ["command"]}
STAINLESS = [("X-Stainless-Retry-Count", "0"), ("X-Stainless-Timeout", "600"), ("X-Stainless-Lang", "js"),
             ("X-Stainless-OS", "Linux"), ("X-Stainless-Runtime", "node"), ("accept-language", "*"),
             ("sec-fetch-mode", "cors"), ("accept-encoding", "gzip, deflate")]
BROWSER = ("anthropic-dangerous-direct-browser-access", "true")
ALL_CODINGS = ("Accept-Encoding", "gzip, deflate, br, zstd")


class Asks:
    """One client's model request; `credential` is a field with %s for the token."""

    def __init__(self, path, credential, headers, body, status=402):
        self.path, self.credential, self.headers, self.body, self.status = path, credential, headers, body, status

    def fields(self, token):
        name, value = self.credential
        return [(name, value % token), ("content-type", "application/json"), *self.headers]


CLAUDE = Asks("/anthropic/v1/messages?beta=true", ("x-api-key", "%s"), [
    ("Accept", "application/json"), ("User-Agent", "claude-cli/2.1.197 (external, sdk-cli)"), ("x-app", "cli"),
    ("X-Claude-Code-Session-Id", "56b877a3-06b5-487c-9664-b02e6cd2cd96"), *STAINLESS[:5], BROWSER, ALL_CODINGS,
    ("anthropic-beta", "claude-code-20250219,context-1m-2025-08-07,interleaved-thinking-2025-05-14"),
    ("anthropic-version", "2023-06-01")], {
        "model": "claude-opus-4-8", "max_tokens": 64000, "stream": True, "thinking": {"type": "adaptive"},
        "messages": [{"role": "user", "content": TEXT}, {"role": "system", "content": "Available agents"}],
        "system": [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2"}, *TEXT, *TEXT],
        "tools": [{"name": "Bash", "description": "Runs it", "input_schema": SCHEMA}],
        "metadata": {"user_id": json.dumps({"device_id": "6f05db", "account_uuid": "", "session_id": "56b877a3"})},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"}})

CODEX = Asks("/openai/v1/responses", ("authorization", "Bearer %s"), [
    ("originator", "codex_exec"), ("user-agent", "codex_exec/0.171.0 (Debian 12.0.0; x86_64)"),
    ("session-id", "01a2295b"), ("thread-id", "01a2295b"), ("x-client-request-id", "01a2295b"),
    ("x-codex-turn-metadata", json.dumps({"turn_id": "01a2295b-330a"})), ("x-codex-beta-features", "remote_compaction_v2"),
    ("accept", "text/event-stream"), ("accept-encoding", "zstd,gzip")], {
        "model": "gpt-5.5", "stream": True, "store": False, "tool_choice": "auto", "parallel_tool_calls": True,
        "input": [{"type": "message", "id": "msg_f377", "role": "developer",
                   "content": [{"type": "input_text", "text": "You are Codex"}]}],
        "tools": [{"type": "function", "name": "exec_command", "description": "Runs it", "strict": False,
                   "parameters": SCHEMA}, {"type": "web_search", "external_web_access": True}],
        "reasoning": {"effort": "medium"}, "include": ["reasoning.encrypted_content"], "text": {"verbosity": "low"},
        "prompt_cache_key": "01a2295b", "client_metadata": {"turn_id": "01a2295b-330a"}}, status=400)

GEMINI = Asks("/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", ("x-goog-api-key", "%s"), [
    ("User-Agent", "GeminiCLI-tui/0.61.0/gemini-2.5-flash (linux; x64; terminal)"),
    ("x-goog-api-client", "google-genai-sdk/1.30.0 gl-node/v20.20.2"), *STAINLESS[5:]], {
        "contents": [{"role": "user", "parts": [{"text": "What is the answer?"}]},
                     {"role": "model", "parts": [{"functionCall": {"id": "1", "name": "list_directory", "args": {}},
                                                  "thoughtSignature": "skip_thought_signature_validator"}]},
                     {"role": "user", "parts": [{"functionResponse": {"id": "1", "name": "list_directory",
                                                                      "response": {"output": "x"}}}]}],
        "systemInstruction": {"role": "user", "parts": [{"text": "You are a CLI"}]},
        "tools": [{"functionDeclarations": [{"name": "list_directory", "description": "Lists",
                                             "parametersJsonSchema": SCHEMA}]}],
        "generationConfig": {"temperature": 1, "topP": 0.95, "topK": 64,
                             "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 8192}}})

OPENCODE_TITLE = Asks("/anthropic/v1/messages", ("x-api-key", "%s"), [
    ("User-Agent", "opencode/1.18.33 ai-sdk/provider-utils/4.0.46 runtime/bun/1.3"), ("x-session-id", "ses_dd6a"),
    ("anthropic-beta", "interleaved-thinking-2025-05-14"), ("anthropic-version", "2023-06-01"), ALL_CODINGS], {
        "model": "claude-haiku-4-5-20251001", "max_tokens": 48000, "stream": True,
        "thinking": {"type": "enabled", "budget_tokens": 16000}, "system": TEXT,
        "messages": [{"role": "user", "content": TEXT}]})

OPENCODE = Asks(OPENCODE_TITLE.path, OPENCODE_TITLE.credential, OPENCODE_TITLE.headers, {
    "model": "claude-sonnet-4-5", "max_tokens": 32000, "stream": True, "system": TEXT, "tool_choice": {"type": "auto"},
    "messages": [{"role": "user", "content": TEXT}],
    "tools": [{"name": "bash", "description": "Runs it", "input_schema": SCHEMA, "eager_input_streaming": True}]})

PI = Asks("/anthropic/v1/messages", ("x-api-key", "%s"), [
    ("User-Agent", "Anthropic/JS 0.91.1"), *STAINLESS, BROWSER, ("anthropic-version", "2023-06-01")], {
        "model": "claude-sonnet-4-5", "max_tokens": 40192, "stream": True, "system": TEXT,
        "messages": [{"role": "user", "content": TEXT}],
        "thinking": {"type": "enabled", "budget_tokens": 8192, "display": "summarized"},
        "tools": [{"name": "bash", "description": "Runs it", "input_schema": SCHEMA, "eager_input_streaming": True}]})

ANTHROPIC_SDK = Asks("/anthropic/v1/messages", ("authorization", "Bearer %s"), [
    ("User-Agent", "Anthropic/JS 1.14.0"), ("x-stainless-helper-method", "stream"), *STAINLESS,
    ("anthropic-version", "2026-10-21")],
    {"model": "claude-sonnet-4-5", "max_tokens": 8000, "stream": True, "messages": [{"role": "user", "content": "hi"}]})

OPENAI_CHAT = Asks("/openai/v1/chat/completions", ("authorization", "Bearer %s"), [
    ("User-Agent", "OpenAI/JS 6.49.0"), *STAINLESS],
    {"model": "gpt-5", "stream": True, "messages": [{"role": "user", "content": "hi"}]})

AI_GATEWAY = Asks("/vercel/v3/ai/language-model", ("authorization", "Bearer %s"), [
    ("ai-gateway-auth-method", "api-key"), ("ai-gateway-protocol-version", "0.0.1"),
    ("ai-language-model-id", "anthropic/claude-sonnet-4.5"), ("ai-language-model-specification-version", "3"),
    ("ai-language-model-streaming", "true"), *STAINLESS[5:]],
    {"prompt": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "includeRawChunks": False})

ALL = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI, "opencode": OPENCODE, "opencode-title": OPENCODE_TITLE,
       "pi": PI, "anthropic-sdk": ANTHROPIC_SDK, "openai-sdk-chat": OPENAI_CHAT, "ai-gateway": AI_GATEWAY}
each = pytest.mark.parametrize("asks", ALL.values(), ids=ALL)


def turn(budget, sid="s1"):
    return tokens.mint(SECRET, sid, turn="t1", gen=1, budget={"turnUsd": budget, "sessionUsd": "50"})


def send(g, client, asks, token, **how):
    g.send(client, asks.path, asks.body, headers=asks.fields(token), **how)
    return client.response("POST")


@each
def test_it_is_answered_as_it_asked_and_pays_what_the_provider_counts(gateway, provider, asks):
    g = gateway(sessions=keyed())
    provider.answer = families.everything("4711", more=["X-Account: " + rig_provider.KEY])
    token = turn("20")
    with g.open() as client:
        answer = send(g, client, asks, token)
        assert answer.status == 200 and answer.is_complete and answer.get("x-weir-clamped") is None
        assert answer.get("content-type") == "text/event-stream" and b"47" in answer.body and b"11" in answer.body
        assert (b'"usage' in answer.body) == (asks is not OPENAI_CHAT), "who did not ask for it gets no usage"
        assert send(g, client, asks, token).status == 200, "the connection is good for more"
    assert g.spent(token) == provider.bill > 0
    asked = provider.requests[0]
    assert token.encode() not in provider.bytes() and rig_provider.KEY.encode() not in client.data
    assert asked.get("accept-encoding") == "identity" and asked.get("ai-gateway-auth-method") in (None, "api-key")
    assert "web_search" not in json.dumps(provider.bodies[0]), "what runs at the provider ignores the sandbox's network"


@each
def test_it_is_stopped_at_once_in_words_that_it_shows(gateway, provider, asks):
    g = gateway(sessions=keyed())
    token = turn("0.000000001")
    with g.open() as client:
        for _ in range(2):
            answer = send(g, client, asks, token)
            assert (answer.status, answer.get("x-weir-reason")) == (asks.status, "turn_budget_exhausted")
            assert answer.get("x-should-retry") == "false" and answer.get("retry-after") is None
            assert answer.get("content-type") == "application/json"
            assert json.loads(answer.body)["error"]["message"].startswith("weir: The budget of this turn is spent")
    assert provider.requests == [] and g.spent(token) == 0


@each
def test_a_turn_ends_call_by_call_and_never_costs_more_than_it_has(gateway, provider, asks):
    """Each answer uses all the output that it may."""
    g = gateway(sessions=keyed())
    provider.answer = families.everything("4711", is_greedy=True)
    statuses, limits = [], []
    with g.open() as client:
        assert send(g, client, asks, turn("20", "s0")).status == 200
        budget = g.weir.finals(1)[0]["usd"]["reserved"]  # for all that it asks for
        earlier = provider.bill
        while not statuses or statuses[-1] == 200:
            answer = send(g, client, asks, turn(budget))
            statuses.append(answer.status)
            if answer.status == 200:
                limits.append(families.Asked(provider.requests[-1], provider.bodies[-1]).limit())
    assert 2 < len(statuses) < 40 and statuses[-1] == asks.status
    assert limits == sorted(limits, reverse=True) and len(set(limits)) > 1, "it was lowered, and lowered again"
    thinking = asks.body.get("thinking", {}).get("budget_tokens", 0)
    assert min(limits) > thinking, "a limit that its thinking does not fit into is an error to the provider"
    assert 0 < g.spent(turn(budget)) == provider.bill - earlier <= nano(budget)


def test_what_claude_code_asks_besides_costs_nothing(gateway, provider):
    """A connection made ahead, and its /context, even when the money is gone."""
    g = gateway(sessions=keyed())
    provider.answer = families.everything()
    token = turn("0.000000001")
    with g.open() as client:
        client.send("HEAD /anthropic HTTP/1.1\r\nConnection: keep-alive\r\nUser-Agent: Bun/1.4.0\r\nAccept: */*\r\n"
                    "Host: weir\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n")
        assert client.response("HEAD").status == 401
        assert send(g, client, CLAUDE, token).status == 402
        body = {name: CLAUDE.body[name] for name in ("model", "messages", "tools")}
        g.send(client, "/anthropic/v1/messages/count_tokens?beta=true", body, headers=CLAUDE.fields(token))
        answer = client.response("POST")
    assert answer.status == 200 and json.loads(answer.body) == {"input_tokens": families.PLAIN}
    assert [r.target for r in provider.requests] == ["/v1/messages/count_tokens?beta=true"] and g.spent(token) == 0
