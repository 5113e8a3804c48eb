"""The model gateway: what a call may do, what it costs, and who pays."""
import gzip
import json
import pathlib
import signal
import subprocess
import threading

import pytest

from rig import client as rig_client
from rig import gateway as rig_gateway
from rig import manual
from rig import provider as rig_provider
from rig import token as tokens
from rig import weir as rig_weir
from rig.gateway import ASK, SECRET, SONNET, laptop, nano
from rig.weir import free_port, wait_for
from rules import LOOPBACK, in_order


def rule_all():
    """Everything, as far as a rule can open it."""
    return {"protocol": "tcp", "ports": ["1-65535"], "broad": True, "private": LOOPBACK}


@pytest.fixture
def redis(tmp_path):
    """The URL of a Redis that keeps nothing."""
    path = tmp_path / "redis.sock"
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--dir", tmp_path, "--save", ""],
                              stdout=subprocess.DEVNULL)
    wait_for(path.exists, what="redis")
    yield "redis+unix:%s" % path
    server.terminate()
    server.wait()


def error_of(answer):
    return json.loads(answer.body)["error"]


# -- the thin whole


def test_a_call_reaches_the_provider_with_its_key_and_costs_what_the_provider_counts(gateway, provider):
    g = gateway()
    provider.answer = rig_provider.messages(plain=1000, read=50, write=70, output=33)
    answer = g.messages(token="whatever-the-sdk-wants", headers=[("anthropic-version", "2023-06-01")])
    assert answer.status == 200 and answer.is_complete
    assert json.loads(answer.body)["content"][0]["text"] == "hello"
    asked = provider.requests[0]
    assert asked.all("x-api-key") == [rig_provider.KEY]
    assert asked.get("host") == "%s:%d" % (provider.name, provider.port)
    assert asked.get("anthropic-version") == "2023-06-01"
    assert g.spent() == provider.bill > 0
    record = next(r for r in g.weir.finals(1) if r["target"]["path"] == "/anthropic/v1/messages")
    assert record["kind"] == "gateway" and record["outcome"] == "ok" and record["model"] == SONNET
    assert nano(record["usd"]["charged"]) == provider.bill
    assert record["usage"] == {"input": 1120, "cache_read": 50, "cache_write": 70, "output": 33}
    assert len(record["prices"]) == 64
    assert rig_provider.KEY not in json.dumps(record) + g.weir.log()


def test_a_bill_of_the_providers_is_found_in_the_ledger_by_the_providers_names(gateway, provider):
    g = gateway()
    provider.answer = rig_provider.messages(plain=1000, output=33, more=["request-id: req_011"])
    assert g.messages().status == 200 and g.spent() == provider.bill
    bill = "request id,usd\nreq_011,%d.%09d\n" % divmod(provider.bill, 10 ** 9)
    done = g.ledger("reconcile", "-", "--id-field", "request id", "--cost-field", "usd", input=bill)
    assert done.returncode == 0 and "1 the same" in done.stdout, done.stdout + done.stderr
    assert "1 computed again" in g.ledger("verify", "--prices", str(rig_provider.PRICES)).stdout


def test_a_redis_ledger_is_corrected_while_weir_uses_it(redis, gateway, provider):
    g = gateway(config={"ledger": {"url": redis}})
    wait_for(lambda: g.messages().status == 200, what="a connection to redis")
    before = g.spent()
    for repeat in range(2):
        done = g.ledger("adjust", "acme", "s1", "--usd", "0.25", "--why", "a call beside weir", "--id", "fix-1")
        assert done.returncode == 0 and ("was done before" in done.stdout) == bool(repeat), done.stderr
        assert done.stderr == ""
    assert g.spent() == before + nano("0.25")
    assert g.messages().status == 200 and g.spent() == nano("0.25") + provider.bill
    assert g.ledger("forget", "acme").returncode == 0
    assert g.messages().get("x-weir-reason") == "session_revoked"


def test_a_ceiling_for_a_model_without_a_price_is_no_error_of_the_ledgers(gateway, provider):
    g = gateway()

    provider.answer = lambda p, conn, request, body: conn.send(
        rig_provider.whole({"type": "message", "model": "somebody-elses-model", "content": [{"type": "text", "text": "x"}],
                            "stop_reason": "end_turn", "usage": {"input_tokens": 12, "output_tokens": 5}}))
    assert g.messages().status == 200 and g.spent() > 0
    done = g.ledger("verify", "--prices", str(rig_provider.PRICES))
    assert done.returncode == 0, done.stdout


def test_a_spent_budget_refuses_in_the_words_of_the_family(gateway, provider):
    g = gateway(sessions={"required": False, "default": {"sid": "s1", "tenant": "acme", "budget": {"sessionUsd": "0.000001"}}})
    answer = g.messages()
    assert answer.status == 402 and answer.get("x-weir-reason") == "session_budget_exhausted"
    assert answer.get("x-should-retry") == "false"
    assert json.loads(answer.body)["type"] == "error" and error_of(answer)["type"] == "billing_error"
    codex = g.call("/openai/v1/chat/completions", {"model": "gpt-6.1-terra", "messages": []},
                   headers=[("originator", "codex_exec")])
    assert codex.status == 400 and error_of(codex)["code"] == "budget_exceeded"
    assert provider.requests == [] and g.spent() == 0


# -- streams


