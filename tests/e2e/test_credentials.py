"""The sandbox holds none, and weir holds them close: where they are, where they are not, and how they change."""
import base64
import json
import os
import re
import resource
import signal
import subprocess

import pytest

from rig import provider as rig_provider, seccomp
from rig import token as tokens
from rig.gateway import SECRET
from rig.weir import SANITIZED, binary, free_port, wait_for
from test_gateway import keyed

pytestmark = pytest.mark.single

KEYS = {"PROVIDER_KEY": rig_provider.KEY, "KEY": SECRET}
OTHER = "-".join(["sk", "rotated", "fedcba9876543210" * 2])


def row(provider, value):
    return {"name": "anthropic", "kind": "anthropic", "path": "/anthropic", "upstream": provider.url,
            "hosts": [provider.name], "credential": {"header": "x-api-key", "value": value}}


def listeners(tmp_path):
    return {"proxy": ["127.0.0.1:%d" % free_port()], "gateway": ["127.0.0.1:%d" % free_port()],
            "health": ["127.0.0.1:%d" % free_port()], "admin": ["unix:%s" % (tmp_path / "admin.sock")]}


def reloads(g):
    return g.weir.log().count(" reloaded ")


def refusals(g):
    return g.weir.log().count("reload refused")


def sent(g, provider):
    """The key that the provider is shown by one call more."""
    assert g.messages().status == 200
    return provider.requests[-1].all("x-api-key")


# -- where they are


def test_the_environment_holds_no_secret_once_weir_has_started_and_a_reload_still_finds_it(gateway, provider):
    g = gateway(sessions=keyed())
    for times in (0, 1, 2):
        with open("/proc/%d/environ" % g.weir.process.pid, "rb") as f:
            told = f.read()
        for name, value in KEYS.items():
            assert value.encode() not in told and name.encode() + b"=" not in told.split(b"\0")
        assert b"PATH=" in told
        token = tokens.mint(SECRET, "s%d" % times, budget={"sessionUsd": "1"})
        assert g.messages(token=token).status == 200
        g.weir.reload()
        wait_for(lambda: reloads(g) == times + 1, what="the reload")


def mappings(pid):
    """(from, to, kernel's flags) of what may be read."""
    with open("/proc/%d/smaps" % pid) as f:
        text = f.read()
    for start, end, rights, rest in re.findall(r"(?m)^([0-9a-f]+)-([0-9a-f]+) (\S+)(.*(?:\n[A-Z].*)*)", text):
        if rights.startswith("rw"):
            yield int(start, 16), int(end, 16), re.search(r"VmFlags: (.*)", rest).group(1).split()


def places(pid, secret):
    """The flags of each mapping that holds it."""
    found = []
    with open("/proc/%d/mem" % pid, "rb", 0) as f:
        for start, end, flags in mappings(pid):
            try:
                f.seek(start)
                data = f.read(end - start)
            except (OSError, ValueError, OverflowError):
                continue
            found += [flags] * data.count(secret.encode())
    return found


def test_no_core_has_a_credential(gateway, provider):
    g = gateway(sessions=keyed())
    with open("/proc/%d/limits" % g.weir.process.pid) as f:
        assert re.search(r"(?m)^Max core file size +0 +0 ", f.read())
    if not SANITIZED:
        for secret in KEYS.values():
            found = places(g.weir.process.pid, secret)
            assert found and all("dd" in flags for flags in found)


def dumps_core(process, directory):
    """Does the kernel write one, when nothing but the process itself is against it?"""
    with open("/proc/%d/limits" % process.pid) as f:
        assert re.search(r"(?m)^Max core file size +unlimited", f.read())
    process.send_signal(signal.SIGABRT)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = -os.WTERMSIG(status)
    assert process.returncode == -signal.SIGABRT
    return os.WCOREDUMP(status) or bool(list(directory.glob("core*")))


