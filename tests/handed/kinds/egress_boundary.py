"""egress.jsonl, kind boundary: a sandbox whose only way out is weir, and what its commands come to.

The sandbox is a network namespace behind weir's, with the shipped rules of contrib/nftables between them.  Past
them every command has to fail, and with a hole in them to succeed: else it would show nothing.  What leaves is
counted outside.
"""
import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from rig import netns, origin, tls, weir
from rig import sandbox as sandboxes

from .live import need

RULES = pathlib.Path(__file__).resolve().parents[3] / "contrib/nftables/vm-redirect.nft"
UNLISTED = "unlisted.example.net"
DOORS = {"proxy": 3128, "gateway": 8787, "socks5": 1080}
HERE = ["--nameserver", netns.PUB1, "--metadata", "169.254.169.254", "--udp", netns.PUB1 + ":443", "--timeout", "1s", "--json"]
WAYS = {"4": "%s:443" % netns.PUB1, "6": "[%s]:443" % netns.PUB6}

# In the outside namespace: what comes from a sandbox, and what comes from anywhere to where its commands go.
COUNTERS = """
table inet counted {
    counter sandbox { }
    counter public { }
    chain in {
        type filter hook prerouting priority -300
        ip saddr 10.99.0.0/24 counter name sandbox
        ip6 saddr fd00:99::/64 counter name sandbox
        ip daddr { 93.184.215.0/24, 93.184.216.0/24 } counter name public
        ip6 daddr 2606:2800:21f::/48 counter name public
    }
}
"""
TCP = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close()"
UDP = """
import socket, sys
at = socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), type=socket.SOCK_DGRAM)[0]
with socket.socket(at[0], at[1]) as sock:
    sock.settimeout(2)
    sock.connect(at[4])
    sock.send(b"\\x12\\x34\\1\\0\\0\\1" + bytes(6) + b"\\7example\\3net\\0\\0\\1\\0\\1")
    sock.recv(4096)
"""
UDP_PORTS = (53, 443)


@functools.lru_cache(maxsize=None)
def missing():
    """Why no boundary can be made here, or None."""
    for program in ("nft", "ip", "setpriv", "curl"):
        if subprocess.run(["sh", "-c", "command -v " + program], capture_output=True, check=False).returncode != 0:
            return program
    made = subprocess.run(["unshare", "-n", "nft", "list", "ruleset"], capture_output=True, check=False)
    return None if made.returncode == 0 else "network namespaces with nft"


# -- commands

def curl(found, address):
    """As it stands there, with the answer that a name server would have given."""
    words = shlex.split(found.group(0))
    host = re.search(r"https?://([^/:\s]+)", found.group(0)).group(1)
    return [*words, "-sS", "-k", "-o", "/dev/null", "--resolve", "%s:443:%s" % (host, address)]


def python(script, port=None):
    return lambda found, address: [sys.executable, "-c", script, found.group("at").strip("[]"), port or found.group("port")]


AT = r"(?P<at>\[[^\]]+\]|[^\s:@]+)"
COMMANDS = [(re.compile(r"curl .*https?://\S+"), curl),
            (re.compile(r"(?:python3? )?(?:raw )?TCP to %s:(?P<port>443)" % AT), python(TCP)),
            (re.compile(r"(?:python3? )?(?:raw )?(?:UDP|QUIC) to %s:(?P<port>443|53)" % AT), python(UDP)),
            (re.compile(r"(?:DNS (?:query )?to |dig (?:\S+ )?@)%s.*" % AT), python(UDP, "53"))]
VERIFY = re.compile(r"weir verify(?P<options>(?: .*)?)")
PLAIN = {"--from-sandbox"}  # where weir verify runs anyway


def commands_of(case):
    """[text] of what the sandbox runs."""
    requests = case["request"] if isinstance(case["request"], list) else [case["request"]]
    texts = [re.sub(r"^(?:from )?in(?:side)? the sandbox: *", "", r if isinstance(r, str) else r["cmd"]) for r in requests]
    return [command.strip() for text in texts for command in text.split(";") if command.strip()]


def argv_of(command):
    """What runs it, or None: nothing here does."""
    is_v6 = re.search(r"curl .*(?:-6|--ipv6)\b", command) or "[" in command
    for pattern, make in COMMANDS:
        found = pattern.fullmatch(command)
        if found:
            return make(found, "[%s]" % netns.PUB6 if is_v6 else netns.PUB1)
    return None


def placed(command):
    return command.replace("$PUB1", netns.PUB1).replace("$PUB2", netns.PUB2).replace("$PUB6", "[%s]" % netns.PUB6)


def is_verify(command):
    found = VERIFY.fullmatch(command)
    return bool(found) and set(found.group("options").split()) <= PLAIN


def later(case):
    if missing():
        return "a boundary needs " + missing()
    unknown = [c for c in commands_of(case) if not is_verify(c) and argv_of(placed(c)) is None]
    return "command " + unknown[0] if unknown else None


# -- the stage

def rules(holes):
    """The shipped ones, with ways past them."""
    text = RULES.read_text()
    for hole in holes:
        for before in ("udp dport 53 redirect", "iifname $sandbox counter reject"):  # its chains lead and forward
            assert text.count(before) == 1, before
            text = text.replace(before, "iifname $sandbox %s accept\n\t\t%s" % (hole, before))
    return text


HOLES = {family: "meta nfproto ipv%s tcp dport 443" % family for family in WAYS}
NO_WALL = "meta l4proto { tcp, udp }"


