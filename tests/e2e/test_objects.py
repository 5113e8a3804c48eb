"""What a provider keeps for a session: who may name it, how it is paid for, and calls that outlive their exchange."""
import json
import signal
import sqlite3
import subprocess

import pytest

from rig import provider as rig_provider
from rig import token as tokens
from rig.gateway import SECRET, SONNET, nano
from rig.weir import wait_for
from test_gateway import error_of, keyed

MODEL = "gpt-6.1-terra"
RESPONSES = "/openai/v1/responses"
ASK = {"model": MODEL, "input": "x", "max_output_tokens": 100}


@pytest.fixture
def responses(provider):
    provider.answer = rig_provider.Responses()
    return provider.answer


@pytest.fixture
def redis_server(tmp_path):
    """The URL of a Redis, and its process."""
    path = tmp_path / "redis.sock"
    with subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--dir", tmp_path, "--save", ""],
                          stdout=subprocess.DEVNULL) as server:
        wait_for(path.exists, what="redis")
        yield "redis+unix:%s" % path, server
        server.send_signal(signal.SIGCONT)
        server.terminate()


def two(**more):
    return (tokens.mint(SECRET, sid, budget={"sessionUsd": "40"}, **more) for sid in ("s1", "s2"))


def ask(g, token=None, **more):
    return g.call(RESPONSES, dict(ASK, **more), token)


def is_refused(answer, reason="object_not_owned", status=404):
    return (answer.status, answer.get("x-weir-reason")) == (status, reason)


# -- whose it is


def test_a_response_is_named_by_the_session_that_made_it_and_by_no_other(gateway, provider, responses):
    g = gateway(sessions=keyed())
    one, other = two()
    made = ask(g, one)
    name = json.loads(made.body)["id"]
    assert made.status == 200 and name == "resp_1"
    assert ask(g, one, previous_response_id=name).status == 200
    assert provider.bodies[-1]["previous_response_id"] == name
    answer = ask(g, other, previous_response_id=name)
    assert is_refused(answer) and error_of(answer)["code"] == "object_not_owned"
    assert error_of(answer)["type"] == "not_found_error" and answer.get("x-should-retry") == "false"
    unknown = ask(g, other, previous_response_id="resp_none")
    assert is_refused(unknown) and error_of(unknown)["message"] == error_of(answer)["message"]
    assert len(provider.requests) == 2
    assert g.spent(one) == provider.bill > 0 and g.spent(other) == 0
    record = next(r for r in g.weir.finals(4) if r["decision"] == "deny")
    assert record["reason"] == "object_not_owned" and record["session"]["sid"] == "s2"
    assert nano(record["usd"].get("charged", "0")) == 0


def test_a_sub_agent_does_not_name_what_its_parent_made_nor_its_parent_what_it_made(gateway, provider, responses):
    g = gateway(sessions=keyed())
    parent = tokens.mint(SECRET, "s1", budget={"sessionUsd": "40"})
    assert ask(g, parent).status == 200
    child = tokens.mint(SECRET, "s2", par="s1", budget={"sessionUsd": "40"})
    assert is_refused(ask(g, child, previous_response_id="resp_1"))
    assert ask(g, child).status == 200
    assert is_refused(ask(g, parent, previous_response_id="resp_2"))


def test_another_tenants_session_of_the_same_name_does_not_own_it(gateway, provider, responses):
    g = gateway(sessions=keyed())
    one = tokens.mint(SECRET, "s1", budget={"sessionUsd": "40"})
    assert ask(g, one).status == 200
    assert is_refused(ask(g, tokens.mint(SECRET, "s1", tenant="other", budget={"sessionUsd": "40"}),
                          previous_response_id="resp_1"))


def test_an_object_of_one_provider_is_none_of_another(gateway, provider, responses):
    rows = [{"name": name, "kind": "openai", "path": "/" + name, "upstream": provider.url,
             "credential": {"header": "authorization", "scheme": "Bearer", "value": "env:PROVIDER_KEY"}}
            for name in ("a", "b")]
    g = gateway(providers=rows)
    assert g.call("/a/v1/responses", ASK).status == 200
    assert g.call("/a/v1/responses/resp_1", method="GET").status == 200
    assert is_refused(g.call("/b/v1/responses/resp_1", method="GET"))


