"""weir verify in the shapes of doc/DEPLOY.md: each holds as it ships, and what can be wrong with it is a line.

A router of sandboxes (TPROXY), beside the program (by user), no network at all (a socket); the gateway's network
and the router with REDIRECT are in test_verify.py.
"""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

from rig import netns, origin as origins, seccomp, tls
from rig import sandbox as sandboxes
from rig.sandbox import WEIR
from rig.weir import WAIT, Manager, wait_for
from rules import https
from test_activation import TPROXY, without
from test_verify import AT4, AT6, METADATA, NAME, NFT, OTHER, WAYS, doors, outside, sandbox, seen  # noqa: F401

pytestmark = pytest.mark.plain

WAYS = [*WAYS, "--udp", "[%s]:443" % AT6]
WORDS = ["--deny", OTHER, *WAYS, "--timeout", "2s", "--json"]
V4 = {("tcp", AT4 + ":443"), ("udp", AT4 + ":443"), ("udp", AT4 + ":123"), ("dns-udp", AT4 + ":53"), ("dns-tcp", AT4 + ":53"),
      ("metadata", METADATA + ":80")}
V6 = {("tcp", "[%s]:443" % AT6), ("udp", "[%s]:443" % AT6), ("dns-udp", "[%s]:53" % AT6), ("dns-tcp", "[%s]:53" % AT6)}
TCP4, TCP6 = ("tcp", AT4 + ":443"), ("tcp", "[%s]:443" % AT6)
UDP = {line for line in V4 | V6 if line[0] == "udp"}


def lines(wrong, *results):
    """The lines with one of these results; the port of an allowed host is whichever was free."""
    return {(probe, None if at and NAME in at else at) for (probe, at), result in wrong.items() if result in results}


def changed(tmp_path, name, changes):
    """A copy of the shipped rules with changes made to them."""
    text = (NFT / name).read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (tmp_path / "changed.nft").write_text(text)
    return tmp_path / "changed.nft"


@pytest.fixture(scope="module")
def program():
    """weir where every user may run it."""
    directory = tempfile.mkdtemp(prefix="weir-test-")
    os.chmod(directory, 0o755)
    yield shutil.copy(sandboxes.binary(), directory)
    shutil.rmtree(directory)


def as_user(uid, *options):
    return ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
            "--ambient-caps=-all", *options, "--"]


# -- a router of sandboxes, with TPROXY

TABLE = "119"


def route(do, family):
    """The two routing rules of vm-tproxy.nft's head."""
    subprocess.run(["ip", family, "rule", do, "fwmark", "0x77", "lookup", TABLE], check=True)
    subprocess.run(["ip", family, "route", do, "local", "default", "dev", "lo", "table", TABLE], check=True)


class Router:
    def __init__(self, box, doors, tmp_path, routed):
        self.box, self.make_doors, self.tmp_path, self.routed = box, doors, tmp_path, routed

    def load(self, *changes, interface="s0"):
        netns.nft(changed(self.tmp_path, "vm-tproxy.nft", changes), "-D", "sandbox=" + interface)

    def route(self, family):
        route("add", family)
        self.routed.append(family)

    def serve(self, **how):
        self.weir = self.make_doors(listen=dict({
            "transparent": ["127.0.0.1:15001", "[::1]:15001"],
            "dns": ["%s:15053" % WEIR, "[%s]:15053" % netns.Sandbox.WEIR6]}, **how.pop("listen", {})), **how)
        self.words = [*self.weir.words, "--udp", "[%s]:443" % AT6, "--timeout", "2s", "--transparent"]

    def wrong(self, *more):
        return seen(self.box.verify(*self.words, *more))[0]


@pytest.fixture
def router(sandbox, doors, tmp_path):  # noqa: F811
    netns.nft_flush()
    one = Router(sandbox, doors, tmp_path, [])
    yield one
    netns.nft_flush()
    for family in one.routed:
        route("del", family)


@pytest.fixture
def routed(router):
    for family in ("-4", "-6"):
        router.route(family)
    return router