def test_a_stream_passes_event_by_event_and_is_settled_at_its_last_word(gateway, provider):
    g = gateway()
    provider.answer = rig_provider.message_stream(pause_after=4)
    with g.open() as client:
        g.send(client, "/anthropic/v1/messages", dict(ASK, stream=True))
        assert client.read_until(lambda data: b"two" in data), "what came before the pause was held back"
        assert b"message_stop" not in client.data
        provider.go.set()
        answer = client.response("POST")
    assert answer.is_complete and answer.body.endswith(b'{"type": "message_stop"}\n\n')
    assert g.spent() == provider.bill > 0


def test_usage_that_the_client_did_not_ask_for_is_asked_for_and_hidden(gateway, provider):
    g = gateway()
    provider.answer = rig_provider.chat_stream()
    body = {"model": "gpt-6.1-terra", "stream": True, "max_completion_tokens": 50, "messages": [{"role": "user", "content": "x"}]}
    answer = g.call("/openai/v1/chat/completions", body)
    assert provider.bodies[0]["stream_options"] == {"include_usage": True}
    assert provider.requests[0].all("authorization") == ["Bearer " + rig_provider.KEY]
    assert b'"usage"' not in answer.body and answer.body.endswith(b"data: [DONE]\n\n")
    assert g.spent() == provider.bill > 0
    answer = g.call("/openai/v1/chat/completions", dict(body, stream_options={"include_usage": True}))
    assert b'"usage"' in answer.body
    assert g.spent() == provider.bill


def test_a_client_that_hangs_up_still_pays_what_the_provider_counts(gateway, provider):
    g = gateway()
    provider.answer = rig_provider.message_stream(pause_after=4, texts=["word "] * 50, output=60)
    client = g.open()
    g.send(client, "/anthropic/v1/messages", dict(ASK, stream=True))
    assert client.read_until(lambda data: b"word" in data)
    client.reset()
    provider.go.set()
    assert g.spent() == provider.bill > 0
    record = calls(g, 1)[0]
    assert record["reason"] == "client_aborted" and nano(record["usd"]["charged"]) == provider.bill


def test_a_stream_that_breaks_off_is_charged_at_a_ceiling_and_looks_cut(gateway, provider):
    g = gateway()
    provider.answer = rig_provider.message_stream(cut_after=5)
    with g.open() as client:
        g.send(client, "/anthropic/v1/messages", dict(ASK, stream=True))
        answer = client.response("POST")
    assert answer is None or not answer.is_complete
    record = g.weir.finals(1)[0]
    assert record["reason"] == "upstream_incomplete" and record["usd"]["basis"] == "estimate"
    seen = rig_provider.cost_nano(SONNET, 20, output=9)
    assert seen <= nano(record["usd"]["charged"]) <= nano(record["usd"]["reserved"])
    assert g.spent() == nano(record["usd"]["charged"])


# -- what the request may say


def test_a_limit_that_is_not_paid_for_is_lowered_and_said(gateway, provider):
    g = gateway()
    answer = g.messages(max_tokens=128000)
    assert answer.status == 200
    limit = provider.bodies[0]["max_tokens"]
    assert 1024 <= limit < 128000
    assert answer.get("x-weir-clamped") == "max_tokens=%d; asked=128000" % limit
    assert float(answer.get("x-weir-budget-remaining")) < 1
    assert g.spent() == provider.bill


def test_a_limit_beyond_what_was_paid_for_is_not_sent_on(gateway, provider):
    """The price table says what a model makes at most, and that is paid; a beta field may raise what it makes."""
    g = gateway(sessions=laptop("100"))
    most = int(rig_provider.price(SONNET)["max_output_tokens"])
    answer = g.messages(max_tokens=most + 1, headers=[("anthropic-beta", "output-more")])
    assert answer.status == 200 and provider.bodies[0]["max_tokens"] == most
    assert answer.get("x-weir-clamped") == "max_tokens=%d; asked=%d" % (most, most + 1)
    assert g.messages(max_tokens=most).get("x-weir-clamped") is None and provider.bodies[1]["max_tokens"] == most


def test_strict_mode_refuses_what_does_not_fit(gateway, provider):
    g = gateway(config={"budget": {"mode": "strict"}})
    answer = g.messages(max_tokens=128000)
    assert answer.status == 402 and answer.get("x-weir-reason") == "budget_insufficient_for_request"
    assert g.messages().status == 200 and g.spent() == provider.bill


def test_hosted_tools_are_taken_out_unless_allowed(gateway, provider):
    search = {"type": "web_search_20250305", "name": "web_search"}
    g = gateway()
    answer = g.messages(tools=[search, {"name": "mine", "input_schema": {"type": "object"}}])
    assert [t["name"] for t in provider.bodies[0]["tools"]] == ["mine"]
    assert answer.get("x-weir-stripped") == "web_search"
    answer = g.messages(tools=[search], tool_choice={"type": "tool", "name": "web_search"})
    assert answer.status == 403 and answer.get("x-weir-reason") == "hosted_tool_denied"


@pytest.mark.parametrize("path, body, status, reason", [
    ("/anthropic/v1/messages", b'{"model":"%s","max_tokens":1,"max_tokens":9,"messages":[]}' % SONNET.encode(), 400, "request_malformed"),
    ("/anthropic/v1/messages", dict(ASK, model="no-such-model"), 403, "model_unpriced"),
    ("/anthropic/v1/organizations", {}, 403, "endpoint_not_metered"),
    ("/anthropic/v1/messages/batches", {}, 403, "endpoint_not_metered"),
    ("/nobody/v1/messages", {}, 403, "endpoint_not_metered"),
    ("/openai/v1/responses", {"model": "gpt-6.1-terra", "input": "x", "previous_response_id": "resp_1"}, 404, "object_not_owned"),
])
def test_what_cannot_be_metered_does_not_reach_the_provider(gateway, provider, path, body, status, reason):
    g = gateway()
    answer = g.call(path, body)
    assert (answer.status, answer.get("x-weir-reason")) == (status, reason)
    assert provider.requests == [] and g.spent() == 0


