"""What weir leans on fails: origins at any byte, the clock, memory.  doc/FAILURES.md names all of them."""
import hashlib
import json
import os
import pathlib
import resource
import subprocess
import types

import pytest

from rig import gateway as rig_gateway
from rig.clock import Clock
from rig.weir import START_WAIT, wait_for
from rules import http, tcp

NAME = "allowed.test"
ANSWER = (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
          b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: t\r\n\r\n")
WHOLE = b"hello world"


def chain(proxy):
    """The whole lines of the audit log, each the one after the line before it."""
    head, records = "0" * 64, []
    with open(proxy.config["audit"]["path"], "rb") as f:
        for line in f.read().splitlines():
            records.append(json.loads(line))
            assert records[-1]["prev"] == head, "line %d does not follow the one before it" % len(records)
            head = hashlib.sha256(line).hexdigest()
    return records


# -- origins

class Cut:
    """Says so many bytes of what it would say, and resets the connection."""

    def __init__(self, said):
        self.said, self.most = said, 0

    def __call__(self, conn):
        if conn.recv():
            conn.send(self.said[:self.most])
        conn.reset()


def test_an_origin_that_resets_at_any_byte_is_a_fault_that_is_seen_and_told_once(weir, origin, connect):
    cut = Cut(ANSWER)
    origin(serve=cut).listen(80)
    proxy = weir([http(NAME)])
    for cut.most in range(len(ANSWER)):
        client = connect(proxy)
        answer = client.get("http://%s/" % NAME)
        client.close()
        if answer is not None and answer.status == 200:  # its head had come
            assert not answer.is_complete and WHOLE.startswith(answer.body)
        else:
            assert answer is not None and answer.status == 502 and answer.get("x-weir-reason").startswith("upstream_")
    finals = proxy.finals(len(ANSWER))
    assert len(finals) == len(ANSWER)
    assert {r["reason"] for r in finals} <= {"upstream_incomplete", "upstream_malformed"}
    assert all(r["decision"] == "allow" and r["outcome"] == "retryable" for r in finals)
    cut.most = len(ANSWER)
    assert connect(proxy).get("http://%s/" % NAME).body == WHOLE


def test_an_origin_that_resets_a_tunnel_at_any_byte_ends_it_there(weir, origin, connect):
    said = bytes(range(64))
    cut = Cut(said)
    port = origin(serve=cut).listen()
    proxy = weir([tcp("raw.test", [port])])
    for cut.most in range(len(said) + 1):
        client = connect(proxy)
        assert client.connect("raw.test:%d" % port).status == 200
        client.send(b"?")
        assert said[:cut.most].startswith(client.read_all())  # what was under way may go with the reset
        client.close()
    finals = proxy.finals(len(said) + 1)
    assert len(finals) == len(said) + 1 and all(r["close"] == "origin" for r in finals)


# -- a provider

FAKE = pathlib.Path(__file__).resolve().parents[2] / "contrib" / "fake-provider"


@pytest.mark.parametrize("fault, reason, flags", [
    ("head", "upstream_malformed", []), ("body", "ok", []), ("lie", "ok", ["usage_absurd"]),
    ("cut", "upstream_incomplete", []), ("silent", "response_timeout", [])])
def test_each_fault_of_the_fake_provider_is_recorded_and_paid_a_ceiling(weir, dns, tmp_path, fault, reason, flags):
    """As doc/FAILURES.md says, with the very command that it names."""
    fake = types.SimpleNamespace(name="llm.example.com", url="https://llm.example.com:8443")
    with subprocess.Popen([str(FAKE), str(tmp_path), "8443", fault], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("https:")
        g = rig_gateway.Gateway(weir([], config={
            "listen": rig_gateway.listen(), "tls": {"roots": str(tmp_path / "provider.pem")}, "sessions": rig_gateway.laptop(),
            "gateway": {"prices": str(rig_gateway.rig_provider.PRICES), "providers": [rig_gateway.row("anthropic", fake)]},
            "limits": {"response_timeout": "300ms"}}, environment=rig_gateway.ENVIRONMENT))
        answer = g.messages()
        process.kill()
    record = g.weir.finals(1)[0]
    assert (record["reason"], record.get("flags", [])) == (reason, flags)
    assert record["usd"]["basis"] == "estimate" and 0 < g.spent() == rig_gateway.nano(record["usd"]["charged"])
    if fault in ("head", "silent"):
        assert answer.get("x-weir-reason") == reason
    else:
        assert answer.status == 200 and answer.is_complete == (fault != "cut")


# -- the clock

def test_a_clock_that_is_set_moves_no_time_out_and_no_order(weir, echo, upstream, connect, tmp_path):
    clock = Clock(tmp_path)
    proxy = weir([http(NAME), tcp("raw.test", [echo.port])], {"workers": 1, "limits": {"idle": "60s"}},
                 environment=clock.environment)  # two workers number their records, and write them, side by side
    client = connect(proxy)
    assert client.connect("raw.test:%d" % echo.port).status == 200
    for n, wall in enumerate((0, 86400, -86400, 3 * 365 * 86400, 0)):
        clock.set_wall(wall)
        client.send(b"%d" % n)
        assert client.read_until(lambda data: data.endswith(b"%d" % n))
        assert connect(proxy).get("http://%s/" % NAME).status == 200
    client.close()
    finals = proxy.finals(6)
    assert len(finals) == 6 and all(0 <= r["ms"]["total"] < START_WAIT * 1000 for r in finals)
    assert [r["seq"] for r in chain(proxy) if "seq" in r] == sorted(r["seq"] for r in chain(proxy) if "seq" in r)


# -- memory

def size_of(proxy):
    with open("/proc/%d/statm" % proxy.process.pid) as f:
        return int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.plain  # a sanitizer's shadow is larger than any limit
def test_memory_that_ends_ends_weir_with_its_journal_whole(weir, upstream, connect):
    proxy = weir([http(NAME)], {"workers": 1, "limits": {"head_timeout": "600s"}})
    for _ in range(20):
        assert connect(proxy).get("http://%s/" % NAME).status == 200
    proxy.finals(20)
    most = size_of(proxy) + (4 << 20)
    resource.prlimit(proxy.process.pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    held = []
    while proxy.process.poll() is None:
        try:
            held.append(connect(proxy))
            held[-1].send(b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\nX: %s" % (NAME.encode(), NAME.encode(), b"x" * 12000))
        except OSError:
            wait_for(lambda: proxy.process.poll() is not None, START_WAIT, "weir's end")
    assert proxy.process.returncode == 70
    assert "weir: out of memory" in proxy.log()
    proxy.start()
    assert connect(proxy).get("http://%s/" % NAME).status == 200
    proxy.finals(21)
    chain(proxy)