def test_a_router_with_tproxy_holds(routed):
    routed.load()
    routed.serve()
    assert routed.wrong() == {}


TPROXY6 = "meta nfproto ipv6 meta l4proto tcp tproxy ip6 to [::1]:$transparent_port meta mark set 0x77 accept"
TPROXY4 = "meta nfproto ipv4 meta l4proto tcp tproxy ip to 127.0.0.1:$transparent_port meta mark set 0x77 accept"
NAMES = "udp dport 53 redirect to :$dns_port"
FORWARD = "iifname $sandbox counter reject with icmpx type admin-prohibited\n\t}\n}"
INPUT = "router-solicit } accept\n\t\tcounter reject"
ROUTER = {  # changes; what leaks; what fails
    "TPROXY forgotten": ([(TPROXY4, ""), (TPROXY6, "")], set(), {("transparent-allowed", None)}),
    "v6 forgotten": ([(TPROXY6, ""), (FORWARD, "meta nfproto ipv4 " + FORWARD)], {TCP6, ("udp", "[%s]:443" % AT6)}, set()),
    "DNS open": ([(NAMES, "udp dport 53 accept"), (FORWARD, "udp dport 53 accept\n\t\t" + FORWARD)],
                 {("dns-udp", AT4 + ":53"), ("dns-udp", "[%s]:53" % AT6)}, {("dns-allowed", None)}),
    "443 open": ([("meta l4proto != tcp accept", "meta l4proto != tcp accept\n\t\ttcp dport 443 accept"),
                  (FORWARD, "tcp dport 443 accept\n\t\t" + FORWARD)], {TCP4, TCP6}, set()),
    "UDP open": ([(FORWARD, "meta l4proto udp accept\n\t\t" + FORWARD)], UDP, set()),
    "weir's host open": ([(INPUT, "router-solicit } accept\n\t\ttcp dport 9464 accept\n\t\tcounter reject")], {("beside", WEIR + ":9464")}, set()),
}


@pytest.mark.parametrize("changes,leaks,fails", ROUTER.values(), ids=ROUTER)
def test_a_router_broken_on_purpose_is_caught(routed, changes, leaks, fails):
    routed.load(*changes)
    routed.serve(listen={"health": [WEIR + ":9464"]})
    wrong = routed.wrong()
    assert (lines(wrong, "leak"), lines(wrong, "fail")) == (leaks, fails)


def test_a_router_without_rules_leaks_everywhere(routed):
    routed.serve()
    wrong = routed.wrong()
    assert lines(wrong, "leak") == V4 | V6 and ("transparent-allowed", None) in lines(wrong, "fail")


def test_a_router_whose_rules_name_another_interface_leaks_everywhere(routed):
    routed.load(interface="s9")
    routed.serve()
    assert lines(routed.wrong(), "leak") == V4 | V6


def test_a_router_without_the_routing_rules_lets_nothing_through(router):
    router.load()
    router.serve()
    wrong = router.wrong()
    assert lines(wrong, "leak") == set() and lines(wrong, "fail") == {("transparent-allowed", None)}


def test_a_weir_without_the_right_to_tproxy_is_found_out(routed):
    routed.load()
    routed.serve(preexec=without(*TPROXY))
    wrong = routed.wrong()
    assert lines(wrong, "leak") == set() and lines(wrong, "fail") == {("transparent-allowed", None)}


def test_a_sandbox_with_a_second_interface_leaks_there(routed, sandbox):  # noqa: F811
    routed.load()
    routed.serve()
    with second_interface("/proc/%d/fd/%d" % (os.getpid(), sandbox.fd), sandbox.inside, AT4):
        assert lines(routed.wrong(), "leak") == {line for line in V4 if line[1].startswith(AT4)}


