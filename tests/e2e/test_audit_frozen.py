"""The audit log and its anchor on a file system that hangs in the kernel: nobody waits for it for ever."""
import json
import pathlib
import signal

import pytest
from rig.clock import Clock
from rig.disk import freezable_disk
from rig.weir import proxy_and_health, wait_for
from rules import http
from test_checkpoints import segments
from test_record import assert_chained, get, lines_of

NAME = "allowed.test"
LONG = 6  # longer than what a write may take
# a thread that hangs in the kernel cannot be stopped, as a sanitizer wants all of them at the end
pytestmark = pytest.mark.plain


@pytest.fixture
def disk(net, tmp_path):
    with freezable_disk(tmp_path / "disk") as one:
        yield one


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path)


def is_ready(proxy):
    return proxy.health("/readyz")[0] == 200


def until_noticed(proxy, clock, thread):
    """Weir has waited for longer than it would: it says that this one cannot be written, and no other."""
    wait_for(lambda: hangs(proxy, thread), what="a thread in the kernel")
    clock.advance(LONG)
    said = "not ready: the audit %s cannot be written\n" % {"weir-audit": "log", "weir-anchor": "anchor"}[thread]
    wait_for(lambda: proxy.health("/readyz") == (503, said), what="a word about what hangs")


def hangs(proxy, name):
    """Its thread of that name is where nothing ends it."""
    threads = pathlib.Path("/proc/%d/task" % proxy.process.pid).iterdir()
    return any(("(%s) D" % name) in (thread / "stat").read_text() for thread in threads)


def is_deaf(proxy):
    try:
        proxy.connect(1).close()
        return False
    except OSError:
        return True


@pytest.fixture
def anchored(weir, disk, clock):
    """The log is elsewhere, and is cut at each record: each time a checkpoint goes to the anchor."""
    proxy = weir([http(NAME)], {"listen": proxy_and_health(), "audit": {
        "anchor": str(disk.path / "anchor"), "segment": "1B"}}, environment=clock.environment)
    wait_for(lambda: lines_of(disk.path / "anchor"), what="the checkpoint of the start")
    return proxy


def test_an_anchor_that_hangs_holds_up_neither_log_nor_traffic_and_gets_all_afterwards(anchored, upstream, connect, disk, clock):
    disk.freeze()
    for _ in range(3):
        assert get(connect(anchored)).status == 200
    until_noticed(anchored, clock, "weir-anchor")
    assert anchored.log().count("err=\"it stands still\"") == 1 and anchored.metric("weir_audit_anchor_errors_total") == 1
    written = anchored.metric("weir_audit_records_total")
    assert get(connect(anchored)).status == 200
    wait_for(lambda: anchored.metric("weir_audit_records_total") > written, what="a log that goes on")
    assert anchored.metric("weir_audit_anchor_waiting") > 0
    anchored.reload()
    wait_for(lambda: anchored.metric("weir_reloads_total") == 1, what="a reload")
    disk.thaw()
    wait_for(lambda: is_ready(anchored) and anchored.metric("weir_audit_anchor_waiting") == 0, what="an anchor that takes again")
    anchored.stop()
    records = [json.loads(line) for line in lines_of(*segments(anchored))]
    assert sum(r["kind"] == "http" for r in records) == 4
    told = [r["head"] for r in records if r.get("event") == "checkpoint"]
    assert [json.loads(line)["head"] for line in lines_of(disk.path / "anchor")] == told


def test_a_stop_does_not_wait_for_an_anchor_that_hangs(anchored, upstream, connect, disk, clock):
    disk.freeze()
    assert get(connect(anchored)).status == 200
    until_noticed(anchored, clock, "weir-anchor")
    anchored.signal(signal.SIGTERM)
    wait_for(lambda: "checkpoints are not in the audit anchor" in anchored.log(), what="an end that is said")
    wait_for(lambda: is_deaf(anchored), what="closed doors")
    disk.thaw()  # until then the kernel keeps what is left of it
    assert anchored.process.wait(10) == 0


def test_a_log_that_hangs_refuses_what_is_new_and_goes_on_when_it_moves(weir, upstream, connect, disk, clock):
    path = disk.path / "audit.jsonl"
    proxy = weir([http(NAME)], {"listen": proxy_and_health(), "audit": {"path": str(path)}}, environment=clock.environment)
    assert get(connect(proxy)).status == 200
    proxy.finals(1)
    disk.freeze()
    assert get(connect(proxy)).status == 200  # as long as it may be a slow disk
    until_noticed(proxy, clock, "weir-audit")
    refused = get(connect(proxy))
    assert (refused.status, refused.get("x-weir-reason")) == (503, "audit_unavailable")
    assert proxy.log().count("audit log stands still") == 1
    proxy.reload()
    wait_for(lambda: proxy.metric("weir_reloads_total") == 1, what="a reload")
    disk.thaw()
    wait_for(lambda: is_ready(proxy), what="a log that moves")
    assert get(connect(proxy)).status == 200
    proxy.stop()
    assert "audit log moves again" in proxy.log()
    lines = lines_of(path)
    assert_chained(lines)
    assert sum(json.loads(line)["kind"] == "http" for line in lines) == 3


def test_a_stop_does_not_wait_for_a_log_that_hangs(weir, upstream, connect, disk, clock):
    proxy = weir([http(NAME)], {"listen": proxy_and_health(), "audit": {"path": str(disk.path / "audit.jsonl")}}, environment=clock.environment)
    assert get(connect(proxy)).status == 200
    proxy.finals(1)
    disk.freeze()
    assert get(connect(proxy)).status == 200
    until_noticed(proxy, clock, "weir-audit")
    proxy.signal(signal.SIGTERM)
    wait_for(lambda: "audit records are lost" in proxy.log() and is_deaf(proxy), what="an end that is said")
    disk.thaw()
    assert proxy.process.wait(10) == 0
    proxy.start()  # and goes on behind what is there
    assert get(connect(proxy)).status == 200
    proxy.stop()
