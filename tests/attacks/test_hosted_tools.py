"""Tools and fetches at the provider, which ignore the sandbox's network: however they are spelt."""
import json

import pytest

from rig import provider as rig_provider
from rig.gateway import ASK
from tries import MINE, SEARCH, all_refused, chat, escaped, gemini, responses, said, twice

MESSAGES, CHAT, RESPONSES = "/anthropic/v1/messages", "/openai/v1/chat/completions", "/openai/v1/responses"
GEMINI, GATEWAY = "/gemini/v1beta/models/gemini-3.8-flash:generateContent", "/vercel/v4/ai/language-model"
URL = "http://evil.test/?stolen"
REASONS = {"hosted_tool_denied", "request_malformed", "object_not_owned", "model_unpriced", "credential_refused"}


def ask(**more):
    return dict(ASK, **more)


def user(*blocks):
    return [{"role": "user", "content": list(blocks)}]


def by_url(kind):
    return {"type": kind, "source": {"type": "url", "url": URL}}


ANTHROPIC_TYPES = ["web_search_20250305", "web_search_20991231", "web_search", "web_fetch_20250910", "web_fetch_20991231",
                   "code_execution_20250522", "code_execution_20250825", "bash_code_execution_20250825", "advisor_20260301",
                   "tool_search_tool_regex_20251119", "mcp_toolset", "Web_Search_20250305", "web_search_20250305 ", "WEB_FETCH",
                   "something_new_20270101", "\u0000custom", "custom\u200b", "computer_use_at_provider"]
ANTHROPIC = [(kind, ask(tools=[{"type": kind, "name": "t"}])) for kind in ANTHROPIC_TYPES] + [
    ("behind one of mine", ask(tools=[MINE, SEARCH])),
    ("two types", ask(tools=[json.loads('{"type": "custom"}'), SEARCH])),
    ("mcp server", ask(mcp_servers=[{"type": "url", "url": URL, "name": "x"}])),
    ("mcp server and its tools", ask(mcp_servers=[{"type": "url", "url": URL, "name": "x"}], tools=[{"type": "mcp_toolset", "mcp_server_name": "x"}])),
    ("container skills", ask(container={"skills": [{"type": "anthropic", "skill_id": "pptx", "version": "latest"}]})),
    ("container", ask(container="container_011")),
    ("image by URL", ask(messages=user(by_url("image")))), ("document by URL", ask(messages=user(by_url("document")))),
    ("audio by URL", ask(messages=user(by_url("audio")))), ("video by URL", ask(messages=user(by_url("video")))),
    ("some block by URL", ask(messages=user(by_url("hologram")))),
    ("URL in a tool's result", ask(messages=user({"type": "tool_result", "tool_use_id": "t", "content": [by_url("image")]}))),
    ("URL in a document's content", ask(messages=user({"type": "document", "source": {"type": "content", "content": [by_url("image")]}}))),
    ("URL in the system prompt", ask(system=[by_url("document")])),
    ("a file of another's", ask(messages=user({"type": "document", "source": {"type": "file", "file_id": "file_011"}}))),
    ("an upload into a container", ask(messages=user({"type": "container_upload", "file_id": "file_011"}))),
]
OPENAI_TYPES = ["web_search", "web_search_preview", "web_search_preview_2025_03_11", "web_search_2025_08_26", "file_search",
                "code_interpreter", "image_generation", "mcp", "computer_use_preview", "Web_Search", "something_new"]