@contextlib.contextmanager
def second_interface(place, inside, *to):
    """A way past the rules: a link to weir's own namespace under a name that they do not know."""
    run = lambda *words: subprocess.run(["ip", *words], check=True)  # noqa: E731
    run("link", "add", "x0", "type", "veth", "peer", "name", "x1")
    try:
        run("link", "set", "x1", "netns", place)
        run("addr", "add", "10.98.0.1/24", "dev", "x0")
        run("addr", "add", "fd00:98::1/64", "dev", "x0", "nodad")
        run("link", "set", "x0", "up")
        with inside():
            run("addr", "add", "10.98.0.2/24", "dev", "x1")
            run("addr", "add", "fd00:98::2/64", "dev", "x1", "nodad")
            run("link", "set", "x1", "up")
            for address in to:
                run("route", "add", address, "via", "fd00:98::1" if ":" in address else "10.98.0.1")
        yield
    finally:
        run("link", "del", "x0")


@pytest.fixture(autouse=True)
def way_back(net):
    """Whatever gets to the second interface is led on, and finds its way back."""
    for family in ("ipv4", "ipv6"):
        with open("/proc/sys/net/%s/conf/all/forwarding" % family, "w", encoding="ascii") as f:
            f.write("1")
    with netns.inside(net.outside):
        subprocess.run(["ip", "route", "replace", "10.98.0.0/24", "via", "192.0.2.1"], check=True)
        subprocess.run(["ip", "-6", "route", "replace", "fd00:98::/64", "via", "fd00:77::1"], check=True)


def test_a_router_whose_rules_come_late_is_waited_for(routed):
    routed.serve()
    assert lines(routed.wrong("--wait", "500ms"), "leak") == V4 | V6
    n = len(routed.weir.finals())
    process = routed.box.start(sandboxes.binary(), "verify", *routed.words, "--wait", "60s")
    routed.weir.finals(n + 10)  # a first pass
    routed.load()
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0 and json.loads(out)["holds"], out + err


# -- beside the program, by user

