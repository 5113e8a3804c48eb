"""An older token, kept for later: it was worth more, or its turn is over, or its time is."""
import time

import pytest

from rig import token as tokens
from rig.gateway import SECRET
from test_gateway import keyed
from tries import said

REASONS = {"turn_ended", "session_expired", "session_invalid", "turn_budget_exhausted", "session_budget_exhausted", "turn_limit_reached"}


def mint(turn, gen, usd="1", **more):
    return tokens.mint(SECRET, turn=turn, gen=gen, **dict({"budget": {"turnUsd": usd, "sessionUsd": "5"}}, **more))


def again(g):
    g.weir.stop()
    g.weir.start()


@pytest.mark.parametrize("restarts", [False, True])
def test_the_leftovers_of_turns_that_are_over_are_gone(gateway, provider, restarts):
    g = gateway(sessions=keyed(bind="none"))
    turns = [mint("t%d" % i, i) for i in range(1, 6)]
    for token in turns:
        assert g.messages(token=token).status == 200
    if restarts:
        again(g)
    called = len(provider.requests)
    assert {said(g.messages(token=token)) for token in turns[:-1]} == {(401, "turn_ended")}
    # minted anew by somebody careless: the turn is no newer for that
    assert said(g.messages(token=mint("t1", 4))) == (401, "turn_ended")
    assert said(g.messages(token=mint("t9", 5))) == (401, "turn_ended")  # no larger gen, no new turn
    assert len(provider.requests) == called and g.messages(token=turns[-1]).status == 200


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("rich,poor", [
    ({"budget": {"sessionUsd": "5"}}, {"budget": {"sessionUsd": "0.0000001"}}),
    ({"turn": "t1", "budget": {"turnUsd": "5", "sessionUsd": "9"}}, {"turn": "t1", "budget": {"turnUsd": "0.0000001", "sessionUsd": "9"}}),
    ({"turn": "t1", "limits": {"turnCalls": 50}}, {"turn": "t1", "limits": {"turnCalls": 1}}),
    ({"limits": {"sessionTokens": 1000000}}, {"limits": {"sessionTokens": 1}}),
    ({"turn": "t1", "limits": {"turnTokens": 1000000}}, {"turn": "t1", "limits": {"turnTokens": 1}})])
def test_an_older_and_richer_token_is_worth_what_the_newest_is(gateway, provider, rich, poor, restarts):
    g = gateway(sessions=keyed(bind="none"))
    spend = {"budget": {"sessionUsd": "9"}}
    old, new = tokens.mint(SECRET, gen=1, **dict(spend, **rich)), tokens.mint(SECRET, gen=2, **dict(spend, **poor))
    assert g.messages(token=old).status == 200
    g.messages(token=new)
    called = len(provider.requests)
    if restarts:
        again(g)
    for token in (old, new, old, tokens.mint(SECRET, gen=2, **dict(spend, **rich))):  # and the same gen, with more in it
        assert said(g.messages(token=token))[1] in REASONS
    assert len(provider.requests) == called


def test_a_token_whose_time_is_over_is_nothing(gateway, provider):
    g, now = gateway(sessions=keyed()), int(time.time())
    for claims in ({"exp": now - 31}, {"exp": 0}, {"exp": -1}, {"exp": now + 48 * 3600}, {"exp": "never"}, {"exp": None}, {"exp": 1e300},
                   {"nbf": now + 600}, {"iat": now + 600}, {"exp": [now + 60]}, {"gen": -1}, {"gen": 1.5}, {"gen": 2 ** 63}, {"gen": "9"}):
        assert said(g.messages(token=tokens.mint(SECRET, budget={"sessionUsd": "1"}, **claims)))[1] in ("session_invalid", "session_expired"), claims
    assert provider.requests == []
