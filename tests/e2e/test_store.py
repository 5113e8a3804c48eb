"""The ledger's store under a real weir: killed, away, full, older than it was, shared by two."""
import collections
import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import sqlite3
import threading

import pytest

from rig import provider as rig_provider
from rig import redis as rig_redis
from rig import token as tokens
from rig.disk import fill, small_disk
from rig.gateway import ASK, SECRET, listen, nano
from rig.weir import SANITIZED, START_WAIT, free_port, wait_for
from rules import http, is_refusal

NAME = "allowed.test"
PATH = "/anthropic/v1/messages"
LEASE_US = 16 * 60 * 10 ** 6  # a little more than weir's
KILLS = 4 if SANITIZED else 20  # a sanitized build takes long to start, and dies no other way
CLIENTS = 8
PLAIN = 60  # tokens of a prompt, at most
HELD = 3  # streams that are under way when weir dies, at least


@pytest.fixture
def redis(tmp_path):
    directory = tmp_path / "redis"
    directory.mkdir()
    one = rig_redis.Redis(directory)
    yield one
    one.stop_at_once()


def keyed(**more):
    return dict({"keys": [{"issuer": tokens.ISSUER, "audience": tokens.AUDIENCE, "alg": "HS256", "secret": "env:KEY"}]},
                **more)


def mint(sid, usd="10"):
    return tokens.mint(SECRET, sid, budget={"sessionUsd": usd})


def on(url, **more):
    """A configuration with that ledger, and a health listener."""
    return dict({"ledger": {"url": url}, "listen": dict(listen(), health=["127.0.0.1:%d" % free_port()])}, **more)


def is_ready(g):
    return g.weir.health("/readyz")[0] == 200


def why_unready(g):
    """What /readyz says, once it is not ready."""
    def say():
        status, body = g.weir.health("/readyz")
        return body if status == 503 else None
    return wait_for(say, START_WAIT, "a ledger that is not there")


def wait_ready(g):
    wait_for(lambda: is_ready(g), START_WAIT, "a ledger that is there")


def wait_settled(g):
    wait_for(lambda: g.weir.metric("weir_ledger_waiting") == 0, START_WAIT, "what was settled in the ledger")


def calls(g):
    return [json.loads(line) for line in g.ledger("export").stdout.splitlines()]


class Bank:
    """Answers whose bill is due whether or not anybody is still there to hear them."""

    def __init__(self, seed):
        self.bills, self.random, self.changed = {}, random.Random(seed), threading.Condition()
        self.held, self.holds, self.go = 0, False, threading.Event()

    def hold(self):
        """From now on some streams stop half-way, until release()."""
        self.go.clear()
        self.holds = True

    def release(self):
        self.holds = False
        self.go.set()

    def __call__(self, provider, conn, request, body):
        return rig_provider.counting(self.serve, PLAIN)(provider, conn, request, body)

    def serve(self, provider, conn, request, body):
        with self.changed:
            plain, output = self.random.randint(1, PLAIN), self.random.randint(1, body["max_tokens"])
            bill = rig_provider.cost_nano(body["model"], plain, output=output)
            name = "req_%d" % len(self.bills)
            self.bills[name] = bill
            waits = bool(body.get("stream")) and self.holds and self.held < HELD
            self.held += waits
            self.changed.notify_all()
        more = ["request-id: " + name]
        if body.get("stream"):
            self.stream(conn, body["model"], plain, output, more, waits)
        else:
            rig_provider.messages(plain=plain, output=output, more=more)(provider, conn, request, body)
        with self.changed:
            self.held -= waits
            self.changed.notify_all()
        return bill

    def stream(self, conn, model, plain, output, more, waits):
        conn.send(rig_provider.head(200, "text/event-stream", more, chunked=True))
        for i, one in enumerate(rig_provider.message_events(model, plain, output, ("one ", "two"))):
            if waits and i == 3:
                self.go.wait()
            conn.send(rig_provider.chunk(one))
        conn.send(b"0\r\n\r\n")

    def wait(self, condition, what):
        with self.changed:
            if not self.changed.wait_for(lambda: condition(self), START_WAIT):
                raise AssertionError("%s did not come" % what)


