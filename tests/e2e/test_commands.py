"""The commands that need no running proxy: check, explain, redact, help."""
import base64
import html
import json
import pathlib
import re
import subprocess
import urllib.parse

import pytest

from rig.ledger import Ledger
from rig.weir import binary

ROOT = pathlib.Path(__file__).parents[2]
POLICY = {"policy": "case", "deny": [{"host": "denied.test"}], "allow": [
    {"name": "forge", "host": "forge.test", "protocol": "http", "methods": ["GET"], "paths": ["/org/**"]},
    {"name": "api", "host": "api.test"}, {"name": "inside", "host": "inside.test", "private": ["10.0.0.0/8"]}]}
PUBLIC = "93.184.215.14"


def weir(*arguments, given=None, cwd=None):
    return subprocess.run([binary(), *arguments], input=given, capture_output=True, text=True, timeout=30, cwd=cwd)


@pytest.fixture
def config(tmp_path):
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY))
    path = tmp_path / "weir.yaml"
    path.write_text(json.dumps({"production": False, "listen": {"proxy": ["127.0.0.1:3128"]}, "policies": ["policy.yaml"]}))
    return str(path)


@pytest.mark.parametrize("arguments,takes", [
    ("audit tail --kind foo", "--kind takes connect, http, gateway, socks5, dns, transparent or system, not foo"),
    ("audit tail --since yesterday", "--since takes 2031-04-05, 2031-04-05T06:07:08Z or 15m"),
    ("audit tail --until 25:00", "--until takes 2031-04-05"), ("audit stats --by foo", "--by takes reason, host, session"),
    ("audit tail --decision maybe", "--decision takes allow or deny, not maybe"), ("audit tail --phase x", "--phase takes "),
    ("audit verify --head zz", "--head takes the digest of a line"), ("audit tail -n many", "--lines takes a number, not many"),
    ("audit tail --reason foo", "--reason takes ids of reasons"), ("audit tail --reason ok,foo", "--reason takes ids of reasons"),
    ("audit tail --color red", "--color takes auto, always or never"), ("audit stats --top 0", "--top takes a number from 1"),
    ("ledger export --from x", "--from takes a day"), ("ledger forget a --days 0", "--days takes a number of days"),
    ("ledger reconcile x --tolerance y", "--tolerance takes an amount"), ("meter --status 99 a b", "--status takes a status"),
    ("meter --provider x a b", "--provider takes anthropic, openai"), ("meter --settle x a b", "--settle takes table or reported"),
], ids=lambda a: a if " -" in a else "")
def test_a_value_that_an_option_does_not_take_is_told_with_its_option_and_what_it_takes(arguments, takes):
    told = weir(*arguments.split())
    assert told.returncode == 64 and takes in told.stderr and told.stderr.endswith("--help\n"), told


@pytest.mark.parametrize("arguments,why", [
    ("run --alow x", "--alow; did you mean --allow?"), ("run --alow=x", "--alow=x; did you mean --allow?"),
    ("token mint --session_usd 5", "did you mean --session-usd?"), ("redact --explian", "did you mean --explain?"),
    ("explain --jsn a.test:443", "did you mean --json?"), ("ctl --tokenfile f arm x", "did you mean --token-file?"),
    ("run --quite-another", "there is no option --quite-another\n"), ("explain --json=x a.test:443", "--json takes no value\n"),
], ids=lambda a: a if " -" in a else "")
def test_an_option_that_there_is_not_is_told_with_the_nearest(arguments, why):
    told = weir(*arguments.split(), given="")
    assert told.returncode == 64 and why in told.stderr and told.stderr.endswith("--help\n"), told