def test_what_a_session_owns_outlives_weir(gateway, provider, responses):
    g = gateway(config={"ledger": {"url": "sqlite:ledger.db"}})
    assert ask(g).status == 200
    g.weir.stop()
    g.weir.start()
    assert g.call(RESPONSES + "/resp_1", method="GET").status == 200
    assert is_refused(g.call(RESPONSES + "/resp_2", method="GET"))


def test_a_stream_names_its_response_before_it_ends(gateway, provider, responses):
    g = gateway()
    assert ask(g, stream=True).is_complete
    assert g.call(RESPONSES + "/resp_1", method="GET").status == 200


@pytest.mark.parametrize("more", [
    {"input": [{"type": "item_reference", "id": "msg_of_resp_1"}]},
    {"input": [{"id": "msg_of_resp_1"}]},
    {"input": [{"type": "reasoning", "id": "msg_of_resp_1", "summary": []}]},
])
def test_items_are_looked_up_by_their_session_only(gateway, provider, responses, more):
    g = gateway(sessions=keyed())
    one, other = two()
    assert ask(g, one).status == 200
    assert is_refused(ask(g, other, **more))
    assert ask(g, one, **more).status == 200


@pytest.mark.parametrize("path, body", [
    ("/openai/v1/responses", dict(ASK, conversation="conv_1")),
    ("/openai/v1/responses", dict(ASK, conversation={"id": "conv_1"})),
    ("/openai/v1/responses", dict(ASK, prompt={"id": "pmpt_1"})),
    ("/openai/v1/responses", dict(ASK, input=[{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}])),
    ("/openai/v1/responses", dict(ASK, input=[{"type": "code_interpreter_call", "id": "ci_1", "container_id": "cntr_1"}])),
    ("/openai/v1/responses/input_tokens", dict(ASK, previous_response_id="resp_1")),
    ("/anthropic/v1/messages", {"model": SONNET, "max_tokens": 9, "container": "container_1", "messages": []}),
    ("/anthropic/v1/messages/count_tokens", {"model": SONNET, "messages": [{"role": "user", "content": [
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}}]}]}),
    ("/gemini/v1beta/models/gemini-3.8-flash:generateContent", {"contents": [], "cachedContent": "cachedContents/1"}),
])
def test_no_family_is_sent_what_nobody_here_made(gateway, provider, path, body):
    g = gateway()
    answer = g.call(path, body)
    assert is_refused(answer), answer
    assert provider.requests == [] and g.spent() == 0


def test_a_tool_is_given_the_sessions_own_container_and_files_only(gateway, provider, responses):
    g = gateway(sessions=keyed())
    one, other = two(hostedTools=["code_interpreter"])
    responses.more = {"output": [{"type": "code_interpreter_call", "id": "ci_1", "container_id": "cntr_1"}]}

    def tool(container):
        return {"tools": [{"type": "code_interpreter", "container": container}]}
    assert ask(g, one, **tool({"type": "auto"})).status == 200
    assert ask(g, one, **tool("cntr_1")).status == 200
    assert is_refused(ask(g, other, **tool("cntr_1")))
    assert is_refused(ask(g, one, **tool({"type": "auto", "file_ids": ["file_1"]})))


def test_a_container_that_an_answer_names_is_the_sessions(gateway, provider):
    g = gateway(sessions=keyed())
    one, other = two()

    def answer(provider, conn, request, body):
        conn.send(rig_provider.whole({
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "stop_reason": "end_turn",
            "container": {"id": "container_1"}, "content": [], "usage": {"input_tokens": 5, "output_tokens": 5}}))
        return rig_provider.cost_nano(body["model"], 5, output=5)
    provider.answer = answer
    assert g.messages(one).status == 200
    assert g.messages(one, container="container_1").status == 200
    assert is_refused(g.messages(other, container="container_1"))


def test_what_is_not_to_be_stored_is_nobodys(gateway, provider, responses):
    g = gateway()
    assert ask(g, store=False).status == 200
    assert is_refused(ask(g, previous_response_id="resp_1"))