class Load:
    """Clients that ask without end, each call of some session at some gateway."""

    Answer = collections.namedtuple("Answer", "at status reason name is_whole")

    def __init__(self, gateways, tokens_):
        self.gateways, self.tokens = gateways, tokens_
        self.answers, self.is_over, self.may_ask = [], False, threading.Event()
        self.changed = threading.Condition()
        self.may_ask.set()
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True) for n in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.is_over = True
        self.may_ask.set()
        for thread in self.threads:
            thread.join()

    def run(self, n):
        dice = random.Random(n)
        while self.may_ask.wait() and not self.is_over:
            at = dice.randrange(len(self.gateways))
            answer = self.ask(self.gateways[at], dice.choice(self.tokens), dice.random() < 0.5)
            if answer is None:
                continue
            with self.changed:
                self.answers.append(self.Answer(at, answer.status, answer.get("x-weir-reason"),
                                                answer.get("request-id"), answer.is_complete))
                self.changed.notify_all()

    @staticmethod
    def ask(g, token, is_stream):
        """None: weir was killed before the answer began."""
        try:
            with g.open() as client:
                client.timeout = START_WAIT
                g.send(client, PATH, dict(ASK, stream=is_stream), token)
                return client.response("POST")
        except OSError:
            return None

    def wait(self, condition, what):
        """condition(of the answers so far)"""
        with self.changed:
            if not self.changed.wait_for(lambda: condition(self.answers), START_WAIT):
                raise AssertionError("%s did not come: %s" % (what, collections.Counter(
                    (a.status, a.reason) for a in self.answers)))

    def wait_more(self, n, status=200):
        have = sum(a.status == status for a in list(self.answers))
        self.wait(lambda answers: sum(a.status == status for a in answers) >= have + n, "%d more answers" % n)


# -- weir killed


def leases_end(g):
    """As if the time of a lease had passed: the ledger's own clock for them, which never goes back, goes on."""
    with contextlib.closing(sqlite3.connect(g.weir.path("state/ledger.db"))) as db, db:
        db.execute("UPDATE meta SET lease = lease + ?", [LEASE_US])


def check_books(g, bank, load, caps):
    """Of a weir that is dead: what clients and provider know is in the ledger, and no budget is overdrawn."""
    done = g.ledger("verify", "--prices", str(rig_provider.PRICES))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = calls(g)
    named = {row["usage"]["id"]: row for row in rows if row.get("usage") and row["usage"].get("id")}
    for name, row in named.items():
        assert row["charged_nano"] == bank.bills[name], row
    for answer in list(load.answers):
        assert answer.status in (200, 402), answer
        assert answer.status != 200 or not answer.is_whole or answer.name in named, "%s was acknowledged" % answer.name
    for line in g.ledger("sessions", "--json").stdout.splitlines():
        said = json.loads(line)
        assert said["spent_nano"] + said["reserved_nano"] <= caps[said["sid"]], said
    assert len(rows) >= len(bank.bills)
    return rows, named


def die_under_load(gateway, provider, kills):
    seed = random.randrange(10 ** 9)
    print("seed", seed)
    dice, bank = random.Random(seed), Bank(seed)
    provider.answer = bank
    g = gateway(sessions=keyed(), config={"ledger": {"url": "sqlite:ledger.db"}})
    caps = {"all": 100 * 10 ** 9}
    with Load([g], [mint("all", "100")]) as load:
        for n in range(kills):
            sid = "round%d" % n
            caps[sid] = 2 * 10 ** 7
            load.tokens = [mint("all", "100"), mint(sid, "0.02")]
            bank.hold()
            have = len(bank.bills) + dice.randint(1, 60)
            bank.wait(lambda b: len(b.bills) >= have and b.held > 0, "load")
            g.weir.process.kill()
            load.may_ask.clear()
            g.weir.process.wait()
            check_books(g, bank, load, caps)
            bank.release()
            bank.wait(lambda b: b.held == 0, "the provider's end")
            g.weir.start()
            load.may_ask.set()
        load.wait(lambda answers: any(a.status == 402 for a in answers), "the end of a budget")
    assert provider.bill == sum(bank.bills.values())
    g.weir.stop()
    leases_end(g)
    g.weir.start()
    wait_for(lambda: not any(row["state"] == "held" for row in calls(g)), START_WAIT, "the end of all leases")
    rows, named = check_books(g, bank, load, caps)
    lost = sorted(row["charged_nano"] for row in rows if "lost" in row["flags"])
    unheard = sorted(bill for name, bill in bank.bills.items() if name not in named)
    assert len(lost) >= len(unheard) >= kills, "each death had calls under way"
    # as many of the dearest: each bill has a charge of its own that covers it
    assert all(bill <= charge for bill, charge in zip(reversed(unheard), reversed(lost)))
    assert sum(row["charged_nano"] for row in rows) >= provider.bill