@pytest.mark.parametrize("arguments,why", [
    ("token mint --out f", "mint takes no --out"), ("token keygen --sid s", "keygen takes no --sid"),
    ("token show --ttl 1h", "show takes no --ttl"), ("ca show --days 5 d", "show takes no --days"),
    ("ca init --finish d", "init takes no --finish"), ("ca rotate --finish --name x d", "rotate --finish takes no --name"),
    ("audit verify --top 3", "verify takes no --top"), ("audit stats -f", "stats takes no --follow"),
    ("ledger verify --provider x", "verify takes no --provider"), ("ledger forget a --from 2031-04-05", "forget takes no --from"),
    ("check --danger --review -c f", "exclude each other"), ("check --defaults f", "--defaults is of no file"),
], ids=lambda a: a if " -" in a else "")
def test_an_option_that_would_be_ignored_is_told(arguments, why, tmp_path):
    told = weir(*arguments.split(), given="", cwd=tmp_path)
    assert told.returncode == 64 and why in told.stderr and told.stderr.endswith("--help\n"), told
    assert not told.stdout and not list(tmp_path.iterdir())


def test_all_that_by_is_said_to_take_it_takes():
    said = re.search("--by takes (.*), not", weir("audit", "stats", "--by", "foo").stderr).group(1)
    words = re.split(", | or ", said)
    assert len(words) > 5 and {weir("audit", "stats", "--by", word, "/dev/null").returncode for word in words} == {0}


def test_every_reason_can_be_asked_for():
    reasons = re.findall(r'^REASON\(\w+, "(\w+)"', (ROOT / "src/policy/reasons.def").read_text(), re.M)
    told = weir("audit", "tail", "--reason", ",".join([*reasons, "ok"]), "/dev/null")
    assert len(reasons) > 50 and told.returncode == 0, told


# -- the configuration, and other files that a command line names

ABSENT = "absent.yaml"


@pytest.mark.parametrize("arguments", [
    ["run", "-c", ABSENT], ["check", "-c", ABSENT], ["check", ABSENT], ["explain", "-c", ABSENT, "a.test:443"],
    ["redact", "-c", ABSENT], ["redact", "--key", "file:absent"], ["redact", "--key", "env:WEIR_TEST_ABSENT"],
    ["token", "mint", "-c", ABSENT, "--sid", "s"], ["token", "show", "-c", ABSENT, "x"],
    ["token", "mint", "--key", "file:absent", "--alg", "HS256", "--issuer", "a", "--sid", "s"],
    ["meter", "--prices", ABSENT, "a", "b"], ["ledger", "sessions", "-c", ABSENT], ["ledger", "verify", "--prices", ABSENT],
    ["audit", "tail", "-c", ABSENT], ["audit", "verify", "--key", "file:absent", "/dev/null"], ["env", "-c", ABSENT],
    ["ctl", "-c", ABSENT, "status"], ["run", "-c", "."], ["explain", "-c", ".", "a.test:443"], ["env", "-c", "."],
    ["audit", "tail", "-c", "."], ["redact", "-c", "."], ["token", "show", "-c", ".", "x"],
], ids=" ".join)
def test_a_file_that_is_named_and_cannot_be_read_is_66(tmp_path, arguments):
    if arguments[:2] == ["ledger", "verify"]:
        Ledger(tmp_path / "ledger.db").close()
        arguments = [*arguments, "--ledger", "sqlite:ledger.db"]
    told = weir(*arguments, given="", cwd=tmp_path)
    assert told.returncode == 66 and told.stdout in ("", "failed: 1 error\n"), told
    assert "absent" in told.stderr.lower() or "directory" in told.stderr


@pytest.fixture
def locked(tmp_path):
    """Every secret of it is somewhere else; its CA's certificate is none."""
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY))
    for name in ("audit.jsonl", "ca.pem"):
        (tmp_path / name).write_text("no secret\n")
    Ledger(tmp_path / "ledger.db").close()
    path = tmp_path / "weir.yaml"
    path.write_text(json.dumps({
        "production": False, "policies": ["policy.yaml"], "state_dir": ".", "audit": {"path": "audit.jsonl", "key": "env:NO_AUDIT"},
        "listen": {"proxy": ["127.0.0.1:3128"], "admin": ["unix:admin.sock"]}, "redact": {"key": "env:NO_REDACT"},
        "credentials": {"forge": {"value": "env:NO_FORGE", "hosts": ["forge.test"]}}, "ledger": {"url": "sqlite:ledger.db"},
        "tls": {"intercept": {"cert": "file:ca.pem", "key": "file:no.key"}},
        "sessions": {"keys": [{"issuer": "app", "alg": "HS256", "secret": "env:NO_SESSION"}]}}))
    return str(path)


