"""Public sessions by the hundred: what strangers spend comes out of the pool for strangers, and not one nano-dollar more."""
import threading

import pytest

from rig import provider as rig_provider
from rig import token as tokens
from rig.gateway import SECRET, nano
from rig.weir import NotStarted
from test_gateway import keyed
from tries import said

MANY = 60
POOL = "0.05"


def public(sid, **more):
    return tokens.mint(SECRET, sid, **dict({"public": True, "budget": {"sessionUsd": "1", "vmSeconds": 600}}, **more))


def pools(**more):
    return {"budget": dict({"public": {"usd": POOL, "per": "day"}}, **more)}


def test_they_share_a_pool_and_leave_the_tenant_its_month(gateway, provider):
    g = gateway(sessions=keyed(bind="none", public="allow"), config=pools(tenants={"acme": {"usd": "5", "per": "month"}}))
    provider.answer = rig_provider.messages(plain=400, output=90)
    answers = []

    def stranger(i):
        answers.append(said(g.messages(token=public("stranger-%d" % i))))
    threads = [threading.Thread(target=stranger, args=(i,)) for i in range(MANY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {status for status, _ in answers} == {200, 402} and len(answers) == MANY
    assert 0 < provider.bill <= nano(POOL)
    assert {reason for status, reason in answers if status == 402} <= {"tenant_budget_exhausted", "budget_insufficient_for_request"}
    before = provider.bill
    assert g.messages(token=tokens.mint(SECRET, "one-of-us", budget={"sessionUsd": "1"})).status == 200
    assert provider.bill > before


ENDLESS = [
    {"sessionUsd": "1"}, {"vmSeconds": 600}, {}, {"sessionUsd": None, "vmSeconds": 600}, {"sessionUsd": "Infinity", "vmSeconds": 600},
    {"sessionUsd": 1e309, "vmSeconds": 600}, {"sessionUsd": "", "vmSeconds": 600}, {"sessionUsd": "-1", "vmSeconds": 600},
    {"sessionUsd": "1", "vmSeconds": 1e309}, {"sessionUsd": "1", "vmSeconds": None}, {"sessionUsd": "1", "vmSeconds": -1},
    {"sessionUsd": "1e3", "vmSeconds": 600}, {"sessionUsd": [1], "vmSeconds": 600}]


def test_one_that_has_no_end_is_none(gateway, provider):
    g = gateway(sessions=keyed(bind="none", public="allow"), config=pools())
    for budget in ENDLESS:
        assert said(g.messages(token=public("s1", budget=budget)))[1] == "session_invalid", budget
    assert provider.requests == []


@pytest.mark.parametrize("value", [False, None, "true", 1])
def test_it_does_not_become_an_ordinary_one_by_another_word(gateway, provider, value):
    """A session that was public pays from the pool for as long as it lives: what it says later is another session's word."""
    g = gateway(sessions=keyed(bind="none", public="allow"), config=pools(public={"usd": "0.0000001", "per": "day"}))
    assert said(g.messages(token=public("s1")))[0] == 402
    if value in ("true", 1):
        assert said(g.messages(token=public("s1", public=value)))[1] == "session_invalid"
    assert provider.requests == []


def test_where_nobody_said_what_strangers_may_spend_there_are_none(gateway, provider):
    g = gateway(sessions=keyed(bind="none"))
    assert said(g.messages(token=public("s1")))[1] == "session_invalid"
    assert provider.requests == []


def test_and_to_let_them_in_without_saying_it_is_no_configuration(gateway, provider):
    with pytest.raises(NotStarted, match="budget.public"):
        gateway(sessions=keyed(bind="none", public="allow"))
