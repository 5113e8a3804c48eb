"""contrib/docker on a real engine: the image is built, compose makes the boundary, and weir verify inside agrees.

The engine is the distribution's, 20.10: what leaks there and no longer in later ones is part of the promise.
"""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from rig import dns as rig_dns
from rig import docker, netns, origin as origins, tls
from rig.weir import wait_for

pytestmark = pytest.mark.soak

ROOT = docker.ROOT
AT, NAMES = netns.PUB1, netns.PUB2
TIGHT = ["--user", "1000:1000", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true",
         "--pids-limit", "256", "--memory", "256m"]


@pytest.fixture(scope="module")
def outside(net, authority):
    """Name servers and an origin that answer to whatever reaches them; the engine's host asks one on its loopback."""
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)  # the engine's own, and what it makes there
    with netns.inside(net.outside):
        names = rig_dns.Dns(NAMES)
    hosts = rig_dns.Dns("127.0.0.53")
    for one in (names, hosts):
        one.set({}, {"A": [AT], "ttl": 0})
    site = origins.Upstream(serve=tls.tls_serve(authority.context("github.com"), origins.http_serve))
    site.listen(443, AT, net.outside)
    path = pathlib.Path(authority.certificate).with_name("resolv.conf")
    path.write_text("nameserver 127.0.0.53\n")
    subprocess.run(["mount", "--bind", str(path), "/etc/resolv.conf"], check=True)
    with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as f:
        f.write("1")
    yield hosts
    site.close()
    names.close()
    hosts.close()
    subprocess.run(["umount", "/etc/resolv.conf"], check=True)
    subprocess.run(["umount", "-l", "/run"], check=True)


@pytest.fixture(scope="module")
def engine(outside):
    one = docker.Engine()
    yield one
    one.close()


@pytest.fixture(scope="module")
def images(engine, tmp_path_factory):
    """weir, weir-netinit, and the base that both were built on."""
    engine.make_base("base")
    source = tmp_path_factory.mktemp("source")
    files = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, files):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name, follow_symlinks=False)
    for target, name in (("weir", "weir"), ("netinit", "weir-netinit")):
        engine.docker("build", "-f", str(source / "contrib/docker/Dockerfile"), "--build-arg", "BASE=base", "--target", target,
                      "-t", name, str(source), timeout=1800)
    return engine


@pytest.fixture
def place(images, tmp_path):
    """contrib/docker with the key that its comments make."""
    shutil.copytree(ROOT / "contrib/docker", tmp_path / "docker")
    key = tmp_path / "docker/session.key"
    key.touch(0o600)
    key.write_text(images.docker("run", "--rm", "weir", "token", "keygen", "--alg", "HS256").stdout)
    os.chown(key, 65532, 65532)
    return tmp_path / "docker"


class Composed:
    def __init__(self, engine, file, source):
        self.engine, self.file = engine, file
        self.environment = {"SANDBOX_IMAGE": "base"}
        up = self("up", "-d", "weir", "sandbox", check=False)
        if up.returncode != 0:
            said = self("logs", "weir", check=False).stdout
            self.down()
            raise AssertionError(up.stderr[-1000:] + said[-2000:])
        token = self("exec", "-T", "weir", "/usr/bin/weir", "token", "mint", "-c", "/etc/weir/weir.yaml", "--tenant", "acme",
                     "--sid", "s1").stdout
        self("exec", "-T", "weir", "/usr/bin/weir", "ctl", "-s", "/run/weir/admin.sock", "arm", source, stdin=token)

    def __call__(self, *words, **how):
        return self.engine.compose(self.file, *words, environment=self.environment, **how)

    def verify(self, *more):
        """What does not hold, by the shipped service and then line by line."""
        said = self("run", "--rm", "verify", "--allow", "github.com", "--json", "--timeout", "3s", "--direct", AT + ":443",
                    "--nameserver", NAMES, *more, check=False)
        probes = json.loads(said.stdout[said.stdout.index("{"):])["probes"]
        return {(p["probe"], p["target"]): p["result"] for p in probes if p["result"] != "ok"}, said.returncode

    def down(self):
        self("down", "-v", "-t", "1", check=False)


@pytest.fixture
def internal(images, place):
    one = Composed(images, place / "compose.yaml", "10.89.0.10")
    yield one
    one.down()
    netns.nft_flush_table("weir_internal")


def close_host():
    netns.nft(ROOT / "contrib/nftables/docker-internal.nft", "-D", "sandbox=weir-sandboxes")


# -- the image

