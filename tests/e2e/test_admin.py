"""What an operator asks of a running weir: the admin socket, and weir ctl."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from rig import redis as rig_redis
from rig import token as tokens
from rig.weir import START_WAIT, Weir, binary, free_port, wait_for
from rules import http, in_order, is_refusal, tcp, until_refused
from test_sessions import SECRET, URL, ask, guarded, sessions, tunnel  # noqa: F401

NAME = "allowed.test"


@pytest.fixture
def admin(guarded, tmp_path):  # noqa: F811
    """admin(...): a guarded weir with an admin socket and two Unix sockets beside its port."""
    def make(rules=None, **more):
        listen = {"proxy": ["127.0.0.1:%d" % free_port(), "unix:%s/a" % tmp_path, "unix:%s/b" % tmp_path],
                  "admin": ["unix:%s/admin" % tmp_path]}
        return guarded(rules, config=dict({"listen": listen}, **more.pop("config", {})), **more)
    return make


def ctl(proxy, *words, stdin=None):
    told = subprocess.run([binary(), "ctl", "-c", proxy.path("weir.yaml"), *words], input=stdin, capture_output=True, text=True,
                          env=dict(os.environ, KEY=SECRET), timeout=60)
    return told.returncode, json.loads(told.stdout) if told.stdout else told.stderr


def by(proxy, i):
    """A connection through its i-th listener."""
    class Through:
        address = proxy.config["listen"]["proxy"][i]

        def connect(self, timeout=10):
            return Weir.connect(self, timeout)
    return Through()


# -- looking

def test_status_says_what_it_is(admin):
    proxy = admin()
    status, told = ctl(proxy, "status")
    assert status == 0 and told["ready"] is True and told["production"] is False and told["ledger"] == "ok"
    assert told["generation"] == 1 and len(told["policy"]) == 64 and len(told["audit_head"]) == 64
    assert ctl(proxy, "health")[0] == 0


def test_nobody_there_is_69(tmp_path):
    told = subprocess.run([binary(), "ctl", "-s", str(tmp_path / "none"), "health"], capture_output=True, text=True)
    assert told.returncode == 69 and "no answer from" in told.stderr


@pytest.mark.parametrize("said,why", [
    (None, "is weir running"), (b"", "only root and the user"), (b"220 mail.test ESMTP", "not weir"),
    (b"HTTP/1.1 200 OK\r\n", "cut off")])
def test_where_there_is_no_answer_it_says_what_to_look_at(tmp_path, said, why):
    path = str(tmp_path / "admin")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)

        def serve():
            with server.accept()[0] as client:
                client.recv(65536)
                client.sendall(said)
        if said is not None:
            server.listen()
            threading.Thread(target=serve, daemon=True).start()
        told = subprocess.run([binary(), "ctl", "-s", path, "status"], capture_output=True, text=True, timeout=60)
    assert told.returncode == 69 and why in told.stderr, told.stderr


@pytest.mark.parametrize("words,why", [
    (["--token-file", "t", "status"], "--token-file is for arm"), (["-c", "a", "-s", "b", "status"], "exclude each other"),
    (["-s", "/nowhere", "arm", "127.0.0.1"], "standard input holds no token")])
def test_what_would_be_ignored_is_64(words, why):
    told = subprocess.run([binary(), "ctl", *words], capture_output=True, text=True, input=" \n")
    assert told.returncode == 64 and why in told.stderr


@pytest.mark.parametrize("words", [[], ["dance"], ["revoke", "acme"], ["status", "now"]])
def test_a_wrong_command_is_64(words):
    told = subprocess.run([binary(), "ctl", *words], capture_output=True, text=True)
    assert told.returncode == 64
    assert words != ["revoke", "acme"] or "revoke takes TENANT SID\n" in told.stderr
    assert words != ["status", "now"] or "status takes no words\n" in told.stderr


def test_sessions_are_listed(admin, upstream, connect):
    proxy = admin()
    client = connect(proxy)
    ask(client, tokens.mint(SECRET, "s1", turn="t1"))
    ask(client, tokens.mint(SECRET, "s2", tenant="beta"))
    assert {s["sid"] for s in ctl(proxy, "sessions")[1]["sessions"]} == {"s1", "s2"}
    told = ctl(proxy, "sessions", "acme")[1]["sessions"]
    assert [(s["sid"], s["turn"], s["source"], s["ended"]) for s in told] == [("s1", "t1", "loopback", False)]
    assert ctl(proxy, "sessions", "acme", "s9")[1]["count"] == 0


def test_it_is_not_over_tcp(guarded):  # noqa: F811
    with pytest.raises(AssertionError, match="admin_not_unix"):
        guarded(config={"listen": {"proxy": ["127.0.0.1:%d" % free_port()], "admin": ["127.0.0.1:%d" % free_port()]}})


def test_another_user_is_not_heard(admin, tmp_path):
    admin()
    os.chmod(tmp_path / "admin", 0o777)
    path = tempfile.mkdtemp(prefix="weir-admin-")  # one that nobody may walk to
    try:
        os.chmod(path, 0o755)
        os.link(tmp_path / "admin", path + "/admin")
        told = subprocess.run(["curl", "-sS", "-m", "20", "--unix-socket", path + "/admin", "http://weir/status"],
                              capture_output=True, user=65534)
        assert told.returncode in (7, 52, 55, 56) and not told.stdout  # closed at once, whenever curl notices
        told = subprocess.run(["curl", "-sS", "-m", "20", "--unix-socket", path + "/admin", "http://weir/status"],
                              capture_output=True)
        assert json.loads(told.stdout)["ready"]
    finally:
        shutil.rmtree(path)


@pytest.mark.parametrize("request_line,body,status", [
    ("GET /nothing", "", 404), ("POST /status", "", 404), ("POST /revoke", "{}", 400), ("POST /revoke", "nonsense", 400),
    ("POST /revoke", '{"tenant":"a","sid":"s","jti":"j"}', 400), ("POST /revoke", '{"tenant":"a","sid":"s","all":"x"}', 400),
    ("POST /arm", '{"socket":"relative","token":"x"}', 400), ("POST /arm", '{"address":"127.0.0.1","token":"x"}', 400),
    ("DELETE /arm/nowhere", "", 400), ("POST /arm", "x" * 20000, 413), ("GARBAGE", "", 400),
])
def test_what_is_no_command_does_nothing(admin, tmp_path, request_line, body, status):
    admin()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(tmp_path / "admin"))
        sock.sendall(("%s HTTP/1.1\r\nHost: weir\r\nContent-Length: %d\r\n\r\n%s" % (request_line, len(body), body)).encode())
        assert int(sock.recv(65536).split()[1]) == status


# -- ending

def test_a_revoked_session_ends_at_once_and_for_ever(admin, echo, upstream, connect):
    proxy = admin([http(NAME), tcp("raw.test", [echo.port])])
    token, other = tokens.mint(SECRET, "s1"), tokens.mint(SECRET, "s2")
    client, bystander = connect(proxy), connect(proxy)
    assert tunnel(client, token, "raw.test:%d" % echo.port).status == 200
    assert tunnel(bystander, other, "raw.test:%d" % echo.port).status == 200
    assert ctl(proxy, "revoke", "acme", "s1") == (0, {"ended": 1, "kept": True, "known": True})
    client.read_all()
    record = proxy.finals(1)[0]
    assert (record["decision"], record["reason"], record["close"]) == ("allow", "session_revoked", "weir")
    is_refusal(ask(connect(proxy), token), 403, "session_revoked")
    is_refusal(ask(connect(proxy), tokens.mint(SECRET, "s1")), 403, "session_revoked")
    bystander.send(b"still here")
    assert bystander.read_until(lambda data: b"still here" in data)
    assert any(r["kind"] == "system" and r["event"] == "revoke" and r["name"] == "s1" for r in proxy.audit())
    proxy.stop()
    proxy.start()
    is_refusal(ask(connect(proxy), token), 403, "session_revoked")
    assert ask(connect(proxy), other).status == 200


def test_a_revoked_session_is_still_one_in_the_ledger(admin, upstream, connect):
    proxy = admin()
    assert ask(connect(proxy), tokens.mint(SECRET, "s1")).status == 200
    assert ctl(proxy, "revoke", "acme", "s1")[0] == 0 and ctl(proxy, "revoke", "acme", "s2")[0] == 0

    def ledger(*words):
        return subprocess.run([binary(), "ledger", *words, "-c", proxy.path("weir.yaml")],
                              capture_output=True, text=True, env=dict(os.environ, KEY=SECRET), check=True)
    assert [json.loads(line)["sid"] for line in ledger("sessions", "--json").stdout.splitlines()] == ["s1"]
    assert json.loads(ledger("show", "acme", "s1", "--json").stdout)["session"]["revoked"]


def test_a_word_that_is_no_command_is_said(admin):
    done = subprocess.run([binary(), "ctl", "stat"], capture_output=True, text=True)
    assert done.returncode == 64 and '"stat"' in done.stderr


def test_a_revoked_token_takes_no_other_with_it(admin, upstream, connect):
    proxy = admin()
    one, two = tokens.mint(SECRET, jti="j1"), tokens.mint(SECRET, jti="j2")
    assert ask(connect(proxy), one).status == 200
    assert ctl(proxy, "revoke-token", "acme", "j1")[0] == 0
    is_refusal(ask(connect(proxy), one), 403, "session_revoked")
    assert ask(connect(proxy), two).status == 200
    proxy.stop()
    proxy.start()
    is_refusal(ask(connect(proxy), one), 403, "session_revoked")


@pytest.fixture
def pair(admin, guarded, tmp_path):  # noqa: F811
    """pair(rules): two weirs on one Redis; the first has the admin socket.  And the Redis."""
    (tmp_path / "redis").mkdir()
    redis = rig_redis.Redis(tmp_path / "redis")

    def make(rules, recheck="1s"):
        config = {"ledger": {"url": redis.url}}
        more = {"bind": "none", "recheck": recheck}
        there = dict(config, listen={"proxy": ["127.0.0.1:%d" % free_port()], "health": ["127.0.0.1:%d" % free_port()]})
        here, there = admin(rules, config=config, **more), guarded(rules, config=there, **more)
        wait_for(lambda: ctl(here, "health")[0] == 0, START_WAIT, "the ledger")
        return here, there, redis
    yield make
    redis.stop_at_once()


@pytest.mark.parametrize("word", [["revoke", "acme", "s1"], ["revoke-token", "acme", "j1"]], ids=["session", "token"])
def test_what_is_revoked_at_one_ends_at_all_that_share_the_ledger(pair, echo, upstream, connect, word):
    here, there, _ = pair([http(NAME), tcp("raw.test", [echo.port])])
    token, other = tokens.mint(SECRET, "s1", jti="j1"), tokens.mint(SECRET, "s2", jti="j2")
    wait_for(lambda: ask(connect(there), token).status == 200, START_WAIT, "the ledger")
    client, bystander = connect(there), connect(there)
    assert tunnel(client, token, "raw.test:%d" % echo.port).status == 200
    assert tunnel(bystander, other, "raw.test:%d" % echo.port).status == 200
    assert ctl(here, *word)[0] == 0
    client.read_all()  # it asks by itself
    wait_for(lambda: any(r["kind"] == "connect" for r in there.finals()), what="its record")  # others may wait for the ledger
    assert [r["reason"] for r in there.finals() if r["kind"] == "connect"] == ["session_revoked"]
    is_refusal(ask(connect(there), token), 403, "session_revoked")
    bystander.send(b"still here")
    assert bystander.read_until(lambda data: b"still here" in data)


def test_what_begins_on_an_old_word_ends_before_the_word_is_too_old(pair, echo, upstream, connect):
    """The clock here is two tokens: one ends when the word is old, one before it would have been looked at again."""
    here, there, _ = pair([http(NAME), tcp("raw.test", [echo.port])], recheck="6s")
    wait_for(lambda: there.metric("weir_ledger_up") == 1, START_WAIT, "the ledger")
    begun, where = int(time.time()), "raw.test:%d" % echo.port
    other, token = tokens.mint(SECRET, "s2", exp=begun + 3), tokens.mint(SECRET, "s1", exp=begun + 8)
    with connect(there) as first:  # closed: what stays open would ask for all
        assert ask(first, token).status == 200
    assert ctl(here, "revoke", "acme", "s1")[0] == 0
    clock, client = connect(there), connect(there)
    assert tunnel(clock, other, where).status == 200
    clock.read_all()
    tunnel(client, token, where)
    client.read_all()
    assert in_order(there.finals(3))[-1]["reason"] == "session_revoked"


def test_who_begins_again_and_again_is_asked_after_too(pair, upstream, connect):
    here, there, _ = pair([http(NAME)])
    token = tokens.mint(SECRET, "s1")
    wait_for(lambda: ask(connect(there), token).status == 200, START_WAIT, "the ledger")
    assert ctl(here, "revoke", "acme", "s1")[0] == 0
    until_refused(lambda: ask(connect(there), token), 403, "session_revoked", START_WAIT)


def test_a_ledger_that_is_away_ends_no_session(pair, echo, upstream, connect):
    _, there, redis = pair([http(NAME), tcp("raw.test", [echo.port])])
    token = tokens.mint(SECRET, "s1")
    wait_for(lambda: ask(connect(there), token).status == 200, START_WAIT, "the ledger")
    client = connect(there)
    assert tunnel(client, token, "raw.test:%d" % echo.port).status == 200
    redis.stop_at_once()
    wait_for(lambda: there.metric("weir_ledger_up") == 0, START_WAIT, "a ledger that is away")
    asked = there.metric("weir_session_rechecks_total")
    wait_for(lambda: there.metric("weir_session_rechecks_total") > asked + 1, START_WAIT, "two more questions")
    assert ask(connect(there), token).status == 200
    client.send(b"still here")
    assert client.read_until(lambda data: b"still here" in data)


def test_a_session_may_be_revoked_before_its_first_use(admin, connect):
    proxy = admin()
    assert ctl(proxy, "revoke", "acme", "s1") == (0, {"ended": 0, "kept": True, "known": False})
    proxy.stop()
    proxy.start()
    is_refusal(ask(connect(proxy), tokens.mint(SECRET, "s1")), 403, "session_revoked")


def test_a_detached_session_goes_to_the_next_source(admin, upstream, connect):
    proxy = admin()
    token = tokens.mint(SECRET, "s1")
    assert ask(connect(by(proxy, 1)), token).status == 200
    is_refusal(ask(connect(by(proxy, 2)), token), 403, "session_not_attached")
    assert ctl(proxy, "detach", "acme", "s1")[0] == 0
    assert ask(connect(by(proxy, 2)), token).status == 200


# -- arms

def test_an_armed_socket_needs_no_token(admin, upstream, connect, tmp_path):
    proxy = admin()
    is_refusal(ask(connect(by(proxy, 1))), 407, "session_required")
    assert ctl(proxy, "arm", str(tmp_path / "a"), stdin=tokens.mint(SECRET, "armed") + "\n") == (0, {"ended": 0, "kept": True})
    assert ask(connect(by(proxy, 1))).status == 200
    is_refusal(ask(connect(by(proxy, 2))), 407, "session_required")
    # the socket comes before what its client says
    assert ask(connect(by(proxy, 1)), tokens.mint(SECRET, "another")).status == 200
    assert [r["session"]["sid"] for r in proxy.finals(4) if r["session"]] == ["armed", "armed"]
    proxy.stop()
    proxy.start()
    assert ask(connect(by(proxy, 1))).status == 200  # it lasts
    assert ctl(proxy, "disarm", str(tmp_path / "a"))[0] == 0
    is_refusal(ask(connect(by(proxy, 1))), 407, "session_required")


def test_a_source_that_may_be_armed_is_nobody_else_while_the_store_is_away(admin, upstream, connect, tmp_path):
    (tmp_path / "redis").mkdir()
    redis = rig_redis.Redis(tmp_path / "redis")
    try:
        proxy = admin(config={"ledger": {"url": redis.url}}, required=False)
        wait_for(lambda: ctl(proxy, "health")[0] == 0, START_WAIT, "the ledger")
        narrow = tokens.mint(SECRET, "armed", network="deny-all")
        assert ctl(proxy, "arm", str(tmp_path / "a"), stdin=narrow + "\n")[0] == 0
        is_refusal(ask(connect(by(proxy, 1))), 403, "host_not_allowed")
        assert ask(connect(by(proxy, 2))).status == 200
        proxy.stop()
        redis.stop_at_once()
        proxy.start()
        is_refusal(ask(connect(by(proxy, 1))), 503, "ledger_unavailable")
        redis.start()
        wait_for(lambda: ctl(proxy, "health")[0] == 0, START_WAIT, "the ledger")
        assert ask(connect(by(proxy, 2))).status == 200
    finally:
        redis.stop_at_once()


def wait_for_record(proxy, event):
    proxy.audit(lambda records: any(r.get("event") == event for r in records))


def test_what_is_disarmed_at_one_is_so_at_all_that_share_the_ledger(pair, echo, upstream, connect):
    here, there, _ = pair([http(NAME), tcp("raw.test", [echo.port])])
    where = "raw.test:%d" % echo.port
    assert ctl(here, "arm", "127.0.0.1", stdin=tokens.mint(SECRET, "armed"))[0] == 0
    wait_for(lambda: ask(connect(there)).status == 200, START_WAIT, "the ledger")
    client, idle, bystander = connect(there), connect(there), connect(there)
    assert client.connect(where).status == 200 and ask(idle).status == 200
    assert tunnel(bystander, tokens.mint(SECRET, "armed"), where).status == 200  # the same session, by its token
    assert ask(connect(here)).status == 200
    assert ctl(here, "disarm", "127.0.0.1") == (0, {"ended": 1, "kept": True, "known": True})
    is_refusal(ask(connect(here)), 407, "session_required")
    is_refusal(ask(connect(there)), 407, "session_required")
    client.read_all()
    idle.read_all()
    assert [r["reason"] for r in there.finals(4) if r["kind"] == "connect"] == ["session_not_attached"]
    bystander.send(b"still here")
    assert bystander.read_until(lambda data: b"still here" in data)
    is_refusal(ask(connect(there)), 407, "session_required")


def test_what_an_arm_has_open_ends_though_nobody_comes_anew(pair, echo, connect):
    """The other weir asks by itself: for a disarm, and for another session that the source is armed for."""
    here, there, _ = pair([tcp("raw.test", [echo.port])])
    wait_for(lambda: there.metric("weir_ledger_up") == 1, START_WAIT, "the ledger")
    for n, word in enumerate((["arm", "127.0.0.1"], ["disarm", "127.0.0.1"])):
        assert ctl(here, "arm", "127.0.0.1", stdin=tokens.mint(SECRET, "s%d" % n))[0] == 0
        client = connect(there)
        assert client.connect("raw.test:%d" % echo.port).status == 200
        assert ctl(here, *word, stdin=tokens.mint(SECRET, "another"))[0] == 0
        client.read_all()
        assert there.finals(n + 1)[n]["reason"] == "session_not_attached"


def test_an_arm_whose_time_is_over_lets_its_tunnel_stand(pair, echo, connect):
    here, there, _ = pair([tcp("raw.test", [echo.port])])
    wait_for(lambda: there.metric("weir_ledger_up") == 1, START_WAIT, "the ledger")
    assert ctl(here, "arm", "127.0.0.1", "2", stdin=tokens.mint(SECRET, "armed"))[0] == 0
    client = connect(there)
    assert client.connect("raw.test:%d" % echo.port).status == 200
    until_refused(lambda: connect(there).connect("raw.test:%d" % echo.port), 407, "session_required", START_WAIT)
    client.send(b"still here")
    assert client.read_until(lambda data: b"still here" in data)


def test_a_ledger_that_is_away_ends_no_arm(pair, echo, upstream, connect):
    here, there, redis = pair([http(NAME), tcp("raw.test", [echo.port])])
    assert ctl(here, "arm", "127.0.0.1", stdin=tokens.mint(SECRET, "armed"))[0] == 0
    wait_for(lambda: ask(connect(there)).status == 200, START_WAIT, "the ledger")
    client, idle = connect(there), connect(there)
    assert client.connect("raw.test:%d" % echo.port).status == 200
    assert ask(idle).status == 200
    redis.stop_at_once()
    wait_for(lambda: there.metric("weir_ledger_up") == 0, START_WAIT, "a ledger that is away")
    asked = there.metric("weir_session_rechecks_total")
    wait_for(lambda: there.metric("weir_session_rechecks_total") > asked + 3, START_WAIT, "more questions")
    assert ask(connect(there)).status == 200 and ask(idle).status == 200
    client.send(b"still here")
    assert client.read_until(lambda data: b"still here" in data)


class Halted:
    """Between a weir and its Redis: what Redis answers waits while it is halted."""

    def __init__(self, path, redis):
        self.redis, self.asked, self.may = redis, b"", threading.Event()
        self.may.set()
        self.url = "redis+unix:%s" % path
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                weir, _ = self.listener.accept()
            except OSError:
                return
            store = socket.socket(socket.AF_UNIX)
            store.connect(self.redis.path)
            threading.Thread(target=self._carry, args=(weir, store, True), daemon=True).start()
            threading.Thread(target=self._carry, args=(store, weir, False), daemon=True).start()

    def _carry(self, source, to, is_asking):
        try:
            while data := source.recv(65536):
                if is_asking:
                    self.asked += data
                else:
                    self.may.wait(60)
                to.sendall(data)
        except OSError:
            pass
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def halt(self):
        self.may.clear()
        self.asked = b""

    def go_on(self):
        self.may.set()

    def close(self):
        self.listener.close()


@pytest.fixture
def halted(admin, tmp_path):
    """halted(rules): a weir with an admin socket, and what stands between it and its Redis."""
    (tmp_path / "redis").mkdir()
    redis = rig_redis.Redis(tmp_path / "redis")
    between = Halted(tmp_path / "between", redis)

    def make(rules, **more):
        proxy = admin(rules, config={"ledger": {"url": between.url}}, **more)
        wait_for(lambda: ctl(proxy, "health")[0] == 0, START_WAIT, "the ledger")
        return proxy, between
    yield make
    between.go_on()
    between.close()
    redis.stop_at_once()


def beside(fn):
    """fn on a thread: call what is returned for what it has returned."""
    told = []
    thread = threading.Thread(target=lambda: told.append(fn()), daemon=True)
    thread.start()

    def result():
        thread.join(60)
        return told[0]
    return result


def ask_while_halted(between, client):
    """A request that waits for what the store says about its source."""
    between.halt()
    answer = beside(lambda: ask(client))
    wait_for(lambda: between.asked, what="a question to the store")
    return answer


@pytest.mark.parametrize("bind", ["first", "armed", "none"])
def test_a_disarm_holds_though_the_store_said_armed_just_before(halted, upstream, connect, tmp_path, bind):
    proxy, between = halted([http(NAME)], bind=bind)
    path = str(tmp_path / "a")
    assert ctl(proxy, "arm", path, stdin=tokens.mint(SECRET, "armed"))[0] == 0
    assert ask(connect(by(proxy, 1))).status == 200
    client = connect(by(proxy, 1))
    answer = ask_while_halted(between, client)
    told = beside(lambda: ctl(proxy, "disarm", path))
    wait_for_record(proxy, "disarm")
    between.go_on()
    assert told() == (0, {"ended": 1, "kept": True, "known": True})
    is_refusal(answer(), 407, "session_required")
    is_refusal(ask(connect(by(proxy, 1))), 407, "session_required")


def test_an_arm_holds_though_the_store_said_not_armed_just_before(halted, upstream, connect, tmp_path):
    proxy, between = halted([http(NAME)])
    path = str(tmp_path / "a")
    answer = ask_while_halted(between, connect(by(proxy, 1)))
    told = beside(lambda: ctl(proxy, "arm", path, stdin=tokens.mint(SECRET, "armed")))
    wait_for_record(proxy, "arm")
    between.go_on()
    assert told() == (0, {"ended": 0, "kept": True})
    answer()  # either is right: it was asked before
    assert ask(connect(by(proxy, 1))).status == 200


def test_a_session_bound_to_its_arm_is_good_there_alone(admin, upstream, connect, tmp_path):
    proxy = admin(bind="armed")
    token = tokens.mint(SECRET, "s1")
    assert ctl(proxy, "arm", str(tmp_path / "a"), stdin=token) == (0, {"ended": 0, "kept": True})
    assert ask(connect(by(proxy, 1))).status == 200
    is_refusal(ask(connect(by(proxy, 2)), token), 403, "session_not_attached")


def test_the_token_to_arm_with_may_be_in_a_file(admin, upstream, connect, tmp_path):
    proxy = admin()
    (tmp_path / "token").write_text(tokens.mint(SECRET, "armed") + "\n")
    assert ctl(proxy, "--token-file", str(tmp_path / "token"), "arm", str(tmp_path / "a"))[0] == 0
    assert ask(connect(by(proxy, 1))).status == 200
    assert ctl(proxy, "--token-file", str(tmp_path / "none"), "arm", str(tmp_path / "a"))[0] == 66


def test_what_is_not_known_here_is_said_and_done_all_the_same(admin, upstream, connect):
    proxy = admin()

    def told(*words):
        done = subprocess.run([binary(), "ctl", "-c", proxy.path("weir.yaml"), *words], capture_output=True, text=True,
                              env=dict(os.environ, KEY=SECRET), timeout=60)
        assert done.returncode == 0 and json.loads(done.stdout)["kept"]
        return json.loads(done.stdout).get("known"), done.stderr
    assert ask(connect(proxy), tokens.mint(SECRET, "s1")).status == 200
    assert told("detach", "acme", "s1") == (True, "") and told("revoke", "acme", "s1") == (True, "")
    nobody = "weir ctl: acme/s2: no such session is known here; "
    assert told("detach", "acme", "s2") == (False, nobody + "there was nothing to detach\n")
    assert told("revoke", "acme", "s2") == (False, nobody + "it is revoked all the same\n")
    assert told("disarm", "192.0.2.1") == (False, "weir ctl: 192.0.2.1: it was not armed\n")
    assert told("revoke-token", "acme", "j1") == (None, "")
    is_refusal(ask(connect(proxy), tokens.mint(SECRET, "s2")), 403, "session_revoked")


def test_a_socket_that_no_listener_has_is_not_armed(admin, upstream, connect, tmp_path):
    proxy = admin()
    for path in (str(tmp_path / "c"), str(tmp_path / "admin")):  # the operator's own is no client's either
        status, told = ctl(proxy, "arm", path, stdin=tokens.mint(SECRET, "armed"))
        assert status == 1 and told == {"error": "no listener has this socket; of those that there are: %s/a, %s/b"
                                        % (tmp_path, tmp_path)}
    assert ctl(proxy, "arm", str(tmp_path / "a"), stdin=tokens.mint(SECRET, "armed"))[0] == 0
    wait_for_record(proxy, "arm")
    armed = [(r["name"], r["source"]) for r in proxy.audit() if r.get("event") == "arm"]
    assert armed == [("armed", "unix:%s/a" % tmp_path)]
    assert "unix:%s/a" % tmp_path in proxy.log()


def test_an_armed_address_speaks_for_who_brings_nothing(admin, upstream, connect):
    proxy = admin()
    assert ctl(proxy, "arm", "127.0.0.1", stdin=tokens.mint(SECRET, "armed"))[0] == 0
    assert ask(connect(proxy)).status == 200
    assert ask(connect(proxy), tokens.mint(SECRET, "own")).status == 200
    assert [r["session"]["sid"] for r in in_order(proxy.finals(2))] == ["armed", "own"]


def test_nothing_is_armed_with_a_bad_token(admin):
    proxy = admin()
    status, told = ctl(proxy, "arm", "127.0.0.1", stdin=tokens.mint("another secret"))
    assert status == 1 and "signature" in told["error"]
    status, told = ctl(proxy, "arm", "127.0.0.1", stdin="nonsense")
    assert status == 1 and told["error"] == "the token is of no use: it is not three parts with dots between"


# -- reload

def test_a_reload_takes_keys_away_and_brings_others(admin, upstream, connect):
    proxy = admin()
    old, new = SECRET, tokens.new_secret()
    assert ask(connect(proxy), tokens.mint(old, "s1")).status == 200
    with open(proxy.path("key"), "w") as f:
        f.write(new)
    proxy.config["sessions"]["keys"][0]["secret"] = "file:" + proxy.path("key")
    proxy.write_config()
    assert ctl(proxy, "reload")[1]["generation"] == 2
    proxy.audit(lambda records: any(r.get("event") == "reload" for r in records))

    def is_new():
        return ask(connect(proxy), tokens.mint(new, "s2")).status == 200
    wait_for(is_new, what="the new key")
    is_refusal(ask(connect(proxy), tokens.mint(old, "s1")), 407, "session_invalid")


def test_a_reload_that_is_refused_is_said(admin, upstream, connect):
    proxy = admin()
    policy = pathlib.Path(proxy.path("policy0.yaml"))
    good = policy.read_text()
    policy.write_text("policy: p\nalow: []\n")
    code, told = ctl(proxy, "reload")
    assert code == 1 and "reload refused" in told["error"]
    assert ctl(proxy, "status")[1]["generation"] == 1
    policy.write_text(good)
    assert ctl(proxy, "reload")[1]["generation"] == 2


def test_sessions_begin_with_a_restart(weir, connect, upstream):
    proxy = weir([http(NAME)], environment={"KEY": SECRET})
    proxy.config["sessions"] = sessions()
    proxy.reload()
    wait_for(lambda: "sessions begin with a restart" in proxy.log(), what="the log line")
    assert ask(connect(proxy)).status == 200  # what was in force stays so


# -- production

def test_production_serves_with_boundary_sessions_and_a_user(net, connect):
    directory = tempfile.mkdtemp(prefix="weir-production-")
    os.chmod(directory, 0o755)
    os.makedirs(directory + "/state")
    os.chown(directory + "/state", 65534, 65534)
    listen = {"proxy": ["127.0.0.1:%d" % free_port()], "admin": ["unix:%s/state/admin" % directory]}
    proxy = Weir([{"policy": "test", "allow": [{"host": "allowed.test"}]}], directory=directory, environment={"KEY": SECRET},
                 config={"production": True, "boundary": {"kind": "vm"}, "sessions": sessions(), "user": "nobody",
                         "listen": listen, "audit": {"path": directory + "/state/audit.jsonl"}})
    try:
        assert ctl(proxy, "status")[1]["production"] is True
        is_refusal(ask(connect(proxy)), 407, "session_required")
        is_refusal(ask(connect(proxy), tokens.mint(SECRET, tenant=None)), 407, "session_invalid")
        is_refusal(ask(connect(proxy), tokens.mint(SECRET)), 403, "port_not_allowed")
        assert in_order(proxy.finals(3))[2]["session"]["sid"] == "s1"
    finally:
        proxy.stop()
        shutil.rmtree(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be refused for being root")
def test_production_does_not_run_as_root(tmp_path):
    config = {"production": True, "boundary": {"kind": "vm"}, "sessions": sessions(), "policies": ["policy.yaml"],
              "listen": {"proxy": ["127.0.0.1:%d" % free_port()]}, "audit": {"path": "audit.jsonl"}}
    (tmp_path / "policy.yaml").write_text("policy: test\nallow: [{ host: allowed.test }]\n")
    (tmp_path / "weir.yaml").write_text(json.dumps(config))
    done = subprocess.run([binary(), "run", "-c", "weir.yaml"], cwd=tmp_path, capture_output=True, text=True,
                          env=dict(os.environ, KEY=SECRET), timeout=60)
    assert done.returncode == 78 and done.stderr.count("error:") == 1 and "[runs_as_root]" in done.stderr
    looked = subprocess.run([binary(), "check", "-c", "weir.yaml"], cwd=tmp_path, capture_output=True, text=True,
                            env=dict(os.environ, KEY=SECRET), timeout=60)
    assert looked.returncode == 0 and "warning:" in looked.stderr and "[runs_as_root]" in looked.stderr