def test_an_object_is_refused_while_the_store_is_away(redis_server, gateway, provider, responses):
    url, server = redis_server
    g = gateway(config={"ledger": {"url": url}})
    wait_for(lambda: ask(g).status == 200, what="a connection to redis")
    assert g.call(RESPONSES + "/resp_1", method="GET").status == 200
    before = len(provider.requests)
    server.send_signal(signal.SIGSTOP)
    answer = g.call(RESPONSES + "/resp_1", method="GET")
    assert is_refused(answer, "ledger_unavailable", 503), answer
    assert len(provider.requests) == before
    server.send_signal(signal.SIGCONT)
    wait_for(lambda: g.call(RESPONSES + "/resp_1", method="GET").status == 200, what="redis again")


# -- what is free, and what is closed


def test_a_response_is_shown_listed_cancelled_and_deleted_for_its_session(gateway, provider, responses):
    g = gateway(sessions=keyed())
    one, other = two()
    assert ask(g, one).status == 200
    spent = g.spent(one)
    ways = [("GET", ""), ("GET", "?include[]=reasoning.encrypted_content"), ("GET", "/input_items?limit=5"),
            ("POST", "/cancel"), ("DELETE", "")]
    for method, tail in ways:
        before = len(provider.requests)
        assert is_refused(g.call(RESPONSES + "/resp_1" + tail, token=other, method=method)), (method, tail)
        assert len(provider.requests) == before
        assert g.call(RESPONSES + "/resp_1" + tail, token=one, method=method).status == 200, (method, tail)
        assert provider.requests[-1].target == "/v1/responses/resp_1" + tail
        assert provider.requests[-1].all("authorization") == ["Bearer " + rig_provider.KEY]
    assert g.spent(one) == spent and g.spent(other) == 0


def test_counters_and_lists_cost_nothing(gateway, provider, responses):
    g = gateway()
    assert ask(g).status == 200
    spent = g.spent()
    counted = g.call(RESPONSES + "/input_tokens", {"model": MODEL, "input": "x", "previous_response_id": "resp_1"})
    assert counted.status == 200 and json.loads(counted.body)["input_tokens"] == responses.prompt
    provider.answer = rig_provider.refused(200, {"data": []})
    assert g.call("/openai/v1/models", method="GET").status == 200
    assert g.call("/anthropic/v1/messages/count_tokens", {"model": SONNET, "messages": []}).status == 200
    assert g.call("/gemini/v1beta/models/gemini-3.8-flash:countTokens", {"contents": []}).status == 200
    assert g.spent() == spent


@pytest.mark.parametrize("method, path", [
    ("POST", "/openai/v1/conversations"), ("POST", "/openai/v1/files"), ("GET", "/openai/v1/files/file_1"),
    ("POST", "/openai/v1/containers"), ("POST", "/openai/v1/responses/resp_1"), ("PUT", "/openai/v1/responses/resp_1"),
    ("GET", "/openai/v1/responses/resp_1/other"), ("GET", "/openai/v1/responses/resp_1:x"),
    ("GET", "/openai/v1/responses/"), ("POST", "/gemini/v1beta/cachedContents"), ("POST", "/anthropic/v1/files"),
    ("GET", "/vercel/v1/responses/resp_1"), ("GET", "/openai/v1/chat/completions"),
])
def test_what_is_neither_metered_nor_free_stays_closed(gateway, provider, responses, method, path):
    g = gateway()
    assert ask(g).status == 200
    answer = g.call(path, {} if method in ("POST", "PUT") else None, method=method)
    assert is_refused(answer, "endpoint_not_metered", 403), answer
    assert len(provider.requests) == 1


# -- what it costs to be read again


def reserved(g, n):
    """n$ that each of the last calls held, in their order."""
    return [nano(r["usd"]["reserved"]) for r in g.weir.finals(n) if "usd" in r]