@pytest.mark.parametrize("command,words", [
    (["env"], []), (["audit", "tail"], []), (["audit", "stats"], []), (["ledger", "sessions"], []), (["ctl"], ["status"]),
], ids=lambda a: " ".join(a) if isinstance(a, list) else "")
def test_a_command_that_needs_no_secret_asks_for_none(locked, command, words):
    told = weir(*command, "-c", locked, *words)
    assert told.returncode == (69 if command == ["ctl"] else 0) and "secret" not in told.stderr, told


@pytest.mark.parametrize("arguments,named", [
    (["run"], "NO_FORGE"), (["check"], "NO_FORGE"), (["explain", "a.test:443"], "NO_FORGE"), (["redact"], "NO_FORGE"),
    (["audit", "verify"], "NO_AUDIT"), (["token", "mint", "--sid", "s"], "NO_SESSION"),
], ids=lambda a: " ".join(a) if isinstance(a, list) else "")
def test_a_command_that_needs_a_secret_does_not_run_without_it(locked, arguments, named):
    told = weir(*arguments, "-c", locked, given="")
    assert told.returncode == 78 and named in told.stderr and "secret_missing" in told.stderr, told
    if arguments[0] in ("audit", "token"):
        assert "NO_FORGE" not in told.stderr


def test_a_secret_written_out_is_refused_by_whatever_reads_the_file(locked):
    path = pathlib.Path(locked)
    words = "w" * 12
    path.write_text(path.read_text().replace("env:NO_FORGE", words))
    told = weir("env", "-c", locked)
    assert told.returncode == 78 and "secret_literal" in told.stderr and words not in told.stderr


@pytest.mark.parametrize("url", ["foo:bar", "memory:", "ledger.db"])
def test_what_is_no_ledger_is_told_from_one_that_is_away(config, tmp_path, url):
    told = weir("ledger", "sessions", "--ledger", url, cwd=tmp_path)
    assert told.returncode == 64 and "--ledger takes sqlite:PATH" in told.stderr and url in told.stderr
    path = tmp_path / "weir.yaml"
    path.write_text(json.dumps(dict(json.loads(path.read_text()), ledger={"url": url})))
    told = weir("ledger", "sessions", "-c", str(path))
    assert told.returncode == 78 and url in told.stderr


# -- explain

EXPLAINED = [
    (["--answer", PUBLIC, "api.test:443"], 0, "ok", "api"),
    (["--answer", PUBLIC, "https://api.test/any"], 0, "ok", "api"),
    (["--answer", PUBLIC, "http://forge.test/org/x"], 0, "ok", "forge"),
    (["--answer", "10.1.2.3", "inside.test:443"], 0, "ok", "inside"),
    (["--answer", "10.1.2.3", "api.test:443"], 1, "address_denied", None),
    (["--answer", "169.254.169.254", "inside.test:443"], 1, "address_denied", None),
    (["POST", "http://forge.test/org/x"], 1, "method_not_allowed", None),
    (["http://forge.test/other"], 1, "path_not_allowed", None),
    (["api.test:22"], 1, "port_not_allowed", None), (["denied.test:443"], 1, "host_denied", None),
    (["other.test:443"], 1, "host_not_allowed", None), (["127.1:443"], 1, "host_invalid", None),
]


@pytest.mark.parametrize("arguments,status,reason,rule", EXPLAINED, ids=[" ".join(e[0]) for e in EXPLAINED])
def test_explain_says_what_would_happen(config, arguments, status, reason, rule):
    told = weir("explain", "-c", config, "--json", *arguments)
    verdict = json.loads(told.stdout)
    assert told.returncode == status
    assert verdict["decision"] == ("allow" if status == 0 else "deny") and verdict["reason"] == reason
    if rule:
        assert verdict["rule"].endswith(" " + rule) and "policy.yaml:" in verdict["rule"]
        assert verdict["dial"] and verdict["fix"] is None
    else:
        assert verdict["dial"] == []


@pytest.mark.parametrize("arguments", [["POST", "http://forge.test/org/x"], ["http://forge.test/other"], ["api.test:22"],
                                       ["other.test:443"], ["http://other.test/x"]], ids=" ".join)
