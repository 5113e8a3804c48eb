"""Upload caps that a reload or a newer token brings, or takes away: what is still open is held by them with all that it has sent, and
what the ledger knows of before is asked only where there is a cap."""
import threading

import pytest

from rig import redis as rig_redis
from rig import token as tokens
from rig.weir import START_WAIT, proxy_and_health, wait_for
from rules import http, is_refusal, tcp
from test_sessions import SECRET, guarded, tunnel  # noqa: F401 - one is a fixture
from test_upload import KIB, NAME, OTHER, by_connect, post
from test_upload import is_cut as is_cut_in_time
from test_upload_kept import kept

pytestmark = pytest.mark.single


def reload_to(proxy, rules, config=None):
    """Until the tunnel that is open was judged again."""
    before = proxy.metric("weir_tunnels_rejudged_total")
    proxy.config.update(config or {})
    proxy.reload([{"policy": "test", "allow": rules}])
    wait_for(lambda: proxy.metric("weir_tunnels_rejudged_total") > before, what="a tunnel that was judged again")


def is_sent(sock, origin, data):
    before = len(origin.bytes())
    sock.send(data)
    return origin.wait(lambda: len(origin.bytes()) == before + len(data))


def is_cut(sock, proxy, reason):
    return sock.read_all() == b"" and sock.is_reset and proxy.finals(1)[0]["reason"] == reason


def test_what_a_tunnel_has_sent_counts_when_a_cap_comes(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port)], {"listen": proxy_and_health()})
    sock = connect(proxy)
    assert by_connect(sock, silent.port) and is_sent(sock, silent, b"s" * 2000)
    reload_to(proxy, [tcp(NAME, silent.port, upload="2010B")])
    assert is_sent(sock, silent, b"t" * 10)
    sock.send(b"!")
    assert is_cut(sock, proxy, "upload_exhausted") and len(silent.bytes()) == 2010


def test_and_counts_once_when_it_goes_and_comes_again(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port, upload="5000B")], {"listen": proxy_and_health()})
    sock = connect(proxy)
    assert by_connect(sock, silent.port) and is_sent(sock, silent, b"s" * 2000)
    reload_to(proxy, [tcp(NAME, silent.port)])
    assert is_sent(sock, silent, b"t" * 4000)
    reload_to(proxy, [tcp(NAME, silent.port)], {"limits": {"upload": "6010B"}})
    assert is_sent(sock, silent, b"u" * 10)
    sock.send(b"!")
    assert is_cut(sock, proxy, "upload_exhausted") and len(silent.bytes()) == 6010


def test_one_that_has_sent_more_ends_at_once(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port)], {"listen": proxy_and_health()})
    sock = connect(proxy)
    assert by_connect(sock, silent.port) and is_sent(sock, silent, b"s" * 2000)
    reload_to(proxy, [tcp(NAME, silent.port, upload="1000B")])
    assert is_cut(sock, proxy, "policy_changed") and len(silent.bytes()) == 2000


# -- sessions, whose counts are kept

def opened(guarded, rules, **config):  # noqa: F811
    return guarded(rules, config=dict({"listen": proxy_and_health(), "workers": 1}, **config), bind="none")


def send(proxy, connect, token, size):
    with connect(proxy) as sock:
        return post(sock, b"b" * size, headers=[("Proxy-Authorization", tokens.basic(token))])


def post_inside(sock, body):
    sock.send(b"POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n" % (NAME.encode(), len(body)) + body)
    return sock.response("POST")


def loads(proxy):
    return proxy.metric("weir_upload_loads_total")


@pytest.fixture
def redis(tmp_path):
    (tmp_path / "redis").mkdir()
    one = rig_redis.Redis(tmp_path / "redis")
    yield one
    one.stop_at_once()


def on_redis(guarded, redis, rules):  # noqa: F811
    proxy = opened(guarded, rules, ledger={"url": redis.url})
    wait_for(lambda: proxy.metric("weir_ledger_up") == 1, START_WAIT, "the ledger")
    return proxy


def test_who_has_no_cap_asks_the_ledger_nothing(guarded, redis, upstream, connect):  # noqa: F811
    proxy = on_redis(guarded, redis, [http(NAME)])

    def ask_it_all():
        for sid in "s1", "s2", "s1":
            assert send(proxy, connect, tokens.mint(SECRET, sid), 9).status == 200
        with connect(proxy) as sock:
            assert tunnel(sock, tokens.mint(SECRET, "s1"), NAME + ":80").status == 200
            assert post_inside(sock, b"b").status == 200
    assert redis.heard(ask_it_all, '"note_add"') == 0
    assert loads(proxy) == 0 and proxy.metric("weir_upload_sessions") == 0

    def ask_with_a_cap():
        assert send(proxy, connect, tokens.mint(SECRET, "s3", limits={"uploadBytes": 9000}), 9).status == 200
    assert redis.heard(ask_with_a_cap, '"note_add"') >= 1, "it is heard when it is asked"
    assert loads(proxy) == 1 and proxy.metric("weir_upload_sessions") == 1


