"""A flood of allowed requests, until the audit log has no room: he is stopped by it, and nobody else."""
import json
import os
import subprocess
import threading

import pytest

from rig import token as tokens
from rig.disk import small_disk
from rig.weir import binary, proxy_and_health, wait_for
from rules import http
from test_record import lines_of
from test_sessions import NAME, SECRET, Through, guarded  # noqa: F401 - fixtures

PATH = "http://%s/%s" % (NAME, "x" * 1900)
REFUSED_ENOUGH = 40
CHILDREN = 3


@pytest.fixture
def disk(net, tmp_path):
    """Half of it is the reserve, a quarter of that the rest that nobody gets; it is nearly half full."""
    with small_disk(tmp_path / "disk", "16m") as path:
        (path / "junk").write_bytes(bytes(15 << 19))
        yield path


class Flood:
    """Requests without end, one after the other on each connection, as whoever each one is."""

    def __init__(self, connect, proxy, whos):
        self.passed, self.refused, self.reasons = 0, 0, set()
        self.lock, self.is_over = threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self._ask, args=(connect(proxy), who), daemon=True) for who in whos]
        for thread in self.threads:
            thread.start()

    def _ask(self, connection, headers):
        while not self.is_over.is_set():
            answer = connection.get(PATH, headers=headers)
            with self.lock:
                self.passed += answer.status == 200
                self.refused += answer.status != 200
                self.reasons.add(answer.get("x-weir-reason"))

    def is_refused(self):
        return self.refused >= REFUSED_ENOUGH

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


def as_session(sid, **more):
    return [("Proxy-Authorization", tokens.basic(tokens.mint(SECRET, sid, **more)))]


def audit(disk):
    return {"audit": {"path": str(disk / "audit.jsonl")}, "listen": proxy_and_health()}


def verify(proxy):
    done = subprocess.run([binary(), "audit", "verify", proxy.config["audit"]["path"]], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def on_record(disk):
    return [json.loads(line) for line in lines_of(disk / "audit.jsonl")]


def assert_flood_is_stopped_and_nobody_else(proxy, flood, others):
    """others: (name, ask()); each is asked all the time, and always answered."""
    asked = 0

    def is_stopped():
        nonlocal asked
        for name, ask in others:
            answer = ask()
            assert answer.status == 200, (name, answer, flood.passed)
            asked += 1
        return flood.is_refused()
    wait_for(is_stopped, what="an end of the flood")
    assert flood.reasons == {None, "audit_unavailable"}
    assert proxy.health("/readyz")[0] == 200, "who writes little goes on"
    return asked


def assert_open_again(proxy, disk, ask):
    os.unlink(disk / "junk")
    wait_for(lambda: ask().status == 200, what="room for everybody")
    proxy.stop()
    verify(proxy)


def test_a_session_that_fills_the_disk_is_refused_and_no_other(guarded, upstream, connect, disk):  # noqa: F811
    """Its sub-agents write on its account; the others are of its tenant."""
    proxy = guarded([http(NAME)], config=audit(disk))
    his = as_session("flood")
    assert connect(proxy).get(PATH, headers=his).status == 200  # its children know it then
    normal, quiet = connect(proxy), connect(proxy)
    flood = Flood(connect, proxy, [his, *[as_session("child%d" % i, par="flood") for i in range(CHILDREN)]])
    asked = assert_flood_is_stopped_and_nobody_else(proxy, flood, [
        ("normal", lambda: normal.get("http://%s/" % NAME, headers=as_session("normal"))),
        ("quiet", lambda: quiet.get("http://%s/" % NAME, headers=as_session("quiet")))])
    children = ["child%d" % i for i in range(CHILDREN)] + ["newborn"]
    for sid in children:
        child = connect(proxy).get(PATH, headers=as_session(sid, par="flood"))
        assert child.get("x-weir-reason") == "audit_unavailable", sid
    newcomer = connect(proxy).get(PATH, headers=as_session("newcomer"))
    assert newcomer.status == 200
    flood.end()
    refused = flood.refused + len(children)
    assert proxy.metric("weir_audit_crowded_total") == refused
    assert_open_again(proxy, disk, lambda: connect(proxy).get(PATH, headers=his))
    records = on_record(disk)
    sids = [r["session"]["sid"] for r in records if r["kind"] == "http" and r.get("status") == 200]
    assert sids.count("normal") + sids.count("quiet") == asked and sids.count("newcomer") == 1
    assert len(sids) == asked + 1 + flood.passed + 2
    sums = [r for r in records if r.get("event") == "sum"]
    assert {r["reason"] for r in sums} == {"audit_unavailable"} and sum(int(r["count"]) for r in sums) >= refused
    assert {r["sid"] for r in sums} == {"flood", *children}
    assert [r["state"] for r in records if r.get("event") == "room"] == ["low", "enough"]


def test_sessions_of_one_tenant_by_the_dozen_take_nothing_from_another(guarded, upstream, connect, disk):  # noqa: F811
    proxy = guarded([http(NAME)], config=audit(disk))
    normal = connect(proxy)
    flood = Flood(connect, proxy, [as_session("flood%d" % i, tenant="flood") for i in range(12)])
    assert_flood_is_stopped_and_nobody_else(proxy, flood, [
        ("normal", lambda: normal.get(PATH, headers=as_session("normal")))])
    flood.end()
    assert_open_again(proxy, disk, lambda: connect(proxy).get(PATH, headers=as_session("flood0", tenant="flood")))


def test_a_client_without_a_session_that_fills_the_disk_is_refused_and_no_other(weir, upstream, connect, disk, tmp_path):
    config = audit(disk)
    config["listen"] = dict(config["listen"], proxy=["unix:%s/his" % tmp_path, "unix:%s/other" % tmp_path])
    proxy = weir([http(NAME)], config)
    his, normal = Through(proxy, 0), connect(Through(proxy, 1))
    flood = Flood(connect, his, [()] * 3)
    assert_flood_is_stopped_and_nobody_else(proxy, flood, [("normal", lambda: normal.get("http://%s/" % NAME))])
    flood.end()
    assert_open_again(proxy, disk, lambda: connect(his).get(PATH))
    sums = [r for r in on_record(disk) if r.get("event") == "sum"]
    assert {r["client"] for r in sums} == {"unix:%s/his" % tmp_path}


def test_heads_that_are_cut_short_fill_no_disk(guarded, upstream, connect, disk):  # noqa: F811
    """By nobody in particular, who cannot be refused by name: they have no more than their part, too."""
    proxy = guarded([http(NAME)], config=dict(audit(disk), limits={"refusals": 0}))
    normal = connect(proxy)

    def is_stopped():
        for _ in range(20):
            with connect(proxy) as sock:
                sock.send("GET http://%s/ HTTP/1.1\r\n" % NAME)
        assert normal.get("http://%s/" % NAME, headers=as_session("normal")).status == 200
        assert proxy.health("/readyz")[0] == 200
        return proxy.metric("weir_audit_summed_total") > 1000
    wait_for(is_stopped, what="heads that have no record of their own")
    proxy.stop()
    verify(proxy)
    records = on_record(disk)
    assert [r["state"] for r in records if r.get("event") == "room"] == ["low"], "room is left for others"
    assert {r["reason"] for r in records if r.get("event") == "sum"} == {"client_aborted"}
