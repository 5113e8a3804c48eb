"""What is recorded of an exchange before it ends, and what becomes of it when weir dies."""
import collections
import json
import os
import signal

import pytest
from rig import provider as rig_provider
from rig.gateway import ASK, nano
from rig.weir import wait_for
from rules import http, tcp
from test_record import assert_chained, get, lines_of

NAME = "allowed.test"
SOON = {"open_after": "100ms", "progress": "1s"}


@pytest.fixture
def proxy(weir, upstream, echo):
    return weir([http(NAME), tcp(NAME, echo.port)], {"audit": SOON})


def of(records, id_):
    return [r for r in records if r.get("id") == id_]


def phases(records):
    return [r["phase"] for r in records]


def tunnel(proxy, connect, echo, data=b"hello"):
    sock = connect(proxy)
    assert sock.connect("%s:%d" % (NAME, echo.port)).status == 200
    sock.send(data)
    assert sock.read_until(lambda got: got == data)
    return sock


def opens(proxy, n):
    def pick(records):
        return [r for r in records if r.get("phase") == "open"]
    return pick(proxy.audit(lambda records: len(pick(records)) >= n, what="%d open records" % n))


def die(proxy):
    proxy.process.kill()
    proxy.process.wait()


def assert_one_final_each(records):
    """Of every id that has an `open`; and none twice."""
    finals = collections.Counter(r["id"] for r in records if r["phase"] == "final" and r["kind"] != "system")
    assert set(finals.values()) <= {1}, finals.most_common(3)
    missing = {r["id"] for r in records if r["phase"] == "open"} - set(finals)
    assert not missing, missing


def test_what_lasts_has_an_open_record_then_progress_and_one_final(proxy, connect, echo):
    sock = tunnel(proxy, connect, echo)
    opened = opens(proxy, 1)[0]
    assert opened["decision"] == "allow" and opened["kind"] == "connect" and "outcome" not in opened
    records = proxy.audit(lambda all_: phases(of(all_, opened["id"])).count("progress") >= 2, what="progress")
    assert of(records, opened["id"])[-1]["bytes"]["up"] >= 5
    sock.finish()
    sock.read_all()
    final = proxy.finals(1)[0]
    assert final["id"] == opened["id"] and final["outcome"] == "ok"
    told = phases(of(proxy.audit(), opened["id"]))
    assert told == ["open"] + ["progress"] * (len(told) - 2) + ["final"]


def test_what_ends_soon_has_one_record(weir, upstream, connect):
    proxy = weir([http(NAME)], {"audit": {"open_after": "1h"}})
    assert get(connect(proxy)).status == 200
    proxy.finals(1)
    assert [r["phase"] for r in proxy.audit() if r["kind"] != "system"] == ["final"]


def test_what_is_not_decided_yet_says_no_decision(weir, connect, upstream):
    proxy = weir([http(NAME)], {"audit": SOON})
    sock = connect(proxy)
    sock.send("GET http://allo")
    opened = opens(proxy, 1)[0]
    assert "decision" not in opened and "reason" not in opened
    sock.reset()
    final = proxy.finals(1)[0]
    assert (final["id"], final["decision"], final["reason"]) == (opened["id"], "deny", "client_aborted")