OPENAI_RESPONSES = [(kind, responses(tools=[{"type": kind, "server_url": URL, "server_label": "x", "vector_store_ids": ["vs_1"],
                                             "container": {"type": "auto"}}])) for kind in OPENAI_TYPES] + [
    ("connector", responses(tools=[{"type": "mcp", "connector_id": "connector_gmail", "server_label": "x"}])),
    ("hosted shell", responses(tools=[{"type": "shell", "environment": {"type": "container_auto"}}])),
    ("image by URL", responses(input=user({"type": "input_image", "image_url": URL}))),
    ("file by URL", responses(input=user({"type": "input_file", "file_url": URL}))),
    ("image in a tool's output", responses(input=[{"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": URL}]}])),
    ("a prompt kept there", responses(prompt={"id": "pmpt_1"})),
    ("mcp approval", responses(input=[{"type": "mcp_approval_response", "approve": True, "approval_request_id": "a"}], tools=[{"type": "mcp", "server_url": URL, "server_label": "x"}])),
]
OPENAI_CHAT = [
    ("web_search_options", chat(web_search_options={})), ("its user's place", chat(web_search_options={"search_context_size": "low"})),
    ("image by URL", chat(messages=user({"type": "image_url", "image_url": {"url": URL}}))),
    ("image by URL, ftp", chat(messages=user({"type": "image_url", "image_url": {"url": "ftp://evil.test/"}}))),
    ("file by URL", chat(messages=user({"type": "file", "file": {"file_url": URL}}))),
    ("audio by URL", chat(messages=user({"type": "input_audio", "input_audio": {"url": URL}}))),
    ("video by URL", chat(messages=user({"type": "video_url", "video_url": {"url": URL}}))),
    ("some tool", chat(tools=[{"type": "web_search"}])), ("code", chat(tools=[{"type": "code_interpreter"}])),
]
GEMINIS = [(name, gemini(tools=[{name: {}}])) for name in
           ("googleSearch", "google_search", "googleSearchRetrieval", "google_search_retrieval", "urlContext", "url_context",
            "codeExecution", "code_execution", "googleMaps", "enterpriseWebSearch", "fileSearch", "mcpServers", "somethingNew")] + [
    ("file by URI", gemini(contents=[{"parts": [{"fileData": {"fileUri": URL}}]}])),
    ("file by uri", gemini(contents=[{"parts": [{"file_data": {"file_uri": URL}}]}])),
    ("in the system's words", gemini(systemInstruction={"parts": [{"fileData": {"fileUri": URL}}]})),
    ("cached", gemini(cachedContent="cachedContents/1")), ("cached too", gemini(cached_content="cachedContents/1")),
    ("both spellings", gemini(tools=[{"functionDeclarations": [], "googleSearch": {}, "google_search": {}}])),
]


def native(**more):
    return dict({"prompt": [{"role": "user", "content": [{"type": "text", "text": "x"}]}], "maxOutputTokens": 5}, **more)


GATEWAYS = [
    ("provider's tool", native(tools=[{"type": "provider-defined", "id": "anthropic.web_search_20250305", "name": "w", "args": {}}])),
    ("provider's tool too", native(tools=[{"type": "provider", "id": "openai.web_search", "name": "w", "args": {}}])),
    ("the gateway's own", native(tools=[{"type": "provider", "id": "gateway.perplexity_search", "name": "w", "args": {}}])),
    ("mcp in the options", native(providerOptions={"anthropic": {"mcpServers": [{"type": "url", "url": URL, "name": "x"}]}})),
    ("file by URL", native(prompt=user({"type": "file", "data": URL, "mediaType": "image/png"}))),
    ("image by URL", native(prompt=user({"type": "image", "image": URL}))),
]
ROUTES = [("/openrouter/api/v1/chat/completions", dict(chat(model="openai/gpt-6.1-terra"), **more)) for more in
          ({"plugins": [{"id": "web"}]}, {"plugins": [{"id": "file-parser"}]}, {"web_search_options": {}},
           {"tools": [{"type": "openrouter:web_search"}]}, {"model": "openai/gpt-6.1-terra:online"})]
LEFT_OUT = "[left out: the provider may not fetch it]"
WORDS = ["evil.test", "search", "fetch", "execution", "interpreter", '"mcp"', "mcp_servers", "something", "advisor", "Context", "Maps"]
GATEWAY_HEADERS = [("ai-language-model-id", "anthropic/claude-sonnet-5-5")]


def tries(g):
    for path, cases in ((MESSAGES, ANTHROPIC), (RESPONSES, OPENAI_RESPONSES), (CHAT, OPENAI_CHAT), (GEMINI, GEMINIS)):
        for what, body in cases:
            yield "%s %s" % (path, what), lambda path=path, body=body: g.call(path, body)
    for what, body in GATEWAYS:
        yield "gateway %s" % what, lambda body=body: g.call(GATEWAY, body, headers=GATEWAY_HEADERS)


