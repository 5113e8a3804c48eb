"""One provider key for all: he eats its rate, or that of its free counter.  What his token allows is all that he gets of it."""
import threading

from rig import provider as rig_provider
from rig import token as tokens
from rig.gateway import ASK, SECRET
from test_gateway import keyed
from tries import said

RATE, AT_ONCE = 6, 2
COUNTS = ["/anthropic/v1/messages/count_tokens", "/openai/v1/responses/input_tokens"]


def mint(sid, **limits):
    return tokens.mint(SECRET, sid, budget={"sessionUsd": "5"}, limits=limits)


def test_calls_and_counts_together_are_no_more_than_his_rate(gateway, provider):
    g = gateway(sessions=keyed(bind="none"))
    provider.answer = rig_provider.counting(rig_provider.messages(), 3)
    greedy, answers = mint("greedy", requestsPerMinute=RATE), []
    for i in range(30):
        path = (COUNTS + ["/anthropic/v1/messages"])[i % 3]
        answers.append(said(g.call(path, dict(ASK) if "anthropic" in path else {"model": "gpt-6.1-terra", "input": "x"}, greedy)))
    assert len(provider.requests) <= RATE and answers[-1] == (429, "rate_limited")
    assert said(g.messages(token=tokens.mint(SECRET, "greedy", turn="t2", gen=2 ** 40, budget={"sessionUsd": "5"}, limits={"requestsPerMinute": RATE})))[0] == 429
    before = len(provider.requests)
    assert g.messages(token=mint("modest")).status == 200 and len(provider.requests) == before + 1


def test_so_many_at_a_time_and_the_next_ones_are_told_to_wait(gateway, provider):
    g = gateway(sessions=keyed(bind="none"))
    go = threading.Event()
    slow = rig_provider.messages()
    provider.answer = lambda p, conn, request, body: (go.wait(30), slow(p, conn, request, body))[1]
    greedy = mint("greedy", concurrency=AT_ONCE)
    held = [g.open() for _ in range(AT_ONCE)]
    for client in held:
        g.send(client, "/anthropic/v1/messages", ASK, greedy)
    assert provider.wait(lambda: len(provider.requests) == AT_ONCE)
    for token in (greedy, tokens.mint(SECRET, "child", par="greedy", budget={"sessionUsd": "5"})):
        answer = g.messages(token=token)
        assert said(answer) == (429, "concurrency_limited") and answer.get("retry-after")
    go.set()
    assert g.messages(token=mint("modest")).status == 200
    for client in held:
        assert client.response("POST").status == 200
        client.close()


def test_a_429_of_the_providers_is_his_who_caused_it(gateway, provider):
    """It is passed on as it is, costs nothing, and weir asks no second time on anybody's behalf."""
    g = gateway(sessions=keyed(bind="none"))
    provider.answer = rig_provider.refused(429, {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}, ["retry-after: 7"])
    answer = g.messages(token=mint("greedy"))
    assert answer.status == 429 and answer.get("retry-after") == "7" and len(provider.requests) == 1
    provider.answer = rig_provider.messages()
    assert g.messages(token=mint("modest")).status == 200 and g.spent(mint("greedy")) == 0