def test_the_image_is_the_program_and_what_it_needs(images):
    made = images.docker("create", "weir").stdout.strip()
    names = subprocess.run("docker export %s | tar -t" % made, shell=True, env=images.environment, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    files = {name for name in names if not name.endswith("/")}
    images.docker("rm", made)
    assert "usr/bin/weir" in files and "etc/ssl/certs/ca-certificates.crt" in files
    programs = {name for name in files if "/bin/" in "/" + name or "/sbin/" in "/" + name}
    assert programs == {"usr/bin/weir"}
    about = json.loads(images.docker("inspect", "weir").stdout)[0]
    assert about["Config"]["User"] == "65532:65532" and about["Size"] < 50 << 20
    said = images.docker("run", "--rm", "--network", "none", *TIGHT, "weir", "--version").stdout
    assert said.startswith("weir ")


def test_the_rules_of_a_pod_load_from_an_image_that_has_nft_alone(images):
    """As the pod's net-init does: in a network of the pod's, as root with one capability."""
    rules = str(ROOT / "contrib/k8s/sidecar/weir.nft")
    pod = images.docker("run", "-d", "--network", "none", "base", "sleep", "infinity").stdout.strip()
    try:
        how = ["run", "--rm", "--network", "container:" + pod, "--read-only", "--cap-drop", "ALL", "--cap-add", "NET_ADMIN",
               "-v", rules + ":/etc/weir/weir.nft:ro", "weir-netinit"]
        images.docker(*how)
        assert "skuid 1337" in images.docker(*how, "list", "ruleset").stdout
    finally:
        images.docker("rm", "-f", pod)


# -- an internal network

def test_weir_is_the_only_way_out_of_an_internal_network(internal):
    close_host()
    assert internal.verify() == ({}, 0)
    weir = internal("exec", "-T", "weir", "/usr/bin/weir", "ctl", "-s", "/run/weir/admin.sock", "status").stdout
    assert json.loads(weir)["ready"]


def test_the_hosts_addresses_leak_on_an_engine_before_28(internal):
    wrong, status = internal.verify()
    assert (wrong, status) == ({("host", "10.89.0.1"): "leak"}, 1)


def test_an_engine_before_25_asks_outside_where_dns_is_left_to_it(images, internal, outside):
    close_host()
    text = internal.file.read_text()
    shipped = '    dns: ["10.89.0.2"]'
    assert shipped in text
    internal.file.write_text(text.replace(shipped, "    #"))
    internal("up", "-d", "sandbox")
    wrong, status = internal.verify()
    assert (wrong, status) == ({("resolver", "127.0.0.11:53"): "leak"}, 1)
    assert outside.asked("example.net")


def test_a_sandbox_that_is_on_another_network_too_leaks(images, internal):
    close_host()
    sandbox = internal("ps", "-q", "sandbox").stdout.strip()
    images.docker("network", "connect", "weir_egress", sandbox)
    wrong, status = internal.verify()
    leaks = {line for line, result in wrong.items() if result == "leak"}
    assert status == 1 and {("tcp", AT + ":443"), ("dns-udp", NAMES + ":53"), ("dns-tcp", NAMES + ":53")} <= leaks


NETWORK = 'network_mode: "service:sandbox"'
TIGHTNESS = 'security_opt: ["no-new-privileges:true"]'
HELD = {
    "capabilities": ({"cap_drop: [ALL]": "cap_add: [NET_ADMIN]", 'user: "1000:1000"': 'user: "0:0"'},
                     {"rights", "raw-ipv4", "raw-ipv6", "raw-packet"}),
    "a writable root": ({"read_only: true": "read_only: false"}, {"root"}),
    "no limit of memory": ({"mem_limit: 256m": "#"}, {"limits"}),
    "new rights": ({TIGHTNESS: "#"}, {"new-rights"}),
    "no filter": ({TIGHTNESS: TIGHTNESS.replace("]", ', "seccomp:unconfined"]')}, {"seccomp"}),
    "the engine's socket": ({NETWORK: NETWORK + '\n    volumes: ["SOCKET:/run/docker.sock"]'}, {"engine"}),
    "weir's processes": ({NETWORK: NETWORK + '\n    pid: "service:weir"'}, {"weir"}),
    "a secret": ({NETWORK: NETWORK + "\n    environment: { DATABASE_PASSWORD: correct-horse-9 }"}, {"environment"}),
}


@pytest.mark.parametrize("changes,leaks", HELD.values(), ids=HELD)
def test_what_a_container_must_not_hold_is_found(images, internal, changes, leaks):
    close_host()
    head, mark, tail = internal.file.read_text().partition("  verify:\n")
    for old, new in changes.items():
        assert old in tail
        tail = tail.replace(old, new.replace("SOCKET", images.host.replace("unix://", "")), 1)
    os.chmod(images.host.replace("unix://", ""), 0o666)
    internal.file.write_text(head + mark + tail)
    wrong, status = internal.verify()
    assert status == 1 and {probe for (probe, _), result in wrong.items() if result == "leak"} == leaks


# -- no network at all

def test_a_sandbox_without_a_network_has_the_socket_alone(images, place):
    one = Composed(images, place / "compose.none.yaml", "/run/door/proxy.sock")
    try:
        one("up", "-d", "forward")
        wait_for(lambda: one.verify() == ({}, 0), 60, "a sandbox that holds")
    finally:
        one.down()