@pytest.mark.plain
def test_no_core_is_made_even_where_no_limit_forbids_it(weir, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not dumps_core(weir([], preexec=seccomp.unlimited_cores).process, tmp_path)
    with subprocess.Popen(["sleep", "infinity"], preexec_fn=seccomp.unlimited_cores) as other:
        assert dumps_core(other, tmp_path), "this machine makes no cores at all: here nothing was shown"


def test_what_was_rotated_is_wiped(gateway, provider, tmp_path):
    """Not a copy of it is left, of the calls that were made with it neither."""
    key, forms = tmp_path / "key", [OTHER, OTHER.encode().hex(), base64.b64encode(OTHER.encode()).decode()]
    replace(key, OTHER)
    g = gateway(providers=[row(provider, "file:%s" % key)])
    assert sent(g, provider) == [OTHER]
    replace(key, rig_provider.KEY)
    wait_for(lambda: reloads(g) == 1, what="the reload")
    assert sent(g, provider) == [rig_provider.KEY]
    if not SANITIZED:
        for form in forms:
            wait_for(lambda: not places(g.weir.process.pid, form), what="the end of the old key")


# -- how they change


def replace(path, text):
    new = path.with_suffix(".new")
    new.write_text(text)
    new.chmod(0o600)
    new.rename(path)


def test_a_rotated_key_is_used_at_once_and_a_missing_one_changes_nothing(gateway, provider, tmp_path):
    key = tmp_path / "key"
    replace(key, rig_provider.KEY)
    g = gateway(providers=[row(provider, "file:%s" % key)])
    assert sent(g, provider) == [rig_provider.KEY]
    replace(key, OTHER)
    wait_for(lambda: reloads(g) == 1, what="the reload")
    assert sent(g, provider) == [OTHER]
    key.unlink()
    wait_for(lambda: refusals(g) == 1, what="a word about the key that is not there")
    assert sent(g, provider) == [OTHER]
    key.write_text(rig_provider.KEY)  # in place
    wait_for(lambda: reloads(g) >= 2 and sent(g, provider) == [rig_provider.KEY], what="the key that came back")


def public_key(path):
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path], check=True)
    return subprocess.run(["openssl", "ec", "-in", path, "-pubout"], check=True, capture_output=True, text=True).stdout


