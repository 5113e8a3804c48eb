"""Real clients in TLS that weir opens: told by weir env where it is and whom to trust, they get what they may, and are told what not."""
import pathlib
import subprocess

import pytest

from clients import live, proxied, through
from rig import origin as origins, tls
from rig.ca import Ca
from rig.weir import binary
from rules import https
from test_intercept import insides_of

pytestmark = pytest.mark.plain

NAME = proxied.ALLOWED
OPEN, SHUT = "/open/it", "/shut/it"  # git asks for what is below
TOLD = ("path_not_allowed", "not this path", "403")  # as much as one shows


class Client:
    """Fetches $url; `status`: what it ends with where it is refused inside."""

    def __init__(self, name, command, status=0, marks=()):
        self.name, self.command, self.status, self.marks = name, command, status, marks


PYTHON = [Client(name, ["/usr/bin/python3", "$here/fetch.py", name, "$url"]) for name in ("requests", "httpx", "aiohttp")]
CLIENTS = [Client("curl", ["curl", "-sS", "$url"]), Client("git", ["git", "ls-remote", "$url"], 128), Client("node", ["node", "$here/tunnel.mjs", "$url"]),
           *PYTHON, Client("java", ["java", "$here/Fetch.java", "$url"], marks=[pytest.mark.soak])]


@pytest.fixture
def ca(tmp_path):
    return Ca(tmp_path / "ca")


@pytest.fixture
def site(origin, authority):
    one = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve), reply=through.reply)
    one.listen(443)
    return one


@pytest.fixture
def seeing(weir, ca, authority):
    return weir([https(NAME, paths=["/open/**"])], config={"tls": {"roots": authority.certificate, "intercept": ca.setting}})


def java_store(ca, directory):
    store = directory / "store.p12"
    subprocess.run(["keytool", "-importcert", "-noprompt", "-alias", "weir", "-file", ca.certificate, "-keystore", str(store), "-storetype", "PKCS12",
                    "-storepass", "changeit"], check=True, capture_output=True)
    return ["--java-store", str(store)]


def run(proxy, client, path, directory, *more):
    """Its output, errors too, and how it ended, in a shell that evaluated weir env and holds nothing else of ours."""
    words = [through.put(word, {"here": str(live.HERE), "url": "https://%s%s" % (NAME, path)}) for word in client.command]
    script = 'eval "$(%s env -c %s %s)"; exec "$@"' % (binary(), proxy.path("weir.yaml"), " ".join(more))
    done = subprocess.run(["sh", "-ec", script, "sh", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False,
                          env=live.surroundings(directory, pathlib.Path("/nonexistent"), {}))
    return done.stdout, done.returncode


@pytest.mark.parametrize("client", [pytest.param(c, id=c.name, marks=c.marks) for c in CLIENTS])
def test_it_trusts_the_ca_and_works_and_is_told(seeing, site, ca, tmp_path, client):
    more = java_store(ca, tmp_path) if client.name == "java" else []
    said, status = run(seeing, client, OPEN, tmp_path, *more)
    assert status == 0 and proxied.ANSWER in said, said
    said, status = run(seeing, client, SHUT, tmp_path, *more)
    assert status == client.status and any(word in said for word in TOLD), said
    assert all(r.target.startswith(OPEN) for r in site.requests) and site.requests
    reasons = {r["target"]["path"].split("/")[1]: r["reason"] for r in insides_of(seeing.finals(4))}
    assert reasons == {"open": "ok", "shut": "path_not_allowed"}


@pytest.mark.parametrize("client", [pytest.param(c, id=c.name, marks=c.marks) for c in CLIENTS if c not in PYTHON])
def test_without_it_nothing_passes(seeing, site, authority, tmp_path, client):
    """It trusts the origin's authority, and not weir's: it ends with an error, and nothing was sent."""
    said, status = run(seeing, client, OPEN, tmp_path, "--ca", authority.certificate)
    assert status != 0 and proxied.ANSWER not in said
    assert site.requests == []
    record, = [r for r in seeing.finals(1) if r["kind"] == "connect" and "intercepted" in r.get("flags", [])]
    is_told = client.name != "git"  # GnuTLS ends the handshake, looks, and goes without a word
    assert ("client_distrusts_ca" in record["flags"]) == (record["reason"] == "client_aborted") == is_told
