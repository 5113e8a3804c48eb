"""weir token: what it mints is verified by others, and what others mint by it."""
import json
import os
import stat
import subprocess
import time

import pytest

WEIR = os.environ.get("WEIR", "weir")


def weir(*arguments, stdin=None):
    return subprocess.run([WEIR, *arguments], input=stdin, capture_output=True, text=True, check=False)


@pytest.fixture
def config(tmp_path):
    weir("token", "keygen", "--alg", "HS256", "--out", str(tmp_path / "secret"))
    weir("token", "keygen", "--out", str(tmp_path / "mint.pem"), "--public-out", str(tmp_path / "weir.pem"))
    (tmp_path / "agent.yaml").write_text("allow:\n- { host: [a.test, b.test] }\n")
    (tmp_path / "ci.yaml").write_text("allow:\n- { host: [b.test] }\n")
    path = tmp_path / "weir.yaml"
    path.write_text("production: false\npolicies: [agent.yaml]\nprofiles: { ci: { policies: [ci.yaml] } }\n"
                    "sessions:\n  keys:\n  - { issuer: app, alg: HS256, kid: k1, secret: file:secret }\n"
                    "  - { issuer: cp, alg: ES256, pem: file:weir.pem, tenants: [acme] }\n")
    return str(path)


def mint(config, *more, stdin=None):
    told = weir("token", "mint", "-c", config, *more, stdin=stdin)
    return told.returncode, told.stdout.strip(), told.stderr


def decision(config, token, host):
    told = weir("explain", "-c", config, "--json", "--token", token, f"{host}:443")
    verdict = json.loads(told.stdout)
    return verdict["decision"], verdict["reason"], verdict["layer"]


def test_what_is_minted_counts_where_its_key_is_configured(config, tmp_path):
    status, token, _ = mint(config, "--sid", "s1", "--tenant", "acme", "--session-usd", "1.5", "--turn-usd", "0.1")
    assert status == 0
    told = weir("token", "show", "-c", config, stdin=token + "\n")
    assert told.returncode == 0 and "verdict  ok" in told.stdout
    status, token, _ = mint(config, "--key", f"file:{tmp_path}/mint.pem", "--alg", "ES256", "--issuer", "cp",
                            "--sid", "s1", "--tenant", "acme")
    assert status == 0 and weir("token", "show", "-c", config, token).returncode == 0


def test_what_would_count_for_nothing_is_not_minted(config, tmp_path):
    cp = ["--key", f"file:{tmp_path}/mint.pem", "--alg", "ES256", "--issuer", "cp"]
    for more, why in [(["--sid", "a b"], "sid is not"),
                      ([], "sid is missing"),
                      (["--sid", "s", "--session-usd", "1e3"], "an amount is no decimal"),
                      (["--sid", "s", "--ttl", "48h"], "max_ttl"),
                      (["--sid", "s", "--network", "a*.test"], "no host"),
                      (["--sid", "s", "--public"], "public needs"),
                      (["--sid", "s", "--profile", "rich"], "no such profile"),
                      ([*cp, "--sid", "s", "--tenant", "beta"], "may not speak for this tenant")]:
        status, token, told = mint(config, *more)
        assert status == 1 and token == "" and why in told, (more, told)


@pytest.mark.parametrize("what", ["mint", "verify", "configuration"])
def test_nobody_is_asked_for_a_passphrase(config, tmp_path, what):
    """Not at a terminal, nor, where there is none, on standard input."""
    locked, log = tmp_path / "locked.pem", tmp_path / "log"
    log.touch()
    words = "w" * 8
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-aes256", "-pass", "pass:" + words,
                    "-out", str(locked)], check=True, capture_output=True)
    command = {"mint": ["token", "mint", "-c", config, "--key", f"file:{locked}", "--alg", "EdDSA", "--issuer", "cp",
                        "--tenant", "acme", "--sid", "s1"],
               "verify": ["audit", "verify", "--public-key", str(locked), str(log)],
               "configuration": ["check", "-c", config]}[what]
    if what == "configuration":  # what names itself encrypted is asked for, whatever it is
        public = (tmp_path / "weir.pem").read_text().splitlines()
        public[1:1] = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,%s" % ("0" * 32), ""]
        (tmp_path / "weir.pem").write_text("\n".join(public) + "\n")
    told = subprocess.run([WEIR, *command], input=(words + "\n") * 3, capture_output=True, text=True, check=False,
                          start_new_session=True)
    assert told.returncode in (1, 78) and "pass phrase" not in told.stderr, told
    assert "private key" in told.stderr or "no Ed25519 key" in told.stderr or "public key" in told.stderr, told