def test_killed_under_load_nothing_is_lost_and_nothing_overspent(gateway, provider):
    die_under_load(gateway, provider, KILLS)


@pytest.mark.soak
def test_killed_very_often_nothing_is_lost_and_nothing_overspent(gateway, provider):
    die_under_load(gateway, provider, 200)


# -- Redis


def test_two_on_one_redis_share_one_budget_exactly(redis, gateway, provider):
    provider.answer = Bank(1)
    pair = [gateway(sessions=keyed(bind="none"), config=on(redis.url)) for _ in range(2)]
    for g in pair:
        wait_ready(g)
    token = mint("s1", "0.05")
    with Load(pair, [token]) as load:
        load.wait(lambda answers: {a.at for a in answers if a.status == 402} == {0, 1}, "an end at both")
    assert {a.at for a in load.answers if a.status == 200} == {0, 1}
    assert {(a.status, a.reason) for a in load.answers} == {(200, None), (402, "session_budget_exhausted")}
    assert pair[0].spent(token) == pair[1].spent(token) == provider.bill <= nano("0.05")


def test_redis_dies_and_money_stops_and_nothing_else(redis, gateway, provider, upstream, connect):
    g = gateway(policy=[{"policy": "p", "allow": [http(NAME)]}], sessions=keyed(), config=on(redis.url))
    provider.answer = Bank(1)
    wait_ready(g)
    known, fresh = mint("s1"), mint("s2")
    def visit(token):
        return connect(g.weir).get("http://%s/" % NAME, headers=[("Proxy-Authorization", tokens.basic(token))])
    assert visit(known).status == 200
    with Load([g], [known]) as load:
        load.wait_more(20)
        redis.stop_at_once()
        assert why_unready(g) == "not ready: the ledger is away\n"
        for token in (known, fresh):
            answer = g.messages(token)
            assert (answer.status, answer.get("x-weir-reason")) == (503, "ledger_unavailable")
            assert answer.get("retry-after")
        is_refusal(visit(fresh), 503, "ledger_unavailable")
        assert visit(known).status == 200
        assert g.weir.metric("weir_ledger_up") == 0
        redis.start()
        wait_ready(g)
        load.wait_more(20)
    assert visit(fresh).status == 200 and g.messages(fresh).status == 200
    wait_settled(g)
    assert g.spent(known) + g.spent(fresh) == provider.bill
    assert g.weir.metric("weir_ledger_up") == 1
    assert g.weir.metric("weir_model_nano_usd_total") == provider.bill
    assert {a.reason for a in load.answers} <= {None, "ledger_unavailable"}
    whole = [a.name for a in load.answers if a.status == 200]
    assert len(whole) == len(set(whole)) and all(a.is_whole for a in load.answers)


def test_a_call_under_way_is_settled_once_when_redis_is_back(redis, gateway, provider):
    g = gateway(sessions=keyed(), config=on(redis.url))
    wait_ready(g)
    provider.answer = bank = Bank(1)
    bank.hold()
    token = mint("s1")
    with g.open() as client:
        client.timeout = START_WAIT
        g.send(client, PATH, dict(ASK, stream=True), token)
        assert client.read_until(lambda data: b"one" in data)
        redis.stop_at_once()
        why_unready(g)
        bank.release()
        answer = client.response("POST")
    assert answer.status == 200 and answer.is_complete and b"message_stop" in answer.body
    wait_for(lambda: g.weir.metric("weir_ledger_waiting") == 1, START_WAIT, "the settle that waits")
    redis.start()
    wait_settled(g)
    assert g.spent(token) == provider.bill > 0
    (row,) = calls(g)
    assert (row["state"], row["charged_nano"], row["flags"]) == ("settled", provider.bill, [])