def test_the_fix_of_explain_admits_the_request_and_is_narrow(config, tmp_path, arguments):
    """Pasted into a policy of its own, the rule allows exactly what was asked."""
    fix = json.loads(weir("explain", "-c", config, "--json", *arguments).stdout)["fix"]
    own = dict(POLICY, allow=POLICY["allow"] + [fix["rule"]])
    (tmp_path / "policy.yaml").write_text(json.dumps(own))
    assert weir("explain", "-c", config, "--answer", PUBLIC, *arguments).returncode == 0
    assert isinstance(fix["also_admits"], list)
    assert weir("explain", "-c", config, "--answer", PUBLIC, "unheard-of.test:443").returncode == 1


def test_explain_without_an_answer_says_that_addresses_were_not_judged(config):
    told = weir("explain", "-c", config, "api.test:443")
    assert told.returncode == 0 and "not evaluated" in told.stdout


def test_explain_in_text_names_the_rule_and_the_stages(config):
    told = weir("explain", "-c", config, "--answer", PUBLIC, "api.test:443")
    assert "policy.yaml:" in told.stdout and "api" in told.stdout and "shape" in told.stdout


def batch(*lines):
    told = weir("explain", "--batch", given="".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines))
    return told.returncode, [json.loads(line) for line in told.stdout.splitlines()]


def test_a_batch_answers_each_line():
    ask = {"via": "connect", "target": "api.test:443", "policy": {"allow": [{"host": "api.test"}]}}
    status, out = batch(dict(ask, id="a", answers=[PUBLIC]), "no json", dict(ask, id=7, target="other.test:443"),
                        dict(ask, id="t", answers={"error": "timeout"}), dict(ask, id="n", answers={"error": "nxdomain"}))
    assert status in (0, 1)
    assert [o["id"] for o in out] == ["a", None, 7, "t", "n"]
    assert [(o["decision"], o["status"], o["reason"]) for o in out] == [
        ("allow", 200, "ok"), ("deny", 400, "request_malformed"), ("deny", 403, "host_not_allowed"),
        ("deny", 504, "dns_timeout"), ("deny", 502, "dns_failed")]
    assert out[0]["rule"].startswith("batch:allow[0]") and out[0]["dial"] == [PUBLIC + ":443"]


def test_a_batch_with_a_policy_that_does_not_load_is_78_at_the_end():
    ask = {"via": "connect", "target": "api.test:443", "policy": {"allow": [{"host": "api.test"}]}, "id": 1}
    status, out = batch(dict(ask, policy={"alow": []}), dict(ask, id=2))
    assert status == 78
    assert out[0]["id"] == 1 and out[0]["error"][0]["code"] == "unknown_key"
    assert out[1]["decision"] == "allow"


def test_layers_of_a_batch_narrow():
    outer, inner = {"policy": "org", "allow": [{"host": "*.example.com"}]}, {"policy": "team", "allow": [{"host": "*", "broad": True}]}
    ask = {"via": "connect", "policy": [outer, inner], "answers": [PUBLIC]}
    _status, out = batch(dict(ask, id=1, target="a.example.com:443"), dict(ask, id=2, target="other.test:443"))
    assert [o["decision"] for o in out] == ["allow", "deny"]
    assert out[1]["layer"] == "org"


# -- check

def test_check_accepts_what_is_right(config):
    told = weir("check", "-c", config)
    assert told.returncode == 0, told.stderr


BROKEN = [
    ("allow:\n  - hots: a.test\n", "policy.yaml:2:5", "did you mean \"host\""),
    ("allow:\n  - host: \"*a.test\"\n", "policy.yaml:2:11", "star"),
    ("allow:\n  - host: .a.test\n", "policy.yaml:2:11", ""),
    ("allow:\n  - host: b\u00fccher.test\n", "policy.yaml:2:11", "xn--bcher-kva.test"),
    ("allow:\n  - host: a.test\n    private: [0.0.0.0/0]\n", "policy.yaml:3:", ""),
    ("allow:\n  - host: a.test\n    methods: [GET]\n", "policy.yaml:3:", "needs_sight"),
    ("allow:\n  - host: a.test\n    protocol: tcp\n", "policy.yaml:", "port"),
    ("allow:\n  - host: \"*.com\"\n", "policy.yaml:2:11", "broad"),
    ("allow: &x\n  - host: a.test\n", "policy.yaml:1:", ""),
    ("mode: on\n", "policy.yaml:1:", ""),
]


