"""weir audit: whatever is done to a log is found, its records are shown as they come, and what it counts was done."""
import collections
import hashlib
import hmac
import json
import os
import pathlib
import pty
import resource
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

from rig.weir import SANITIZED, WAIT, binary, wait_for
from rules import http, https, tcp

pytestmark = pytest.mark.command

NAME = "allowed.test"
KEY = b"0123456789abcdef0123456789abcdef"


def audit(*arguments, **how):
    return subprocess.run([binary(), "audit", *map(str, arguments)], capture_output=True, check=False, timeout=WAIT,
                          **how)


def verify(*arguments):
    """(exit status, findings, the whole answer)"""
    done = audit("verify", "--json", *arguments)
    said = json.loads(done.stdout)
    return done.returncode, [f for f in said["findings"] if not f["note"]], said


@pytest.fixture
def proxy(weir, upstream, tmp_path):
    (tmp_path / "audit.key").write_bytes(KEY)
    return weir([http(NAME), https(NAME, 4443), tcp(NAME, 4444)], {"audit": {"key": "file:%s" % (tmp_path / "audit.key")}})


@pytest.fixture
def config(proxy):
    return proxy.path("weir.yaml")


@pytest.fixture
def path(proxy):
    return proxy.config["audit"]["path"]


def get(sock, path="/", host=NAME):
    sock.send("GET http://%s%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (host, path, host))
    return sock.response()


def some(proxy, connect, n=5):
    """So many exchanges, one in five refused; all of them recorded."""
    before = len(proxy.finals())
    for i in range(n):
        assert get(connect(proxy), "/%d" % i, "nowhere.test" if i % 5 == 4 else NAME).status == (403 if i % 5 == 4 else 200)
    proxy.finals(before + n)


def lines_of(path):
    with open(path, "rb") as f:
        return f.read().splitlines(keepends=True)


def put(path, lines):
    with open(path, "wb") as f:
        f.write(b"".join(lines))


# -- verify

def test_a_log_over_restarts_a_crash_and_rotation_is_in_order(proxy, connect, config, path):
    some(proxy, connect)
    proxy.process.kill()
    proxy.process.wait()
    with open(path, "ab") as f:
        f.write(b'{"v":1,"ts":"20')  # as the crash may have left it
    proxy.start()
    wait_for(lambda: any(b"torn_line" in line for line in lines_of(path)), what="the torn line's record")
    assert get(connect(proxy)).status == 200
    wait_for(lambda: len(lines_of(path)) > 8, what="a record behind it")
    os.rename(path, path + ".old")
    proxy.signal(signal.SIGUSR1)
    wait_for(lambda: os.path.exists(path), what="a new file")
    assert get(connect(proxy)).status == 200
    proxy.stop()
    status, findings, said = verify("-c", config, "--from-start")
    assert (status, findings) == (0, []), said
    assert said["files"] == 2 and said["runs"] == 2 and said["torn"] == 1
    assert said["final"] == 7 and said["head"] == hashlib.sha256(lines_of(path)[-1][:-1]).hexdigest()
    text = audit("verify", "-c", config).stdout.decode()
    assert text.endswith("it is in order\n") and "head " + said["head"] in text


def tampered(lines, n, how):
    """Line n (from 0) of what `lines` is made of: changed, away, twice, swapped with the next."""
    line = lines[n]
    return {
        "changed": lines[:n] + [line.replace(b'"v":1,', b'"v":1, ', 1)] + lines[n + 1:],
        "removed": lines[:n] + lines[n + 1:],
        "twice": lines[:n + 1] + lines[n:],
        "swapped": lines[:n] + lines[n + 1:n + 2] + [line] + lines[n + 2:],
        "added": lines[:n + 1] + [b'{"v":1,"kind":"system","event":"made up"}\n'] + lines[n + 1:],
        "emptied": lines[:n] + [b"\n"] + lines[n + 1:],
    }[how]


@pytest.fixture
def log(proxy, connect, path):
    """A log of all kinds of lines: a torn one, and what an earlier run and an operator left."""
    some(proxy, connect)
    proxy.signal(signal.SIGHUP)
    wait_for(lambda: any(b'"event":"reload"' in line for line in lines_of(path)), what="the reload's record")
    proxy.process.kill()
    proxy.process.wait()
    with open(path, "ab") as f:
        f.write(b'{"v":1,"ts":"20')
    proxy.start()
    assert get(connect(proxy)).status == 200
    proxy.stop()
    return lines_of(path)


@pytest.mark.parametrize("how", ["changed", "removed", "twice", "swapped", "added", "emptied"])
def test_a_log_that_was_tampered_with_is_found_at_its_line(log, path, tmp_path, how):
    head = hashlib.sha256(log[-1][:-1]).hexdigest()
    assert verify(path, "--head", head)[:2] == (0, [])
    for n in range(len(log)):
        if how == "swapped" and n + 1 == len(log) or b"prev" not in log[n] and how != "removed":
            continue  # there is no other; or it is the torn one, which is looked at below
        put(tmp_path / "log", tampered(log, n, how))
        status, findings, said = verify(tmp_path / "log", "--head", head, "--from-start")
        assert status == 1 and findings, "%s line %d" % (how, n + 1)
        near = {f["line"] for f in findings}
        assert near & {0, n + 1, n + 2, n + 3}, "%s line %d: %s" % (how, n + 1, findings)
        assert said["lines"] == len(tampered(log, n, how))  # it went on


def test_a_torn_line_that_was_changed_is_found(log, tmp_path):
    n = next(i for i, line in enumerate(log) if b"prev" not in line)
    put(tmp_path / "log", log[:n] + [b'{"v":1,"ts":"21\n'] + log[n + 1:])
    status, findings, _ = verify(tmp_path / "log")
    assert status == 1 and [f["line"] for f in findings] == [n + 1, n + 2]


def test_a_cut_tail_is_found_by_a_head(log, tmp_path):
    head = hashlib.sha256(log[-1][:-1]).hexdigest()
    put(tmp_path / "log", log[:-1])
    assert verify(tmp_path / "log")[0] == 0
    status, findings, _ = verify(tmp_path / "log", "--head", head)
    assert (status, findings[0]["what"]) == (1, "head")
    early = hashlib.sha256(log[2][:-1]).hexdigest()
    assert verify(tmp_path / "log", "--head", early)[0] == 0


def test_lines_of_somebody_without_the_key_are_found(log, path, tmp_path):
    (tmp_path / "key").write_bytes(KEY)
    assert verify(path, "--key", "file:%s" % (tmp_path / "key"))[0] == 0
    stop = next(line for line in log if b'"event":"stop"' in line)
    record = stop[:stop.rindex(b',"prev"')].replace(b'"stop"', b'"made"')
    head = hashlib.sha256(log[-1][:-1]).hexdigest().encode()
    body = record + b',"prev":"' + head + b'"'
    forged = body + b',"mac":"' + hmac.new(b"a guess", body, "sha256").hexdigest().encode() + b'"}\n'
    put(tmp_path / "log", log + [forged])
    assert verify(tmp_path / "log")[0] == 0
    status, findings, _ = verify(tmp_path / "log", "--key", "file:%s" % (tmp_path / "key"))
    assert status == 1 and [(f["what"], f["line"]) for f in findings] == [("mac", len(log) + 1)]


def test_a_missing_segment_is_found_and_a_missing_beginning_is_said(log, tmp_path):
    put(tmp_path / "log.a", log[:3])
    put(tmp_path / "log.c", log[3:6])
    put(tmp_path / "log", log[6:])
    assert verify(tmp_path / "log", "--from-start")[:2] == (0, [])  # found, and in order
    status, findings, said = verify(tmp_path / "log.c", tmp_path / "log")
    assert (status, said["from_start"], said["older"]) == (0, False, 3)
    text = audit("verify", tmp_path / "log.c", tmp_path / "log").stdout.decode()
    assert "what is older is not here: 3 records (--from-start refuses that)\n" in text and "it is in order" not in text
    assert verify(tmp_path / "log.c", tmp_path / "log", "--from-start")[0] == 1
    status, findings, _ = verify(tmp_path / "log.a", tmp_path / "log")
    assert status == 1 and [(f["what"], f["line"]) for f in findings][0] == ("chain", 1)
    assert verify(tmp_path / "log", tmp_path / "log.a", tmp_path / "log.c")[0] == 1


def is_given_little():
    resource.setrlimit(resource.RLIMIT_DATA, (48 << 20, 48 << 20))


def test_what_is_no_log_is_said_line_by_line_and_takes_no_memory(tmp_path):
    with open(tmp_path / "log", "wb") as f:
        f.write(b"\xff\xfe\0\n" + b"[" * 100000 + b"\n" + b"x" * (64 << 20) + b"\n" + b'{"a":1}\n')
    done = audit("verify", tmp_path / "log", "--json", preexec_fn=None if SANITIZED else is_given_little)
    said = json.loads(done.stdout)
    assert done.returncode == 1 and said["lines"] == 4
    assert sorted(f["line"] for f in said["findings"]) == [1, 2, 3, 4]


def test_what_cannot_be_looked_at_has_its_exit_status(tmp_path, config):
    assert audit("verify", tmp_path / "none").returncode == 66
    assert audit("verify", tmp_path / "none", tmp_path / "neither").returncode == 66
    assert audit("verify", "-c", tmp_path / "none").returncode == 66
    (tmp_path / "bad.yaml").write_text("policies: [\n")
    assert audit("verify", "-c", tmp_path / "bad.yaml").returncode == 78
    (tmp_path / "log").write_bytes(b"")
    assert audit("verify", tmp_path / "log").returncode == 0
    assert audit("verify", tmp_path / "log", "--key", "env:NOT_THERE").returncode == 66
    assert audit("verify", tmp_path / "log", "--public-key", tmp_path / "log").returncode == 78
    for wrong in (["verify", "--by", "host"], ["tail", "--head", "0" * 64], ["stats", "--by", "moon"], ["weigh"], [],
                  ["tail", "--since", "2031-02-30"], ["tail", "--kind", "admin"], ["tail", "-n", "-1"], ["verify", "--head", "abc"]):
        assert audit(*wrong).returncode == 64, wrong


@pytest.fixture
def reachable():
    """A directory, with weir in it, that every user may look into."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="weir-test-"))
    directory.chmod(0o755)
    shutil.copy(binary(), directory / "weir")
    yield directory
    shutil.rmtree(directory)


@pytest.mark.parametrize("how", ["a part", "the log", "the directory", "a bad disk"])
@pytest.mark.parametrize("words", [["verify"], ["stats"], ["tail"], ["tail", "--since", "2031-04-05"]])
def test_a_file_of_the_log_that_cannot_be_read_is_said(reachable, words, how):
    logs = reachable / "logs"
    logs.mkdir()
    put(logs / "log", chained([record()] * 3))
    bad = {"a part": logs / "log.1", "the log": logs / "log", "the directory": logs, "a bad disk": logs / "log.1"}[how]
    if how == "a part":
        put(bad, chained([record()] * 4))
    elif how == "the log":
        put(logs / "log.1", chained([record()] * 4))
    if how == "a bad disk":
        bad.symlink_to("/proc/self/mem")  # a regular file that says EIO
    else:
        bad.chmod(0o311 if how == "the directory" else 0)
    for path in {logs / "log", logs / "log.1"} - {bad}:
        if path.exists() and how != "a bad disk":
            path.chmod(0o644)
    with socket.socket(socket.AF_UNIX) as beside:  # is no file of it, and cannot be opened
        if how == "a part":
            beside.bind(str(logs / "log.sock"))
        done = subprocess.run([reachable / "weir", "audit", *words, logs / "log"], capture_output=True, check=False,
                              timeout=WAIT, user=65534 if os.getuid() == 0 else None)
    assert done.returncode == 66 and b"it is in order" not in done.stdout, done
    said = [line for line in done.stderr.decode().splitlines() if line.startswith("weir audit")]
    assert len(said) == 1 and "%s" % bad in said[0], said


@pytest.mark.parametrize("command", ["verify", "stats", "tail"])
def test_an_answer_that_cannot_be_written_is_said(tmp_path, command):
    put(tmp_path / "log", chained([record(kind="system", event="reload", phase="final")] * 3))
    with open("/dev/full", "wb") as full:
        done = subprocess.run([binary(), "audit", command, tmp_path / "log"], stdout=full, stderr=subprocess.PIPE,
                              check=False)
    assert done.returncode == 69 and b"standard output" in done.stderr, done


# -- stats

def test_what_is_counted_is_what_was_done(proxy, connect, config):
    some(proxy, connect, 10)
    proxy.stop()
    records = proxy.finals()
    said = json.loads(audit("stats", "-c", config, "--json").stdout)
    rows = {row["key"]: row for row in said["rows"]}
    assert {key: row["count"] for key, row in rows.items()} == collections.Counter(r["reason"] for r in records)
    assert rows["host_not_allowed"]["deny"] == 2 and rows["ok"]["allow"] == 8
    total = said["total"]
    assert total["count"] == 10 and total["usd"] == "0"
    for way in ("up", "down"):
        assert total["bytes"][way] == sum(r["bytes"][way] for r in records)
    assert total["ms"]["max"] == max(r["ms"]["total"] for r in records)
    by_hour = json.loads(audit("stats", "-c", config, "--by", "hour", "--json").stdout)
    assert sum(row["count"] for row in by_hour["rows"]) == 10
    assert json.loads(audit("stats", "-c", config, "--until", "2001-01-01", "--json").stdout)["total"]["count"] == 0
    assert json.loads(audit("stats", "-c", config, "--since", "1h", "--json").stdout)["total"]["count"] == 10


def record(**more):
    base = {"v": 1, "ts": "2031-04-05T06:07:08.000000Z", "id": "x", "seq": 1, "kind": "gateway", "phase": "final",
            "decision": "allow", "reason": "ok", "session": {"tenant": "t", "sid": "s"},
            "target": {"host": "llm.test", "port": 443}}
    return json.dumps(dict(base, **more)).encode() + b"\n"


def test_dollars_are_added_exactly_and_sums_count_as_often_as_they_say(tmp_path):
    put(tmp_path / "log", [record(usd={"reserved": "9", "charged": "0.1"}, ms={"total": i}) for i in range(100)]
        + [record(usd={"charged": "9007199.254740993"}), record(phase="open", usd={"reserved": "5"}),
           record(kind="system", event="sum", decision=None, reason="rate_limited", count="1000", tenant="t", sid="s2"),
           b"torn"])
    said = json.loads(audit("stats", tmp_path / "log", "--by", "session", "--json").stdout)
    assert said["total"]["usd"] == "9007209.254740993" and said["unreadable"] == 1
    assert [(row["key"], row["count"]) for row in said["rows"]] == [("t/s2", 1000), ("t/s", 101)]
    assert said["rows"][0]["deny"] == 1000
    ms = said["rows"][1]["ms"]
    assert 49 <= ms["p50"] <= 53 and 98 <= ms["p99"] <= ms["max"] == 99
    text = audit("stats", tmp_path / "log").stdout.decode()
    assert "9007209.254740993" in text and "rate_limited" in text


def test_rows_are_bounded_and_add_up(tmp_path):
    put(tmp_path / "log", [record(target={"host": "h%d.test" % i}) for i in range(10000)])
    said = json.loads(audit("stats", tmp_path / "log", "--by", "host", "--json").stdout)
    assert len(said["rows"]) == 8192 and said["other"]["count"] == 10000 - 8192
    said = json.loads(audit("stats", tmp_path / "log", "--by", "host", "--top", "3", "--json").stdout)
    assert len(said["rows"]) == 3 and said["other"]["count"] == 9997 and said["total"]["count"] == 10000


# -- tail

def shown(*arguments, **how):
    return audit("tail", *arguments, **how).stdout.decode().splitlines()


def test_the_last_records_are_shown_a_line_each(proxy, connect, config):
    some(proxy, connect, 15)
    proxy.stop()
    lines = shown("-c", config)
    assert len(lines) == 10 and "system" in lines[-2] and "stop" in lines[-2] and "checkpoint" in lines[-1]
    some_line = next(line for line in lines if "/11 " in line)
    assert "allow http" in some_line and "allowed.test:80 GET /11" in some_line and "ok 200" in some_line
    assert len(shown("-c", config, "-n", 3)) == 3 and shown("-c", config, "-n", 0) == []
    assert len(shown("-c", config, "-n", 1000, "--decision", "deny")) == 3
    assert len(shown("-c", config, "-n", 2, "--reason", "host_not_allowed,ok")) == 2
    assert len(shown("-c", config, "-n", 99, "--host", "*.test", "--kind", "http")) == 15
    assert shown("-c", config, "--host", "other.*") == []
    assert len(shown("-c", config, "--since", "1h", "--phase", "final", "--kind", "http")) == 15
    as_json = [json.loads(line) for line in shown("-c", config, "--json", "-n", 4)]
    assert as_json[-2]["event"] == "stop" and as_json[0]["kind"] == "http"


def test_records_are_found_in_older_files_too(proxy, connect, config, path):
    some(proxy, connect, 4)
    os.rename(path, path + ".1")
    proxy.signal(signal.SIGUSR1)
    wait_for(lambda: os.path.exists(path), what="a new file")
    assert get(connect(proxy), "/new").status == 200
    proxy.stop()
    lines = shown("-c", config, "-n", 3, "--kind", "http")
    assert len(lines) == 3 and "/new" in lines[-1] and "/3" in lines[-2]


def test_a_session_is_shown_alone(tmp_path):
    put(tmp_path / "log", [record(), record(session={"tenant": "u", "sid": "s"}), record(session=None)])
    assert len(shown(tmp_path / "log", "--session", "s")) == 2
    assert len(shown(tmp_path / "log", "--session", "u/s")) == 1
    assert len(shown(tmp_path / "log", "--session", "t")) == 0


def test_no_control_character_reaches_a_terminal(tmp_path):
    nasty = "\x1b[2J\x07\r\n\x00\x9b31m\u202etxt.exe\u2028\x7f"
    raw = record(target={"host": nasty, "path": nasty}, decision=nasty, reason=nasty, kind=nasty).decode()
    literal = raw.replace("\\u009b", "\x9b").replace("\\u202e", "\u202e").replace("\\u2028", "\u2028")
    put(tmp_path / "log", [literal.encode(), record(kind="system", event=nasty, **{nasty: nasty}),
                           b"\x1b[2J no record\n"])
    for how in ([], ["--json"]):
        out = audit("tail", tmp_path / "log", *how).stdout.decode()
        assert not [c for c in out if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u2028")]
    values = [json.loads(line) for line in shown(tmp_path / "log", "--json")]
    assert values[0] == json.loads(literal) and values[1]["event"] == nasty


def on_a_terminal(*arguments, **environment):
    """What a terminal is shown."""
    ours, theirs = pty.openpty()
    env = {k: v for k, v in dict(os.environ, TERM="xterm", **environment).items() if v is not None}
    process = subprocess.Popen([binary(), "audit", "tail", *map(str, arguments)], stdout=theirs, env=env)
    os.close(theirs)
    out = b""
    try:
        while True:
            piece = os.read(ours, 65536)
            if not piece:
                break
            out += piece
    except OSError:
        pass  # its other end is closed
    os.close(ours)
    assert process.wait(WAIT) == 0
    return out


def test_colors_are_for_terminals_that_want_them(tmp_path):
    put(tmp_path / "log", [record()])
    log = tmp_path / "log"
    assert b"\x1b[32mallow" in on_a_terminal(log, NO_COLOR=None)
    assert b"\x1b" not in on_a_terminal(log, NO_COLOR="1")
    assert b"\x1b" in on_a_terminal(log, "--color", "always", NO_COLOR="1")
    assert b"\x1b" not in on_a_terminal(log, "--json", NO_COLOR=None)
    assert b"\x1b" not in audit("tail", log).stdout
    assert b"\x1b" in audit("tail", log, "--color", "always").stdout


class Following:
    """weir audit tail -f, and what it has said."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([binary(), "audit", "tail", "-f", *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.out = b""

    def has(self, text, times=1):
        self.out += self.process.stdout.read() or b""
        return self.out.count(text.encode()) >= times

    def wait_for(self, text, times=1):
        wait_for(lambda: self.has(text, times), what="%r from tail" % text)

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        status = self.process.wait(WAIT)
        self.has("")
        return status


@pytest.fixture
def following():
    made = []

    def make(*arguments):
        made.append(Following(*arguments))
        return made[-1]
    yield make
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


def test_what_comes_is_shown_over_rotation_and_a_restart(proxy, connect, config, path, following):
    tail = following("-c", config, "--kind", "http")
    for i in range(3):  # one by one: the records of two workers may pass each other
        assert get(connect(proxy), "/first%d" % i).status == 200
        tail.wait_for("/first%d " % i)
    os.rename(path, path + ".1")
    assert get(connect(proxy), "/moved").status == 200
    tail.wait_for("/moved ")
    proxy.signal(signal.SIGUSR1)
    wait_for(lambda: os.path.exists(path), what="a new file")
    assert get(connect(proxy), "/second").status == 200
    tail.wait_for("/second ")
    proxy.stop()
    proxy.start()
    assert get(connect(proxy), "/third").status == 200
    tail.wait_for("/third ")
    assert tail.stop() == 0
    assert [line.split()[5] for line in tail.out.decode().splitlines()] == \
        ["/first0", "/first1", "/first2", "/moved", "/second", "/third"]


def chained(records):
    """Lines as weir ends them."""
    head, out = "0" * 64, []
    for one in records:
        out.append(one.rstrip()[:-1] + b',"prev":"' + head.encode() + b'"}\n')
        head = hashlib.sha256(out[-1][:-1]).hexdigest()
    return out


def test_segments_that_came_and_went_are_followed_in_order(tmp_path, following):
    lines = chained([record(target={"host": "h%d.test" % i}) for i in range(8)])
    log = tmp_path / "log"
    put(log, lines[:1])
    tail = following(log)
    tail.wait_for("h0.test")
    tail.process.send_signal(signal.SIGSTOP)  # it sees none of what happens now
    for i in range(1, 7):
        os.rename(log, tmp_path / ("log.%d" % (100 - i)))
        put(log, lines[i:i + 1])
    tail.process.send_signal(signal.SIGCONT)
    tail.wait_for("h6.test")
    with open(log, "ab") as f:
        f.write(lines[7][:40])
        f.flush()
        assert tail.process.poll() is None
        f.write(lines[7][40:])
    tail.wait_for("h7.test")
    assert tail.stop(signal.SIGTERM) == 0
    assert [line.split()[3] for line in tail.out.decode().splitlines()] == ["h%d.test" % i for i in range(8)]


def test_a_torn_last_line_waits_for_its_rest_and_truncation_begins_anew(tmp_path, following):
    lines = chained([record(target={"host": "h%d.test" % i}) for i in range(3)])
    log = tmp_path / "log"
    tail = following(log)  # before it is there
    put(log, [lines[0], lines[1][:50]])
    tail.wait_for("h0.test")
    with open(log, "ab") as f:
        f.write(lines[1][50:])
    tail.wait_for("h1.test")
    os.truncate(log, 0)
    wait_for(lambda: b"truncated" in (os.set_blocking(tail.process.stderr.fileno(), False) or
                                      tail.process.stderr.read() or b""), what="a word about it")
    with open(log, "ab") as f:
        f.write(lines[2])
    tail.wait_for("h2.test")
    assert tail.stop() == 0
    assert len(tail.out.splitlines()) == 3


def test_it_ends_when_nobody_reads_it(tmp_path, following):
    put(tmp_path / "log", [record()] * 1000)
    tail = following(tmp_path / "log", "-n", 1)
    tail.wait_for("llm.test")
    tail.process.stdout.close()
    assert tail.process.wait(WAIT) == 0 and tail.process.stderr.read() == b""
    tail.process.stdout = None
    done = subprocess.run("%s audit tail -n 1000 %s | head -n 1" % (binary(), tmp_path / "log"), shell=True, check=True,
                          capture_output=True)
    assert done.stdout.count(b"\n") == 1 and done.stderr == b""
