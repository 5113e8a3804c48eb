"""weir check: every fault at once, with its place; nothing is looked up, nothing is dialled."""
import json
import os
import pathlib
import pwd
import re
import subprocess

import pytest

from rig import weir as rig_weir

pytestmark = pytest.mark.command

GOOD_POLICY = """policy: one
allow:
  - name: forge
    host: forge.example.com
expect:
  - allow: CONNECT forge.example.com:443
  - deny: CONNECT gist.example.com:443
"""
UNRECORDED = 'production: false\nlisten: { proxy: ["127.0.0.1:3128"] }\npolicies: [policy.yaml]\n'
GOOD_CONFIG = UNRECORDED + 'audit: { path: audit.jsonl }\n'


@pytest.fixture
def check(tmp_path):
    """check(arguments, files={name: text}): the finished process."""

    def run(*arguments, files=None, environment=None):
        for name, text in (files or {}).items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        return subprocess.run([rig_weir.binary(), "check", *arguments], cwd=tmp_path, text=True,
                              env=dict(os.environ, **(environment or {})), capture_output=True)

    return run


def test_a_good_configuration_is_told_in_one_line(check):
    done = check("-c", "weir.yaml", files={"weir.yaml": GOOD_CONFIG, "policy.yaml": GOOD_POLICY})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "ok: 1 configuration, 1 policy, 1 rule, 2 expectations\n"


def test_a_policy_is_checked_alone(check):
    done = check("policy.yaml", files={"policy.yaml": GOOD_POLICY})
    assert (done.returncode, done.stdout) == (0, "ok: 1 policy, 1 rule, 2 expectations\n")


def test_faults_of_all_files_come_in_one_run(check):
    done = check("-c", "weir.yaml", "a.yaml", "b.yaml", files={
        "weir.yaml": "production: false\npolices: [policy.yaml]\nlimits: { head: 010KiB }\n",
        "a.yaml": "policy: a\nalow: []\n",
        "b.yaml": "policy: b\npolicy: c\n"})
    assert done.returncode == 78
    assert 'weir.yaml:2:1: error: there is no key "polices" [unknown_key]\n' \
           '    polices: [policy.yaml]\n    ^\n    hint: did you mean "policies"?\n' in done.stderr
    for place in ("weir.yaml:3:17: error: ", "a.yaml:2:1: error: ", "b.yaml:2:1: error: "):
        assert place in done.stderr
    assert done.stdout.startswith("failed: ")


def providers(*rows, prices="prices.json"):
    return GOOD_CONFIG + "gateway:\n" + ("  prices: %s\n" % prices if prices else "") + "  providers:\n" + \
        "".join("    - { %s }\n" % row for row in rows)


FORGE = "name: forge, kind: none, path: /forge, upstream: \"https://%s\""
CLAUDE = "name: claude, kind: anthropic, path: /claude, upstream: \"https://llm.example.com\", hosts: [\"*.llm.example.net\"]"


@pytest.mark.parametrize("host, row", [
    ("api.anthropic.com", None), ("api.openai.com/v1", None), ("eu.api.openai.com", None),
    ("generativelanguage.googleapis.com:8443", None), ("bedrock-runtime.us-east-1.amazonaws.com", None),
    ("llm.example.com/v1", CLAUDE), ("eu.llm.example.net", CLAUDE)])
def test_a_key_for_models_is_not_passed_on_without_a_meter(check, host, row):
    rows = [FORGE % host] + ([row] if row else [])
    prices = pathlib.Path(__file__).resolve().parents[2] / "policies" / "prices.json"
    done = check("-c", "weir.yaml", files={"weir.yaml": providers(*rows), "policy.yaml": GOOD_POLICY,
                                           "prices.json": prices.read_text(encoding="utf-8")})
    assert done.returncode == 78 and "[unmetered_provider]" in done.stderr, done.stderr
    assert "forge goes to a host of" in done.stderr


@pytest.mark.parametrize("host", ["forge.example.com", "s3.us-east-1.amazonaws.com", "api.anthropic.com.example.net",
                                  "api.deepseek.com", "storage.googleapis.com"])
