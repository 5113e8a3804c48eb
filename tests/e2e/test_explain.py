"""weir explain: one request, or JSON lines with policies of their own."""
import json
import os
import subprocess

import pytest

pytestmark = pytest.mark.command

WEIR = os.environ.get("WEIR", "weir")


def explain(*arguments, stdin=None, **more):
    return subprocess.run([WEIR, "explain", *arguments], input=stdin, capture_output=True,
                          text=True, check=False, **more)


def batch(*lines, **more):
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    told = explain("--batch", stdin=text, **more)
    return told.returncode, [json.loads(line) for line in told.stdout.splitlines()]


@pytest.fixture
def config(tmp_path):
    (tmp_path / "agent.yaml").write_text(
        "allow:\n- { name: read, host: a.test, protocol: http, methods: [GET] }\n"
        "- { name: inside, host: [in.test, out.test], private: [10.0.0.0/8] }\n")
    path = tmp_path / "weir.yaml"
    path.write_text("production: false\nlisten: { proxy: ['127.0.0.1:3128'] }\npolicies: [agent.yaml]\n"
                    "dns: { servers: ['127.0.0.1:1'], timeout: 300ms, hosts: { in.test: [10.1.2.3] } }\n")
    return str(path)


def test_exit_code_is_the_answer(config):
    assert explain("-c", config, "GET", "http://a.test/").returncode == 0
    assert explain("-c", config, "POST", "http://a.test/").returncode == 1
    assert explain("-c", config).returncode == 64
    assert explain("-c", config, "--answer", "10.0.0.999", "a.test:80").returncode == 64
    assert explain("-c", config + "x", "a.test:80").returncode == 66


def test_what_stands_before_the_target_must_be_a_method(config):
    told = explain("-c", config, "http://a.test/", "extra")
    assert told.returncode == 64 and told.stdout == ""
    assert 'the method is before the target, and "http://a.test/" is none' in told.stderr


def test_a_scheme_that_never_passes_is_told_so(config):
    told = explain("-c", config, "ftp://a.test/")
    assert told.returncode == 1 and "no scheme but http and https passes" in told.stdout
    assert "https://HOST/PATH (asked as the CONNECT it is)" in told.stdout


def test_a_wrong_policy_is_told_with_its_place(config, tmp_path):
    (tmp_path / "agent.yaml").write_text("allow:\n- { host: 'a*.test' }\n")
    told = explain("-c", config, "a.test:80")
    assert told.returncode == 78
    assert "agent.yaml:2:11: error:" in told.stderr and "[bad_star]" in told.stderr


def test_a_deny_rule_that_cannot_look_says_that_it_denies_all_of_the_host(tmp_path):
    (tmp_path / "agent.yaml").write_text("allow: [{ host: a.test }]\ndeny: [{ name: no-posts, host: a.test, methods: [POST] }]\n")
    (tmp_path / "weir.yaml").write_text("production: false\nlisten: { proxy: ['127.0.0.1:3128'] }\npolicies: [agent.yaml]\n")
    told = explain("-c", str(tmp_path / "weir.yaml"), "a.test:443")
    assert told.returncode == 1 and "no-posts" in told.stdout
    assert "looks at methods or paths, and what is inside this tunnel is not in sight, so it denies all of the host" in told.stdout


def test_a_refusal_comes_with_the_smallest_rule(config):
    told = explain("-c", config, "--json", "POST", "http://a.test/x")
    verdict = json.loads(told.stdout)
    assert (verdict["decision"], verdict["reason"], verdict["status"]) == ("deny", "method_not_allowed", 405)
    assert verdict["fix"]["rule"] == {"host": "a.test", "protocol": "http", "methods": ["POST"], "paths": ["/x"]}
    assert verdict["fix"]["also_admits"]
    assert "methods: [\"POST\"]" in explain("-c", config, "POST", "http://a.test/x").stdout


def test_names_of_the_configuration_need_no_question(config):
    verdict = json.loads(explain("-c", config, "--json", "in.test:443").stdout)
    assert verdict["dial"] == ["10.1.2.3:443"] and verdict["warnings"] == []


def test_nothing_is_looked_up_unless_asked_for(config):
    verdict = json.loads(explain("-c", config, "--json", "out.test:443").stdout)
    assert verdict["decision"] == "allow" and verdict["dial"] == []
    assert "not evaluated" in verdict["warnings"][0]


def test_resolve_asks_only_for_names_that_policy_admits(config):
    asked = json.loads(explain("-c", config, "--resolve", "--json", "out.test:443").stdout)
    assert asked["reason"] in ("dns_failed", "dns_timeout")
    refused = json.loads(explain("-c", config, "--resolve", "--json", "other.test:443").stdout)
    assert refused["reason"] == "host_not_allowed"


