"""weir check --danger: whatever loosens is in the list, with its place, and what does not is not."""
import json
import subprocess

import pytest

from rig import token as tokens
from rig.weir import binary

pytestmark = pytest.mark.command

TIGHT = "sessions: { keys: [{ issuer: app, audience: weir, alg: HS256, secret: env:KEY }] }\nlimits: { upload: 1GiB }\n" \
    "boundary: { kind: vm }\nlisten: { proxy: ['127.0.0.1:1'] }\nuser: nobody\naudit: { path: '-' }\n"


def danger(tmp_path, config, policy, *more):
    (tmp_path / "p.yaml").write_text("policy: p\n" + policy)
    (tmp_path / "weir.yaml").write_text(config + "policies: [p.yaml]\n")
    return subprocess.run([binary(), "check", "--danger", "-c", str(tmp_path / "weir.yaml"), *more],
                          capture_output=True, text=True, env={"KEY": tokens.new_secret()})


def test_a_tight_one_has_nothing_in_it(tmp_path):
    done = danger(tmp_path, "state_dir: %s\n" % tmp_path + TIGHT, "allow: [{ host: allowed.test }]\n")
    assert (done.returncode, done.stdout) == (0, "0 switches loosen\n"), done.stdout + done.stderr
    assert json.loads(danger(tmp_path, "state_dir: %s\n" % tmp_path + TIGHT, "allow: [{ host: allowed.test }]\n",
                             "--format", "json").stdout) == []


@pytest.mark.parametrize("line,switch", [
    ("production: false", "production: false"), ("errors: developer", "errors: developer"),
    ("allow_report: true", "allow_report: true"), ("limits: { client_rate: 0, upload: 1GiB }", "client_rate"),
    ("limits: { new_names: 0, upload: 1GiB }", "new_names"), ("limits: { upload: 0 }", "upload"),
    ("audit: { path: '-', reserve: 0 }", "audit.reserve"), ("proxy_protocol: { from: [10.0.0.9] }", "proxy_protocol.from"),
    ("boundary: { kind: none }", "no boundary"), ("upstream: { proxy: 'http://p.test:1', resolve: false }", "upstream.resolve")])
def test_each_switch_of_the_configuration_is_listed_with_its_line(tmp_path, line, switch):
    key = line.split(":")[0]
    config = line + "\nstate_dir: %s\n" % tmp_path + "".join(l + "\n" for l in TIGHT.splitlines() if not l.startswith(key + ":"))
    found = json.loads(danger(tmp_path, config, "allow: [{ host: allowed.test }]\n", "--format", "json").stdout)
    assert len(found) == 1 and switch in found[0]["switch"] and found[0]["why"]
    assert found[0]["place"] == "%s/weir.yaml:1" % tmp_path


@pytest.mark.parametrize("rule,switch", [
    ("{ host: '*', broad: true }", "broad"), ("{ host: '*.example.com' }", "wildcard"), ("{ host: a.test, ech: allow }", "ech"),
    ("{ host: a.test, private: [10.0.0.0/8] }", "private"), ("{ host: a.test, metadata: true }", "metadata"),
    ("{ host: 9.9.9.9 }", "addresses"), ("{ host: a.test, protocol: tcp, ports: [22] }", "tcp"),
    ("{ host: a.test, protocol: http }", "http")])
def test_each_switch_of_a_rule_is_listed_with_its_place(tmp_path, rule, switch):
    found = json.loads(danger(tmp_path, "state_dir: %s\n" % tmp_path + TIGHT, "allow:\n  - %s\n" % rule, "--format", "json").stdout)
    assert len(found) == 1 and switch in found[0]["switch"] and found[0]["place"].split("/")[-1].startswith("p.yaml:3")


def test_a_policy_that_only_reports(tmp_path):
    done = danger(tmp_path, "production: false\nlisten: { proxy: ['127.0.0.1:1'] }\n", "mode: report\nallow: [{ host: allowed.test }]\n")
    assert "mode: report" in done.stdout and done.returncode == 0


def test_what_is_wrong_is_said_instead(tmp_path):
    done = danger(tmp_path, "production: maybe\n", "allow: [{ host: allowed.test }]\n")
    assert done.returncode == 78 and "bad_boolean" in done.stderr and "loosen" not in done.stdout


# -- weir check --review

def review(tmp_path, config, policy, *more):
    (tmp_path / "p.yaml").write_text("policy: p\n" + policy)
    (tmp_path / "weir.yaml").write_text(config + "policies: [p.yaml]\n")
    return subprocess.run([binary(), "check", "--review", "-c", str(tmp_path / "weir.yaml"), *more],
                          capture_output=True, text=True, env={"KEY": tokens.new_secret()})


def lines_of(done):
    return {one["line"]: one["is"] for one in json.loads(done.stdout)}


def test_the_checklist_says_yes_no_or_how_to_see(tmp_path):
    config = "state_dir: %s\n" % tmp_path + TIGHT
    policy = "allow: [{ host: allowed.test }]\nexpect: [{ allow: CONNECT allowed.test:443 }]\n"
    done = review(tmp_path, config, policy, "--format", "json")
    told = lines_of(done)
    assert done.returncode == 1 and set(told.values()) == {"yes", "no", "not shown"}
    assert told["every policy has tests of its own"] == told["every switch is at its strict end"] == "yes"
    assert told["nothing gets around weir"] == "not shown"
    assert told["a forged line of the audit log is found out"] == "no"
    assert all(one["how"] for one in json.loads(done.stdout))
    text = review(tmp_path, config, policy).stdout
    assert "not shown  nothing gets around weir\n           weir verify" in text


def test_all_that_is_missing_is_a_no(tmp_path):
    done = review(tmp_path, "production: false\nlisten: { proxy: ['127.0.0.1:1'] }\nledger: { url: 'memory:' }\n",
                  "mode: report\nallow: [{ host: allowed.test }]\n", "--format", "json")
    told = lines_of(done)
    assert done.returncode == 1 and "no" == told["it says that it is for production"] == told["every policy is enforced"]
    assert "no" == told["what was spent outlasts the process"] == told["every switch is at its strict end"]


def test_a_configuration_that_production_refuses_has_its_checklist_too(tmp_path):
    done = review(tmp_path, "listen: { proxy: ['127.0.0.1:1'] }\n", "allow: [{ host: allowed.test }]\n", "--format", "json")
    assert done.returncode == 78 and "no_boundary" in done.stderr
    assert lines_of(done)["the wall around the sandboxes is named"] == "no"
    assert subprocess.run([binary(), "check", "--review"], capture_output=True).returncode == 64