def test_a_key_for_something_else_is(check, host):
    """deepseek: the table says nothing of it."""
    prices = pathlib.Path(__file__).resolve().parents[2] / "policies" / "prices.json"
    done = check("-c", "weir.yaml", files={"weir.yaml": providers(FORGE % host, CLAUDE), "policy.yaml": GOOD_POLICY,
                                           "prices.json": prices.read_text(encoding="utf-8")})
    assert "unmetered_provider" not in done.stderr and done.returncode == 0, done.stderr


def test_a_price_table_is_described_with_its_date_and_what_has_no_price_of_output(check):
    half = {"weir_date": "2031-02-03", "whole": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06,
                                                "max_input_tokens": 10, "max_output_tokens": 10},
            "misspelt": {"input_cost_per_token": 1e-06, "output_cost_per_tokens": 2e-06}}
    done = check("-c", "weir.yaml", files={"weir.yaml": providers(CLAUDE), "policy.yaml": GOOD_POLICY,
                                           "prices.json": json.dumps(half)})
    assert "prices: 2 models, of 2031-02-03; without an output price, so refused: misspelt\n" in done.stdout, done.stderr


def test_a_policy_that_only_reports_is_warned_of(check):
    files = {"policy.yaml": GOOD_POLICY.replace("policy: one\n", "policy: one\nmode: report\n")}
    done = check("policy.yaml", files=files)
    assert done.returncode == 0
    assert "policy.yaml:2:7: warning: " in done.stderr and "[only_reports]" in done.stderr


def test_a_failed_expectation_fails_the_check(check):
    done = check("policy.yaml", files={"policy.yaml": GOOD_POLICY.replace("deny: CONNECT gist", "allow: CONNECT gist")})
    assert done.returncode == 1
    assert "policy.yaml:7:" in done.stderr and "[expect_failed]" in done.stderr


def test_an_expectation_that_fails_beside_other_errors_is_one_of_them(check):
    broken = GOOD_POLICY.replace("deny: CONNECT gist", "allow: CONNECT gist")
    assert check("a.yaml", "b.yaml", files={"a.yaml": broken, "b.yaml": "alow: []\n"}).returncode == 78


def test_findings_are_json_when_asked(check):
    done = check("-c", "weir.yaml", "--format", "json", files={"weir.yaml": "production: yes\n"})
    assert (done.returncode, done.stderr) == (78, "")
    first = json.loads(done.stdout)[0]
    assert (first["severity"], first["code"], first["line"], first["column"]) == ("error", "bad_boolean", 1, 13)
    assert first["source"] == "production: yes" and first["hint"]


def test_strict_makes_warnings_fail(check):
    files = {"weir.yaml": UNRECORDED, "policy.yaml": GOOD_POLICY}
    lax = check("-c", "weir.yaml", files=files)
    strict = check("-c", "weir.yaml", "--strict", files=files)
    assert (lax.returncode, strict.returncode) == (0, 1)
    assert strict.stdout == "failed: 1 warning\n"
    assert "warning: " in lax.stderr and "[no_audit]" in lax.stderr


@pytest.mark.parametrize("text, code", [
    ("production: false\npolicies: [policy.yaml]\naudit: { path: a }\n", "weir.yaml: error: .*no_listener"),
    (UNRECORDED.replace("proxy:", "gateway:") + "audit: { path: a }\n", None),
    (GOOD_CONFIG + "user: no-such-user\n", "weir.yaml:5:7: error: .*no_such_user"),
    (UNRECORDED + "audit: { path: nowhere/audit.jsonl }\n", "weir.yaml:4:16: error: .*no_directory"),
    (GOOD_CONFIG + "state_dir: nowhere/state\n", "weir.yaml:5:12: error: .*no_directory"),
    (UNRECORDED + "state_dir: state/\naudit: { path: state/audit.jsonl }\n", None),
    (GOOD_CONFIG + 'ledger: { url: "sqlite:/no/where/ledger.db" }\n', "weir.yaml:5:16: error: .*no_directory"),
    (GOOD_CONFIG + 'ledger: { url: "sqlte:ledger.db" }\n', "weir.yaml:5:16: error: .*bad_ledger"),
    (GOOD_CONFIG + 'sessions: { keys: [ { issuer: a, alg: es256, pem: "file:policy.yaml" } ] }\n',
     "weir.yaml:5:.* error: .*not es256 .*bad_key"),
    (GOOD_CONFIG + "profiles: { a: { policies: [nowhere.yaml] } }\n", "nowhere.yaml: error: .*missing_file"),
], ids=["listener", "gateway", "user", "audit", "state", "made", "ledger", "store", "key", "profile"])
def test_what_a_start_refuses_the_check_does_too(check, text, code):
    done = check("-c", "weir.yaml", files={"weir.yaml": text, "policy.yaml": GOOD_POLICY})
    assert done.returncode == (0 if code is None else 78)
    assert code is None or re.search(code, done.stderr)


