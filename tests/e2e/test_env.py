"""weir env: the variables that make common runtimes use weir, in forms that nothing can break out of."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import urllib.parse

import pytest

from rig import gateway as rig_gateway
from rig import provider as rig_provider
from rig import tls
from rig import origin as origins
from rig.ca import Ca
from rig.weir import binary
from rules import https

pytestmark = pytest.mark.command

NAME = "allowed.test"
ODD = "a'b\"c$(touch broken)`x`\\ z"
TOKEN = ".".join(["head", "claims", "sign"]) + "+/="
BOTH = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]
BUNDLES = ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "CODEX_CA_CERTIFICATE"]


def env(*arguments, status=0, **how):
    done = subprocess.run([binary(), "env", *arguments], capture_output=True, text=True, timeout=30, check=False, **how)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def told(*arguments):
    return json.loads(env("--format", "json", *arguments))


def test_each_variable_that_clients_are_said_to_take_is_printed():
    text = (pathlib.Path(__file__).parents[2] / "doc/CLIENTS.md").read_text()
    said = re.search(r"`weir env` prints each:\n(.*?)\. ", text, re.S).group(1)
    names = re.findall("`(.*?)`", said)
    assert len(names) > 4 and set(names) <= set(told("--ca", "/etc/ca.pem"))


# -- which

def test_without_options_it_is_the_laptops_proxy():
    said = told()
    assert {said[name] for name in BOTH} == {"http://127.0.0.1:3128"}
    assert said["NO_PROXY"] == said["no_proxy"] == "localhost,127.0.0.1,::1"
    assert said["NODE_USE_ENV_PROXY"] == "1"
    assert "ALL_PROXY" not in said and "SSL_CERT_FILE" not in said and "ANTHROPIC_BASE_URL" not in said


def test_what_adds_to_its_roots_gets_the_ca_and_the_others_the_bundle():
    said = told("--ca", "/etc/ca.pem", "--bundle", "/etc/all.pem", "--java-store", "/etc/all.p12")
    assert said["NODE_EXTRA_CA_CERTS"] == said["DENO_CERT"] == "/etc/ca.pem"
    assert {said[name] for name in BUNDLES} == {"/etc/all.pem"}
    assert {"-Djavax.net.ssl.trustStore=/etc/all.p12", "-Djavax.net.ssl.trustStorePassword=changeit"} <= set(said["JAVA_TOOL_OPTIONS"].split())
    assert {told("--ca", "/etc/ca.pem")[name] for name in BUNDLES} == {"/etc/ca.pem"}


def test_a_ca_alone_where_roots_are_replaced_is_warned_of(authority):
    done = subprocess.run([binary(), "env", "--ca", authority.certificate], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "--bundle" in done.stderr
    assert subprocess.run([binary(), "env", "--ca", authority.certificate, "--bundle", "/etc/all.pem"],
                          capture_output=True, text=True, check=True).stderr == ""


def test_model_calls_go_to_the_gateway_and_never_by_the_proxy():
    said = told("--proxy", "http://weir:3128", "--gateway", "http://weir.test:8787/", "--no-proxy", ".inside.test")
    assert said["ANTHROPIC_BASE_URL"] == "http://weir.test:8787/anthropic"
    assert said["OPENAI_BASE_URL"] == "http://weir.test:8787/openai/v1"
    assert said["GOOGLE_GEMINI_BASE_URL"] == "http://weir.test:8787/gemini"
    assert said["no_proxy"] == "localhost,127.0.0.1,::1,weir.test,.inside.test"
    assert "-Dhttp.nonProxyHosts=localhost|127.*|[::1]|weir.test|*.inside.test" in said["JAVA_TOOL_OPTIONS"]
    assert not any("KEY" in name for name in said)


def test_a_token_is_the_proxys_password_and_the_key_where_the_gateway_is(tmp_path):
    (tmp_path / "token").write_text(TOKEN + "\n")
    said = told("--proxy", "http://weir:3128", "--gateway", "http://weir:8787", "--token-file", str(tmp_path / "token"))
    assert urllib.parse.unquote(urllib.parse.urlsplit(said["https_proxy"]).password) == TOKEN
    assert {said[name] for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")} == {TOKEN}
    alone = told("--proxy", "http://weir:3128", "--token-file", str(tmp_path / "token"))
    assert not any("API_KEY" in name for name in alone)


# -- from a configuration

@pytest.fixture
def config(tmp_path):
    def make(listen, providers=()):
        (tmp_path / "policy.yaml").write_text('{"policy": "p", "allow": []}')
        (tmp_path / "weir.yaml").write_text(json.dumps({
            "production": False, "listen": listen, "policies": ["policy.yaml"],
            "sessions": rig_gateway.laptop(),
            "gateway": {"prices": str(rig_provider.PRICES), "providers": list(providers)}}))
        return str(tmp_path / "weir.yaml")
    return make


def provider(kind, path):
    return {"name": kind, "kind": kind, "path": path, "upstream": "https://%s.example.com" % kind,
            "hosts": ["%s.example.com" % kind],
            "credential": {"header": rig_gateway.KEY_FIELDS[kind], "value": "file:key"}}


def test_a_configuration_says_where_and_which_providers(config, tmp_path):
    (tmp_path / "key").write_text("-".join(["not", "a", "real", "key"]))
    path = config({"proxy": ["unix:/run/weir/proxy.sock"], "gateway": ["10.0.0.9:8888"], "dns": ["10.0.0.9:53"]},
                  [provider("anthropic", "/claude")])
    said = told("-c", path)
    assert said["https_proxy"] == "http://127.0.0.1:3128"  # where weir forward has it
    assert said["ANTHROPIC_BASE_URL"] == "http://10.0.0.9:8888/claude" and "OPENAI_BASE_URL" not in said
    assert told("-c", path, "--proxy", "http://other:1")["https_proxy"] == "http://other:1"
    lines = env("-c", path).splitlines()
    assert {"# listen.proxy: unix:/run/weir/proxy.sock", "# listen.dns: 10.0.0.9:53"} <= set(lines)
    assert "not-a-real" not in "\n".join(lines)


def test_an_address_that_is_all_addresses_has_to_be_said(config):
    path = config({"proxy": ["0.0.0.0:3128"]})
    assert "--proxy URL" in env("-c", path, status=64)
    assert told("-c", path, "--proxy", "http://weir:3128")["https_proxy"] == "http://weir:3128"


@pytest.fixture
def opening(config, tmp_path):
    """opening(): a configuration whose CA is in ca/."""
    def make():
        path = config({"proxy": ["127.0.0.1:3128"]})
        said = json.loads((tmp_path / "weir.yaml").read_text())
        said["tls"] = {"intercept": {"cert": "file:ca/ca.pem", "key": "file:ca/ca.key"}}
        (tmp_path / "weir.yaml").write_text(json.dumps(said))
        return path
    return make


def test_a_configurations_ca_is_trusted_by_its_bundle(opening, tmp_path):
    ca = Ca(tmp_path / "ca")
    path = opening()
    assert {told("-c", path)[name] for name in [*BUNDLES, "NODE_EXTRA_CA_CERTS"]} == {ca.bundle}
    said = json.loads(env("-c", "weir.yaml", "--format", "json", cwd=tmp_path))
    assert said["SSL_CERT_FILE"] == ca.bundle  # from /, whatever directory it is said in
    os.unlink(ca.key)  # nobody needs that to trust it
    ca_alone = open(ca.certificate, encoding="ascii").read()
    with open(ca.bundle, "w", encoding="ascii") as f:
        f.write(ca_alone.replace("A", "B"))
    assert told("-c", path)["SSL_CERT_FILE"] == ca.certificate  # that bundle is not this CA's
    assert told("-c", path, "--ca", "/etc/there.pem")["SSL_CERT_FILE"] == "/etc/there.pem"
    os.unlink(ca.certificate)
    assert "ca.pem" in env("-c", path, status=78)
    assert told("-c", path, "--ca", "/etc/there.pem")["SSL_CERT_FILE"] == "/etc/there.pem"


# -- forms

def test_a_shell_takes_back_each_value_and_runs_nothing(tmp_path):
    lines = env("--ca", "/" + ODD, cwd=tmp_path)
    script = lines + "printf '%s' \"$SSL_CERT_FILE\""
    for shell in ("sh", "bash"):
        assert subprocess.run([shell, "-ec", script], cwd=tmp_path, capture_output=True, text=True,
                              check=True).stdout == "/" + ODD
    assert os.listdir(tmp_path) == []
    assert all(len(shlex.split(line)) == 2 for line in lines.splitlines())


def test_docker_and_json_and_dotenv_have_the_same_values():
    said = told("--ca", "/" + ODD)
    assert dict(line.split("=", 1) for line in env("--ca", "/" + ODD, "--format", "docker").splitlines()) == said
    dotenv = subprocess.run(["sh", "-ec", "set -a\n%s\nprintf '%%s' \"$SSL_CERT_FILE\"" % env(
        "--ca", "/" + ODD, "--format", "dotenv")], capture_output=True, text=True, check=True)
    assert dotenv.stdout == said["SSL_CERT_FILE"]


@pytest.mark.parametrize("arguments,words", [
    (["--ca", "ca.pem"], "from /"), (["--ca", "/a\nb"], "character"), (["--java-store", "/a b"], "character"),
    (["--proxy", "http://u:p@weir:3128"], "--token-file"), (["--proxy", "socks5://weir:3128"], "http://HOST:PORT"),
    (["--proxy", "http://weir:3128/path"], "http://HOST:PORT"), (["--no-proxy", "a,b"], "one host"),
    (["--format", "xml"], "shell, docker, dotenv or json"), (["word"], "no option")])
def test_what_cannot_be_a_variable_is_refused(arguments, words):
    assert words in env(*arguments, status=64)


def test_a_token_that_could_break_a_line_is_refused(tmp_path):
    (tmp_path / "token").write_text("one\ntwo")
    said = env("--token-file", str(tmp_path / "token"), status=64)
    assert "no token" in said and "two" not in said
    assert "weir env" in env("--token-file", str(tmp_path / "none"), status=66)


# -- and it works

@pytest.mark.parametrize("client", [
    ["curl", "-sSf"], ["python3", "-c", "import sys, requests; r = requests.get(sys.argv[1]); print(r.text, end='')"]])
def test_a_program_started_with_them_goes_by_weir_and_trusts_the_ca(weir, origin, authority, tmp_path, client):
    server = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    port = server.listen()
    proxy = weir([https(NAME, port)])
    lines = env("--proxy", "http://" + proxy.address, "--ca", authority.certificate, "--bundle", authority.certificate)
    done = subprocess.run(["sh", "-ec", lines + 'exec "$@"', "sh", *client, "https://%s:%d/" % (NAME, port)],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "ok", done.stderr
    assert proxy.finals(1)[0]["decision"] == "allow"