@pytest.mark.parametrize("path, body, told", [
    ("/v1/messages", ASK, "no provider is at this path"),
    ("/anthropic/v1/v1/messages", ASK, "/v1 is there twice"),
    ("/anthropic/v1/messages", b"{", "in its body: "),
    ("/anthropic/v1/messages", {"messages": []}, "in its body: the request names no model"),
])
def test_a_wrong_base_url_or_body_is_told_as_that(gateway, path, body, told):
    assert told in error_of(gateway().call(path, body))["message"]


def test_a_gateway_without_a_provider_says_so(weir):
    proxy = weir([], {"listen": rig_gateway.listen()})
    answer = rig_gateway.Gateway(proxy).call("/anthropic/v1/messages", ASK)
    assert answer.status == 403 and "no provider is configured" in error_of(answer)["message"]


def test_a_model_without_a_price_is_named_to_the_client_and_in_the_record(gateway, provider):
    g = gateway()
    for asked, told in (("no-such-model", "(no-such-model)"), ("n" * 70000, "(" + "n" * 128 + "\u2026)")):
        answer = g.messages(model=asked)
        assert error_of(answer)["message"].endswith(told)
    records = g.weir.finals(2)
    assert [r["error"] for r in records] == ["no-such-model", "n" * 128 + "\u2026"]
    secret = "-".join(["sk", "ant", "api03", "Zq7" * 20])
    answer = g.messages(model="x " + secret)
    assert "~redacted." in error_of(answer)["message"] and "~redacted." in in_order(g.weir.finals(3))[2]["error"]
    assert secret not in answer.body.decode() + json.dumps(g.weir.finals(3))
    assert provider.requests == []


def test_a_weir_may_have_the_gateways_door_only(gateway, provider):
    g = gateway(config={"listen": {"gateway": rig_gateway.listen()["gateway"]}})
    assert g.messages().status == 200 and g.spent() == provider.bill > 0


def test_an_encoded_request_is_refused(gateway, provider):
    g = gateway()
    assert g.messages(headers=[("Content-Encoding", "gzip")]).status == 415
    assert provider.requests == []


def test_a_web_page_of_another_site_is_refused(gateway, provider):
    g = gateway()
    for field in (("Origin", "http://evil.test"), ("Sec-Fetch-Site", "cross-site")):
        answer = g.messages(headers=[field])
        assert answer.status == 403 and answer.get("x-weir-reason") == "cross_site_refused"
    assert provider.requests == []


# -- what goes out, and what comes back


def test_the_clients_own_credentials_and_hops_do_not_reach_the_provider(gateway, provider):
    g = gateway()
    own = [("Authorization", "Bearer mine"), ("Cookie", "a=b"), ("X-Weir-Session", "x"), ("Connection", "X-Hop"),
           ("X-Hop", "1"), ("X-HTTP-Method-Override", "DELETE"), ("Accept-Encoding", "br"), ("x-kept", "yes"),
           ("X-LiteLLM-API-Key", "mine"), ("Ocp-Apim-Subscription-Key", "mine"), ("X-Amz-Security-Token", "mine")]
    assert g.messages(token="mine-too", headers=own).status == 200
    asked = provider.requests[0]
    for name in ("authorization", "cookie", "x-weir-session", "x-hop", "x-http-method-override", "connection"):
        assert asked.get(name) is None, name
    assert asked.all("x-api-key") == [rig_provider.KEY] and asked.get("accept-encoding") == "identity"
    assert asked.get("x-kept") == "yes"
    assert b"mine" not in provider.bytes()


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "application/json; charset=utf-7", "multipart/form-data; boundary=x", None])
def test_a_body_is_sent_as_what_it_was_read_as(gateway, provider, kind):
    """{"a":"&model=dear"} is a form too, and in UTF-7 the same bytes are other text."""
    g = gateway()
    assert g.messages(headers=[("Content-Type", kind)] if kind else []).status == 200
    assert provider.requests[0].all("content-type") == ["application/json"]


def test_an_error_that_echoes_the_key_is_scrubbed_and_costs_nothing(gateway, provider):
    g = gateway()
    key = rig_provider.KEY
    encoded = rig_provider.pathlib.os.fsencode(key)
    forms = [key, encoded.hex(), __import__("base64").b64encode(b"x-api-key: " + encoded).decode()]
    provider.answer = rig_provider.refused(401, {"error": {"message": " ".join(forms)}}, more=["x-echo: " + key, "x-%s: 1" % key])
    answer = g.messages()
    assert answer.status == 401
    said = answer.body.decode() + repr(answer.headers)
    assert key not in said and forms[1] not in said and forms[2][20:50] not in said
    assert "****" in said and g.spent() == 0 == provider.bill


def test_a_provider_that_cannot_prove_its_name_gets_nothing(gateway, provider, authority):
    row = {"name": "a", "kind": "anthropic", "path": "/anthropic", "upstream": provider.url.replace("llm.", "other."),
           "credential": {"header": "x-api-key", "value": "env:PROVIDER_KEY"}}
    g = gateway(providers=[row])
    answer = g.messages()
    assert answer.status == 502 and answer.get("x-weir-reason") == "upstream_tls_failed"
    assert provider.requests == [] and rig_provider.KEY.encode() not in provider.bytes() and g.spent() == 0


