"""The audit log as a dependency (doc/FAILURES.md): what is new is refused, what is open goes on, nothing is lost."""
import json
import os
import resource
import shutil
import subprocess
import threading

import pytest
from rig.clock import Clock
from rig.disk import fill, small_disk
from rig.weir import proxy_and_health, wait_for
from rules import http, tcp
from test_record import assert_chained, get, lines_of, until

NAME = "allowed.test"


class Fault:
    """A place for the log, what goes wrong with it, and what mends that."""

    def __init__(self, where):
        self.where, self.path = where, where / "audit.jsonl"


class FullDisk(Fault):
    def induce(self):
        fill(self.where / "junk")

    def heal(self):
        os.unlink(self.where / "junk")


class ReadOnly(Fault):
    """The file was removed, and on a read-only file system there is no other."""

    def induce(self):
        shutil.copy(self.path, self.where.parent / "copy")
        subprocess.run(["mount", "--bind", str(self.where), str(self.where)], check=True)
        os.unlink(self.path)
        subprocess.run(["mount", "-o", "remount,bind,ro", str(self.where)], check=True)

    def heal(self):
        subprocess.run(["umount", "-l", str(self.where)], check=True)


@pytest.fixture
def place(net, tmp_path):
    with small_disk(tmp_path / "place", "256k") as path:
        yield path


FAULTS = [FullDisk, ReadOnly]


@pytest.mark.parametrize("kind", FAULTS)
def test_new_exchanges_are_refused_open_ones_go_on_and_it_heals(weir, upstream, echo, connect, place, kind):
    fault = kind(place)
    proxy = weir([http(NAME), tcp(NAME, echo.port)], {"listen": proxy_and_health(), "audit": {"path": str(fault.path)}})
    tunnel = connect(proxy)
    assert tunnel.connect("%s:%d" % (NAME, echo.port)).status == 200
    proxy.audit(lambda records: len(records) >= 2)
    fault.induce()
    passed, refused = until(proxy, connect, 503)
    assert refused.get("x-weir-reason") == "audit_unavailable" and refused.get("retry-after")
    malformed = connect(proxy)
    malformed.send("no request\r\n\r\n")
    assert malformed.response().get("x-weir-reason") == "audit_unavailable"
    assert proxy.health("/readyz")[0] == 503 and proxy.metric("weir_audit_errors_total") > 0
    tunnel.send(b"still relayed")
    assert tunnel.read_until(lambda data: data == b"still relayed")
    tunnel.finish()
    assert tunnel.read_all() == b"still relayed"
    fault.heal()

    def is_healed():
        with connect(proxy) as sock:
            return get(sock).status == 200
    wait_for(is_healed, what="recovery without a restart")
    assert proxy.health("/readyz")[0] == 200
    proxy.stop()
    lines = lines_of(fault.path)
    records = [json.loads(line) for line in lines]
    assert_chained(lines, records[0]["prev"])
    assert sum(r["kind"] == "http" and r.get("status") == 200 for r in records) == passed + 1, "nothing is lost"
    assert sum(r["kind"] == "connect" for r in records) == 1


def test_a_file_that_is_removed_is_made_again_and_the_chain_goes_on(weir, upstream, connect):
    proxy = weir([http(NAME)])
    path = proxy.config["audit"]["path"]
    assert get(connect(proxy), "/before").status == 200
    proxy.finals(1)
    old = lines_of(path)
    os.unlink(path)

    def is_noticed():
        assert get(connect(proxy), "/after").status == 200
        return os.path.exists(path) and b"file_replaced" in b"".join(lines_of(path))
    wait_for(is_noticed, what="another file")
    proxy.stop()
    records = [json.loads(line) for line in lines_of(path)]
    assert_chained(lines_of(path), records[0]["prev"])
    assert records[0]["prev"] != "0" * 64 and old
    assert any(r.get("event") == "file_replaced" and "removed" in r["why"] for r in records)


def test_a_directory_that_is_removed_refuses_until_it_is_back(weir, upstream, connect, tmp_path):
    directory = tmp_path / "logs"
    directory.mkdir()
    proxy = weir([http(NAME)], {"audit": {"path": str(directory / "audit.jsonl")}})
    shutil.rmtree(directory)
    _, refused = until(proxy, connect, 503)
    assert refused.get("x-weir-reason") == "audit_unavailable"
    directory.mkdir()

    def is_healed():
        with connect(proxy) as sock:
            return get(sock).status == 200
    wait_for(is_healed, what="recovery without a restart")
    proxy.stop()
    records = [json.loads(line) for line in lines_of(directory / "audit.jsonl")]
    assert any(r["kind"] == "http" for r in records)


