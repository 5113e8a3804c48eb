"""Upload caps hold for a session's life: over restarts and deaths of weir, and over all who share its ledger."""
import signal
import sqlite3

import pytest

from rig import redis as rig_redis
from rig import token as tokens
from rig.weir import START_WAIT, free_port, wait_for
from rules import http, is_refusal
from test_sessions import SECRET, guarded  # noqa: F401 - a fixture
from test_upload import KIB, NAME, post

CAP = [http(NAME, upload="102KiB")]  # heads count, too


def send(proxy, connect, token, kib):
    with connect(proxy) as sock:
        return post(sock, b"b" * (kib * KIB), headers=[("Proxy-Authorization", tokens.basic(token))])


def kept(proxy):
    """Bytes that the store says were sent, to one host by one family."""
    store = sqlite3.connect("file:%s?mode=ro" % proxy.path("state/ledger.db"), uri=True)
    rows = store.execute("SELECT text FROM note WHERE key LIKE 'u%'").fetchall()
    store.close()
    assert len(rows) <= 1
    return int(rows[0][0].split(":")[-1]) if rows else 0


def test_a_restart_gives_no_session_more(guarded, upstream, connect):  # noqa: F811
    proxy, token = guarded(CAP), tokens.mint(SECRET, "s1")
    assert send(proxy, connect, token, 60).status == 200
    proxy.stop()
    proxy.start()
    is_refusal(send(proxy, connect, token, 60), 403, "upload_exhausted")
    assert send(proxy, connect, token, 40).status == 200
    is_refusal(send(proxy, connect, token, 3), 403, "upload_exhausted")
    assert send(proxy, connect, tokens.mint(SECRET, "s2"), 60).status == 200, "others are others"
    assert sum(len(r.body) for r in upstream.requests) == 160 * KIB


def test_nor_does_a_death(guarded, upstream, connect):  # noqa: F811
    proxy, token = guarded(CAP), tokens.mint(SECRET, "s1")
    part = tokens.mint(SECRET, "s1a", par="s1")
    assert send(proxy, connect, token, 30).status == 200 and send(proxy, connect, part, 30).status == 200
    wait_for(lambda: kept(proxy) >= 60 * KIB, what="a store that was told")
    proxy.process.send_signal(signal.SIGKILL)
    proxy.process.wait()
    proxy.start()
    is_refusal(send(proxy, connect, part, 60), 403, "upload_exhausted")
    assert send(proxy, connect, part, 40).status == 200


@pytest.fixture
def both(guarded, tmp_path):  # noqa: F811
    """Two weirs on one Redis."""
    (tmp_path / "redis").mkdir()
    redis = rig_redis.Redis(tmp_path / "redis")
    proxies = [guarded(CAP, config={"ledger": {"url": redis.url}, "listen": {
        "proxy": ["127.0.0.1:%d" % free_port()], "health": ["127.0.0.1:%d" % free_port()]}}, bind="none") for _ in range(2)]
    for proxy in proxies:
        wait_for(lambda: proxy.metric("weir_ledger_up") == 1, START_WAIT, "the ledger")
    yield proxies
    redis.stop_at_once()


def test_two_that_share_a_ledger_let_out_no_more_together_but_what_goes_in_a_second(both, upstream, connect):
    here, there = both
    token, sent = tokens.mint(SECRET, "s1"), [1, 60]
    assert send(there, connect, token, 1).status == 200, "it is known there before"
    assert send(here, connect, token, 60).status == 200

    def is_known():
        if send(there, connect, token, 60).status == 403:
            return True
        sent.append(60)
        return False
    wait_for(is_known, what="the other's bytes")
    is_refusal(send(there, connect, token, 60), 403, "upload_exhausted")
    assert len(sent) <= 3 and sum(len(r.body) for r in upstream.requests) == sum(sent) * KIB