def test_a_claim_stands_in_one_place_only(config):
    status, _, _ = mint(config, "--claims", "-", stdin='{"sid": "s", "limits": {"concurrency": 2}}')
    assert status == 0
    status, _, told = mint(config, "--sid", "t", "--claims", "-", stdin='{"sid": "s"}')
    assert status == 1 and "twice" in told


@pytest.mark.parametrize("claims,meant", [({"uploadBytes": 5}, "limits.uploadBytes"), ({"budjet": {"sessionUsd": 1}}, "budget"),
                                          ({"model": ["x"]}, "models"), ({"turn_usd": "1"}, "budget.turnUsd")],
                         ids=lambda c: next(iter(c)) if isinstance(c, dict) else "")
def test_a_claim_that_only_looks_like_one_that_counts_is_not_minted(config, claims, meant):
    more = ["--sid", "s1", "--claims", "-"]
    status, token, why = mint(config, *more, stdin=json.dumps(claims))
    assert status == 1 and not token and f'"{next(iter(claims))}"; did you mean "{meant}"?' in why, why
    status, token, why = mint(config, *more, "--extra-claims", stdin=json.dumps(claims))
    assert status == 0 and not why
    told = weir("token", "show", "-c", config, token)
    assert told.returncode == 0 and f'ignored  {next(iter(claims))}; did you mean "{meant}"?\n' in told.stdout


def test_a_claim_of_others_is_minted_and_said(config):
    status, token, why = mint(config, "--sid", "s1", "--claims", "-", stdin='{"email":"a@b.test","limits":{"uploadBytes":5}}')
    assert status == 0 and 'does not read the claim "email"\n' in why and "uploadBytes" not in why
    assert [line for line in weir("token", "show", token).stdout.splitlines() if line.startswith("ignored")] == ["ignored  email"]


def test_a_budget_above_the_largest_is_said_to_be_lowered(config):
    with open(config, "a") as file:
        file.write("budget: { max: { sessionUsd: 5, vmSeconds: 60 } }\n")
    status, token, why = mint(config, "--sid", "s1", "--session-usd", "50", "--turn-usd", "0.5", "--vm-seconds", "61")
    lowered = ["budget.sessionUsd 50 is above budget.max.sessionUsd: only 5 counts",
               "budget.vmSeconds 61 is above budget.max.vmSeconds: only 60 counts"]
    assert status == 0 and why.splitlines() == ["weir token: " + line for line in lowered]
    told = weir("token", "show", "-c", config, token).stdout
    assert ["lowered  " + line for line in lowered] == [line for line in told.splitlines() if line.startswith("lowered")]
    assert mint(config, "--sid", "s1", "--session-usd", "5")[2] == ""


def test_a_private_key_is_for_its_owner_alone_and_never_written_over(config, tmp_path):
    for name in ("secret", "mint.pem"):
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) == 0o600
    before = (tmp_path / "secret").read_text()
    told = weir("token", "keygen", "--alg", "HS256", "--out", str(tmp_path / "secret"))
    assert told.returncode == 69 and told.stdout == ""
    assert (tmp_path / "secret").read_text() == before


def test_a_weak_secret_signs_nothing(tmp_path):
    (tmp_path / "weak").write_text("hunter2\n")
    told = weir("token", "mint", "--key", f"file:{tmp_path}/weak", "--alg", "HS256", "--issuer", "a", "--sid", "s")
    assert told.returncode == 78 and "too weak" in told.stderr and "hunter2" not in told.stderr


KEYS = {"RS256": "RS PS", "ES256": "ES256", "ES384": "ES384", "ES512": "ES512", "HS512": "HS"}