@pytest.fixture(scope="module")
def weirs_user(net):
    """The user id that sidecar.nft ships with."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "passwd"
        path.write_text(pathlib.Path("/etc/passwd").read_text() + "weir-test:x:1337:1337::/nonexistent:/usr/sbin/nologin\n")
        subprocess.run(["mount", "--bind", str(path), "/etc/passwd"], check=True)
        yield "weir-test"
        subprocess.run(["umount", "/etc/passwd"], check=True)


class Pod:
    """One namespace for weir and the program."""

    def __init__(self, program, tmp_path):
        self.program, self.tmp_path = program, tmp_path

    def load(self, *changes):
        netns.nft(changed(self.tmp_path, "sidecar.nft", changes))

    def command(self, uid, *more):
        return [*as_user(uid), self.program, "verify", "--allow", NAME, *WORDS, "--transparent", "--dns", "127.0.0.1:15053",
                "--own", "15001", "--own", "15053", "--own", "53", *more]  # 53: the tests' name server

    def wrong(self, uid, *more):
        done = subprocess.run(self.command(uid, *more), capture_output=True, text=True, check=False, timeout=120)
        return seen((done.returncode, done.stdout, done.stderr))[0]


@pytest.fixture
def pod(weir, origin, authority, outside, net, dns, tmp_path, program, weirs_user):  # noqa: F811
    netns.nft_flush()
    site = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    site.listen(443, netns.PUB2, net.outside)
    dns.set({NAME: {"A": [netns.PUB2], "ttl": 0}})
    tmp_path.chmod(0o755)
    weir([https(NAME)], config={"user": weirs_user, "listen": {
        door: ["127.0.0.1:%d" % port, "[::1]:%d" % port] for door, port in (("transparent", 15001), ("dns", 15053))}})
    yield Pod(program, tmp_path)
    netns.nft_flush()


@pytest.mark.parametrize("uid", [1000, 0])
def test_beside_the_program_it_holds_for_every_user_but_weirs(pod, uid):
    pod.load()
    assert pod.wrong(uid) == {}


def test_a_program_that_runs_as_weirs_user_leaks_everywhere(pod):
    pod.load()
    wrong = pod.wrong(1337)
    assert lines(wrong, "leak") == V4 | V6 and ("transparent-allowed", None) in lines(wrong, "fail")


LEAD = "meta l4proto tcp redirect to :$transparent_port"
WALL = "counter reject with icmpx type admin-prohibited"
POD = {
    "another user than weir's": ([("weir_uid = 1337", "weir_uid = 1000")], V4 | V6),
    "no wall": ([("policy drop", "policy accept"), (WALL, "")], UDP),
    "v6 forgotten": ([(LEAD, "meta nfproto ipv4 " + LEAD), (WALL, "meta nfproto ipv6 accept\n\t\t" + WALL)],
                     {TCP6, ("udp", "[%s]:443" % AT6)}),
    "DNS open": ([(NAMES, "udp dport 53 accept"), (WALL, "udp dport 53 accept\n\t\t" + WALL)],
                 {line for line in V4 | V6 if line[0] == "dns-udp"}),
    "443 open": ([(LEAD, "tcp dport != 443 " + LEAD), (WALL, "tcp dport 443 accept\n\t\t" + WALL)], {TCP4, TCP6}),
    "one interface of two": ([(LEAD, 'oifname "e0" ' + LEAD), (WALL, 'oifname "w0" accept\n\t\t' + WALL)],
                             UDP | {TCP4, TCP6, ("metadata", METADATA + ":80")}),
}


@pytest.mark.parametrize("changes,leaks", POD.values(), ids=POD)
@pytest.mark.parametrize("uid", [1000])
def test_beside_the_program_broken_on_purpose_it_is_caught(pod, uid, changes, leaks):
    pod.load(*changes)
    assert lines(pod.wrong(uid), "leak") == leaks


def test_beside_the_program_without_rules_it_leaks_everywhere(pod):
    wrong = pod.wrong(0)
    assert lines(wrong, "leak") == V4 | V6 and ("transparent-allowed", None) in lines(wrong, "fail")


def test_beside_the_program_rules_that_come_late_are_waited_for(pod):
    assert lines(pod.wrong(1000, "--wait", "500ms"), "leak") == V4 | V6
    with subprocess.Popen(pod.command(1000, "--wait", "60s"), stdout=subprocess.PIPE, text=True) as process:
        pod.load()
        out, _ = process.communicate(timeout=90)
    assert process.returncode == 0 and json.loads(out)["holds"], out


# -- no network at all

class Cell:
    """A namespace without an interface; weir forward in it has the socket's ports."""
    PORTS = {"proxy": 3128, "gateway": 8787, "socks5": 1080}

    def __init__(self, program, directory):
        self.program, self.directory, self.forwards, self.fd = program, directory, [], netns.apart()

    @property
    def place(self):
        return "/proc/%d/fd/%d" % (os.getpid(), self.fd)

    def inside(self):
        return netns.inside(self.fd)

    def path(self, door):
        return os.path.join(self.directory, door + ".sock")

    def forward(self, uid=0, waits=True):
        ways = ["%d=%s" % (port, self.path(door)) for door, port in self.PORTS.items()]
        with Manager() as manager, self.inside():
            self.forwards.append(subprocess.Popen([*as_user(uid), self.program, "forward", *ways], stderr=subprocess.DEVNULL,
                                                  env=dict(os.environ, NOTIFY_SOCKET="" if not waits else manager.name)))
        return self.forwards[-1]

    def command(self, *more):
        doors = [word for door, port in self.PORTS.items() for word in ("--" + door, "127.0.0.1:%d" % port)]
        return [self.program, "verify", "--allow", self.allow, *WORDS, *doors, *more]

    def start(self, *more, before=(), **how):
        with self.inside():
            return subprocess.Popen([*before, *as_user(0), *self.command(*more)], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, **how)

    def wrong(self, *more, **how):
        process = self.start(*more, **how)
        out, err = process.communicate(timeout=120)
        return seen((process.returncode, out, err))[0]

    def close(self):
        for one in self.forwards:
            if one.poll() is None:
                one.terminate()
            one.wait(WAIT)
        os.close(self.fd)


