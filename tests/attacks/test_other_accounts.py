"""The operator's key, and somebody else's account: fields, query keys and options by which a provider would bill or route elsewhere."""
import pytest

from rig import provider as rig_provider
from rig.gateway import ASK
from tries import chat, gemini, responses, said

pytestmark = pytest.mark.single

FIELDS = [("OpenAI-Organization", "org-theirs"), ("OpenAI-Project", "proj_theirs"), ("openai_organization", "org-theirs"), ("X-Goog-User-Project", "theirs"),
          ("x_goog_user_project", "theirs"), ("anthropic-workspace-id", "theirs"), ("x-vercel-oidc-token", "theirs"), ("x-vercel-team-id", "theirs"),
          ("HTTP-Referer", "https://theirs.test"), ("anthropic-organization-id", "theirs"), ("x-goog-request-params", "project=theirs"),
          ("ai-gateway-byok", "theirs"), ("X_Api_Key", "theirs"), ("x-litellm-api_key", "theirs"), ("x-my-org", "theirs"), ("X-Billing-Account", "theirs"), ("X-Forwarded-Authorization", "theirs")]
PATHS = {"/anthropic/v1/messages": ASK, "/openai/v1/chat/completions": chat(), "/openai/v1/responses": responses(store=False),
         "/gemini/v1beta/models/gemini-3.8-flash:generateContent": gemini()}
KEYS = ["key=theirs", "api_key=theirs", "access_token=theirs", "userProject=theirs", "$userProject=theirs", "%24userProject=theirs", "quotaUser=theirs",
        "organization=theirs", "project=theirs"]


@pytest.mark.parametrize("path", PATHS)
def test_no_field_and_no_query_names_another_payer(gateway, provider, path):
    g, passed = gateway(), []
    provider.answer = rig_provider.refused(400, {})
    tries = [(pair, path, [pair]) for pair in FIELDS] + [(query, path + "?" + query, []) for query in KEYS]
    for what, target, headers in tries:
        before = len(provider.requests)
        g.call(target, PATHS[path], headers=headers)
        if any("theirs" in text for r in provider.requests[before:] for text in (r.target, *(value for _, value in r.headers))):
            passed.append(what)
    assert passed == [] and provider.requests


BYOK = [{"gateway": {"byok": {"anthropic": [{"apiKey": "theirs"}]}}}, {"anthropic": {"apiKey": "theirs"}}, {"gateway": {"models": ["openai/gpt-6.2-sol"]}},
        {"anthropic": {"additionalModelRequestFields": {"apiKey": "theirs"}}}, {"gateway": {"byok": [{}]}}]


@pytest.mark.parametrize("options", BYOK, ids=str)
def test_no_option_brings_a_key_or_another_model(gateway, provider, options):
    g = gateway()
    native = {"prompt": [{"role": "user", "content": [{"type": "text", "text": "x"}]}], "maxOutputTokens": 5, "providerOptions": options}
    answer = g.call("/vercel/v4/ai/language-model", native, headers=[("ai-language-model-id", "anthropic/claude-haiku-5-5")])
    if answer.status == 200 or provider.requests:  # another model that is priced runs at its own price
        assert "models" in options.get("gateway", {}) and b"theirs" not in provider.bytes()
    else:
        assert said(answer)[0] in (400, 403)