@pytest.fixture
def fifo(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    yield path, reader
    os.close(reader)


class Reading:
    """Who empties a pipe, a piece at a time."""

    def __init__(self, reader, piece, pause):
        self.data, self.is_over = [], threading.Event()
        self.thread = threading.Thread(target=self._read, args=(reader, piece, pause), daemon=True)
        self.thread.start()

    def _read(self, reader, piece, pause):
        while True:
            is_last = self.is_over.is_set()
            try:
                self.data.append(os.read(reader, piece))
            except BlockingIOError:
                if is_last:
                    return
            self.is_over.wait(pause)

    def end(self):
        """Nobody writes any more: all the lines."""
        self.is_over.set()
        self.thread.join()
        return b"".join(self.data).splitlines()


def test_a_pipe_that_nobody_empties_refuses_and_loses_nothing(weir, upstream, connect, fifo):
    path, reader = fifo
    proxy = weir([http(NAME)], {"audit": {"path": str(path)}})
    passed, refused = until(proxy, connect, 503, path="/" + "x" * 900)
    assert refused.get("x-weir-reason") == "audit_unavailable"
    reading = Reading(reader, 65536, 0.002)

    def is_healed():
        with connect(proxy) as sock:
            return get(sock).status == 200
    wait_for(is_healed, what="recovery without a restart")
    proxy.stop()
    lines = reading.end()
    assert_chained(lines)
    assert sum(json.loads(line)["kind"] == "http" and json.loads(line).get("status") == 200 for line in lines) == passed + 1


def test_a_pipe_that_is_emptied_slowly_loses_nothing(weir, upstream, connect, fifo):
    path, reader = fifo
    proxy = weir([http(NAME)], {"audit": {"path": str(path)}})
    reading = Reading(reader, 2048, 0.005)
    answered = {200: 0, 503: 0}
    sock = connect(proxy)
    for _ in range(400):
        answered[get(sock, "/" + "x" * 900).status] += 1
    sock.close()
    proxy.stop()
    lines = reading.end()
    assert_chained(lines)
    assert sum(json.loads(line).get("status") == 200 for line in lines) == answered[200]


def test_with_drop_all_is_served_and_what_is_dropped_is_counted(weir, upstream, connect, place):
    path = place / "audit.jsonl"
    proxy = weir([http(NAME)], {"listen": proxy_and_health(), "audit": {"path": str(path), "on_failure": "drop", "reserve": 0}},
                 preexec=few_descriptors)
    fill(place / "junk")
    asked = 0
    sock = connect(proxy)
    while proxy.metric("weir_audit_dropped_total") == 0:
        for _ in range(200):
            assert get(sock).status == 200
            asked += 1
        assert asked < 100000
    os.unlink(place / "junk")
    subprocess.run(["mount", "-o", "remount,size=64m", str(place)], check=True)
    wait_for(lambda: get(sock).status == 200 and proxy.health("/readyz")[0] == 200, what="recovery")
    proxy.audit(lambda records: any(r.get("event") == "records_dropped" for r in records), what="a word about it")
    asked += 1
    proxy.stop()
    records = [json.loads(line) for line in lines_of(path)]
    assert_chained(lines_of(path))
    dropped = sum(int(r["count"]) for r in records if r.get("event") == "records_dropped")
    assert dropped > 0 and dropped + sum(r["kind"] == "http" for r in records) >= asked


@pytest.fixture
def larger(net, tmp_path):
    with small_disk(tmp_path / "larger", "4m") as path:
        yield path


def leave(path, free):
    """A file at `path`, and so many bytes beside it."""
    there = os.statvfs(path.parent)
    path.write_bytes(bytes(there.f_bavail * there.f_frsize - free))


def test_below_a_quarter_of_the_reserve_all_is_refused_until_there_is_room(weir, upstream, echo, connect, larger):
    """The log can still be written: what is open ends on record."""
    proxy = weir([http(NAME), tcp(NAME, echo.port)], {"listen": proxy_and_health(), "audit": {"path": str(larger / "audit.jsonl")}})
    tunnel = connect(proxy)
    assert tunnel.connect("%s:%d" % (NAME, echo.port)).status == 200
    leave(larger / "junk", 400 << 10)
    assert get(connect(proxy)).status == 200  # with the record of this one weir looks
    wait_for(lambda: proxy.health("/readyz")[0] == 503, what="a look at the file system")
    assert "the audit log's file system is full but for a reserve" in proxy.health("/readyz")[1]
    refused = get(connect(proxy))
    assert (refused.status, refused.get("x-weir-reason")) == (503, "audit_unavailable") and refused.get("retry-after")
    assert 0 < proxy.metric("weir_audit_free_bytes") < 512 << 10
    tunnel.send(b"still relayed")
    assert tunnel.read_until(lambda data: data == b"still relayed")
    tunnel.finish()
    assert tunnel.read_all() == b"still relayed"
    (larger / "junk").unlink()
    wait_for(lambda: proxy.health("/readyz")[0] == 200, what="room")
    assert get(connect(proxy)).status == 200
    assert proxy.metric("weir_audit_errors_total") == 0
    proxy.stop()
    lines = lines_of(larger / "audit.jsonl")
    assert_chained(lines)
    records = [json.loads(line) for line in lines]
    assert sum(r["kind"] == "http" for r in records) == 2
    assert sum(r["kind"] == "connect" and r["phase"] == "final" for r in records) == 1
    assert [r["state"] for r in records if r.get("event") == "room"] == ["none", "enough"]
    assert proxy.log().count("has no room to spare") == proxy.log().count("has room again") == 1


def test_a_reserve_that_no_room_is_for_is_said_at_the_start(weir, upstream, connect, tmp_path):
    proxy = weir([http(NAME)], {"listen": proxy_and_health(), "audit": {"path": str(tmp_path / "audit.jsonl"),
                                                                        "reserve": "4000000TiB"}})
    told = "audit.reserve is more than the audit log's file system holds"
    wait_for(lambda: any(told in line and "every exchange is refused" in line for line in proxy.log().splitlines()),
             what="a word about it")
    wait_for(lambda: proxy.health("/readyz")[0] == 503, what="a look at the file system")
    assert get(connect(proxy)).get("x-weir-reason") == "audit_unavailable"


def test_with_drop_who_writes_little_is_served_on_a_full_disk(weir, upstream, connect, larger):
    proxy = weir([http(NAME)], {"listen": proxy_and_health(), "audit": {"path": str(larger / "audit.jsonl"), "on_failure": "drop"}})
    leave(larger / "junk", 100 << 10)
    assert get(connect(proxy)).status == 200
    wait_for(lambda: proxy.health("/readyz")[0] == 503, what="a look at the file system")
    for _ in range(20):
        assert get(connect(proxy)).status == 200


def test_a_reserve_of_nothing_leaves_the_last_byte_to_the_log(weir, upstream, connect, larger):
    proxy = weir([http(NAME)], {"listen": proxy_and_health(), "audit": {"path": str(larger / "audit.jsonl"), "reserve": 0}})
    leave(larger / "junk", 100 << 10)
    passed, _ = until(proxy, connect, 503)
    assert proxy.metric("weir_audit_errors_total") > 0 and proxy.metric("weir_audit_free_bytes") == 0
    assert passed > 20


def test_sums_that_wait_for_a_full_log_leave_no_gap_in_its_numbers(weir, upstream, connect, place, tmp_path):
    clock = Clock(tmp_path)
    proxy = weir([http(NAME)], {"listen": proxy_and_health(), "audit": {"path": str(place / "audit.jsonl")},
                                "limits": {"refusals": "5/min"}}, environment=clock.environment)
    for _ in range(9):
        with connect(proxy) as sock:
            sock.send("GET http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\n\r\n")
            assert sock.response().status == 403
    fill(place / "junk")
    until(proxy, connect, 503)
    for _ in range(3):
        clock.advance(61)
        assert proxy.health("/readyz")[0] == 503
    os.unlink(place / "junk")
    wait_for(lambda: proxy.health("/readyz")[0] == 200, what="recovery")
    proxy.stop()
    lines = lines_of(place / "audit.jsonl")
    assert_chained(lines)
    records = [json.loads(line) for line in lines]
    assert any(r.get("event") == "sum" and r["reason"] == "host_not_allowed" for r in records)
    assert sorted(r["seq"] for r in records) == list(range(1, len(records) + 1))


def few_descriptors():
    """Few places in the journal: 1024 more than descriptors."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
