"""Sub-agents: what they spend and may do is their ancestors', whether this weir has seen those or not."""
import subprocess

import pytest

from rig import token as tokens
from rig import weir as rig_weir
from rig.gateway import SECRET, SONNET
from rig.weir import free_port
from rules import http, is_refusal, until_refused
from test_gateway import keyed, redis  # noqa: F401 - a fixture
from test_sessions import SECRET as OTHER_SECRET
from test_sessions import ask, guarded  # noqa: F401 - fixtures

NAME, OTHER = "allowed.test", "other.test"


def family(depth, **of_the_first):
    """Tokens from the oldest to the youngest, each the parent of the next."""
    made = [tokens.mint(SECRET, "a0", budget={"sessionUsd": "1"}, **of_the_first)]
    for i in range(1, depth):
        made.append(tokens.mint(SECRET, "a%d" % i, par="a%d" % (i - 1), budget={"sessionUsd": "1"}))
    return made


def begin_again(g):
    g.weir.stop()
    g.weir.start()


def mint_here(sid, **more):
    return tokens.mint(OTHER_SECRET, sid, **more)


def newer(sid, gen, **more):
    return tokens.mint(SECRET, sid, gen=gen, **more)


def inside(tunnel):
    tunnel.send("GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME)
    return tunnel.response()


def introduce(g, *line):
    """Each is seen, so that the store knows it."""
    for token in line:
        g.purse(token)


# -- money


def test_every_ancestor_pays_though_this_weir_has_seen_none_of_them(gateway, provider):
    g = gateway(sessions=keyed(bind="none"))
    line = family(9)
    introduce(g, *line)
    begin_again(g)
    assert g.messages(token=line[-1]).status == 200
    assert [g.spent(token) for token in line] == [provider.bill] * 9 and provider.bill > 0


def test_every_pool_holds_for_the_deepest_line_there_can_be(gateway, provider):
    """Turn, session, eight ancestors, the tenant's, the public's, and all of it: none is left out."""
    pools = {"public": {"usd": "5"}, "tenants": {"*": {"usd": "5"}}, "total": {"usd": "0.0000001"}}
    g = gateway(sessions=keyed(bind="none", public="allow"), config={"budget": pools})
    line = family(8)
    youngest = tokens.mint(SECRET, "a8", par="a7", turn="t1", public=True,
                           budget={"turnUsd": "1", "sessionUsd": "1", "vmSeconds": 600})
    introduce(g, *line, youngest)
    answer = g.messages(token=youngest)
    assert (answer.status, answer.get("x-weir-reason")) == (402, "tenant_budget_exhausted")
    assert provider.requests == []


@pytest.mark.parametrize("again", [False, True])
def test_an_ancestors_ceiling_is_the_childs(gateway, provider, again):
    g = gateway(sessions=keyed(bind="none"))
    line = [newer("top", 1, budget={"sessionUsd": "0.0000001"}), tokens.mint(SECRET, "mid", par="top"),
            tokens.mint(SECRET, "low", par="mid", budget={"sessionUsd": "1"})]
    introduce(g, *line)
    if again:
        begin_again(g)
    answer = g.messages(token=line[-1])
    assert answer.status == 402 and answer.get("x-should-retry") == "false" and provider.requests == []


def test_two_weirs_on_one_redis_charge_one_line(redis, gateway, provider):
    first, second = (gateway(sessions=keyed(bind="none"), config={"ledger": {"url": redis}}) for _ in range(2))
    line = family(3)
    for token in line:
        rig_weir.wait_for(lambda: first.call("/weir/v1/session", token=token, method="GET").status == 200,
                          what="a connection to redis")
    rig_weir.wait_for(lambda: second.messages(token=line[-1]).status == 200, what="a connection to redis")
    assert [second.spent(token) for token in line] == [first.spent(token) for token in line] == [provider.bill] * 3


# -- what they may


@pytest.mark.parametrize("again", [False, True])
def test_models_and_tools_are_the_ancestors_too(gateway, provider, again):
    g = gateway(sessions=keyed(bind="none"))
    search = {"type": "web_search_20250305", "name": "web_search"}
    top = tokens.mint(SECRET, "top", models=["claude-haiku-*"], budget={"sessionUsd": "1"})
    child = tokens.mint(SECRET, "child", par="top", hostedTools=True, budget={"sessionUsd": "1"})
    introduce(g, top, child)
    if again:
        begin_again(g)
    assert g.messages(token=child).get("x-weir-reason") == "model_not_allowed"
    answer = g.messages(token=child, model="claude-haiku-5-5", tools=[search])
    assert answer.status == 200 and answer.get("x-weir-stripped") == "web_search"
    assert "tools" not in provider.bodies[0] or provider.bodies[0]["tools"] == []


def test_a_poorer_token_of_an_ancestor_holds_at_once_on_kept_connections(gateway, provider):
    g = gateway(sessions=keyed(bind="none"))
    rich, child = newer("top", 1, budget={"sessionUsd": "1"}), tokens.mint(SECRET, "child", par="top", budget={"sessionUsd": "1"})
    poor = newer("top", 2, models=["claude-haiku-*"], limits={"sessionTokens": 0}, budget={"sessionUsd": "1"})
    introduce(g, rich)
    with g.open() as kept:
        def call(model):
            g.send(kept, "/anthropic/v1/messages", {"model": model, "max_tokens": 9, "messages": []}, child)
            return kept.response("POST")
        assert call(SONNET).status == 200
        g.purse(poor)
        assert call(SONNET).get("x-weir-reason") == "model_not_allowed"
        assert call("claude-haiku-5-5").get("x-weir-reason") == "turn_limit_reached"
        g.purse(rich)  # older: nothing comes back
        assert call(SONNET).get("x-weir-reason") == "model_not_allowed"
    assert len(provider.requests) == 1


def test_a_narrower_network_of_an_ancestor_holds_at_once_on_kept_connections(guarded, upstream, connect):
    proxy = guarded([http(NAME), http(OTHER)], bind="none")
    kept = connect(proxy)
    child = mint_here("child", par="top")
    assert ask(connect(proxy), mint_here("top", gen=1)).status == 200
    assert [ask(kept, child, "http://%s/" % name).status for name in (NAME, OTHER)] == [200, 200]
    assert ask(connect(proxy), mint_here("top", gen=2, network={"allow": [NAME]})).status == 200
    assert ask(kept, child).status == 200
    is_refusal(ask(kept, child, "http://other.test/"), 403, "host_not_allowed")


def test_a_narrower_network_of_an_ancestor_holds_inside_open_tunnels(guarded, upstream, connect):
    proxy = guarded([http(NAME), http(OTHER)], bind="none")
    tunnel = connect(proxy)
    child = mint_here("child", par="top")
    assert ask(connect(proxy), mint_here("top", gen=1)).status == 200
    assert tunnel.connect("allowed.test:80", "Proxy-Authorization: %s\r\n" % tokens.basic(child)).status == 200
    assert inside(tunnel).status == 200
    assert ask(connect(proxy), mint_here("top", gen=2, network={"allow": [OTHER]}), "http://other.test/").status == 200
    is_refusal(inside(tunnel), 403, "host_not_allowed")


@pytest.mark.parametrize("again", [False, True])
def test_an_ancestors_network_and_limits_hold_after_a_restart(guarded, upstream, connect, again):
    proxy = guarded([http(NAME), http(OTHER)], bind="none")
    child = mint_here("child", par="top")
    assert ask(connect(proxy), mint_here("top", network={"allow": [NAME]}, limits={"requestsPerMinute": 3})).status == 200
    if again:
        proxy.stop()
        proxy.start()
    client = connect(proxy)
    is_refusal(ask(client, child, "http://other.test/"), 403, "host_not_allowed")
    assert ask(client, child).status == 200
    said = [ask(client, child).get("x-weir-reason") for _ in range(2)]
    assert said[-1] == "rate_limited"


def test_an_ancestors_time_does_not_begin_anew_with_a_restart(guarded, upstream, connect):
    """Its child is seen first: that must not be its first use."""
    proxy = guarded(bind="none")
    top, child = mint_here("top", budget={"vmSeconds": 4}), mint_here("child", par="top")
    assert ask(connect(proxy), top).status == 200
    assert ask(connect(proxy), child).status == 200
    until_refused(lambda: ask(connect(proxy), top), 403, "session_time_exhausted")
    proxy.stop()
    proxy.start()
    is_refusal(ask(connect(proxy), child), 403, "session_time_exhausted")
    is_refusal(ask(connect(proxy), top), 403, "session_time_exhausted")


def test_an_older_and_richer_token_is_worth_no_more_after_a_restart(gateway, provider):
    g = gateway(sessions=keyed(bind="none"))
    budget = {"sessionUsd": "1"}
    old = newer("s1", 1, turn="t1", limits={"turnCalls": 9}, budget=budget)
    new = newer("s1", 2, turn="t1", limits={"turnCalls": 1}, budget=budget)
    assert g.messages(token=old).status == 200
    g.purse(new)
    assert g.messages(token=old).get("x-weir-reason") == "turn_limit_reached"
    begin_again(g)
    assert g.messages(token=old).get("x-weir-reason") == "turn_limit_reached"
    assert len(provider.requests) == 1


@pytest.mark.parametrize("limits", [{"turnCalls": 0}, {"turnTokens": 0}, {"sessionTokens": 0}])
def test_a_limit_of_nothing_is_a_limit(gateway, provider, limits):
    g = gateway(sessions=keyed())
    token = tokens.mint(SECRET, turn="t1", limits=limits, budget={"sessionUsd": "1"})
    assert g.messages(token=token).get("x-weir-reason") == "turn_limit_reached"
    assert provider.requests == []


# -- who may not be one


@pytest.mark.parametrize("again", [False, True])
def test_unknown_foreign_and_circling_ancestors_and_too_many_are_none(gateway, provider, again):
    g = gateway(sessions=keyed(bind="none"))
    line = family(9)
    introduce(g, *line)
    if again:
        begin_again(g)
    bad = [tokens.mint(SECRET, "n1", par="nobody"),
           tokens.mint(SECRET, "n2", par="a0", sub="somebody-else"),  # its owner's only
           tokens.mint(SECRET, "n3", par="a0", tenant="other"),
           tokens.mint(SECRET, "n4", par="n4"),
           tokens.mint(SECRET, "a0", par="a8"),  # a circle: it had no parent
           tokens.mint(SECRET, "a3", par="a1"),  # another parent than before
           tokens.mint(SECRET, "a3"),
           tokens.mint(SECRET, "a9", par="a8")]  # nine above it
    for token in bad:
        answer = g.messages(token=token)
        assert (answer.status, answer.get("x-weir-reason")) == (401, "session_invalid")
    assert provider.requests == []


@pytest.mark.parametrize("again", [False, True])
def test_a_revoked_ancestor_ends_its_whole_line(gateway, provider, again, tmp_path):
    g = gateway(sessions=keyed(bind="none"), config={
        "listen": {"proxy": ["127.0.0.1:%d" % free_port()], "gateway": ["127.0.0.1:%d" % free_port()],
                   "admin": ["unix:%s" % (tmp_path / "admin.sock")]}})
    line = family(3)
    introduce(g, *line)
    done = subprocess.run([rig_weir.binary(), "ctl", "-s", str(tmp_path / "admin.sock"), "revoke", "acme", "a0"],
                                   capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if again:
        begin_again(g)
    for token in line:
        assert g.messages(token=token).get("x-weir-reason") == "session_revoked"
    assert provider.requests == []