class Boundary:
    def __init__(self, net, directory):
        self.net, self.path = net, os.path.join(directory, "rules.nft")
        self.sandbox = sandboxes.Sandbox(net)
        with netns.inside(net.outside):
            subprocess.run(["ip", "addr", "replace", netns.PUB6 + "/128", "dev", "lo", "nodad"], check=True)
            subprocess.run(["nft", "-f", "-"], input=COUNTERS, text=True, check=True)
        self.answerers = [sandboxes.Answerer(net.outside, address, port, lambda data: data[:2] + b"\x81\x80" + data[4:])
                          for address in (netns.PUB1, netns.PUB6) for port in UDP_PORTS]
        self.load()

    def load(self, *holes):
        pathlib.Path(self.path).write_text(rules(holes), encoding="utf-8")
        netns.nft(self.path, "-D", "sandbox=s0")

    def counted(self):
        """{counter: packets}"""
        with netns.inside(self.net.outside):
            out = subprocess.run(["nft", "-j", "list", "counters"], capture_output=True, text=True, check=True).stdout
        return {c["counter"]["name"]: c["counter"]["packets"] for c in json.loads(out)["nftables"] if "counter" in c}

    def run(self, argv):
        """True: the command did what it was to do."""
        process = self.sandbox.start(*argv)
        process.communicate(timeout=60)
        return process.returncode == 0

    def close(self):
        for one in self.answerers:
            one.close()
        self.sandbox.close()
        with netns.inside(self.net.outside):
            netns.nft_flush_table("counted")


# -- what is shown

def direct(boundary, command):
    argv = argv_of(placed(command))
    before = boundary.counted()
    need(not boundary.run(argv), "%s succeeded", command)
    need(boundary.counted() == before, "%s: packets left: %s, then %s", command, before, boundary.counted())
    boundary.load(NO_WALL)
    need(boundary.run(argv) and boundary.counted()["sandbox"] > before["sandbox"],
         "%s fails without a boundary, too: it shows nothing", command)
    boundary.load()


def names_of(policy):
    """The hosts that it allows by name."""
    return [rule["host"] for rule in policy.get("allow") or [] if "*" not in rule["host"] and rule.get("protocol") == "https"]


def verified(boundary, names):
    """(exit status, the answer) of weir verify in the sandbox."""
    words = [word for host in names for word in ("--allow", host)] + ["--deny", UNLISTED, *HERE]
    for door, port in DOORS.items():
        words += ["--" + door, "%s:%d" % (sandboxes.WEIR, port)]
    for way in WAYS.values():
        words += ["--direct", way]
    status, out, err = boundary.sandbox.verify(*words)
    need(out, "weir verify says nothing but %r", err)
    return status, json.loads(out)


def leaks(said):
    return {(p["probe"], p["target"]) for p in said["probes"] if p["result"] == "leak"}


def verify(boundary, names, proxy):
    """A line for each probe; none leaks; the policy in force is the one that records name."""
    before = boundary.counted()["sandbox"]
    status, said = verified(boundary, names)
    need(status == 0 and said["holds"], "weir verify: %s", [p for p in said["probes"] if p["result"] != "ok"])
    tried = {(p["probe"], p["target"]) for p in said["probes"]}
    need({("tcp", way) for way in WAYS.values()} <= tried and ("proxy-refused", UNLISTED + ":443") in tried,
         "weir verify did not try all: %s", tried)
    need(boundary.counted()["sandbox"] == before, "packets of the sandbox left while weir verify ran")
    refused = [r for r in proxy.finals() if (r.get("target") or {}).get("host") == UNLISTED]
    need(refused and all(r["decision"] == "deny" for r in refused), "nobody was asked for %s", UNLISTED)
    need({r["policy"] for r in refused} == {said["policy"]}, "policy %s, and the records' is another", said["policy"])
    for family, hole in HOLES.items():
        boundary.load(hole)
        status, said = verified(boundary, names)
        need(status == 1 and leaks(said) == {("tcp", WAYS[family])}, "a hole for IPv%s: exit %d, %s", family, status, leaks(said))
    boundary.load()


def unenforced(boundary, names):
    """The lists are loaded, and mode: report lets everything through."""
    status, said = verified(boundary, names)
    need(status == 1 and not said["holds"] and {probe for probe, _ in leaks(said)} >= {"proxy-refused", "socks5-refused"},
         "an unlisted host answers, and weir verify ends with %d: %s", status, leaks(said))


# -- cases

def settings(net):
    return {"dns": {"servers": [net.dns.server]}, "listen": {
        door: ["%s:%d" % (sandboxes.WEIR, port)] for door, port in DOORS.items()},
        "sessions": {"required": False, "default": {"sid": "s1", "tenant": "acme", "budget": {"sessionUsd": "1"}}}}


def play(net, case, policies, zone):
    names = names_of(policies[-1])
    need(names, "no host that is allowed by name: what passes cannot be shown")
    net.dns.set(dict(zone, **{UNLISTED: {"A": [netns.PUB2]}}))
    with tempfile.TemporaryDirectory() as directory:
        authority = tls.Authority(directory)
        net.upstream.serve = tls.tls_serve(authority.context(*names, UNLISTED), origin.http_serve)
        boundary = Boundary(net, directory)
        try:
            with weir.Weir(policies, settings(net)) as proxy:
                for command in commands_of(case):
                    if not is_verify(command):
                        direct(boundary, command)
                verify(boundary, names, proxy)
            with weir.Weir([dict(policy, mode="report") for policy in policies], settings(net)):
                unenforced(boundary, names)
        finally:
            boundary.close()
    net.upstream.reset()