@pytest.mark.parametrize("where", ["rule", "limits", "profile", "token", "parent"])
def test_whoever_may_have_a_cap_asks_once(guarded, upstream, connect, where):  # noqa: F811
    capped = http(NAME, upload="2000B")
    proxy = opened(guarded, [capped if where == "rule" else http(NAME)], **({"limits": {"upload": "2000B"}} if where == "limits" else {}))
    if where == "profile":
        proxy.write_policies([{"policy": "p", "allow": [capped]}, {"policy": "test", "allow": [http(NAME)]}])
        first, second = proxy.config["policies"]
        proxy.config.update({"policies": [second], "profiles": {"ci": {"policies": [first]}}})
        proxy.stop()
        proxy.write_config()
        proxy.start()
    cap = {"limits": {"uploadBytes": 2000}}
    mine = {"token": cap, "parent": {"par": "s0"}, "profile": {"profile": "ci"}}.get(where, {})
    if where == "parent":
        assert send(proxy, connect, tokens.mint(SECRET, "s0", **cap), 9).status == 200
    token = tokens.mint(SECRET, "s1", **mine)
    assert send(proxy, connect, token, 900).status == 200
    is_refusal(send(proxy, connect, token, 1900), 403, "upload_exhausted")
    assert loads(proxy) == 1, "a family has one account"
    if where == "profile":
        assert send(proxy, connect, tokens.mint(SECRET, "s2"), 1900).status == 200 and loads(proxy) == 1


@pytest.fixture
def uncapped(guarded, silent, connect):  # noqa: F811
    """A session that sent 60 KiB under a cap, to a weir that has none now: (proxy, token)."""
    capped = [tcp(NAME, silent.port, upload="102KiB"), http(NAME)]
    proxy, token = opened(guarded, capped), tokens.mint(SECRET, "s1")
    with connect(proxy) as sock:
        assert tunnel(sock, token, "%s:%d" % (NAME, silent.port)).status == 200 and is_sent(sock, silent, b"a" * (60 * KIB))
    proxy.stop()
    assert kept(proxy) == 60 * KIB
    proxy.write_policies([{"policy": "test", "allow": [tcp(NAME, silent.port), http(NAME)]}])
    proxy.write_config()
    proxy.start()
    return proxy, token


def open_one(connect, proxy, token, port):
    sock = connect(proxy)
    assert tunnel(sock, token, "%s:%d" % (NAME, port)).status == 200
    return sock


def test_a_cap_that_comes_holds_a_tunnel_with_what_the_ledger_has(uncapped, silent, connect):
    proxy, token = uncapped
    sock = open_one(connect, proxy, token, silent.port)
    assert is_sent(sock, silent, b"b" * (10 * KIB)) and loads(proxy) == 0
    reload_to(proxy, [tcp(NAME, silent.port, upload="102KiB")])
    assert loads(proxy) == 1
    assert is_cut_in_time(sock)
    assert silent.wait(lambda: all(c.is_ended for c in silent.conns)) and len(silent.bytes()) <= 102 * KIB
    record = proxy.finals(2)[-1]
    assert (record["reason"], record["bytes"]["up"]) == ("upload_exhausted", 42 * KIB)
    with connect(proxy) as late:
        is_refusal(tunnel(late, token, "%s:%d" % (NAME, silent.port)), 403, "upload_exhausted")
    other = open_one(connect, proxy, tokens.mint(SECRET, "s2"), silent.port)
    assert is_sent(other, silent, b"c" * (60 * KIB)), "others are others"
    proxy.stop()
    proxy.start()  # and it outlasts weir
    with connect(proxy) as late:
        is_refusal(tunnel(late, token, "%s:%d" % (NAME, silent.port)), 403, "upload_exhausted")


def test_and_whoever_was_on_his_way_when_it_came(uncapped, dns, silent, upstream, connect):
    """Under the rules of before his session needed no count; under those of now it does."""
    proxy, token = uncapped
    other = open_one(connect, proxy, tokens.mint(SECRET, "s2"), silent.port)
    answer_now, answers = threading.Event(), []
    dns.set({NAME: {"A": ["127.0.0.1"], "hold": answer_now}})
    client = connect(proxy)
    asking = threading.Thread(target=lambda: answers.append(
        post(client, b"b" * (50 * KIB), headers=[("Proxy-Authorization", tokens.basic(token))])))
    asking.start()
    wait_for(lambda: dns.asked(NAME), what="a request that waits for its address")
    reload_to(proxy, [tcp(NAME, silent.port), http(NAME)], {"limits": {"upload": "102KiB"}})
    answer_now.set()
    asking.join()
    is_refusal(answers[0], 403, "upload_exhausted")
    assert not upstream.requests and is_sent(other, silent, b"c" * (60 * KIB))