def test_what_the_provider_reads_again_is_held_for(gateway, provider, responses):
    responses.prompt, responses.output = 30000, 2000
    g = gateway(sessions=keyed())
    one, _ = two()
    for more in ({}, {"previous_response_id": "resp_1"}, {"previous_response_id": "resp_1", "model": "gpt-5.6-sol"}):
        assert ask(g, one, **more).status == 200
    alone, again, unlike = reserved(g, 3)
    assert again - alone >= rig_provider.cost_nano(MODEL, 32000)
    assert again < alone + 2 * rig_provider.cost_nano(MODEL, 32000, write=32000), "as much as was counted, not all that fits"
    assert unlike > rig_provider.cost_nano("gpt-5.6-sol", 900000), "another model counts otherwise: all that it takes"
    assert g.spent(one) == provider.bill


@pytest.mark.parametrize("more", [{"truncation": "auto"}, {"context_management": [{"type": "compaction"}]}])
def test_what_was_not_wholly_read_may_be_longer_the_next_time(gateway, provider, responses, more):
    g = gateway(sessions=keyed())
    one, _ = two()
    assert ask(g, one, **more).status == 200
    assert ask(g, one, previous_response_id="resp_1").status == 200
    assert reserved(g, 2)[1] > rig_provider.cost_nano(MODEL, 250000)


def test_a_chain_that_is_not_paid_for_is_not_begun(gateway, provider, responses):
    responses.prompt = 200000
    g = gateway(sessions=keyed())
    token = tokens.mint(SECRET, budget={"sessionUsd": "0.45"})
    assert ask(g, token).status == 200
    answer = ask(g, token, previous_response_id="resp_1")
    assert answer.status == 402
    # its provider may be asked how long it is, and no more
    assert [r.target for r in provider.requests[1:]] == ["/v1/responses/input_tokens"]
    assert g.spent(token) == provider.bill


# -- calls that outlive their exchange


def held(g, token=None):
    return nano(g.purse(token)["reserved"])


def show(g, name, token=None, method="GET", tail=""):
    return g.call("%s/%s%s" % (RESPONSES, name, tail), token=token, method=method)


def charged(record):
    return nano(record.get("usd", {}).get("charged", "0"))


def test_a_call_in_the_background_is_held_for_until_its_end_is_shown(gateway, provider, responses):
    g = gateway()
    answer = ask(g, background=True)
    assert answer.status == 200 and json.loads(answer.body)["status"] == "queued"
    hold = held(g)
    assert hold > 0 and nano(g.purse()["spent"]) == 0
    responses.finish("resp_1", "in_progress")
    assert show(g, "resp_1").status == 200 and held(g) == hold
    responses.finish("resp_1")
    assert json.loads(show(g, "resp_1").body)["status"] == "completed"
    assert g.spent() == provider.bill > 0
    assert show(g, "resp_1").status == 200 and g.spent() == provider.bill, "once"
    posted, *got = wait_for(lambda: (lambda all_: all_ if len(all_) == 4 else None)(
        [r for r in g.weir.finals() if r["target"]["path"].startswith("/openai/")]), what="the records")
    assert nano(posted["usd"]["reserved"]) == hold and charged(posted) == 0
    shown = [r for r in got if charged(r)]
    assert [charged(r) for r in shown] == [provider.bill] and shown[0]["usage"]["output"] == responses.output
    row = json.loads(g.ledger("export").stdout.splitlines()[0])
    assert row["request"] == posted["id"], row


def test_a_call_in_the_background_is_known_after_a_restart(gateway, provider, responses):
    g = gateway(config={"ledger": {"url": "sqlite:ledger.db"}})
    assert ask(g, background=True).status == 200
    hold = held(g)
    g.weir.stop()
    g.weir.start()
    assert held(g) == hold > 0
    responses.finish("resp_1")
    assert show(g, "resp_1").status == 200
    assert g.spent() == provider.bill > 0


def test_a_call_in_the_background_that_nobody_asks_after_is_charged_in_full(gateway, provider, responses):
    g = gateway(config={"ledger": {"url": "sqlite:ledger.db"}})
    assert ask(g, background=True).status == 200
    hold = held(g)
    g.weir.stop()
    with sqlite3.connect(g.weir.path("state/ledger.db")) as db:
        (expires,), = db.execute("SELECT expires - reserved_at FROM call")
        assert expires >= 8 * 3600 * 10 ** 6, "they may take eight hours"
        db.execute("UPDATE call SET expires = 1")
    db.close()
    g.weir.start()
    assert g.spent() == hold
    responses.finish("resp_1")
    assert show(g, "resp_1").status == 200
    assert g.spent() == hold, "what it did cost is noted, and nothing goes back"
    row = json.loads(g.ledger("export").stdout.splitlines()[0])
    assert {"lost", "late"} <= set(row["flags"]) and row["tokens"]["output"] == responses.output, row