def test_gemini_speaks_its_own_words(gateway, provider):
    g = gateway()
    provider.answer = rig_provider.generated()
    path = "/gemini/v1beta/models/gemini-3.8-flash:generateContent"
    body = {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"maxOutputTokens": 50}}
    assert g.call(path + "?key=theirs", body).status == 200
    assert provider.requests[0].all("x-goog-api-key") == [rig_provider.KEY]
    assert "theirs" not in provider.requests[0].target
    assert g.spent() == provider.bill > 0
    answer = g.call("/gemini/v1beta/models/none:generateContent", body)
    assert error_of(answer)["status"] == "PERMISSION_DENIED"


# -- kept connections


@pytest.fixture
def keeper(gateway):
    """A gateway of one worker, so that each call could use what the one before has left."""
    def make(config=None, **more):
        listen = dict(rig_weir.proxy_and_health(), gateway=["127.0.0.1:%d" % free_port()])
        return gateway(config=dict({"listen": listen, "workers": 1}, **(config or {})), **more)
    return make


def calls(g, n):
    """The final records of n model calls; others are of weir's own path."""
    def pick():
        return [r for r in g.weir.finals() if r["target"].get("path") == "/anthropic/v1/messages"]
    return wait_for(lambda: pick() if len(pick()) >= n else None, what="%d records" % n)


def kept(g):
    return g.weir.metric("weir_upstream_kept")


def call_on(g, client, path, body=None, method="POST"):
    g.send(client, path, body, method=method)
    return client.response(method)


def test_calls_share_one_connection_to_the_provider(keeper, provider):
    g = keeper()
    for stream in (False, True):
        provider.answer = rig_provider.message_stream() if stream else rig_provider.messages()
        for _ in range(3):
            answer = g.messages(stream=stream)
            assert answer.status == 200 and answer.is_complete
    assert g.spent() == provider.bill > 0
    assert len(provider.conns) == 1 and len(provider.requests) == 6
    records = calls(g, 6)
    assert ["reused" in r.get("flags", []) for r in records] == [False] + [True] * 5
    assert g.weir.metric("weir_upstream_reused_total") == 5 and kept(g) == 1
    assert {r["assurance"] for r in records} == {"origin"}


def test_sessions_do_not_share_connections_to_the_provider(keeper, provider):
    g = keeper(sessions=keyed())
    tokens_ = [tokens.mint(SECRET, sid, budget={"sessionUsd": "1"}) for sid in ("s1", "s2")]
    with g.open() as client:
        for i in range(6):
            provider.answer = rig_provider.messages(text="for s%d" % (i % 2 + 1))
            g.send(client, "/anthropic/v1/messages", dict(ASK, system="from %d" % (i % 2)), tokens_[i % 2])
            assert b"for s%d" % (i % 2 + 1) in client.response("POST").body
    assert len(provider.conns) == 2
    assert [b"from 0" in c.data for c in provider.conns] == [True, False]
    assert [b"from 1" in c.data for c in provider.conns] == [False, True]


def unwrap(conn):
    conn.sock.setblocking(False)  # it does not wait for weir's
    try:
        conn.sock.unwrap()
    except OSError:
        pass


ENDS = {"close": lambda conn: conn.close(), "close_notify": unwrap, "reset": lambda conn: conn.reset(),
        "unasked": lambda conn: conn.send(rig_provider.whole({"answer": "to nobody"}))}


class Ending:
    """The first answer's connection ends when it is told to, by whom serves it."""

    def __init__(self, of, end):
        self.of, self.end, self.over = of, ENDS[end], threading.Event()

    def __call__(self, provider, conn, request, body):
        billed = self.of(provider, conn, request, body)
        if conn is provider.conns[0]:
            provider.go.wait(10)
            self.end(conn)
            self.over.set()
        return billed

    def now(self, provider):
        provider.go.set()
        assert self.over.wait(10)


@pytest.mark.parametrize("end", ENDS)
def test_a_kept_connection_that_the_provider_ends_is_not_used(keeper, provider, end):
    g = keeper()
    provider.answer = Ending(rig_provider.messages(), end)
    assert g.messages().status == 200
    wait_for(lambda: kept(g) == 1, what="a kept connection")
    provider.answer.now(provider)
    wait_for(lambda: kept(g) == 0, what="the end of the kept connection")
    answer = g.messages()
    assert answer.status == 200 and b"hello" in answer.body
    assert len(provider.conns) == 2 and len(provider.requests) == 2 and g.spent() == provider.bill


def stop(weir):
    weir.signal(signal.SIGSTOP)
    path = "/proc/%d/stat" % weir.process.pid
    wait_for(lambda: pathlib.Path(path).read_text().rpartition(")")[2].split()[0] == "T", what="a weir that stands still")


def without_audit(weir):
    weir.stop()
    del weir.config["audit"]["path"]
    weir.write_config()
    weir.start()


def unmetered(provider):
    return {"name": "forge", "kind": "none", "path": "/forge", "upstream": provider.url,
            "credential": {"header": "authorization", "scheme": "Bearer", "value": "env:PROVIDER_KEY"}}