def spellings(g):
    """The same tool so that another reader of JSON might see it, or miss it."""
    hosted = ask(tools=[SEARCH])
    bodies = [twice(ask(tools=[MINE]), "tools", [SEARCH]), twice(hosted, "tools", [MINE]), escaped(hosted, "web_search_20250305"),
              escaped(hosted, "tools"), json.dumps(hosted).replace('"type"', '"name": "x", "type"').encode(),
              json.dumps(hosted).replace('"tools"', '"tools\\u0000"').encode() + b" {}", b"\xef\xbb\xbf" + json.dumps(hosted).encode(),
              json.dumps(hosted).encode("utf-16"), json.dumps(hosted).encode()[:-1] + b",}", json.dumps(hosted).encode() + json.dumps(ASK).encode()]
    for i, body in enumerate(bodies):
        yield "spelling %d" % i, lambda body=body: g.call(MESSAGES, body)


def test_what_would_run_or_fetch_at_the_provider_is_refused(gateway, provider):
    g = gateway(hosted="refuse")
    all_refused(g, provider, list(tries(g)) + list(spellings(g)), REASONS)


def test_what_would_run_or_fetch_at_the_provider_is_taken_out(gateway, provider):
    """hosted: strip.  Not a word of it may be in what is sent; what cannot be taken out is refused."""
    g, through = gateway(sessions={"required": False, "default": {"sid": "s1", "tenant": "acme", "budget": {"sessionUsd": "900"}}}), []
    provider.answer = rig_provider.refused(400, {"error": {"message": "no matter what"}})
    for what, call in list(tries(g)) + list(spellings(g)):
        before = len(provider.bodies)
        answer = call()
        if said(answer)[1] in REASONS and len(provider.bodies) == before:
            continue
        sent = json.dumps(provider.bodies[before:]).replace(LEFT_OUT, "")
        if not answer.get("x-weir-stripped") or any(word in sent for word in WORDS):
            through.append((what, said(answer), sent))
    assert not through, "\n".join(map(str, through))


@pytest.mark.parametrize("choice", [{"type": "tool", "name": "web_search"}, {"type": "any"}])
def test_who_insists_on_such_a_tool_is_refused(gateway, provider, choice):
    g = gateway()
    assert said(g.messages(tools=[SEARCH], tool_choice=choice)) == (403, "hosted_tool_denied")
    assert provider.requests == []


def test_openrouters_own_ways_to_the_web(gateway, provider):
    row = {"name": "openrouter", "kind": "openrouter", "path": "/openrouter", "upstream": provider.url, "hosts": [provider.name],
           "credential": {"header": "authorization", "scheme": "Bearer", "value": "env:PROVIDER_KEY"}}
    g = gateway(hosted="refuse", providers=[row])
    all_refused(g, provider, [(json.dumps(body), lambda path=path, body=body: g.call(path, body)) for path, body in ROUTES], REASONS)


def test_a_header_turns_nothing_on(gateway, provider):
    g = gateway(hosted="refuse")
    for beta in ("mcp-client-2025-04-04", "web-fetch-2025-09-10", "code-execution-2025-08-25,skills-2025-10-02", "advisor-tool-2026-03-01"):
        assert g.messages(tools=[MINE], headers=[("anthropic-beta", beta)]).status == 200
        assert said(g.messages(tools=[SEARCH], headers=[("anthropic-beta", beta)])) == (403, "hosted_tool_denied")
    assert all(body["tools"] == [MINE] for body in provider.bodies)
    assert g.spent() == provider.bill


def test_the_shape_is_the_paths_and_not_the_bodys(gateway, provider):
    """A body of another family sent to a path: what it would do there is judged as that path's."""
    g = gateway(hosted="refuse")
    all_refused(g, provider, [("messages as chat", lambda: g.call(CHAT, ask(tools=[SEARCH]))),
                              ("responses as messages", lambda: g.call(MESSAGES, dict(responses(tools=[{"type": "web_search"}]), max_tokens=9, messages=[])))],
                REASONS)
