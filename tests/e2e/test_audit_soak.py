"""Very many exchanges while the log is moved, cut, full and reloaded: as many records, one chain, no secret."""
import glob
import hashlib
import json
import os
import random
import resource
import signal
import socket
import threading

import pytest
from rig.weir import proxy_and_health, wait_for
from rules import http

NAME = "allowed.test"
SECRET = "-".join(["sk", "ant", "api03", "Zk3" * 12])  # in parts: no text here may look like somebody's key
BATCH = 40
CLIENTS = 4


class Client(threading.Thread):
    """Asks without end, many at once on a connection; now and then it hangs up in the middle."""

    def __init__(self, proxy, seed):
        super().__init__()
        host, _, port = proxy.address.rpartition(":")
        self.at, self.dice, self.is_over = (host, int(port)), random.Random(seed), threading.Event()
        self.start()

    def asks(self):
        out = []
        for _ in range(BATCH):
            name = NAME if self.dice.random() < 0.1 else "nowhere.test"
            out.append("GET http://%s/%s?token=%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n"
                       % (name, SECRET if self.dice.random() < 0.1 else "x", SECRET, name, SECRET))
        return "".join(out).encode()

    def run(self):
        while not self.is_over.is_set():
            try:
                with socket.create_connection(self.at, 60) as sock:
                    while not self.is_over.is_set() and self.turn(sock):
                        pass
            except OSError:
                continue

    def turn(self, sock):
        """False: another connection."""
        sock.sendall(self.asks())
        want = self.dice.randrange(BATCH) if self.dice.random() < 0.05 else BATCH
        got = 0
        while got < want:
            data = sock.recv(1 << 16)
            if not data:
                return False
            got += data.count(b"HTTP/1.1 ")
        return want == BATCH


def files_of(path):
    """In the order of the chain, which each file's first line tells."""
    after, last = {}, {}
    for name in glob.glob(path + "*"):
        with open(name, "rb") as f:
            first = line = f.readline()
            for line in f:
                pass
        after[json.loads(first)["prev"]] = name
        last[name] = hashlib.sha256(line.rstrip(b"\n")).hexdigest()
    head, out = "0" * 64, []
    while head in after:
        out.append(after[head])
        head = last[out[-1]]
    assert len(out) == len(last), "files beside the chain: %s" % (set(last) - set(out))
    return out


def check(path):
    """Finals of exchanges, and the ids of which there are none."""
    head, finals, opens, n = "0" * 64, set(), set(), 0
    for name in files_of(path):
        with open(name, "rb") as f:
            for line in f:
                line = line.rstrip(b"\n")
                assert SECRET.encode() not in line and SECRET[14:].encode() not in line
                record = json.loads(line)
                assert record["prev"] == head, name
                head = hashlib.sha256(line).hexdigest()
                if record["kind"] == "system":
                    continue
                if record["phase"] == "final":
                    n += 1
                    finals.add(record["id"])
                else:
                    opens.add(record["id"])
    assert n == len(finals), "an exchange has two"
    assert opens <= finals, "an exchange has none"
    return n


def reason(proxy, name):
    """How many were refused for it."""
    line = next(l for l in proxy.health("/metrics")[1].splitlines()
                if l.startswith("weir_refused_total{") and '"%s"' % name in l)
    return int(float(line.rsplit(" ", 1)[1]))


def churn(proxy, n):
    path, pid, moved = proxy.config["audit"]["path"], proxy.process.pid, 0
    seed = random.randrange(10 ** 9)
    print("seed", seed)
    dice = random.Random(seed)
    clients = [Client(proxy, dice.random()) for _ in range(CLIENTS)]

    def move():
        nonlocal moved
        moved += 1
        os.rename(path, "%s.moved%d" % (path, moved))
        proxy.signal(signal.SIGUSR1)
        wait_for(lambda: os.path.exists(path), what="a new file")

    def fill():
        errors = proxy.metric("weir_audit_errors_total")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (os.path.getsize(path), resource.RLIM_INFINITY))
        wait_for(lambda: proxy.metric("weir_audit_errors_total") > errors, what="a full disk")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        wait_for(lambda: proxy.health("/readyz")[0] == 200, what="recovery")
    faults = [move, fill, proxy.reload]
    try:
        for step in range(1, 21):
            wait_for(lambda: proxy.metric("weir_audit_records_total") >= n * step / 20, 600, "records")
            faults[step % len(faults)]()
    finally:
        for client in clients:
            client.is_over.set()
        for client in clients:
            client.join()
    wait_for(lambda: proxy.metric("weir_exchanges_open") == 0, what="the end of all")
    begun, unheard = int(proxy.metric("weir_exchanges_total")), reason(proxy, "audit_unavailable")
    proxy.stop()
    written = check(path)
    assert written == begun - unheard, "as many records as exchanges that had a place"
    assert written >= n * 0.95, "the rest are weir's own, and of what lasted"
    assert SECRET not in proxy.log()


@pytest.fixture
def proxy(weir, upstream):
    return weir([http(NAME)], {"listen": proxy_and_health(), "workers": 4,
                               "audit": {"open_after": "100ms", "progress": "1s", "segment": "4MiB"}})


def test_many_exchanges_have_as_many_records_whatever_becomes_of_the_log(proxy):
    churn(proxy, 10000)


@pytest.mark.soak
def test_a_million_exchanges_have_a_million_records(proxy):
    churn(proxy, 1000000)