def test_own_listener_is_closed_to_explain_as_it_is_live(config):
    told = explain("-c", config, "--json", "--answer", "127.0.0.1", "GET", "http://a.test/")
    assert json.loads(told.stdout)["reason"] == "address_denied"


def test_a_line_brings_its_own_policy_and_no_machine():
    policy = {"allow": [{"name": "n", "host": "*.a.test", "private": ["127.0.0.0/8"], "broad": True}]}
    code, told = batch(
        {"id": 1, "via": "connect", "method": "CONNECT", "target": "x.a.test:443", "answers": ["127.0.0.1"],
         "policy": policy, "settings": {"production": False}},
        {"id": "two", "via": "connect", "target_b64": "eABhLnRlc3Q6NDQz", "policy": policy,
         "settings": {"production": False}},
        {"id": [3], "via": "socks5", "host_b64": "eC5hLnRlc3Q=", "port": 443, "policy": [policy, {}],
         "settings": {"production": False}},
        {"id": None, "via": "http", "method": "GET", "target": "http://x.a.test/", "policy": policy,
         "answers": {"error": "timeout"}, "settings": {"production": False}},
        {"id": 6, "via": "dns", "host_b64": "eC5hLnRlc3Q=", "policy": policy, "settings": {"production": False}},
        {"id": 7, "via": "dns", "target": "a.test", "policy": policy, "settings": {"production": False}},
        {"id": 5, "via": "connect", "target": "x.a.test:443", "answers": {"error": "timeout"}, "policy": policy,
         "settings": {"production": False}},
        env={})
    assert code == 0
    assert [line["id"] for line in told] == [1, "two", [3], None, 6, 7, 5]
    assert [line["reason"] for line in told] == [
        "ok", "host_invalid", "host_not_allowed", "port_not_allowed", "ok", "host_not_allowed", "dns_timeout"]
    assert told[5]["fix"]["rule"] == {"host": "a.test", "protocol": "https"}
    assert told[0]["rule"] == "batch:allow[0] n" and told[0]["dial"] == ["127.0.0.1:443"]
    assert [line["status"] for line in told] == [200, 400, 403, 403, 200, 403, 504]


def test_what_cannot_be_asked_is_an_error_and_exit_78():
    code, told = batch(
        {"id": 1, "via": "connect", "target": "a.test:443", "policy": {"alow": []}, "settings": {"limits": {}}},
        {"id": 2, "via": "pigeon", "policy": {}},
        {"id": 3, "via": "connect", "target": "a.test:443", "policy": {"network": {"mode": "deny-all"}},
         "settings": {"production": False}},
        "not json",
        "[]")
    assert code == 78
    assert [entry["code"] for entry in told[0]["error"]][:1] == ["unknown_key"]
    assert {"id": 2}.items() <= told[1].items() and told[1]["error"][0]["code"] == "bad_via"
    assert told[2]["reason"] == "host_not_allowed"
    assert [(line["id"], line["reason"]) for line in told[3:]] == [(None, "request_malformed")] * 2


@pytest.mark.parametrize("n", [1, 3, 10])
def test_each_range_that_the_rule_opens_is_among_what_it_also_admits(tmp_path, n):
    answers = ["10.1.2.%d" % i for i in range(n)]
    (tmp_path / "p.yaml").write_text("policy: p\nallow: [{ host: other.test }]\n")
    (tmp_path / "weir.yaml").write_text("production: false\npolicies: [p.yaml]\nlisten: { proxy: ['127.0.0.1:1'] }\n")
    done = explain("-c", str(tmp_path / "weir.yaml"), "--json", *(w for a in answers for w in ("--answer", a)), "CONNECT", "inner.test:443")
    told = json.loads(done.stdout)["fix"]
    assert sorted(told["rule"]["private"]) == sorted(a + "/32" for a in answers)
    assert all(any(a + "/32" in said for said in told["also_admits"]) for a in answers)


@pytest.mark.parametrize("rule,limit,claim,holds", [
    ("1MiB", None, None, (1048576, "rule")), ("1MiB", "500KiB", None, (512000, "limits.upload")),
    ("1MiB", "500KiB", 200000, (200000, "uploadBytes")), ("100KiB", "500KiB", 200000, (102400, "rule")),
    (None, None, 7, (7, "uploadBytes")), (None, None, None, (None, None))])
