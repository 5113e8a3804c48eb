"""weir ledger: what was spent is shown, checked, corrected, deleted, and compared with the provider's bill."""
import fcntl
import hashlib
import json
import sqlite3
import subprocess

import pytest
from rig import ledger, weir

pytestmark = pytest.mark.command

PRICES = {"m": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 1000, "max_output_tokens": 1000,
                "input_cost_per_token": 2e-06, "output_cost_per_token": 1e-05}}
TABLE = json.dumps(PRICES)
DIGEST = hashlib.sha256(TABLE.encode()).hexdigest()
USAGE = {"api": "openai_chat", "id": "req_7", "model": "m", "runs": [{"input_total": 7, "output": 3}]}
COST = 44000  # n$: 7 tokens in, 3 out


@pytest.fixture
def books(tmp_path):
    one = ledger.Ledger(tmp_path / "ledger.db")
    yield one
    one.close()


@pytest.fixture
def run(books, tmp_path):
    (tmp_path / "prices.json").write_text(TABLE)
    (tmp_path / "agent.yaml").write_text("allow:\n- { host: a.test }\n")
    (tmp_path / "weir.yaml").write_text("production: false\nstate_dir: .\npolicies: [agent.yaml]\n")

    def ask(*arguments, url=None, **how):
        """On the ledger of the configuration, or the one at `url`."""
        where = ["--ledger", url] if url else ["-c", str(tmp_path / "weir.yaml")]
        return subprocess.run([weir.binary(), "ledger", *arguments, *where], cwd=tmp_path,
                              capture_output=True, text=True, check=False, **how)
    return ask


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def two_calls(books):
    books.session("s1")
    books.call("r1", cost=COST, usage=USAGE, prices=DIGEST, input=7, output=3)
    books.call("r2", amount=500, state=ledger.HELD)


def test_sessions_are_listed_with_what_they_spent(books, run):
    two_calls(books)
    books.session("s2", tenant="beta", first_use=ledger.NOON + 1000000, revoked=1)
    first, second = lines(run("sessions", "--json"))
    assert (first["tenant"], first["sid"], first["spent_nano"], first["reserved_nano"]) == ("acme", "s1", COST, 500)
    assert first["first_use"] == "2030-01-01T12:00:00Z" and not first["revoked"]
    assert (second["tenant"], second["spent_nano"], second["revoked"]) == ("beta", 0, True)
    text = run("sessions").stdout
    assert "acme/s1  0.000044 USD + 0.0000005 reserved" in text and "revoked" in text


def test_one_session_is_shown_with_its_turns_and_calls(books, run):
    two_calls(books)
    books.put("scope", "t" + ledger.parts("app", "acme", "s1", "t1"), spent=0, gen=4, claim=9, calls=1)
    books.call("r3", sid="other", cost=1)
    shown = json.loads(run("show", "acme", "s1", "--json").stdout)
    assert [c["request"] for c in shown["calls"]] == ["r1", "r2"]
    assert [s["kind"] for s in shown["scopes"]] == ["session", "turn"]
    assert shown["scopes"][1]["claim_nano"] == 9 and shown["session"]["spent_nano"] == COST
    text = run("show", "acme", "s1").stdout
    assert "r1#1  settled  m  7 in, 3 out  0.000044 USD" in text and "turn acme/s1/t1" in text


def test_a_session_that_is_not_there_or_not_the_only_one_is_an_answer_of_no(books, run):
    books.session("s1")
    books.session("s1", issuer="other")
    assert run("show", "acme", "s9").returncode == 1
    done = run("show", "acme", "s1")
    assert done.returncode == 1 and "--issuer" in done.stderr
    assert run("show", "acme", "s1", "--issuer", "other").returncode == 0


def test_nothing_in_a_ledger_can_move_a_terminal(books, run):
    books.session("s\x1b[2J1", sub="\u202eevil")
    books.call("r1", sid="s\x1b[2J1", model="\x07m")
    for done in (run("sessions"), run("show", "acme", "s\x1b[2J1")):
        assert done.returncode == 0 and not set("\x1b\x07\u202e") & set(done.stdout)
    assert not set("\x1b\x07") & set(run("export").stdout)


def test_an_export_has_all_that_a_bill_is_made_of(books, run):
    two_calls(books)
    call = next(c for c in lines(run("export")) if c["request"] == "r1")
    assert (call["cost_nano"], call["charged_nano"], call["prices"], call["usage"]) == (COST, COST, DIGEST, USAGE)
    assert (call["tenant"], call["sid"], call["provider"], call["attempt"]) == ("acme", "s1", "openai", 1)
    assert [s["kind"] for s in call["scopes"]] == ["session", "tenant", "total"]
    assert call["scopes"][0]["cap_nano"] == 5 * 10**9