@pytest.fixture
def cell(weir, origin, authority, outside, net, program):  # noqa: F811
    server = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    port = server.listen()
    with tempfile.TemporaryDirectory(prefix="weir-test-") as directory:  # a path that has room in a socket's name
        os.chmod(directory, 0o755)
        one = Cell(program, directory)
        one.allow = "%s:%d" % (NAME, port)
        one.weir = weir([https(NAME, port)], config={
            "listen": dict({door: ["unix:" + one.path(door)] for door in one.PORTS}, admin=["unix:" + one.path("admin")]),
            "sessions": {"required": False, "default": {"sid": "s1", "tenant": "acme", "budget": {"sessionUsd": "1"}}}})
        yield one
        one.close()


def listens(cell):
    """Each of forward's ports can be connected to."""
    with cell.inside():
        for port in cell.PORTS.values():
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                return False
    return True


@pytest.fixture
def forwarded(cell):
    cell.forward()
    wait_for(lambda: listens(cell), what="weir forward")
    return cell


def test_without_a_network_it_holds(forwarded):
    assert forwarded.wrong() == {}


POSITIVE = {("proxy-allowed", None), ("socks5-allowed", None), ("gateway-session", None)}


def test_without_forward_nothing_passes(cell):
    wrong = cell.wrong()
    assert lines(wrong, "fail") == POSITIVE and lines(wrong, "leak") == set()


def test_forward_that_comes_late_is_waited_for(cell):
    process = cell.start("--wait", "60s")
    cell.forward()
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0 and json.loads(out)["holds"], out + err


def test_a_socket_of_another_users_lets_nothing_through(cell):
    for door in cell.PORTS:
        os.chmod(cell.path(door), 0o600)
    assert cell.forward(uid=1000).wait(WAIT) != 0
    wrong = cell.wrong()
    assert lines(wrong, "fail") == POSITIVE and lines(wrong, "leak") == set()


@pytest.mark.parametrize("to,leaks", [
    ((AT4, AT6, METADATA), V4 | V6), ((AT6,), V6), ((METADATA,), {("metadata", METADATA + ":80")})],
    ids=["both families", "v6", "metadata"])
def test_a_sandbox_that_has_an_interface_after_all_leaks_there(forwarded, to, leaks):
    with second_interface(forwarded.place, forwarded.inside, *to):
        assert lines(forwarded.wrong(), "leak") == leaks


def test_the_host_of_a_sandboxs_network_leaks_where_it_answers(forwarded):
    """As an engine's internal network has it: no route, and still the host at its first address."""
    with second_interface(forwarded.place, forwarded.inside):
        with forwarded.inside(), open("/proc/sys/net/ipv4/ping_group_range", "w", encoding="ascii") as f:
            f.write("0 2147483647")
        assert lines(forwarded.wrong(), "leak") == {("host", "10.98.0.1"), ("host", "fd00:98::1")}
        with socket.create_server(("10.98.0.1", 2375)):
            assert ("beside", "10.98.0.1:2375") in lines(forwarded.wrong(), "leak")


def test_a_network_that_is_open_for_dns_alone_leaks_there(forwarded):
    rules = """table inet only {
        chain out { type filter hook output priority 0; policy drop; oifname "lo" accept; udp dport 53 accept
            icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
        }
    }"""
    with second_interface(forwarded.place, forwarded.inside, AT4, AT6):
        with forwarded.inside():
            subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)
        assert lines(forwarded.wrong(), "leak") == {line for line in V4 | V6 if line[0] == "dns-udp"}


