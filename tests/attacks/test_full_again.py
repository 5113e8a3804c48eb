"""He waits for the day on which his row is gone: forgotten, restored from a backup, moved aside.  The token still lives; the money is spent."""
import shutil

import pytest

from rig import provider as rig_provider
from rig import token as tokens
from rig.gateway import SECRET
from test_gateway import keyed
from tries import said

KEPT = {"ledger": {"url": "sqlite:ledger.db"}}


def mint(sid="s1", **more):
    return tokens.mint(SECRET, sid, **dict({"budget": {"sessionUsd": "0.01", "turnUsd": "0.01"}}, **more))


def again(g):
    g.weir.stop()
    g.weir.start()


@pytest.mark.parametrize("words", [["acme"], ["acme", "s1"]])
def test_what_was_forgotten_does_not_come_back_full(gateway, provider, words):
    g = gateway(sessions=keyed(bind="none"), config=KEPT)
    assert g.messages(token=mint()).status == 200
    g.weir.stop()
    assert g.ledger("forget", *words).returncode == 0
    g.weir.start()
    called = len(provider.requests)
    tries = [mint(), mint(gen=2 ** 40), mint(turn="t9", gen=9), mint("child", par="s1"), mint(sub="user-99"), mint(jti="new")]
    for token in tries:
        assert said(g.messages(token=token))[1] in ("session_revoked", "session_invalid", "session_owner_mismatch")
    again(g)
    assert {said(g.messages(token=token))[0] for token in tries} <= {401, 403}
    assert len(provider.requests) == called


def test_a_backup_that_is_put_back_gives_nothing_back(gateway, provider):
    g, token = gateway(sessions=keyed(bind="none"), config=KEPT), mint()
    assert g.messages(token=token).status == 200
    g.weir.stop()
    path = g.weir.path("state/ledger.db")
    shutil.copy(path, path + ".kept")
    g.weir.start()
    assert g.messages(token=token).status == 200
    g.weir.stop()
    shutil.copy(path, path + ".newest")
    shutil.copy(path + ".kept", path)
    g.weir.start()
    called = len(provider.requests)
    for one in (token, mint("another"), mint(gen=2 ** 40)):
        assert said(g.messages(token=one)) == (503, "ledger_rollback")
    assert len(provider.requests) == called
    g.weir.stop()
    shutil.copy(path + ".newest", path)  # for the sums that are looked at in the end
    g.weir.start()


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart_gives_nothing_back(gateway, provider, how):
    g, token = gateway(sessions=keyed(bind="none"), config=KEPT), mint()
    calls, provider.answer = 0, rig_provider.messages(plain=500, output=90)
    while g.messages(token=token).status == 200:
        calls += 1
        if how == "kill":
            g.weir.process.kill()
            g.weir.process.wait()
            g.weir.start()
        else:
            again(g)
        assert calls < 9
    assert calls > 0 and g.spent(token) == provider.bill <= 10 ** 7
    assert g.messages(token=token).status == 402