def test_an_older_redis_gives_no_money_back(redis, gateway, provider):
    g = gateway(sessions=keyed(), config=on(redis.url))
    wait_ready(g)
    token, kept = mint("s1"), []
    for n in range(2):
        assert g.messages(token).status == 200 and g.spent(token) == provider.bill
        redis.stop_at_once()
        why_unready(g)
        kept.append(redis.keep(str(n)))
        redis.start()
        wait_ready(g)
    redis.stop_at_once()
    redis.restore(kept[0])
    redis.start()
    wait_for(lambda: "older" in why_unready(g), START_WAIT, "a look at the older ledger")
    is_rolled_back(g, provider, token)
    redis.stop_at_once()
    redis.restore(kept[1])  # the newest one: nothing is lost
    redis.start()
    wait_ready(g)
    assert g.messages(token).status == 200 and g.spent(token) == provider.bill


def is_rolled_back(g, provider, token=None):
    asked = len(provider.requests)
    answer = g.messages(token)
    assert (answer.status, answer.get("x-weir-reason")) == (503, "ledger_rollback")
    assert len(provider.requests) == asked


# -- SQLite


def test_an_older_file_gives_no_money_back(gateway, provider):
    g = gateway(config=on("sqlite:ledger.db"))
    path, kept = pathlib.Path(g.weir.path("state/ledger.db")), []
    for n in range(2):
        assert g.messages().status == 200 and g.spent() == provider.bill
        g.weir.stop()
        kept.append(shutil.copy(path, "%s.%d" % (path, n)))
        g.weir.start()
    for file, is_fine in zip(kept, (False, True)):
        g.weir.stop()
        shutil.copyfile(file, path)
        g.weir.start()
        if is_fine:
            assert is_ready(g) and g.messages().status == 200 and g.spent() == provider.bill
        else:
            assert "older" in why_unready(g)
            is_rolled_back(g, provider)


@pytest.fixture
def disk(net, tmp_path):
    with small_disk(tmp_path / "small", "4m") as path:
        yield path


def test_a_full_disk_stops_money_until_there_is_room(disk, gateway, provider):
    g = gateway(config=on("sqlite:ledger.db", state_dir=str(disk)))
    provider.answer = bank = Bank(1)
    bank.hold()
    with g.open() as client:
        client.timeout = START_WAIT
        g.send(client, PATH, dict(ASK, stream=True))
        assert client.read_until(lambda data: b"one" in data)
        fill(disk / "filler")
        refused = wait_for(lambda: (lambda a: a if a.status != 200 else None)(g.messages()), START_WAIT, "a refusal")
        assert (refused.status, refused.get("x-weir-reason")) == (503, "ledger_unavailable")
        assert why_unready(g) == "not ready: the ledger is away\n"
        bank.release()
        answer = client.response("POST")
    assert answer.status == 200 and answer.is_complete and b"message_stop" in answer.body
    (disk / "filler").unlink()  # the settle waits for it, unless it was small enough for what was left
    wait_ready(g)
    wait_settled(g)
    assert g.messages().status == 200
    assert g.spent() == provider.bill
    assert {tuple(row["flags"]) for row in calls(g) if row["state"] == "settled"} == {()}


def test_a_limit_of_file_sizes_stops_money_and_not_weir(gateway, provider):
    g = gateway(config=on("sqlite:ledger.db"))
    assert g.messages().status == 200
    pid, size = g.weir.process.pid, os.path.getsize(g.weir.path("state/ledger.db-wal"))
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    refused = wait_for(lambda: (lambda a: a if a.status != 200 else None)(g.messages()), START_WAIT, "a refusal")
    assert (refused.status, refused.get("x-weir-reason")) == (503, "ledger_unavailable")
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    wait_ready(g)
    wait_settled(g)
    assert g.messages().status == 200 and g.spent() == provider.bill