def test_the_tunnel_of_a_request_counts_what_passes_in_it(weir, upstream, connect):
    proxy = weir([http(NAME)], {"audit": SOON})
    sock = connect(proxy)
    assert sock.connect(NAME + ":80").status == 200
    sock.send("GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME)
    assert sock.response().status == 200
    opened = opens(proxy, 1)[0]
    assert opened["kind"] == "connect"
    records = proxy.audit(lambda all_: any(r["phase"] == "progress" for r in all_), what="progress")
    progress = next(r for r in records if r["phase"] == "progress")
    inner = proxy.finals(1)[0]
    assert progress["id"] == opened["id"] == inner["parent"]
    assert progress["bytes"]["down"] >= inner["bytes"]["down"] > 0


def test_many_that_wait_have_theirs_too(weir, connect, echo, upstream):
    proxy = weir([tcp(NAME, echo.port)], {"audit": dict(SOON, progress="1h")})
    socks = [tunnel(proxy, connect, echo) for _ in range(200)]
    assert len({r["id"] for r in opens(proxy, 200)}) == 200
    for sock in socks:
        sock.close()
    proxy.finals(200)
    assert_one_final_each(proxy.audit())


# -- a weir that dies

def test_what_a_killed_weir_left_open_is_lost_with_what_was_known_of_it(proxy, connect, echo):
    sock = tunnel(proxy, connect, echo, b"x" * 1000)
    opened = opens(proxy, 1)[0]
    proxy.audit(lambda all_: any(r["phase"] == "progress" for r in all_), what="progress")
    die(proxy)
    sock.close()
    proxy.start()
    assert "recorded as lost" in proxy.log()
    lost = of(proxy.audit(lambda all_: any(r.get("outcome") == "lost" for r in all_)), opened["id"])[-1]
    assert (lost["phase"], lost["outcome"], lost["reason"], lost["decision"]) == ("final", "lost", "internal", "allow")
    assert lost["flags"] == ["lost"] and lost["bytes"]["up"] >= 1000 and lost["ts"] == opened["ts"]
    for key in ("target", "client", "rule", "policy", "upstream", "session"):
        assert lost[key] == opened[key]
    keys = [k for k in list(lost) if k in opened]
    assert keys == [k for k in list(opened) if k in lost], "the order of the keys stays"
    assert list(lost)[-1] == "prev"
    proxy.stop()
    lines = lines_of(proxy.config["audit"]["path"])
    assert_chained(lines)
    assert_one_final_each([json.loads(line) for line in lines])


def test_what_was_lost_is_lost_once_however_often_weir_starts(proxy, connect, echo):
    socks = [tunnel(proxy, connect, echo) for _ in range(3)]
    opens(proxy, 3)
    for _ in range(3):
        die(proxy)
        proxy.start()
    for sock in socks:
        sock.close()
    proxy.stop()
    proxy.start()
    proxy.stop()
    records = [json.loads(line) for line in lines_of(proxy.config["audit"]["path"])]
    assert sum(r.get("outcome") == "lost" for r in records) == 3
    assert_one_final_each(records)


@pytest.mark.parametrize("phase", ["open", "progress", "final"])
def test_a_torn_record_is_none(proxy, connect, echo, phase):
    """The last line of a log, cut anywhere: what is whole before it counts, and nothing else."""
    sock = tunnel(proxy, connect, echo)
    opened = opens(proxy, 1)[0]
    proxy.audit(lambda all_: any(r["phase"] == "progress" for r in all_), what="progress")
    sock.finish()
    sock.read_all()
    proxy.finals(1)
    proxy.stop()
    path = proxy.config["audit"]["path"]
    lines = lines_of(path)
    last = max(i for i, line in enumerate(lines) if json.loads(line).get("phase") == phase and json.loads(line)["kind"] != "system")
    for cut in (1, len(lines[last]) // 2, len(lines[last]) - 1):
        with open(path, "wb") as f:
            f.write(b"\n".join(lines[:last] + [lines[last][:cut]]))
        proxy.start()
        proxy.stop()
        records = []
        for line in lines_of(path):
            try:
                records.append(json.loads(line))
            except ValueError:
                assert line == lines[last][:cut]
        finals = [r for r in of(records, opened["id"]) if r["phase"] == "final"]
        assert len(finals) == (0 if phase == "open" else 1)
        assert all(r["outcome"] == "lost" for r in finals)
        assert any(r.get("event") == "torn_line" for r in records)


def test_a_run_in_files_that_were_moved_away_is_found_again(proxy, connect, echo):
    sock = tunnel(proxy, connect, echo)
    opened = opens(proxy, 1)[0]
    path = proxy.config["audit"]["path"]
    for n in (1, 2):
        os.rename(path, "%s.x%d" % (path, n))
        proxy.signal(signal.SIGUSR1)
        wait_for(lambda: os.path.exists(path), what="the new file")
        with tunnel(proxy, connect, echo):
            pass
        wait_for(lambda: os.path.getsize(path) > 0, what="lines in it")
    die(proxy)
    sock.close()
    os.rename(path + ".x1", path + ".old")  # the names are not what counts
    proxy.start()
    proxy.stop()
    lines = lines_of(path + ".old", path + ".x2", path)
    assert_chained(lines)
    records = [json.loads(line) for line in lines]
    assert_one_final_each(records)
    assert of(records, opened["id"])[-1]["outcome"] == "lost"


# -- money

def test_the_open_record_is_in_the_file_before_the_provider_hears_of_the_call(gateway, provider):
    g = gateway()
    path = g.weir.config["audit"]["path"]
    seen = []

    def look(provider_, conn, request, body):
        with open(path, "rb") as f:
            seen.append([json.loads(line) for line in f.read().splitlines()])
        return rig_provider.messages()(provider_, conn, request, body)
    provider.answer = look
    for _ in range(20):
        assert g.messages().status == 200
    for n, records in enumerate(seen):
        opened = [r for r in records if r["phase"] == "open"]
        assert len(opened) == n + 1 and nano(opened[-1]["usd"]["reserved"]) > 0 and "charged" not in opened[-1]["usd"]
    assert_one_final_each(g.weir.audit(lambda _: len(g.weir.finals()) == 20))


def test_calls_that_a_killed_weir_left_open_are_lost_in_ledger_and_record_alike(gateway, provider, connect):
    g = gateway(config={"limits": {"client_rate": 0, "client_connections": 0}})
    provider.answer = rig_provider.message_stream(pause_after=2)
    clients = [g.open() for _ in range(5)]
    for n, client in enumerate(clients):
        g.send(client, "/anthropic/v1/messages", dict(ASK, stream=True, max_tokens=100 + n))
    assert provider.wait(lambda: len(provider.requests) == 5)
    die(g.weir)
    for client in clients:
        client.close()
    provider.go.set()
    g.weir.start()
    records = g.weir.audit(lambda all_: sum(r.get("outcome") == "lost" for r in all_) == 5)
    assert_one_final_each(records)
    lost = {r["id"]: nano(r["usd"]["reserved"]) for r in records if r.get("outcome") == "lost"}
    held = {json.loads(line)["request"]: json.loads(line) for line in g.ledger("export").stdout.splitlines()}
    assert set(held) == set(lost), "the ledger and the log know the same calls"
    reserved = nano(g.purse()["reserved"])
    assert reserved == sum(lost.values()) > 0


def test_killed_again_and_again_under_load_every_open_has_one_final(gateway, provider, connect, echo):
    g = gateway(policy=[tcp(NAME, echo.port)], config={"audit": SOON})
    provider.answer = rig_provider.message_stream(pause_after=2)
    asked = 0
    for kill in range(4):
        tunnels = [tunnel(g.weir, connect, echo) for _ in range(5)]
        opens(g.weir, 1)
        clients = [g.open() for _ in range(6)]
        for client in clients:
            g.send(client, "/anthropic/v1/messages", dict(ASK, stream=True))
        asked += 2 + kill
        assert provider.wait(lambda: len(provider.requests) >= asked)
        asked = len(provider.requests)
        die(g.weir)
        for sock in tunnels + clients:
            sock.close()
        provider.go.set()
        g.weir.start()
    g.weir.stop()
    path = g.weir.config["audit"]["path"]
    records = []
    for line in lines_of(path):
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    assert_one_final_each(records)
    known = {r["id"] for r in records if r["kind"] == "gateway" and r["phase"] == "open"}
    assert len(known) >= len(provider.requests), "each call that went out was written down before"
    g.weir.start()
    ledger = {json.loads(line)["request"] for line in g.ledger("export").stdout.splitlines()}
    assert known <= ledger