@pytest.mark.parametrize("text,place,word", BROKEN, ids=[b[0].replace("\n", " ") for b in BROKEN])
def test_check_names_the_place_and_the_remedy(tmp_path, text, place, word):
    (tmp_path / "policy.yaml").write_text(text)
    told = weir("check", "policy.yaml", cwd=tmp_path)
    said = told.stdout + told.stderr
    assert told.returncode == 78 and place in said and word in said and "^" in said


def test_check_shows_every_error_of_one_run(tmp_path):
    (tmp_path / "policy.yaml").write_text("allow:\n  - hots: a.test\n  - host: \"*b\"\n    ports: [0]\nalow: []\n")
    told = weir("check", "--format", "json", "policy.yaml", cwd=tmp_path)
    found = json.loads(told.stdout)
    assert told.returncode == 78
    assert len({f["line"] for f in found if f["severity"] == "error"}) >= 4
    assert all({"file", "line", "column", "code", "message"} <= set(f) for f in found)


def test_strict_makes_warnings_fail(tmp_path):
    policy = {"policy": "p", "allow": [{"host": "*.a.test"}, {"host": "b.a.test"}], "deny": [{"host": "b.a.test"}]}
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    assert weir("check", "policy.yaml", cwd=tmp_path).returncode == 0
    assert weir("check", "--strict", "policy.yaml", cwd=tmp_path).returncode != 0


def test_expectations_are_run(tmp_path):
    policy = dict(POLICY, expect=[{"allow": "GET http://forge.test/org/x"},
                                  {"deny": "DELETE http://forge.test/org/x", "reason": "method_not_allowed"}])
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    assert weir("check", "policy.yaml", cwd=tmp_path).returncode == 0
    policy["expect"].append({"allow": "https://denied.test/"})
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    told = weir("check", "policy.yaml", cwd=tmp_path)
    assert told.returncode == 1 and "expect_failed" in told.stdout + told.stderr


def test_defaults_are_printed_with_every_key(tmp_path):
    said = weir("check", "--defaults").stdout
    for key in ("production", "listen.proxy", "limits.head_timeout", "audit.on_failure", "dns.timeout", "redact.id"):
        assert key in said


@pytest.mark.parametrize("name", ["head_timeout", "idle", "target", "client_rate"])
def test_a_setting_without_its_unit_is_an_error(tmp_path, name):
    (tmp_path / "weir.yaml").write_text(json.dumps({"production": False, "limits": {name: 7}}))
    told = weir("check", "-c", str(tmp_path / "weir.yaml"))
    assert told.returncode == 78 and name in told.stdout + told.stderr


# -- redact and the rest

def test_redact_takes_secrets_out_and_nothing_else(tmp_path):
    secret = "sk-" + "ant-" + "api03-" + "Zk3" * 12
    text = "one %s two\nAuthorization: Bearer %s\nplain words stay\n" % (secret, "abcDEF123456" * 3)
    told = weir("redact", given=text)
    assert told.returncode == 0
    assert secret not in told.stdout and "abcDEF123456" not in told.stdout
    assert told.stdout.startswith("one ~redacted.") and "plain words stay\n" in told.stdout
    assert weir("redact", given=told.stdout).stdout == told.stdout


@pytest.mark.parametrize("kind,given,stays", [
    ("json", '{"password": "hunter2hunter2", "user": "ann"}', "ann"), ("header", "Cookie: session=0123456789abcdef", "Cookie"),
    ("url", "https://user:hunter2hunter2@h.test/p?api_key=0123456789abcdef&page=2", "h.test"),
])
def test_redact_knows_forms(kind, given, stays):
    told = weir("redact", "--as", kind, given=given)
    assert told.returncode == 0 and stays in told.stdout
    assert "hunter2" not in told.stdout and "0123456789abcdef" not in told.stdout
    if kind == "json":
        json.loads(told.stdout)