def mint(key, sid):
    done = subprocess.run([binary(), "token", "mint", "--key", "file:%s" % key, "--alg", "ES256", "--issuer", tokens.ISSUER,
                           "--audience", tokens.AUDIENCE, "--sid", sid, "--tenant", "acme", "--session-usd", "1"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def kubernetes(volume, name, text):
    """As a kubelet writes a Secret: a new directory, and one rename of the link to it."""
    version = volume / ("..v%d" % len(os.listdir(volume)))
    version.mkdir()
    (version / name).write_text(text)
    (volume / "..new").symlink_to(version.name)
    (volume / "..new").rename(volume / "..data")
    if not (volume / name).is_symlink():
        (volume / name).symlink_to("..data/" + name)


def test_keys_of_tokens_change_with_their_file_as_kubernetes_replaces_it(gateway, provider, tmp_path):
    volume = tmp_path / "keys"
    volume.mkdir()
    kubernetes(volume, "public.pem", public_key(tmp_path / "one"))
    g = gateway(sessions={"keys": [{"issuer": tokens.ISSUER, "audience": tokens.AUDIENCE, "alg": "ES256",
                                    "pem": "file:%s" % (volume / "public.pem")}]})
    assert g.messages(token=mint(tmp_path / "one", "s1")).status == 200
    kubernetes(volume, "public.pem", public_key(tmp_path / "two"))
    wait_for(lambda: reloads(g) == 1, what="the reload")
    assert g.messages(token=mint(tmp_path / "two", "s2")).status == 200
    assert g.messages(token=mint(tmp_path / "one", "s3")).get("x-weir-reason") == "session_invalid"
    kubernetes(volume, "public.pem", "no key at all")
    wait_for(lambda: refusals(g) == 1, what="a word about what is no key")
    assert g.messages(token=mint(tmp_path / "two", "s4")).status == 200


def test_other_files_beside_a_key_reload_nothing(gateway, provider, tmp_path):
    key = tmp_path / "key"
    replace(key, rig_provider.KEY)
    g = gateway(providers=[row(provider, "file:%s" % key)])
    replace(tmp_path / "other", "x")
    replace(key, OTHER)
    wait_for(lambda: reloads(g) > 0, what="the reload")
    assert sent(g, provider) == [OTHER] and reloads(g) == 1


# -- where they are not


def test_nothing_that_weir_says_has_a_credential_in_it(gateway, provider, tmp_path):
    g = gateway(sessions=keyed(), config={"listen": listeners(tmp_path), "log": {"level": "debug"}, "errors": "developer"})
    token = tokens.mint(SECRET, budget={"sessionUsd": "1"})
    provider.answer = rig_provider.refused(401, {"error": {"message": "no such key: " + rig_provider.KEY}})
    said = [g.messages(token=token), g.messages(token=SECRET), g.messages(token=rig_provider.KEY),
            g.call("/anthropic/" + rig_provider.KEY, token=token)]
    provider.answer = lambda p, conn, request, body: conn.send(b"HTTP/1.1 2oo " + rig_provider.KEY.encode() + b"\r\n\r\n")
    said.append(g.messages(token=token))
    g.weir.finals(len(said))
    g.weir.reload()
    wait_for(lambda: reloads(g) == 1, what="the reload")
    told = [a.body.decode() + repr(a.headers) for a in said] + [g.weir.log(), g.weir.health("/metrics")[1]]
    with open(g.weir.config["audit"]["path"]) as f:
        told.append(f.read())
    environment = dict(os.environ, **g.weir.environment)
    for words in (["ctl", "status"], ["ctl", "sessions"], ["ctl", "connections"], ["check"], ["check", "--format", "json"],
                  ["check", "--defaults"], ["explain", "--json", "https://a.test/"], ["ledger", "export"]):
        done = subprocess.run([binary(), *words, "-c", g.weir.path("weir.yaml")], env=environment, capture_output=True, text=True)
        told.append(done.stdout + done.stderr)
    for text in told:
        for secret in (rig_provider.KEY, SECRET, token, token.split(".")[2]):
            assert secret not in text, text[max(0, text.find(secret) - 300):][:600]


def check(g, *words, environment=None):
    done = subprocess.run([binary(), "check", "-c", g.weir.path("weir.yaml"), *words], capture_output=True, text=True,
                          env=dict(os.environ, **(g.weir.environment if environment is None else environment)))
    return done.returncode, done.stdout + done.stderr


def test_check_names_a_reference_that_leads_nowhere_or_whose_file_others_read(gateway, provider, tmp_path):
    key = tmp_path / "key"
    replace(key, rig_provider.KEY)
    g = gateway(sessions=keyed(), providers=[row(provider, "file:%s" % key)])
    assert check(g)[0] == 0
    status, told = check(g, environment={"KEY": ""})
    assert status == 78 and "secret_missing" in told and "env:KEY" in told
    key.chmod(0o644)
    status, told = check(g)
    assert status == 0 and "secret_readable_by_all" in told and str(key) in told and rig_provider.KEY not in told
    assert check(g, "--strict")[0] != 0
    key.unlink()
    status, told = check(g)
    assert status == 78 and "secret_missing" in told and str(key) in told
    replace(key, rig_provider.KEY)


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_secret_that_stands_in_the_configuration_is_refused_and_not_shown(gateway, provider, name):
    g, value = gateway(sessions=keyed()), KEYS[name]
    text = json.dumps(g.weir.config).replace('"env:%s"' % name, json.dumps(value))
    with open(g.weir.path("weir.yaml"), "w") as f:
        f.write(text)
    status, told = check(g)
    assert status == 78 and "secret_literal" in told and value not in told
    with open(g.weir.path("weir.yaml"), "w") as f:
        json.dump(g.weir.config, f)