def test_another_users_port_in_the_namespace_leaks(forwarded):
    with forwarded.inside():
        other = subprocess.Popen([*as_user(4711), sys.executable, "-c", "import socket, sys; s = socket.create_server("
                                  "('127.0.0.1', 9999)); print(flush=True); sys.stdin.read()"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
    try:
        assert lines(forwarded.wrong(), "leak") == {("loopback", None)}
    finally:
        other.communicate(timeout=WAIT)


def test_a_directory_with_the_admin_socket_in_it_leaks(forwarded):
    shows = "mount -t tmpfs none /run && mkdir /run/weir && ln -s '%s' /run/weir/admin.sock && exec \"$@\"" % forwarded.path("admin")
    wrong = forwarded.wrong(before=["unshare", "-m", "sh", "-c", shows, "sh"])
    assert lines(wrong, "leak") == {("admin", None)}


# -- the sandbox itself

PREPARE = """
set -e
mount -t tmpfs none /run
mount -t tmpfs none /sys/fs/cgroup
echo 100 >/sys/fs/cgroup/pids.max
echo 268435456 >/sys/fs/cgroup/memory.max
mkdir -m 755 /run/home
{plant}
{root}
exec "$@"
"""
FILTERED = pathlib.Path(seccomp.__file__).read_text() + """
import sys
no_writable_code()
os.execv(sys.argv[1], sys.argv[1:])
"""


class Held:
    """What a sandbox that is otherwise as it should be holds: {probe: said}."""

    def __init__(self, cell):
        self.cell = cell

    def __call__(self, plant="", root="mount -o remount,bind,ro /", own_processes=True, filtered=True, rights=(), **environment):
        script = PREPARE.format(plant=plant, root=root)
        before = ["unshare", "-m", *(["-p", "-f", "--mount-proc"] if own_processes else []), "sh", "-c", script, "sh",
                  *as_user(1000)[:-1], *rights, "--"]
        if rights:
            before = [word for word in before if word not in ("--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all")]
        command = [*before, *([sys.executable, "-c", FILTERED] if filtered else []), *self.cell.command("--sandbox")]
        with self.cell.inside():
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=dict({
                "PATH": os.environ["PATH"], "HOME": "/run/home"}, **environment))
        assert done.stdout, done.stderr
        return {p["probe"]: p["said"] for p in json.loads(done.stdout)["probes"] if p["result"] == "leak"}


@pytest.fixture
def held(cell):
    for door in cell.PORTS:
        os.chmod(cell.path(door), 0o666)  # before: what it may not connect to it does not stand before
    cell.forward(uid=1000, waits=False)
    wait_for(lambda: listens(cell), what="weir forward")
    return Held(cell)


def test_a_sandbox_as_it_should_be_holds_nothing(held):
    assert held() == {}


def secret():
    return "-".join(["correct", "horse", "9", "battery"])


TOKEN = "/run/secrets/kubernetes.io/serviceaccount"
FAULTS = {
    "a secret-shaped value": ({"DATABASE_PASSWORD": secret()}, {"environment"}),
    "a credential file": ({"plant": "mkdir /run/home/.aws; echo >/run/home/.aws/credentials"}, {"files"}),
    "a service account's token": ({"plant": "mkdir -p %s; echo >%s/token" % (TOKEN, TOKEN)}, {"account"}),
    "a capability": ({"rights": ["--inh-caps=+sys_ptrace", "--ambient-caps=+sys_ptrace"]}, {"rights"}),
    "a writable root": ({"root": ""}, {"root"}),
    "no limits": ({"plant": "echo max >/sys/fs/cgroup/pids.max"}, {"limits"}),
    "weir's own namespace": ({"own_processes": False}, {"weir"}),
    "no filter": ({"filtered": False}, {"seccomp", "new-rights"}),
}


@pytest.mark.parametrize("how,found", FAULTS.values(), ids=FAULTS)
def test_each_fault_of_a_sandbox_is_a_line_of_its_own(held, how, found):
    assert set(held(**how)) == found


@pytest.mark.parametrize("path", ["/run/docker.sock", "/run/containerd/containerd.sock"])
def test_an_engines_socket_in_the_sandbox_is_found(held, path):
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(held.cell.path("engine"))
        engine.listen()
        os.chmod(held.cell.path("engine"), 0o666)
        found = held("mkdir -p %s; ln -s %s %s" % (os.path.dirname(path), held.cell.path("engine"), path))
    assert set(found) == {"engine"} and path in found["engine"]


def test_a_variable_with_a_secret_is_named_and_its_value_is_not(held):
    said = held(DATABASE_PASSWORD=secret())
    assert said == {"environment": "DATABASE_PASSWORD"}