def test_of_several_upload_caps_it_says_the_smallest_and_whence_it_is(tmp_path, rule, limit, claim, holds):
    (tmp_path / "p.yaml").write_text("allow: [{ host: a.test, protocol: http%s }]\n" % (", upload: " + rule if rule else ""))
    (tmp_path / "weir.yaml").write_text("production: false\npolicies: [p.yaml]\nlisten: { proxy: ['127.0.0.1:1'] }\n"
                                        + ("limits: { upload: %s }\n" % limit if limit else ""))
    claims = {"sid": "s", "limits": {} if claim is None else {"uploadBytes": claim}}
    config, target = ("-c", str(tmp_path / "weir.yaml")), "http://a.test/"
    told = json.loads(explain(*config, "--json", "--claims", "-", target, stdin=json.dumps(claims)).stdout)
    assert (told.get("upload"), told.get("upload_from")) == holds
    text = explain(*config, "--claims", "-", target, stdin=json.dumps(claims)).stdout
    assert ("upload: %s bytes of a session to this host (the smallest cap: %s)" % holds in text) == (holds[0] is not None)
    line = explain(*config, "--batch", stdin=json.dumps({"id": 1, "target": target, "claims": claims}) + "\n").stdout
    assert (json.loads(line).get("upload"), json.loads(line).get("upload_from")) == holds


@pytest.mark.parametrize("target", ["http://a.test/", "a.test:443", "https://a.test/"])
def test_a_token_that_lets_nothing_be_sent_is_refused_as_it_is_live(tmp_path, target):
    (tmp_path / "p.yaml").write_text("allow: [{ host: a.test, protocol: [http, https] }]\n")
    (tmp_path / "weir.yaml").write_text("production: false\npolicies: [p.yaml]\nlisten: { proxy: ['127.0.0.1:1'] }\n")
    claims = json.dumps({"sid": "s", "limits": {"uploadBytes": 0}})
    done = explain("-c", str(tmp_path / "weir.yaml"), "--json", "--claims", "-", target, stdin=claims)
    told = json.loads(done.stdout)
    assert done.returncode == 1 and (told["decision"], told["reason"], told["status"]) == ("deny", "upload_exhausted", 403)
    assert told["trace"][-1]["stage"] == "upload" and "lets nothing be sent" in told["trace"][-1]["why"]
    assert told["fix"] is None and "upload" not in told


@pytest.fixture
def sockets(tmp_path):
    (tmp_path / "ws.yaml").write_text(
        "policy: p\nallow:\n- { name: plain, host: a.test, protocol: http }\n"
        "- { name: open, host: w.test, protocol: http, upgrade: [websocket] }\n"
        "- { name: read, host: s.test, protocol: http, upgrade: [websocket], dlp: block }\n")
    (tmp_path / "ws-weir.yaml").write_text("production: false\npolicies: [ws.yaml]\nlisten: { proxy: ['127.0.0.1:1'] }\n")
    return str(tmp_path / "ws-weir.yaml")


@pytest.mark.parametrize("method,target,told", [
    ("GET", "http://a.test/ws", None), ("POST", "http://w.test/ws", None), ("GET", "http://x.test/ws", None),
    ("GET", "http://w.test/ws", "not looked at"), ("GET", "http://s.test/ws", "looked at")])
def test_what_may_become_a_websocket_is_told(sockets, method, target, told):
    done = json.loads(explain("-c", sockets, "--json", method, target).stdout)
    assert done.get("upgrade") == (["websocket"] if told else None)
    assert (done.get("dlp") == "block") == (told == "looked at")
    text = explain("-c", sockets, method, target).stdout
    assert ("upgrade: the request may become a websocket, whose messages are %s\n" % told in text) == bool(told)


@pytest.mark.parametrize("words,said", [
    (["GET", "ws://a.test/ws"], "a websocket begins as a request: write http:// for ws://; its rule needs upgrade: [websocket]"),
    (["wss://a.test/ws"], "a websocket begins as a request: write https:// for wss://"),
    (["docs.test"], "a port is missing: write HOST:PORT, or a URL"),
    (["192.0.2.1"], "a port is missing"), (["[2001:db8::1]"], "a port is missing"),
    (["GET"], "a target is missing: after a method write http://HOST/PATH"),
    (["GET", "docs.test"], "after a method comes a URL"),
    (["docs.test:0x50"], None), (["GET", "http://a.test:x/"], None), (["docs.test:443"], None)])
def test_what_is_missing_in_a_target_is_told(sockets, words, said):
    text = explain("-c", sockets, *words).stdout
    assert ("note: " + said if said else "deny: ") in text
    told = json.loads(explain("-c", sockets, "--json", *words).stdout)
    assert told["decision"] == "deny"
    assert any(said in warning for warning in told["warnings"]) if said else not told["warnings"]