def test_and_requests_inside_a_tunnel(uncapped, upstream, connect):
    proxy, token = uncapped
    sock = connect(proxy)
    assert tunnel(sock, token, NAME + ":80").status == 200
    assert post_inside(sock, b"b" * KIB).status == 200 and loads(proxy) == 0
    reload_to(proxy, [http(NAME, upload="102KiB")])
    is_refusal(post_inside(sock, b"b" * (50 * KIB)), 403, "upload_exhausted")
    assert loads(proxy) >= 1 and len(upstream.requests) == 1


def use_elsewhere(proxy, connect, token):
    with connect(proxy) as sock:
        assert post(sock, b"", "http://%s/" % OTHER, [("Proxy-Authorization", tokens.basic(token))]).status == 200


def newer_token(proxy, connect, sid, cap):
    """Until the one tunnel of its family was judged by it."""
    before = proxy.metric("weir_tunnels_rejudged_total")
    use_elsewhere(proxy, connect, tokens.mint(SECRET, sid, gen=2, limits={"uploadBytes": cap}))
    assert wait_for(lambda: proxy.metric("weir_tunnels_rejudged_total") - before, what="a tunnel that was judged again") == 1


@pytest.mark.parametrize("sid, par", [("s1", {}), ("s1a", {"par": "s1"})])
def test_a_cap_that_a_newer_token_brings_holds_what_is_open(guarded, silent, upstream, connect, sid, par):  # noqa: F811
    proxy = opened(guarded, [tcp(NAME, silent.port), http(OTHER)])
    others = open_one(connect, proxy, tokens.mint(SECRET, "s2", gen=1), silent.port)
    use_elsewhere(proxy, connect, tokens.mint(SECRET, "s1", gen=1))
    sock = open_one(connect, proxy, tokens.mint(SECRET, sid, gen=1, **par), silent.port)
    assert is_sent(sock, silent, b"s" * 2000)
    newer_token(proxy, connect, "s1", 2010)
    assert loads(proxy) == 1 and is_sent(sock, silent, b"t" * 10)
    sock.send(b"!")
    assert sock.read_all() == b"" and sock.is_reset and len(silent.bytes()) == 2010
    assert "upload_exhausted" in [r["reason"] for r in proxy.finals(3)]
    assert is_sent(others, silent, b"u" * 2000), "others are others"


def test_and_one_that_lets_it_send_more_does(guarded, silent, upstream, connect):  # noqa: F811
    proxy = opened(guarded, [tcp(NAME, silent.port), http(OTHER)])
    sock = open_one(connect, proxy, tokens.mint(SECRET, "s1", gen=1, limits={"uploadBytes": 2000}), silent.port)
    assert is_sent(sock, silent, b"s" * 2000)
    newer_token(proxy, connect, "s1", 4000)
    assert is_sent(sock, silent, b"t" * 2000)


def open_without_ledger(guarded, redis, silent, connect):  # noqa: F811
    """A tunnel that has sent 100 bytes, and a ledger that is away since."""
    proxy = on_redis(guarded, redis, [tcp(NAME, silent.port)])
    sock = open_one(connect, proxy, tokens.mint(SECRET, "s1"), silent.port)
    assert is_sent(sock, silent, b"a" * 100)
    redis.stop_at_once()
    wait_for(lambda: proxy.metric("weir_ledger_up") == 0, what="a ledger that is away")
    return proxy, sock


def test_where_the_ledger_cannot_say_what_is_open_ends(guarded, redis, silent, connect):  # noqa: F811
    proxy, sock = open_without_ledger(guarded, redis, silent, connect)
    assert is_sent(sock, silent, b"b" * 100), "without a cap it goes on"
    proxy.reload([{"policy": "test", "allow": [tcp(NAME, silent.port, upload="1000B")]}])
    assert is_cut(sock, proxy, "ledger_unavailable") and len(silent.bytes()) == 200


def test_a_rule_that_goes_waits_for_no_count(guarded, redis, silent, connect):  # noqa: F811
    proxy, sock = open_without_ledger(guarded, redis, silent, connect)
    proxy.config["limits"] = {"upload": "1000B"}
    proxy.reload([{"policy": "test", "allow": [http("other.test")]}])
    assert is_cut(sock, proxy, "policy_changed")