def test_what_a_start_goes_on_without_is_a_warning_of_the_check(check):
    text = GOOD_CONFIG.replace("audit: { path: audit.jsonl }", "audit: { path: audit.jsonl, anchor: nowhere/anchor }")
    assert text != GOOD_CONFIG
    done = check("-c", "weir.yaml", files={"weir.yaml": text, "policy.yaml": GOOD_POLICY})
    assert done.returncode == 0 and re.search("weir.yaml:.* warning: audit.anchor .*not ready .no_directory", done.stderr)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look as another user")
def test_what_the_user_of_weir_cannot_read_is_a_warning_of_roots_check(check, tmp_path):
    for directory in (tmp_path, *tmp_path.parents[:-2]):
        directory.chmod(directory.stat().st_mode | 0o055)
    (tmp_path / "key").write_text("0123456789abcdef" * 2)
    (tmp_path / "key").chmod(0o600)
    text = GOOD_CONFIG.replace("path: audit.jsonl", "path: audit.jsonl, key: file:key") + "user: nobody\n"
    done = check("-c", "weir.yaml", files={"weir.yaml": text, "policy.yaml": GOOD_POLICY})
    assert done.returncode == 0 and len(re.findall("warning: ", done.stderr)) == 1
    assert re.search("weir.yaml:5:7: warning: .*key: Permission denied: for nobody, .*a reload will be refused "
                     r".unreadable_for_user", done.stderr)
    assert check("-c", "weir.yaml", "--strict").returncode == 1
    os.chown(tmp_path / "key", pwd.getpwnam("nobody").pw_uid, -1)
    assert (check("-c", "weir.yaml").stderr, check("-c", "weir.yaml", "--strict").returncode) == ("", 0)


def test_a_reserve_that_no_room_is_for_is_a_warning_with_both_sizes(check, tmp_path):
    fs = os.statvfs(tmp_path)
    size = fs.f_blocks * fs.f_frsize
    for reserve, told in ((size * 8, "every exchange will be refused"), (size * 2, "soon all are"), (size, None)):
        text = GOOD_CONFIG.replace("path: audit.jsonl", "path: audit.jsonl, reserve: %dB" % reserve)
        done = check("-c", "weir.yaml", files={"weir.yaml": text, "policy.yaml": GOOD_POLICY})
        assert done.returncode == 0 and (told is None) == (done.stderr == "")
        assert told is None or re.search("warning: audit.reserve is [0-9]+[KMGT]?i?B, and .* holds [0-9]+[KMGT]?i?B in all: .*"
                                         "%s .reserve_too_large" % told, done.stderr)


def test_a_share_for_a_reserve_is_told_what_can_be_written(check):
    text = GOOD_CONFIG.replace("path: audit.jsonl", "path: audit.jsonl, reserve: 5%")
    done = check("-c", "weir.yaml", files={"weir.yaml": text, "policy.yaml": GOOD_POLICY})
    assert done.returncode == 78 and '"5%" is no size [bad_size]' in done.stderr and "hint: write auto, " in done.stderr