@pytest.mark.parametrize("end", ENDS)
def test_a_kept_connection_that_is_dead_when_it_is_used_costs_no_error(keeper, provider, end):
    """The call and the end are there at the same moment; a POST, so nothing may go twice."""
    g = keeper(providers=[unmetered(provider)], config={"dns": {"hosts": {provider.name: ["127.0.0.1"]}}})
    without_audit(g.weir)  # a call would wait for its record, and see the end meanwhile
    provider.answer = Ending(rig_provider.refused(200, {"ok": "yes"}), end)
    with g.open() as client:
        assert call_on(g, client, "/forge/x", {"n": 1}).status == 200
        wait_for(lambda: kept(g) == 1, what="a kept connection")
        stop(g.weir)
        try:
            g.send(client, "/forge/x", {"n": 2})
            provider.answer.now(provider)
        finally:
            g.weir.signal(signal.SIGCONT)
        answer = client.response("POST")
    assert answer.status == 200 and json.loads(answer.body) == {"ok": "yes"}
    assert [b["n"] for b in provider.bodies] == [1, 2] and len(provider.conns) == 2
    assert g.weir.metric("weir_upstream_stale_total") == 1


def dies_unanswered(of):
    """Resets a connection on its second request, when it has heard all of it."""
    def answer(provider, conn, request, body):
        if len(provider.conns) == 1 and len(provider.requests) > 1:
            conn.reset()
            return None
        return of(provider, conn, request, body)
    return answer


def test_a_call_that_was_sent_is_not_sent_again_and_is_charged_at_its_ceiling(keeper, provider):
    g = keeper()
    provider.answer = dies_unanswered(rig_provider.messages())
    assert g.messages().status == 200
    first = g.spent()
    answer = g.messages()
    assert (answer.status, answer.get("x-weir-reason")) == (502, "upstream_incomplete")
    assert len(provider.requests) == 2 and g.weir.metric("weir_upstream_stale_total") == 0
    record = calls(g, 2)[1]
    assert record["reason"] == "upstream_incomplete" and record["usd"]["basis"] == "estimate" and nano(record["usd"]["charged"]) > 0
    assert g.spent() == first + nano(record["usd"]["charged"])
    assert g.messages().status == 200 and len(provider.conns) == 2


def test_what_only_reads_and_costs_nothing_is_asked_again(keeper, provider):
    g = keeper(providers=[unmetered(provider)])
    provider.answer = dies_unanswered(rig_provider.refused(200, {"ok": "yes"}))
    for _ in range(2):
        assert g.call("/forge/x", method="GET").status == 200
    assert len(provider.requests) == 3 and len(provider.conns) == 2
    provider.conns.clear()
    provider.requests.clear()
    provider.answer = dies_unanswered(rig_provider.refused(200, {"ok": "yes"}))
    assert g.call("/forge/x", method="DELETE").status == 200  # on what is kept
    provider.answer = lambda provider, conn, request, body: conn.reset()
    answer = g.call("/forge/x", method="DELETE")
    assert answer.status == 502 and len(provider.requests) == 2


@pytest.mark.parametrize("more, behind", [(["Connection: close"], b""), (["Keep-Alive: timeout=1, max=9"], b""),
                                          ([], rig_provider.whole({"answer": "to nobody"}))],
                         ids=["close", "short", "unasked"])
def test_a_connection_that_may_not_be_used_again_is_not_kept(keeper, provider, more, behind):
    g = keeper()
    plain = rig_provider.messages(more=more)

    def answer(provider, conn, request, body):
        class Together:  # in one record
            @staticmethod
            def send(data):
                conn.send(data + behind)
        return plain(provider, Together, request, body)
    provider.answer = answer
    for _ in range(2):
        answer = g.messages()
        assert answer.status == 200 and b"nobody" not in answer.body
    assert len(provider.conns) == 2 and g.spent() == provider.bill


def test_a_kept_connection_is_closed_when_nobody_uses_it(keeper, provider):
    g = keeper(config={"limits": {"idle_keepalive": "100ms"}})
    assert g.messages().status == 200
    assert provider.wait(lambda: provider.conns[0].is_ended) and kept(g) == 0


def test_a_reload_ends_what_was_opened_with_older_keys(keeper, provider, tmp_path):
    secret = tmp_path / "key"
    keys = ["-".join(["sk", "first", "0" * 24]), "-".join(["sk", "second", "1" * 24])]
    secret.write_text(keys[0])
    row = {"name": "anthropic", "kind": "anthropic", "path": "/anthropic", "upstream": provider.url,
           "credential": {"header": "x-api-key", "value": "file:%s" % secret}}
    g = keeper(providers=[row])
    provider.answer = rig_provider.message_stream(pause_after=4)
    with g.open() as client:
        g.send(client, "/anthropic/v1/messages", dict(ASK, stream=True))
        assert client.read_until(lambda data: b"two" in data)
        secret.write_text(keys[1])
        g.weir.reload()
        wait_for(lambda: g.weir.metric("weir_reloads_total") == 1, what="the reload")
        provider.go.set()
        assert client.response("POST").is_complete  # under the old one, to its end
    provider.answer = rig_provider.messages()
    assert g.messages().status == 200 and g.messages().status == 200
    assert [r.get("x-api-key") for r in provider.requests] == [keys[0], keys[1], keys[1]]
    assert len(provider.conns) == 2 and keys[1].encode() not in provider.conns[0].data


# -- sessions


def keyed(**more):
    return dict({"keys": [{"issuer": tokens.ISSUER, "audience": tokens.AUDIENCE, "alg": "HS256", "secret": "env:KEY"}]}, **more)


def test_the_sdk_key_is_the_session_token_and_each_session_pays_for_itself(gateway, provider):
    g = gateway(sessions=keyed())
    one, two = (tokens.mint(SECRET, sid, budget={"sessionUsd": "1"}) for sid in ("s1", "s2"))
    assert g.messages(token=one).status == 200
    assert g.spent(one) == provider.bill > 0 and g.spent(two) == 0
    answer = g.messages()
    assert answer.status == 401 and answer.get("x-weir-reason") == "session_required"
    assert error_of(answer)["type"] == "authentication_error"
    assert g.messages(token=rig_provider.KEY).status == 401
    assert len(provider.requests) == 1 and one.encode() not in provider.bytes()