def test_a_call_in_the_background_is_its_sessions_alone(gateway, provider, responses):
    g = gateway(sessions=keyed())
    one, other = two()
    assert ask(g, one, background=True).status == 200
    responses.finish("resp_1")
    for method, tail in (("GET", ""), ("POST", "/cancel"), ("DELETE", "")):
        assert is_refused(show(g, "resp_1", other, method, tail))
    assert held(g, one) > 0 and len(provider.requests) == 1
    assert show(g, "resp_1", one).status == 200
    assert g.spent(one) == provider.bill > 0 and g.spent(other) == 0


def test_a_cancelled_call_is_settled_at_what_it_had_used(gateway, provider, responses):
    g = gateway()
    assert ask(g, background=True).status == 200
    responses.finish("resp_1", "cancelled")
    assert show(g, "resp_1", method="POST", tail="/cancel").status == 200
    assert g.spent() == provider.bill > 0


def test_an_end_without_usage_settles_nothing(gateway, provider, responses):
    g = gateway()
    assert ask(g, background=True).status == 200
    hold, usual = held(g), provider.answer
    for body in ({"id": "resp_1", "object": "response", "status": "cancelled", "model": MODEL, "usage": None},
                 rig_provider.response_of(MODEL, "resp_9"), {"error": {"message": "no"}}):
        provider.answer = rig_provider.refused(200, body)
        assert show(g, "resp_1").status == 200 and held(g) == hold, body
    provider.answer = rig_provider.refused(404, {"error": {"message": "none"}})
    assert show(g, "resp_1").status == 404 and held(g) == hold
    provider.answer = usual
    responses.finish("resp_1")
    assert show(g, "resp_1").status == 200 and g.spent() == responses.cost()


def test_a_stream_from_the_background_that_is_left_runs_on(gateway, provider, responses):
    g = gateway(config={"budget": {"drain": "0s"}})
    responses.waits = True
    with g.open() as client:
        g.send(client, RESPONSES, dict(ASK, background=True, stream=True))
        assert client.read_until(lambda data: b"response.created" in data)
        client.reset()
    assert g.weir.finals(1)[0]["reason"] == "client_aborted"
    assert held(g) > 0 and nano(g.purse()["spent"]) == 0
    provider.go.set()
    responses.finish("resp_1")
    assert show(g, "resp_1").status == 200
    assert g.spent() == provider.bill > 0


def test_a_stream_from_the_background_that_ends_is_settled_by_it(gateway, provider, responses):
    g = gateway()
    assert ask(g, background=True, stream=True).is_complete
    assert g.spent() == provider.bill > 0


def test_a_call_in_the_background_that_is_refused_holds_nothing(gateway, provider, responses):
    g = gateway()
    provider.answer = rig_provider.refused(400, {"error": {"message": "no"}})
    assert ask(g, background=True).status == 400
    assert g.spent() == 0


def test_a_call_in_the_background_that_names_no_response_is_charged_in_full(gateway, provider, responses):
    g = gateway()
    provider.answer = rig_provider.refused(200, {"object": "response", "status": "queued", "model": MODEL, "usage": None})
    assert ask(g, background=True).status == 200
    assert g.spent() == nano(g.weir.finals(1)[0]["usd"]["reserved"]) > 0


def test_what_cannot_be_asked_after_does_not_run_in_the_background(gateway, provider, responses):
    g = gateway()
    answer = g.call("/vercel/v1/responses", dict(ASK, model="openai/gpt-5.6-sol", background=True))
    assert is_refused(answer, "endpoint_not_metered", 403), answer
    answer = ask(g, background=True, models=[MODEL, "gpt-5.6-sol"])
    assert is_refused(answer, "endpoint_not_metered", 403), answer
    assert provider.requests == [] and g.spent() == 0
