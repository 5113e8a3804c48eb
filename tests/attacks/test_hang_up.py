"""He starts calls that reason out of sight and goes away in every way a client can: nobody saw a token, the provider bills them all.

The clock is the test's own; the provider bills until it sees the connection end.
"""
import pytest

from rig.gateway import nano
from rig.weir import START_WAIT, wait_for
from test_hangup import FAMILIES, Thinker, ask_all, calls, clock, timed  # noqa: F401 - fixtures

EACH = 4  # calls of each way
LATEST, OVER = 180, 4000  # seconds; what is not heard of again is over by then
WAYS = {"a reset": lambda client: client.reset(), "an end": lambda client: client.close(),
        "half an end": lambda client: client.finish(),
        "another request behind it": lambda client: (client.send(b"GET / HTTP/1.1\r\nHost: weir\r\n\r\n"), client.reset())}


@pytest.mark.parametrize("name", ["messages", "responses, streamed", "gemini, streamed"])
def test_sixteen_at_once_cost_what_they_cost(timed, provider, clock, name):  # noqa: F811
    """A reset ends the call.  An end may be half of one, and what comes behind a request has to wait: the provider goes on, and is paid."""
    g, provider.answer = timed(), Thinker(clock)
    names, resets = [name] * EACH * len(WAYS), 0
    clients = ask_all(g, provider, names)
    for i, (client, way) in enumerate(zip(clients, list(WAYS.items()) * EACH)):
        clock.advance_to(LATEST * (i + 1) / len(names))
        way[1](client)
        resets += way[0] == "a reset"
        assert provider.wait(lambda: len(provider.billed) >= resets, START_WAIT), "the call goes on"
    clock.advance_to(OVER)
    wait_for(lambda: g.purse() and len(calls(g)) == len(names), START_WAIT, "the records")
    assert provider.wait(lambda: len(provider.billed) == len(names), START_WAIT)
    charged = sum(nano(r["usd"]["charged"]) for r in calls(g))
    assert g.spent() == charged >= provider.bill > 0
    assert all(r["usd"]["basis"] == "estimate" for r in calls(g))