def test_a_token_that_names_models_is_held_to_them(gateway, provider):
    g = gateway(sessions=keyed())
    token = tokens.mint(SECRET, budget={"sessionUsd": "1"}, models=["claude-haiku-*"])
    answer = g.messages(token=token)
    assert answer.status == 403 and answer.get("x-weir-reason") == "model_not_allowed"
    assert g.messages(token=token, model="claude-haiku-5-5").status == 200
    assert g.spent(token) == provider.bill


def test_many_at_once_never_spend_more_than_there_is(gateway, provider):
    g = gateway(sessions={"required": False, "default": {"sid": "s1", "tenant": "acme", "budget": {"sessionUsd": "0.01"}}})
    provider.answer = rig_provider.messages(plain=500, output=90)
    clients = [g.open() for _ in range(12)]
    for client in clients:
        g.send(client, "/anthropic/v1/messages", ASK)
    statuses = [client.response("POST").status for client in clients]
    for client in clients:
        client.close()
    assert set(statuses) <= {200, 402} and 200 in statuses
    assert g.spent() == provider.bill <= 10 ** 7


def test_spend_outlives_weir(gateway, provider):
    g = gateway(config={"ledger": {"url": "sqlite:ledger.db"}})
    assert g.messages().status == 200
    g.weir.stop()
    g.weir.start()
    assert g.spent() == provider.bill > 0


# -- no other way


def test_a_providers_host_is_closed_to_every_other_door(gateway, provider, weir):
    g = gateway(policy=[{"policy": "p", "allow": [dict(rule_all(), host="*")]}])
    where = "http://%s/anthropic" % g.weir.config["listen"]["gateway"][0]
    with rig_client.Client(g.weir) as client:
        answer = client.connect("%s:%d" % (provider.name, provider.port))
    assert answer.status == 403 and answer.get("x-weir-reason") == "metered_host"
    assert where in json.loads(answer.body)["error"]["message"]
    with rig_client.Client(g.weir) as client:
        answer = client.get("http://%s:%d/v1/messages" % (provider.name, provider.port))
    assert answer.status == 403 and answer.get("x-weir-reason") == "metered_host"
    assert provider.conns == []


def test_a_rule_that_names_a_providers_host_does_not_load(gateway, provider):
    with pytest.raises(Exception, match="ended with 78"):
        gateway(policy=[{"policy": "p", "allow": [{"host": provider.name}]}])


def test_a_compressed_answer_is_read_all_the_same(gateway, provider):
    g = gateway()
    text = rig_provider.messages(plain=40, output=8)

    class Catch:
        def send(self, data):
            self.data = data

    def answer(provider, conn, request, body):
        caught = Catch()
        billed = text(provider, caught, request, body)
        plain = caught.data.split(b"\r\n\r\n", 1)[1]
        conn.send(rig_provider.whole(gzip.compress(plain), more=["Content-Encoding: gzip"]))
        return billed
    provider.answer = answer
    got = g.messages()
    assert got.get("content-encoding") is None and json.loads(got.body)["content"][0]["text"] == "hello"
    assert g.spent() == provider.bill > 0


def test_a_route_without_a_meter_carries_its_credential_and_nothing_else(gateway, provider):
    row = {"name": "forge", "kind": "none", "path": "/forge", "upstream": provider.url + "/api",
           "credential": {"header": "authorization", "scheme": "Bearer", "value": "env:PROVIDER_KEY"}}
    g = gateway(providers=[row])
    provider.answer = rig_provider.refused(200, {"ok": rig_provider.KEY})
    answer = g.call("/forge/repos?x=1", method="GET", headers=[("Authorization", "Bearer mine")])
    assert answer.status == 200 and rig_provider.KEY.encode() not in answer.body
    assert provider.requests[0].target == "/api/repos?x=1"
    assert provider.requests[0].all("authorization") == ["Bearer " + rig_provider.KEY]


def test_a_websocket_is_told_to_post(gateway, provider):
    g = gateway()
    answer = g.call("/openai/v1/responses", method="GET", headers=[("Connection", "Upgrade"), ("Upgrade", "websocket")])
    assert answer.status == 426 and provider.requests == []


def test_a_body_that_is_too_large_is_refused_before_it_is_read(gateway, provider):
    g = gateway()
    with g.open() as client:
        client.send("POST /anthropic/v1/messages HTTP/1.1\r\nHost: weir\r\nContent-Length: 33554433\r\n\r\n")
        answer = client.response("POST")
    assert answer.status == 413 and provider.requests == []


@pytest.mark.parametrize("chunked", [False, True])
def test_the_operators_limit_of_bodies_holds_here_too(gateway, provider, chunked):
    g = gateway(config={"limits": {"body": "1KiB"}})
    with g.open() as client:
        data = json.dumps(dict(ASK, system="x" * 2000)).encode()
        framing = "Transfer-Encoding: chunked" if chunked else "Content-Length: %d" % len(data)
        client.send(("POST /anthropic/v1/messages HTTP/1.1\r\nHost: weir\r\n%s\r\n\r\n" % framing).encode() +
                    (rig_provider.chunk(data) + b"0\r\n\r\n" if chunked else data))
        answer = client.response("POST")
    assert (answer.status, answer.get("x-weir-reason")) == (413, "body_too_large")
    assert g.messages().status == 200 and len(provider.requests) == 1


def ask_slowly(g, connection):
    connection.send("POST /anthropic/v1/messages HTTP/1.1\r\nHost: weir\r\nContent-Length: 5000\r\n\r\n{")


