"""One provider key serves all sessions: what one has left at the provider is not the next one's."""
from rig import token as tokens
from rig.gateway import ASK, SECRET
from test_gateway import keyed
from tries import all_refused, gemini, responses

REASONS = {"object_not_owned", "endpoint_not_metered", "request_malformed", "hosted_tool_denied"}
MESSAGES, RESPONSES = "/anthropic/v1/messages", "/openai/v1/responses"
GEMINI = "/gemini/v1beta/models/gemini-3.8-flash:generateContent"


def user(*blocks):
    return [{"role": "user", "content": list(blocks)}]


IN_BODIES = [
    (RESPONSES, responses(previous_response_id="resp_1")), (RESPONSES, responses(conversation="conv_1")),
    (RESPONSES, responses(conversation={"id": "conv_1"})), (RESPONSES, responses(prompt={"id": "pmpt_1"})),
    (RESPONSES, responses(input=user({"type": "input_file", "file_id": "file_1"}))),
    (RESPONSES, responses(input=user({"type": "input_image", "file_id": "file_1"}))),
    (RESPONSES, responses(input=[{"type": "item_reference", "id": "rs_1"}])),
    (RESPONSES, responses(tools=[{"type": "file_search", "vector_store_ids": ["vs_1"]}])),
    (RESPONSES, responses(tools=[{"type": "code_interpreter", "container": "cntr_1"}])),
    (RESPONSES, responses(tools=[{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file_1"]}}])),
    (RESPONSES, responses(tools=[{"type": "shell", "environment": {"type": "container_reference", "container_id": "cntr_1"}}])),
    (RESPONSES, responses(tools=[{"type": "shell", "environment": {"type": "container_auto", "file_ids": ["file_1"]}}])),
    (RESPONSES, responses(tools=[{"type": "code_interpreter", "container": {"id": "cntr_1"}}])),
    (RESPONSES, responses(tools=[{"type": "image_generation", "input_image_mask": {"file_id": "file_1"}}])),
    (MESSAGES, dict(ASK, container="container_1")), (MESSAGES, dict(ASK, container={"id": "container_1"})),
    (MESSAGES, dict(ASK, messages=user({"type": "document", "source": {"type": "file", "file_id": "file_1"}}))),
    (MESSAGES, dict(ASK, messages=user({"type": "image", "source": {"type": "file", "file_id": "file_1"}}))),
    (MESSAGES, dict(ASK, messages=user({"type": "container_upload", "file_id": "file_1"}))),
    (MESSAGES, dict(ASK, messages=user({"type": "tool_result", "tool_use_id": "t", "content": [
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}}]}))),
    (GEMINI, gemini(cachedContent="cachedContents/1")), (GEMINI, gemini(cached_content="cachedContents/1")),
    (GEMINI, gemini(contents=[{"parts": [{"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/1"}}]}])),
    ("/openai/v1/chat/completions", {"model": "gpt-6.1-terra", "messages": [
        {"role": "assistant", "audio": {"id": "audio_1"}}, {"role": "user", "content": [{"type": "file", "file": {"file_id": "file_1"}}]}]}),
]
PATHS = [(method, path) for path in (
    "/openai/v1/responses/resp_1", "/openai/v1/responses/resp_1/cancel", "/openai/v1/responses/resp_1/input_items", "/openai/v1/responses",
    "/openai/v1/conversations", "/openai/v1/conversations/conv_1/items", "/openai/v1/files", "/openai/v1/files/file_1/content",
    "/openai/v1/containers/cntr_1/files", "/openai/v1/vector_stores/vs_1/search", "/openai/v1/batches", "/openai/v1/batches/batch_1",
    "/openai/v1/chat/completions/chatcmpl-1", "/openai/v1/assistants", "/openai/v1/threads/t/messages", "/openai/v1/evals", "/openai/v1/fine_tuning/jobs",
    "/openai/v1/models/ft:gpt-6.1-terra:acme::1/../../files", "/openai/v1/organization/usage", "/openai/v1/realtime/sessions",
    "/anthropic/v1/files", "/anthropic/v1/files/file_1/content", "/anthropic/v1/messages/batches/msgbatch_1/results", "/anthropic/v1/skills",
    "/anthropic/v1/organizations/api_keys", "/anthropic/v1/containers/container_1", "/gemini/v1beta/files", "/gemini/v1beta/files/1:download",
    "/gemini/v1beta/cachedContents", "/gemini/v1beta/cachedContents/1", "/gemini/upload/v1beta/files", "/gemini/v1beta/tunedModels/1:generateContent",
    "/gemini/v1beta/operations/1") for method in ("GET", "DELETE", "POST")]
FREE = {("POST", "/openai/v1/responses")}


def test_what_another_session_left_there_is_not_found(gateway, provider):
    g = gateway(sessions=keyed())
    one, two = (tokens.mint(SECRET, sid, tenant=sid, hostedTools=True, budget={"sessionUsd": "5"}) for sid in ("one", "two"))
    tried = [("%s %s" % (path, body), lambda path=path, body=body, token=token: g.call(path, body, token))
             for token in (one, two) for path, body in IN_BODIES]
    tried += [("%s %s" % pair, lambda pair=pair: g.call(pair[1], {} if pair[0] == "POST" else None, two, method=pair[0]))
              for pair in PATHS if pair not in FREE]
    all_refused(g, provider, tried, REASONS)


def test_a_query_names_no_object_either(gateway, provider):
    g = gateway(sessions=keyed())
    token = tokens.mint(SECRET, budget={"sessionUsd": "5"})
    for query in ("previous_response_id=resp_1", "conversation=conv_1", "container=container_1"):
        g.call(RESPONSES + "?" + query, responses(), token)
    assert all("resp_1" not in str(body) and "conv_1" not in str(body) for body in provider.bodies)