def test_an_export_is_of_the_days_that_were_asked_for(books, run):
    books.call("r1", cost=1)
    books.call("r2", cost=1, reserved_at=ledger.NOON + 86400 * 1000000)
    def days(*which):
        return {c["request"] for c in lines(run("export", *which))}
    assert days("--from", "2030-01-01", "--to", "2030-01-01") == {"r1"}
    assert days("--from", "2030-01-02") == {"r2"}
    for wrong in ("2030-02-30", "2030-2-3", "2030-01-01x", " 2030-01-1", ""):
        assert run("export", "--to", wrong).returncode == 64


def test_a_ledger_that_adds_up_is_verified(books, run):
    two_calls(books)
    done = run("verify", "--prices", "prices.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 calls, 1 of them held" in done.stdout and "1 computed again, 0 by other" in done.stdout
    assert "it adds up" in done.stdout


@pytest.mark.parametrize("call, what", [
    ({"cost": COST + 1, "usage": USAGE}, "cost is not what its usage costs"),
    ({"cost": COST}, "its usage was not kept"),
    ({"cost": COST, "usage": {"runs": [{"input_total": -1}]}}, "its usage cannot be read"),
    ({"cost": COST, "usage": {"model": "n", "runs": [{"output": 1}]}}, "no price for its model"),
    ({"cost": COST - 1, "amount": COST, "usage": USAGE, "flags": ledger.ESTIMATED}, "estimated below"),
    ({"cost": COST + 2, "amount": COST + 1, "usage": USAGE, "flags": ledger.ESTIMATED}, "estimated above"),
    ({"cost": 5, "usage": {**USAGE, "reported": 6}, "flags": ledger.REPORTED}, "cost is not what"),
])
def test_a_wrong_bill_is_found(books, run, call, what):
    books.session("s1")
    books.call("r1", prices=DIGEST, **call)
    assert run("verify").returncode == 0  # the sums are right
    done = run("verify", "--prices", "prices.json", "--json")
    assert done.returncode == 1
    assert [(f["key"], what in f["what"]) for f in json.loads(done.stdout)["findings"]] == [("r1#1", True)]


def test_a_bill_by_another_table_is_counted_and_not_judged(books, run):
    books.call("r1", cost=1, usage=USAGE, prices="0" * 64)
    said = json.loads(run("verify", "--prices", "prices.json", "--json").stdout)
    assert (said["computed"], said["elsewhere"], said["findings"]) == (0, 1, [])


def test_a_sum_that_was_changed_is_found(books, run):
    two_calls(books)
    books.db.execute("UPDATE scope SET spent = spent - 1 WHERE key = 'a'")
    books.db.commit()
    done = run("verify")
    assert done.returncode == 1
    assert "total: spent is not what its calls were charged: 43999, should be 44000" in done.stdout


def test_a_correction_counts_once_and_the_sums_still_add_up(books, run):
    two_calls(books)
    how = ["adjust", "acme", "s1", "--usd", "-0.00001", "--why", "the provider refunded it", "--id", "refund-1"]
    first, second = run(*how, "--json"), run(*how, "--json")
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert json.loads(first.stdout) == {"id": "refund-1", "repeat": False, "delta_nano": -10000,
                                        "spent_nano": COST - 10000}
    assert json.loads(second.stdout)["repeat"] and json.loads(second.stdout)["spent_nano"] == COST - 10000
    kept = next(c for c in lines(run("export")) if c["request"] == "refund-1")
    assert (kept["flags"], kept["why"]) == (["adjusted"], "the provider refunded it")
    assert run("verify", "--prices", "prices.json").returncode == 0


@pytest.mark.parametrize("account", [["acme"], ["--total"]])
def test_shared_accounts_can_be_corrected(books, run, account):
    two_calls(books)
    done = run("adjust", *account, "--usd", "1", "--why", "x")
    assert done.returncode == 0 and "now 1.000044 USD spent" in done.stdout
    assert run("verify").returncode == 0


def test_an_account_that_is_not_there_is_not_opened(books, run):
    two_calls(books)
    done = run("adjust", "acne", "--usd", "1", "--why", "x")
    assert done.returncode == 1 and "no such account" in done.stderr
    assert run("adjust", "acme", "--per", "day", "--usd", "1", "--why", "x").returncode == 1
    assert books.db.execute("SELECT count(*) FROM scope").fetchone() == (3,)


@pytest.mark.parametrize("how", [["--usd", "1e3", "--why", "x"], ["--usd", "1"],
                                 ["--usd", "1", "--why", "x", "--total"],
                                 ["--usd", "1", "--why", "x", "--per", "year"],
                                 ["--usd", "1", "--why", "x", "--id", "a b"]])
def test_a_correction_that_makes_no_sense_is_a_wrong_call(books, run, how):
    two_calls(books)
    assert run("adjust", "acme", *how).returncode == 64


def test_a_tenant_leaves_nothing_but_a_tombstone_and_what_it_spent(books, run):
    two_calls(books)
    books.call("r9", sid="s9", tenant="beta", cost=9)
    done = run("forget", "acme")
    assert done.returncode == 0 and "forgot 1 session and 2 calls" in done.stdout
    dump = "\n".join(sqlite3.connect(books.path).iterdump())
    assert "acme" not in dump and "beta" in dump
    assert books.db.execute("SELECT spent FROM scope WHERE key = 'a'").fetchone() == (COST + 500 + 9,)
    assert books.db.execute("SELECT count(*) FROM tomb").fetchone() == (1,)
    assert run("verify").returncode == 0


def test_a_ledger_in_use_is_read_and_not_changed(books, run):
    two_calls(books)
    with open(books.path + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run("adjust", "acme", "--usd", "1", "--why", "x")
        assert done.returncode == 69 and "stop weir first" in done.stderr
        assert run("forget", "acme").returncode == 69
        assert run("sessions").returncode == 0 and run("verify").returncode == 0
    assert books.db.execute("SELECT count(*) FROM call").fetchone() == (2,)


def test_a_backup_is_a_ledger(books, run, tmp_path):
    two_calls(books)
    copy = tmp_path / "copy.db"
    assert run("backup", str(copy)).returncode == 0
    assert copy.stat().st_mode & 0o777 == 0o600
    assert run("sessions", url="sqlite:%s" % copy).stdout == run("sessions").stdout
    assert run("backup", str(copy)).returncode == 69  # never over what is there


CSV = "\ufeffid,model,cost_usd\r\n\"r1\",\"m, the \"\"best\"\"\",0.000044\r\nr3,m,0.01\r\n\r\n"
LINES = '{"request_id":"r1","cost":0.000044}\n\n{"request_id":"r3","cost":"1e-2"}\n'


@pytest.mark.parametrize("bill", [CSV, LINES])
def test_a_bill_is_compared_request_by_request(books, run, bill):
    books.call("r1", cost=COST, usage=USAGE)
    books.call("r2", cost=5)
    books.call("r3", cost=20000000)
    books.call("r4", amount=5, state=ledger.HELD)
    done = run("reconcile", "-", "--json", input=bill)
    assert done.returncode == 1, done.stderr
    *found, sums = lines(done)
    assert sorted((f["request"], f["what"], f["ledger_nano"], f["provider_nano"]) for f in found) == [
        ("r2", "only_in_ledger", 5, None), ("r3", "differs", 20000000, 10000000)]
    assert (sums["same"], sums["held"], sums["ledger_nano"], sums["provider_nano"]) == (1, 1, 20044005, 10044000)
    assert "r3: differs: 0.02 here, 0.01 there" in run("reconcile", "-", input=bill).stdout


def test_a_request_is_found_by_the_providers_own_name(books, run):
    books.call("r1", cost=COST, usage=USAGE)
    assert run("reconcile", "-", input='{"id":"req_7","cost":0.000044}\n').returncode == 0
    done = run("reconcile", "-", "--id-field", "ref", "--cost-field", "usd", input="ref,usd\nreq_8,0.000044\n")
    assert done.returncode == 1 and "req_8: only_at_provider: 0.000044 USD" in done.stdout


def test_what_went_elsewhere_or_hardly_differs_is_left_out(books, run):
    books.call("r1", cost=COST)
    books.call("r2", cost=COST, provider="anthropic")
    bill = '{"id":"r1","cost":0.000045}\n'
    assert run("reconcile", "-", "--provider", "openai", "--tolerance", "0.000001", input=bill).returncode == 0
    assert run("reconcile", "-", "--provider", "openai", input=bill).returncode == 1


@pytest.mark.parametrize("bill, line", [('{"id":"r1","cost":1}\n{"id":"r2"}\n', 2), ("id,price\nr1,1\n", 1),
                                        ("id,cost\nr1,1\nr2,-1\n", 3), ('id,cost\n"r1,1\n', 2), ("", 1),
                                        ('{"id":"r1","cost":1}\n[]\n', 2)])
def test_a_bill_that_cannot_be_read_says_where(run, bill, line):
    done = run("reconcile", "-", input=bill)
    assert done.returncode == 78 and "-:%d: " % line in done.stderr


def test_how_it_ends_says_what_was_missing(books, run, tmp_path):
    assert run("sessions", url="sqlite:nowhere.db").returncode == 66
    assert run("reconcile", "nowhere.csv").returncode == 66
    assert run("verify", "--prices", "nowhere.json").returncode == 66
    assert run("sessions", url="redis+unix:%s/redis.sock" % tmp_path).returncode == 69
    assert run("sessions", "-c", "nowhere.yaml", url=books.url).returncode == 66
    for wrong in (["rebuild"], ["show", "acme"], ["sessions", "x"], ["forget", "acme", "--days", "0"], []):
        assert run(*wrong).returncode == 64
    books.put("meta", "meta", format=99, id="0" * 32)
    assert run("sessions").returncode == 69


def test_a_ledger_by_itself_is_read_and_not_changed(books, run, tmp_path):
    two_calls(books)
    done = run("sessions", url=books.url)
    assert done.returncode == 0 and "acme/s1" in done.stdout, done.stderr
    for change in (["adjust", "acme", "--usd", "1", "--why", "x"], ["forget", "acme"]):
        done = run(*change, url=books.url)
        assert done.returncode == 64 and "needs the configuration" in done.stderr
    assert not (tmp_path / "ledger.seen").exists()