def test_a_body_that_stops_is_not_waited_for(gateway, provider):
    g = gateway(config={"limits": {"idle": "300ms"}})
    with g.open() as client:
        ask_slowly(g, client)
        answer = client.response("POST")
    assert (answer.status, answer.get("x-weir-reason")) == (408, "client_timeout")
    assert provider.requests == [] and g.spent() == 0


@pytest.mark.soak
def test_a_body_that_drips_is_cut_after_its_first_minute(gateway, provider):
    g = gateway(config={"limits": {"body_rate": "1KiB/min"}})
    client = rig_client.Client(g.door, timeout=150)
    ask_slowly(g, client)
    client.send_pieces(b" " * 900, 1, 1)
    assert b"client_timeout" in client.read_all() and provider.requests == []
    client.close()


@pytest.mark.parametrize("limit, answers, status, reason", [
    ("response_timeout", lambda provider, conn, request, body: provider.go.wait(10) and 0, 504, "response_timeout"),
    ("idle", rig_provider.message_stream(pause_after=4), None, "idle_timeout")])
def test_a_provider_that_says_nothing_more_is_left(gateway, provider, limit, answers, status, reason):
    """And is paid at a ceiling: it may have worked all the same."""
    g = gateway(config={"limits": {limit: "500ms"}})
    provider.answer = answers
    with g.open() as client:
        g.send(client, "/anthropic/v1/messages", dict(ASK, stream=True))
        answer = client.response("POST")
    assert answer.status == status if status else answer is None or not answer.is_complete
    record = calls(g, 1)[0]
    assert record["reason"] == reason and record["usd"]["basis"] == "estimate"
    provider.go.set()
    assert g.spent() == nano(record["usd"]["charged"]) > 0


def test_requests_on_one_connection_are_each_their_own(gateway, provider):
    g = gateway()
    with g.open() as client:
        for _ in range(3):
            g.send(client, "/anthropic/v1/messages", ASK)
            assert client.response("POST").status == 200
        g.send(client, "/anthropic/v1/messages", dict(ASK, model="none"))
        assert client.response("POST").status == 403
        g.send(client, "/anthropic/v1/messages", ASK)
        assert client.response("POST").status == 200
    assert len(provider.requests) == 4 and g.spent() == provider.bill


# -- who pays, and how much


def test_a_call_is_recorded_before_it_goes(gateway, provider):
    g = gateway()
    provider.answer = rig_provider.message_stream(pause_after=2)
    with g.open() as client:
        g.send(client, "/anthropic/v1/messages", dict(ASK, stream=True))
        assert provider.wait(lambda: provider.requests)
        opened = g.weir.audit(lambda all_: [r for r in all_ if r.get("phase") == "open"], what="the open record")
        opened = next(r for r in opened if r["phase"] == "open")
        assert nano(opened["usd"]["reserved"]) > 0 and "outcome" not in opened and opened["model"] == SONNET
        provider.go.set()
        assert client.response("POST").is_complete
    assert g.weir.finals(1)[0]["id"] == opened["id"]


def test_the_innermost_budget_that_is_spent_is_named(gateway, provider):
    g = gateway(sessions=keyed(), config={"budget": {"tenants": {"poor": {"usd": "0.0000001"}}, "total": {"usd": "10"}}})
    turn = tokens.mint(SECRET, "s1", turn="t1", budget={"turnUsd": "0.0000001", "sessionUsd": "0.0000001"})
    assert g.messages(token=turn).get("x-weir-reason") == "turn_budget_exhausted"
    tenant = tokens.mint(SECRET, "s2", tenant="poor", budget={"sessionUsd": "5"})
    answer = g.messages(token=tenant)
    assert (answer.status, answer.get("x-weir-reason")) == (402, "tenant_budget_exhausted")
    assert "5" == answer.get("x-weir-budget-remaining"), "what a tenant has left is not told"
    calls = tokens.mint(SECRET, "s3", turn="t1", budget={"turnUsd": "1", "sessionUsd": "5"}, limits={"turnCalls": 1})
    assert g.messages(token=calls).status == 200
    assert g.messages(token=calls).get("x-weir-reason") == "turn_limit_reached"
    assert g.spent(calls) == provider.bill > 0


def limited(sid="s1", turn="t1", gen=None, **limits):
    return tokens.mint(SECRET, sid, turn=turn, gen=gen, budget={"sessionUsd": "5"}, limits=limits)


def test_calls_of_a_turn_are_counted_exactly_whatever_comes_at_once(gateway, provider):
    g = gateway(sessions=keyed())
    token, clients = limited(turnCalls=5), [g.open() for _ in range(16)]
    for client in clients:
        g.send(client, "/anthropic/v1/messages", ASK, token)
    answers = [client.response("POST") for client in clients]
    for client in clients:
        client.close()
    assert sorted(a.status for a in answers) == [200] * 5 + [402] * 11
    assert {a.get("x-weir-reason") for a in answers if a.status == 402} == {"turn_limit_reached"}
    assert len(provider.requests) == 5 and g.spent(token) == provider.bill


def test_a_parents_tokens_are_its_sub_agents_limit_too(gateway, provider):
    g = gateway(sessions=keyed(bind="none"))
    parent = tokens.mint(SECRET, "s1", budget={"sessionUsd": "5"}, limits={"sessionTokens": 10})
    child = tokens.mint(SECRET, "s2", par="s1", budget={"sessionUsd": "5"})
    g.purse(parent)
    assert g.messages(token=child).status == 200 and g.spent(child) == provider.bill > 0
    assert g.messages(token=child).get("x-weir-reason") == "turn_limit_reached"
    assert len(provider.requests) == 1