def test_a_gateway_without_a_provider_is_a_warning(check):
    text = GOOD_CONFIG.replace('proxy: ["127.0.0.1:3128"]', 'gateway: ["127.0.0.1:8787"]')
    done = check("-c", "weir.yaml", files={"weir.yaml": text, "policy.yaml": GOOD_POLICY})
    assert done.returncode == 0 and re.search("warning: listen.gateway has no gateway.providers .*no_provider", done.stderr)


def test_a_public_key_may_be_read_by_all_and_a_private_one_is_refused(check, tmp_path):
    subprocess.run([rig_weir.binary(), "token", "keygen", "--out", "mint.pem", "--public-out", "weir.pem"],
                   cwd=tmp_path, check=True)
    text = GOOD_CONFIG + 'sessions: { keys: [ { issuer: a, alg: ES256, pem: "file:%s" } ] }\n'
    good = check("-c", "weir.yaml", files={"weir.yaml": text % "weir.pem", "policy.yaml": GOOD_POLICY})
    assert (good.returncode, good.stderr) == (0, "")
    bad = check("-c", "weir.yaml", files={"weir.yaml": text % "mint.pem"})
    assert bad.returncode == 78 and "[private_key]" in bad.stderr


@pytest.mark.parametrize("text, code", [
    ("boundary: { kind: docker }\n", "bad_choice"),
    ("budget: { tenants: { '*': { usd: '1', per: week } } }\n", "bad_choice"),
    ("sessions: { keys: [ { issuer: a, alg: ES256, pem: here } ] }\n", "secret_literal"),
], ids=["boundary", "budget", "sessions"])
def test_what_is_written_wrong_is_not_said_to_be_missing(check, text, code):
    whole = {"boundary": "boundary: { kind: vm }\n", "budget": "", "sessions": ""}
    config = "".join(line for key, line in whole.items() if not text.startswith(key))
    done = check("-c", "weir.yaml", files={"weir.yaml": "listen: { proxy: ['127.0.0.1:3128'] }\npolicies: [policy.yaml]\n"
                                           + config + text, "policy.yaml": GOOD_POLICY})
    told = re.findall(r"error: .* \[(\w+)\]", done.stderr)
    assert code in told and not {"boundary": "no_boundary", "budget": "endless_tenant",
                                 "sessions": "no_sessions"}[text.split(":")[0]] in told


def test_the_choices_are_all_named(check):
    done = check("-c", "weir.yaml", files={"weir.yaml": GOOD_CONFIG + "boundary: { kind: docker }\n"})
    assert "provider-firewall or none\n" in done.stderr


def test_a_weir_that_records_nothing_is_warned_of(check):
    done = check("-c", "weir.yaml", files={"weir.yaml": UNRECORDED, "policy.yaml": GOOD_POLICY})
    assert done.returncode == 0 and "warning: " in done.stderr and "[no_audit]" in done.stderr


@pytest.mark.parametrize("text", [None, "", "no certificate\n"], ids=["missing", "empty", "nonsense"])
def test_roots_without_a_certificate_fail_the_check(check, text):
    files = {"weir.yaml": GOOD_CONFIG + "tls: { roots: ca.pem }\n", "policy.yaml": GOOD_POLICY}
    done = check("-c", "weir.yaml", files=dict(files, **({} if text is None else {"ca.pem": text})))
    assert done.returncode == 78
    assert "weir.yaml:5:15: error: " in done.stderr and "ca.pem holds no certificate" in done.stderr and "[bad_roots]" in done.stderr


def test_roots_with_a_certificate_pass_the_check(check, authority):
    with open(authority.certificate, encoding="ascii") as f:
        files = {"weir.yaml": GOOD_CONFIG + "tls: { roots: ca.pem }\n", "policy.yaml": GOOD_POLICY, "ca.pem": f.read()}
    assert check("-c", "weir.yaml", files=files).returncode == 0


def test_a_policy_in_the_place_of_a_configuration_is_one_finding(check):
    done = check("-c", "policy.yaml", "--format", "json", files={"policy.yaml": GOOD_POLICY})
    assert done.returncode == 78
    assert [f["code"] for f in json.loads(done.stdout)] == ["not_a_configuration"]