@pytest.mark.parametrize("arguments, words, status", [
    (["--key", "file:/nowhere/at-all"], "weir redact: file:/nowhere/at-all: No such file or directory [secret_missing]\n", 66),
    (["--key", "hunter" "2hunter2"], "write env:NAME, file:PATH or cred:NAME", 78),
    (["--key", "env:HOME", "--key-id", "a b"], "redact.id consists of letters", 78),
], ids=["missing", "literal", "id"])
def test_a_wrong_key_of_redact_is_told_without_an_invented_file(arguments, words, status):
    told = weir("redact", *arguments, given="")
    assert told.returncode == status and words in told.stderr
    assert "--key:1" not in told.stderr and "{" not in told.stderr and "hunter" not in told.stderr


def test_a_fingerprint_under_a_random_key_is_refused():
    told = weir("redact", "--fingerprint", given="hunter" "2hunter2")
    assert told.returncode == 64 and told.stdout == "" and "needs --key" in told.stderr


def test_redact_with_a_configuration_masks_what_it_names_in_any_encoding(tmp_path):
    held, key = "Sesame~open/17+x", "the key of marks"
    (tmp_path / "held").write_text(held + "\n")
    (tmp_path / "key").write_text(key + "\n")
    (tmp_path / "p.yaml").write_text("policy: p\n")
    (tmp_path / "weir.yaml").write_text(
        "production: false\nlisten: { proxy: ['127.0.0.1:1'] }\npolicies: [p.yaml]\n"
        "ledger: { url: 'redis://127.0.0.1:1/0', password: 'file:held' }\nredact: { key: 'file:key', id: k7 }\n")
    for name in ("held", "key"):
        (tmp_path / name).chmod(0o600)
    config = ["-c", str(tmp_path / "weir.yaml")]
    mark = weir("redact", "--fingerprint", *config, given=held).stdout.strip()
    assert re.fullmatch(r"~redacted\.held\.k7\.[0-9a-f]{12}~", mark)
    forms = [held, urllib.parse.quote(held, safe=""), held.encode().hex(), base64.b64encode(held.encode()).decode(),
             base64.urlsafe_b64encode(held.encode()).decode(), html.escape(held).replace("/", "&#x2F;"),
             json.dumps(held).replace("/", "\\/").strip('"')]
    told = weir("redact", *config, given="\n".join("say %s now" % form for form in forms))
    assert told.returncode == 0 and told.stdout == "\n".join(["say %s now" % mark] * len(forms))
    assert weir("redact", given="say %s now" % held).stdout == "say %s now" % held
    assert weir("redact", *config, "--key", "env:HOME", given="").returncode == 64
    assert weir("redact", "-c", str(tmp_path / "none.yaml"), given="").returncode == 66


def test_help_version_and_usage():
    assert "usage" in weir("help").stdout
    assert weir("--version").stdout.startswith("weir ")
    assert weir("nonsense").returncode == 64
    assert weir("explain").returncode == 64
    for command in ("run", "check", "explain", "redact"):
        told = weir(command, "--help")
        assert told.returncode == 0 and told.stdout.startswith("usage: weir " + command)


@pytest.mark.parametrize("arguments", [["--version"], ["help"], ["redact", "--help"], ["check", "--defaults"],
                                       ["token", "keygen"], ["explain", "--batch"], ["explain", "example.com:443"]])
def test_an_answer_that_cannot_be_written_is_no_success(tmp_path, arguments):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([binary(), *arguments], input=b'{"id": "1"}\n', stdout=full, stderr=subprocess.PIPE,
                              cwd=tmp_path, check=False)
    assert done.returncode == 69 and b"not all of the answer" in done.stderr, done


@pytest.mark.parametrize("arguments", [["explain", "--batch"], ["meter", "--batch"]])
def test_a_batch_whose_answers_cannot_be_written_reads_no_further(arguments):
    with open("/dev/full", "wb") as full:
        weir = subprocess.Popen([binary(), *arguments], stdin=subprocess.PIPE, stdout=full, stderr=subprocess.DEVNULL)
    with weir, weir.stdin as stdin:
        stdin.write(b"{}\n")
        stdin.flush()
        assert weir.wait(timeout=30) != 0