@pytest.mark.parametrize("limits", [{"turnCalls": 1}, {"turnTokens": 1}])
def test_a_session_without_tokens_is_in_one_turn_when_turns_are_limited(gateway, provider, limits):
    claims = {"sid": "s1", "tenant": "acme", "budget": {"sessionUsd": "1"}, "limits": limits}
    g = gateway(sessions={"required": False, "default": claims})
    assert g.messages().status == 200 and g.spent() == provider.bill > 0
    assert g.messages().get("x-weir-reason") == "turn_limit_reached"
    assert len(provider.requests) == 1


def test_turns_at_once_are_each_held_to_their_own_limits(gateway, provider):
    g = gateway(sessions=keyed(turns="concurrent"))
    one, two = limited(turn="t1", gen=1, turnCalls=3), limited(turn="t2", gen=2, turnCalls=1)
    assert [g.messages(token=token).status for token in (one, two, one, one)] == [200] * 4
    for token in (one, two):
        assert g.messages(token=token).get("x-weir-reason") == "turn_limit_reached"
    g.spent(one)
    assert len(provider.requests) == 4


def test_a_turn_of_its_jti_is_not_held_to_another_tokens_limits(gateway, provider):
    g = gateway(sessions=keyed())
    named = limited(turn="t1", gen=2, turnCalls=1)
    implied = tokens.mint(SECRET, "s1", jti="j1", gen=1, budget={"sessionUsd": "5"}, limits={"turnCalls": 2})
    assert [g.messages(token=token).status for token in (named, implied, implied)] == [200] * 3
    for token in (named, implied):
        assert g.messages(token=token).get("x-weir-reason") == "turn_limit_reached"
    g.spent(named)
    assert len(provider.requests) == 3


def test_keys_for_other_accounts_are_refused(gateway, provider):
    g = gateway()
    body = {"prompt": [{"role": "user", "content": [{"type": "text", "text": "x"}]}], "maxOutputTokens": 5,
            "providerOptions": {"gateway": {"byok": {"anthropic": [{"apiKey": "theirs"}]}}}}
    answer = g.call("/vercel/v4/ai/language-model", body, headers=[("ai-language-model-id", "anthropic/" + SONNET)])
    assert (answer.status, answer.get("x-weir-reason")) == (403, "credential_refused")
    assert b"a key or an address of its own for the provider" in answer.body
    assert provider.requests == []


def test_a_stream_whose_session_ends_is_cut_as_its_family_ends_one(gateway, provider):
    g = gateway(sessions=keyed(), config={"limits": {"stream_grace": "0s"}})
    token = tokens.mint(SECRET, budget={"sessionUsd": "1", "vmSeconds": 4})
    provider.answer = rig_provider.message_stream(pause_after=4)
    with g.open() as client:
        g.send(client, "/anthropic/v1/messages", dict(ASK, stream=True), token)
        answer = client.response("POST")
    provider.go.set()
    assert answer.is_complete and b"two" in answer.body
    assert b'"stop_reason":"max_tokens"' in answer.body and answer.body.endswith(b'{"type":"message_stop"}\n\n')
    record = g.weir.finals(1)[0]
    assert record["close"] == "weir" and record["usd"]["basis"] == "estimate"
    assert 0 < nano(record["usd"]["charged"]) <= nano(record["usd"]["reserved"])


# -- what is written down


def test_the_manual_s_curl_calls_a_model_and_sees_what_is_left(gateway, provider):
    g = gateway(sessions=keyed())
    provider.answer = rig_provider.message_stream(texts=("hello ", "you"))
    script = next(block for block in manual.blocks("weir-gateway.7", "CLIENTS") if block.startswith("$ curl"))
    script = manual.commands(script).replace("weir:8787", "127.0.0.1:%s" % g.door.port)
    script = script.replace("TOKEN", tokens.mint(SECRET, budget={"sessionUsd": "1"}))
    done = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, check=True)
    assert '"text": "you"' in done.stdout and '"sid":"s1"' in done.stdout


# -- in memory

def begin_call(g, size):
    """A call whose body comes, and does not end."""
    client = g.open()
    client.send("POST /anthropic/v1/messages HTTP/1.1\r\nHost: weir\r\nContent-Length: %d\r\n\r\n" % (size + 1) + "x" * size)
    return client


def test_bodies_that_wait_in_memory_have_a_limit(gateway, provider):
    listen = {"gateway": ["127.0.0.1:%d" % free_port()], "health": ["127.0.0.1:%d" % free_port()]}
    g = gateway(config={"listen": listen, "limits": {"client_bodies": "1MiB"}})
    waiting = [begin_call(g, 200 << 10) for _ in range(4)]
    wait_for(lambda: g.weir.metric("weir_bodies_kept_bytes") == 800 << 10, what="bodies in memory")
    refused = begin_call(g, 300 << 10).response()
    assert (refused.status, refused.get("x-weir-reason")) == (503, "overloaded") and refused.get("retry-after")
    assert g.weir.metric("weir_bodies_refused_total") == 1 and g.messages().status == 200, "there is room for small ones"
    for client in waiting:
        client.close()
    wait_for(lambda: g.weir.metric("weir_bodies_kept_bytes") == 0, what="memory that is given back")
    assert g.messages().status == 200
    record = next(r for r in g.weir.finals(7) if r["reason"] == "overloaded")
    assert record["error"] == "limits.client_bodies or limits.bodies is in memory" and len(provider.requests) == 2
