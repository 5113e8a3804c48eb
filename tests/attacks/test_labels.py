"""Data in the labels of names under an allowed wildcard: each new one would be a question that his name server sees."""
import pytest

from rig import socks
from rig import token as tokens
from rig.weir import free_port
from rules import http, https, tcp
from test_sessions import SECRET, guarded  # noqa: F401 - a fixture

BASE = "wild.test"
LOOT = ["%s%02d" % ("deadbeef" * 6, i) for i in range(30)]
MOST = 5


def asked(dns):
    return {name for name, *_ in dns.asked() if name.endswith(BASE)}


@pytest.fixture
def proxy(guarded):  # noqa: F811
    listen = {"proxy": ["127.0.0.1:%d" % free_port()], "socks5": ["127.0.0.1:%d" % free_port()]}
    one = guarded([http("*." + BASE), https("*." + BASE, 443), tcp("*." + BASE, 22)], bind="none",
                  config={"limits": {"new_names": "%d/h" % MOST}, "listen": listen})
    one.socks = listen["socks5"][0]
    return one


def ways(proxy, connect, token):
    """Each takes a name and asks weir for it."""
    said = "Proxy-Authorization: %s\r\n" % tokens.basic(token)

    def by_socks(name):
        at, proxy.address = proxy.address, proxy.socks
        sock = connect(proxy)
        proxy.address = at
        socks.open_tunnel(sock, name, 22, token)
    return [lambda name: connect(proxy).connect(name + ":443", said), lambda name: connect(proxy).connect(name + ":22", said),
            lambda name: connect(proxy).get("http://%s/" % name, headers=[("Proxy-Authorization", tokens.basic(token))]), by_socks]


def test_so_many_leave_and_no_more_whatever_the_door_and_the_spelling(proxy, connect, dns, upstream):
    tries = ways(proxy, connect, tokens.mint(SECRET, "s1"))
    for i, label in enumerate(LOOT):
        name = ".".join([label, BASE])
        tries[i % len(tries)]((name, name.upper(), name + ".", "a.b." + name)[i // len(tries) % 4])
    assert len(asked(dns)) <= MOST
    for spelt in ("%s.%s" % (LOOT[0].upper(), BASE), "%s.%s." % (LOOT[0], BASE)):  # the same one again is no new one
        tries[0](spelt)
    assert len(asked(dns)) <= MOST


def test_newer_tokens_turns_and_children_are_the_same_session(proxy, connect, dns, upstream):
    made = [tokens.mint(SECRET, "s1", gen=n, turn="t%d" % n, jti="j%d" % n) for n in range(1, 6)]
    made += [tokens.mint(SECRET, "child%d" % n, par="s1") for n in range(5)]
    for i, label in enumerate(LOOT):
        connect(proxy).connect("%s.%s:443" % (label, BASE), "Proxy-Authorization: %s\r\n" % tokens.basic(made[i % len(made)]))
    assert len(asked(dns)) <= MOST


def test_what_no_rule_admits_is_not_asked_for_at_all(proxy, connect, dns, upstream):
    said = "Proxy-Authorization: %s\r\n" % tokens.basic(tokens.mint(SECRET, "s1"))
    for label in LOOT[:10]:
        for name in (label + ".elsewhere.test", label + ".wild.test.elsewhere.test", label + "xwild.test", "wild.test"):
            assert connect(proxy).connect(name + ":443", said).status == 403
        assert connect(proxy).connect("%s.%s:444" % (label, BASE), said).status == 403
    assert dns.asked() == []