def test_a_configuration_in_the_place_of_a_policy_is_one_finding(check):
    done = check("weir.yaml", "--format", "json", files={"weir.yaml": GOOD_CONFIG})
    assert done.returncode == 78
    assert [f["code"] for f in json.loads(done.stdout)] == ["not_a_policy"]


@pytest.mark.parametrize("production", ["", "production: true\n"])
def test_production_is_refused_without_sessions(check, production):
    done = check("-c", "weir.yaml", files={
        "weir.yaml": GOOD_CONFIG.replace("production: false\n", production), "policy.yaml": GOOD_POLICY})
    assert done.returncode == 78
    assert "[no_boundary]" in done.stderr and "[no_sessions]" in done.stderr


@pytest.mark.parametrize("arguments, code", [
    (["-c", "absent.yaml"], 66), (["absent.yaml"], 66), ([], 64), (["--no-such-option"], 64),
    (["-c"], 64), (["--format", "xml", "x.yaml"], 64)])
def test_exit_codes_tell_usage_from_missing_input(check, arguments, code):
    assert check(*arguments).returncode == code


def test_a_missing_policy_makes_the_configuration_invalid(check):
    assert check("-c", "weir.yaml", files={"weir.yaml": GOOD_CONFIG}).returncode == 78


def test_names_of_dns_hosts_are_checked(check):
    done = check("-c", "weir.yaml", files={
        "weir.yaml": GOOD_CONFIG + "dns: { hosts: { \"*.a.test\": [127.0.0.2] } }\n", "policy.yaml": GOOD_POLICY})
    assert done.returncode == 78
    assert "weir.yaml:5:17: error: " in done.stderr and "[bad_host]" in done.stderr
    assert "hint: no patterns here: write each name" in done.stderr


def test_no_output_shows_a_secret(check):
    secret = "hunter" + "2hunter2"
    text = "audit: { key: %s, on_failure: nothing }\nredact: { kee: %s }\n" % (secret, secret)
    done = check("-c", "weir.yaml", files={"weir.yaml": text})
    assert done.returncode == 78 and "[secret_literal]" in done.stderr
    assert secret not in done.stderr + done.stdout
    done = check("-c", "weir.yaml", files={"weir.yaml": text.replace(secret, "env:WEIR_TEST_SECRET") + "nonsense: 1\n"},
                 environment={"WEIR_TEST_SECRET": secret})
    assert done.returncode == 78 and secret not in done.stderr + done.stdout


def test_every_setting_is_printed_with_its_default(check):
    rows = {row["key"]: row for row in json.loads(check("--defaults", "--format", "json").stdout)}
    assert rows["limits.head_timeout"]["default"] == "10s"
    assert rows["listen.proxy"]["default"] is None
    text = check("--defaults").stdout
    assert all(key in text for key in rows)


def test_help_and_version_say_what_this_is():
    version = subprocess.run([rig_weir.binary(), "--version"], capture_output=True, text=True)
    assert version.returncode == 0 and version.stdout.startswith("weir ")
    for library in ("libevent", "OpenSSL", "c-ares", "PCRE2", "libyaml", "libpsl"):
        assert any(line.startswith(library) and "compiled" in line and "running" in line
                   for line in version.stdout.splitlines())
    for arguments in (["help"], ["check", "--help"], ["help", "check"]):
        done = subprocess.run([rig_weir.binary(), *arguments], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith("usage: weir")


def test_a_misspelt_command_gets_a_suggestion():
    done = subprocess.run([rig_weir.binary(), "chekc"], capture_output=True, text=True)
    assert done.returncode == 64 and 'did you mean "check"?' in done.stderr


@pytest.mark.parametrize("word,is_socket", [("ws", True), ("wss", True), ("websocket", True), ("wsx", False)])
def test_a_protocol_that_is_a_websocket_is_told_where_that_is_said(check, word, is_socket):
    policy = "policy: p\nallow: [{ host: a.test, protocol: %s }]\n" % word
    done = check("p.yaml", files={"p.yaml": policy})
    assert done.returncode == 78 and "hint: write http, https or tcp" in done.stdout + done.stderr
    assert ("a websocket is upgrade: [websocket]" in done.stdout + done.stderr) == is_socket