@pytest.mark.parametrize("made_for", KEYS)
def test_a_key_signs_by_the_algorithms_it_fits_and_by_no_other(tmp_path, made_for):
    weir("token", "keygen", "--alg", made_for, "--out", str(tmp_path / "key"))
    every = [family + bits for family in ("HS", "RS", "PS", "ES") for bits in ("256", "384", "512")] + ["EdDSA"]
    for alg in every:
        told = weir("token", "mint", "--key", f"file:{tmp_path}/key", "--alg", alg, "--issuer", "a", "--sid", "s")
        if alg.startswith(tuple(KEYS[made_for].split())):
            assert told.returncode == 0 and told.stdout.count(".") == 2, (alg, told)
        else:
            assert told.returncode == 78 and told.stdout == "", (alg, told)
            assert "does not fit %s: it is" % alg in told.stderr or "the secret is too weak" in told.stderr


def test_a_token_is_explained_by_its_profile_and_its_network(config, tmp_path):
    _, narrow, _ = mint(config, "--sid", "s", "--network", "a.test")
    assert decision(config, narrow, "a.test") == ("allow", "ok", "agent")
    assert decision(config, narrow, "b.test") == ("deny", "host_not_allowed", "claims")
    _, ci, _ = mint(config, "--sid", "s", "--profile", "ci")
    assert decision(config, ci, "a.test") == ("deny", "host_not_allowed", "ci")
    assert decision(config, ci, "b.test") == ("allow", "ok", "ci")
    assert decision(config, narrow + "x", "a.test")[:2] == ("deny", "session_invalid")
    _, old, _ = mint(config, "--sid", "s", "--ttl", "1s")
    assert decision(config, old, "a.test")[0] == "allow"


def test_claims_alone_are_explained_too(config, tmp_path):
    claims = tmp_path / "claims.json"
    claims.write_text('{"sid": "s", "network": "deny-all"}')
    told = weir("explain", "-c", config, "--json", "--claims", str(claims), "a.test:443")
    assert told.returncode == 1 and json.loads(told.stdout)["layer"] == "claims"
    assert json.loads(told.stdout)["fix"] is None  # no rule of a policy would help
    told = weir("explain", "-c", config, "--claims", str(claims), "--token", "x", "a.test:443")
    assert told.returncode == 64


def test_a_batch_line_may_have_claims():
    line = {"id": 1, "target": "a.test:443", "policy": {"allow": [{"host": "a.test"}]}}
    lines = [line | {"claims": {"sid": "s", "network": {"allow": ["a.test"]}}},
             line | {"claims": {"sid": "s", "network": {"allow": ["b.test"]}}},
             line | {"claims": {"sid": "s", "network": None}},
             line | {"claims": {}}]
    told = weir("explain", "--batch", stdin="".join(json.dumps(each) + "\n" for each in lines))
    verdicts = [json.loads(each) for each in told.stdout.splitlines()]
    assert [v["reason"] for v in verdicts] == ["ok", "host_not_allowed", "session_invalid", "session_invalid"]
    assert verdicts[1]["layer"] == "claims"


def test_what_others_mint_is_verified(config, tmp_path):
    jwt = pytest.importorskip("jwt")
    now = int(time.time())
    claims = {"iss": "cp", "aud": ["other", "weir"], "iat": now, "exp": now + 60, "sid": "s", "tenant": "acme",
              "budget": {"sessionUsd": "5", "turnUsd": 0.5}, "turn": "t"}
    token = jwt.encode(claims, (tmp_path / "mint.pem").read_text(), algorithm="ES256")
    assert weir("token", "show", "-c", config, token).returncode == 0
    public = (tmp_path / "weir.pem").read_text()
    _, ours, _ = mint(config, "--key", f"file:{tmp_path}/mint.pem", "--alg", "ES256", "--issuer", "cp",
                      "--sid", "s", "--tenant", "acme")
    assert jwt.decode(ours, public, algorithms=["ES256"], audience="weir")["sid"] == "s"


def test_a_token_that_is_shown_moves_no_cursor(tmp_path):
    status = weir("token", "keygen", "--alg", "HS256", "--out", str(tmp_path / "s"))
    assert status.returncode == 0
    claims = json.dumps({"sid": "s", "x": "a\u202eb\u009bc"}, ensure_ascii=False)
    told = weir("token", "mint", "--key", f"file:{tmp_path}/s", "--alg", "HS256", "--issuer", "a", "--claims", "-",
                stdin=claims)
    assert told.returncode == 0, told.stderr
    shown = weir("token", "show", told.stdout.strip()).stdout
    assert "\u202e" not in shown and "\u009b" not in shown
