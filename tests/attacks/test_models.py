"""A session's models are `claude-haiku-*`: every other way to name one that is not."""
import json
import urllib.parse

from rig import provider as rig_provider
from rig import token as tokens
from rig.gateway import ASK, SECRET, SONNET
from test_gateway import keyed
from tries import CHAT_MODEL, all_refused, escaped, gemini, twice

HAIKU = "claude-haiku-5-5"
REASONS = {"model_not_allowed", "model_unpriced", "request_malformed", "endpoint_not_metered", "hosted_tool_denied", "credential_refused"}
MESSAGES = "/anthropic/v1/messages"
GEMINI = "/gemini/v1beta/models/%s:generateContent"
ROWS = {"openrouter": "/api/v1/chat/completions", "litellm": "/v1/chat/completions", "vercel": "/v1/chat/completions"}


def ask(**more):
    return dict(ASK, model=HAIKU, **more)


def bodies():
    """Of a call to MESSAGES."""
    yield "plainly", dict(ASK, model=SONNET)
    for name in (SONNET.upper(), SONNET + " ", " " + SONNET, SONNET + "\n", SONNET + "\u0000", "anthropic/" + SONNET, HAIKU + "/../" + SONNET,
                 HAIKU + "\u0000" + SONNET, "CLAUDE-HAIKU-5-5", "xclaude-haiku-5-5", "claude\u2010haiku-5-5", ""):
        yield "as %r" % name, dict(ASK, model=name)
    for value in (None, 7, [SONNET], {"id": SONNET}, True):
        yield "as %r" % value, dict(ASK, model=value)
    yield "twice", twice(ask(), "model", SONNET)
    yield "twice, the other way", twice(dict(ASK, model=SONNET), "model", HAIKU)
    yield "twice, one escaped", json.dumps(ask()).encode()[:-1] + b', "m\\u006fdel": "%s"}' % SONNET.encode()
    yield "escaped", escaped(dict(ASK, model=SONNET), SONNET)
    yield "a fallback", ask(fallbacks=[{"model": SONNET}])
    yield "the provider's fallback", ask(fallbacks="default")
    yield "an advisor", ask(tools=[{"type": "advisor_20260301", "name": "advisor", "model": SONNET}])
    yield "no model", {k: v for k, v in ASK.items() if k != "model"}


def native():
    return {"prompt": [{"role": "user", "content": [{"type": "text", "text": "x"}]}], "maxOutputTokens": 5}


def tries(g, token):
    for what, body in bodies():
        yield what, lambda body=body: g.call(MESSAGES, body, token)
    for name in ("gemini-3.8-flash", "claude-haiku-5-5%2F..%2Fgemini-3.8-flash", "gemini-3.8-flas%68", "claude-haiku-5-5/../gemini-3.8-flash",
                 "models%2Fgemini-3.8-flash", "GEMINI-3.8-FLASH", "claude-haiku-5-5:x/gemini-3.8-flash", urllib.parse.quote("gemini", safe="") + "%00"):
        yield "path " + name, lambda name=name: g.call(GEMINI % name, gemini(), token)
    yield "the body's against the path's", lambda: g.call(GEMINI % "gemini-3.8-flash", gemini(model="models/" + HAIKU), token)
    for version in ("v3", "v4"):
        path = "/vercel/%s/ai/language-model" % version
        for headers in ([("ai-language-model-id", "anthropic/" + SONNET)], [("ai-model-id", "anthropic/" + SONNET)], [],
                        [("ai-language-model-id", HAIKU), ("ai-model-id", "anthropic/" + SONNET)],
                        [("ai-language-model-id", HAIKU), ("ai-language-model-id", "anthropic/" + SONNET)],
                        [("ai-language-model-id", HAIKU + ", anthropic/" + SONNET)]):
            yield "%s %s" % (version, headers), lambda path=path, headers=headers: g.call(path, native(), token, headers=headers)
        routed = dict(native(), providerOptions={"gateway": {"models": ["anthropic/" + SONNET]}})
        yield "%s routed" % version, lambda path=path, routed=routed: g.call(path, routed, token, headers=[("ai-language-model-id", HAIKU)])


def test_no_other_model_runs_than_those_of_the_token(gateway, provider):
    g = gateway(sessions=keyed(), hosted="strip")
    token = tokens.mint(SECRET, models=["claude-haiku-*"], hostedTools=True, budget={"sessionUsd": "5"})
    all_refused(g, provider, tries(g, token), REASONS)


def test_no_model_at_all_runs_where_the_list_is_empty(gateway, provider):
    g = gateway(sessions=keyed())
    token = tokens.mint(SECRET, models=[], budget={"sessionUsd": "5"})
    all_refused(g, provider, [(name, lambda name=name: g.messages(token=token, model=name)) for name in (HAIKU, SONNET, "*", "")], REASONS)


def test_other_models_behind_a_router_are_seen(gateway, provider):
    rows = [{"name": kind, "kind": kind, "path": "/" + kind, "upstream": provider.url, "hosts": [provider.name],
             "credential": {"header": "authorization", "scheme": "Bearer", "value": "env:PROVIDER_KEY"}} for kind in ROWS]
    g = gateway(sessions=keyed(), providers=rows)
    token = tokens.mint(SECRET, models=["claude-haiku-*", "anthropic/claude-haiku-*"], budget={"sessionUsd": "5"})
    mine = {"model": "anthropic/" + HAIKU, "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    ways = [{"models": [CHAT_MODEL]}, {"models": ["anthropic/" + HAIKU, CHAT_MODEL], "route": "fallback"}, {"model": CHAT_MODEL},
            {"fallbacks": [CHAT_MODEL]}, {"fallbacks": [{"model": CHAT_MODEL}]}, {"context_window_fallbacks": [{"x": [CHAT_MODEL]}]},
            {"model": "openrouter/auto"}, {"providerOptions": {"gateway": {"models": [CHAT_MODEL]}}}, {"model": "anthropic/%s,%s" % (HAIKU, CHAT_MODEL)}]
    tried = [("%s %s" % (kind, way), lambda path="/" + kind + path, way=way: g.call(path, dict(mine, **way), token))
             for kind, path in ROWS.items() for way in ways]
    all_refused(g, provider, tried, REASONS)


def test_a_header_names_no_model_where_the_body_does(gateway, provider):
    g = gateway(sessions=keyed())
    token = tokens.mint(SECRET, models=["claude-haiku-*"], budget={"sessionUsd": "5"})
    for name in ("x-model", "ai-model-id", "ai-language-model-id", "x-litellm-model", "anthropic-model", "x-override-model"):
        provider.answer = rig_provider.refused(400, {})
        g.messages(token=token, model=HAIKU, headers=[(name, SONNET)])
    assert all(body["model"] == HAIKU for body in provider.bodies)
