"""weir verify, inside a sandbox: a tight boundary holds, and each hole in it is a line of its own."""
import json
import os
import pathlib
import pwd
import socket
import subprocess
import sys

import pytest

from rig import netns, origin as origins, seccomp, tls
from rig import sandbox as sandboxes
from rig import token as tokens
from rig.sandbox import PORTS, WEIR
from rig.weir import binary, wait_for
from rules import https, tcp
from test_sessions import SECRET, sessions

pytestmark = pytest.mark.single

NFT = pathlib.Path(__file__).resolve().parents[2] / "contrib/nftables"
NAME, OTHER = "allowed.test", "other.test"
AT4, AT6 = netns.PUB1, netns.PUB6
METADATA = "169.254.169.254"
WAYS = ["--direct", AT4 + ":443", "--direct", "[%s]:443" % AT6, "--udp", AT4 + ":443", "--udp", AT4 + ":123",
        "--nameserver", AT4, "--nameserver", AT6, "--metadata", METADATA]


@pytest.fixture(scope="module")
def sandbox(net):
    one = sandboxes.Sandbox(net)
    yield one
    one.close()


@pytest.fixture(autouse=True)
def tight(sandbox):
    sandbox.rules()


@pytest.fixture
def outside(net, origin, authority):
    """Whatever a hole would reach answers: each port as is usual, or with what it hears."""
    with netns.inside(net.outside):
        subprocess.run(["ip", "route", "replace", "local", METADATA + "/32", "dev", "lo"], check=True)
        subprocess.run(["ip", "addr", "replace", AT6 + "/128", "dev", "lo", "nodad"], check=True)
    server, echo = origin(), origin(serve=origins.echo_serve)
    secure = origin(serve=tls.tls_serve(authority.context("outside.test"), origins.http_serve))
    for address in (AT4, AT6):
        server.listen(80, address, net.outside)
        echo.listen(53, address, net.outside)
        secure.listen(443, address, net.outside)
    server.listen(80, METADATA, net.outside)
    made = [sandboxes.Answerer(net.outside, address, port, lambda data: data[:2] + b"\x81\x80" + data[4:])
            for address in (AT4, AT6) for port in (53, 123, 443)]
    yield server
    for one in made:
        one.close()


@pytest.fixture
def doors(weir, origin, authority, outside, sandbox):
    """doors(rules=..., config=...): a weir that the sandbox reaches by four doors, and verify's words for it."""
    server = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    port = server.listen()

    def make(rules=(), config=None, listen=None, **how):
        listen = dict({door: ["%s:%d" % (WEIR, number)] for door, number in PORTS.items()}, **(listen or {}))
        one = weir([https(NAME, port), *rules], config=dict({
            "listen": listen, "sessions": {"required": False, "default": {"sid": "s1", "tenant": "acme", "budget": {
                "sessionUsd": "1"}}}}, **(config or {})), **how)
        one.words = ["--allow", "%s:%d" % (NAME, port), "--deny", OTHER, *WAYS, "--timeout", "4s", "--json"]
        for door, number in PORTS.items():
            one.words += ["--" + door, "%s:%d" % (WEIR, number)]
        return one
    return make


def seen(answer):
    """{(probe, target): result} of what did not hold; the whole answer."""
    status, out, err = answer
    assert out, err
    said = json.loads(out)
    assert said["holds"] == (status == 0)
    return {(p["probe"], p["target"]): p["result"] for p in said["probes"] if p["result"] != "ok"}, said


def test_a_tight_boundary_holds_and_every_door_is_tried(sandbox, doors):
    proxy = doors()
    wrong, said = seen(sandbox.verify(*proxy.words))
    assert wrong == {} and said["holds"]
    tried = {p["probe"] for p in said["probes"]}
    assert tried >= {"proxy-allowed", "socks5-allowed", "gateway-session", "dns-allowed", "proxy-refused", "socks5-refused",
                     "dns-refused", "proxy-sni", "socks5-sni", "proxy-doh", "proxy-metadata", "proxy-inside", "tcp", "udp",
                     "dns-udp", "dns-tcp", "metadata", "beside", "ping", "raw-ipv4", "raw-ipv6", "raw-packet", "loopback",
                     "abstract", "admin"}
    assert {p["target"] for p in said["probes"] if p["probe"] == "tcp"} == {AT4 + ":443", "[%s]:443" % AT6}


HOLES = [
    ("tcp dport 443 meta nfproto ipv4 accept", {("tcp", AT4 + ":443")}),
    ("tcp dport 443 meta nfproto ipv6 accept", {("tcp", "[%s]:443" % AT6)}),
    ("udp dport 443 accept", {("udp", AT4 + ":443")}),
    ("udp dport 123 accept", {("udp", AT4 + ":123")}),
    ("udp dport 53 meta nfproto ipv4 accept", {("dns-udp", AT4 + ":53")}),
    ("udp dport 53 meta nfproto ipv6 accept", {("dns-udp", "[%s]:53" % AT6)}),
    ("tcp dport 53 meta nfproto ipv4 accept", {("dns-tcp", AT4 + ":53")}),
    ("ip daddr %s accept" % METADATA, {("metadata", METADATA + ":80")}),
]


@pytest.mark.parametrize("hole,lines", HOLES, ids=[hole for hole, _ in HOLES])
def test_a_hole_in_the_rules_is_found_by_its_line(sandbox, doors, hole, lines):
    proxy = doors()
    sandbox.rules(forward=hole)
    wrong, _ = seen(sandbox.verify(*proxy.words))
    assert wrong == {line: "leak" for line in lines}


def test_no_rules_at_all_leak_everywhere(sandbox, doors):
    proxy = doors()
    sandbox.rules(forward="accept", input="accept")
    wrong, said = seen(sandbox.verify(*proxy.words))
    assert {probe for probe, _ in wrong} == {"tcp", "udp", "dns-udp", "dns-tcp", "metadata"}
    assert set(wrong.values()) == {"leak"} and said["leak"] == len(wrong)


def test_echo_requests_that_are_answered_leak(sandbox, doors):
    proxy = doors()
    sandbox.rules(forward="icmp type echo-request accept")
    with sandbox.inside(), open("/proc/sys/net/ipv4/ping_group_range", "w", encoding="ascii") as f:
        f.write("0 2147483647")
    try:
        assert seen(sandbox.verify(*proxy.words))[0] == {("ping", AT4): "leak"}
    finally:
        with sandbox.inside(), open("/proc/sys/net/ipv4/ping_group_range", "w", encoding="ascii") as f:
            f.write("1 0")


def test_another_port_of_weirs_host_leaks(sandbox, doors):
    proxy = doors(listen={"health": [WEIR + ":9464"]})
    sandbox.rules(input='iifname "s0" tcp dport 9464 accept')
    assert seen(sandbox.verify(*proxy.words))[0] == {("beside", WEIR + ":9464"): "leak"}


def test_a_policy_wider_than_meant_leaks_at_each_door(sandbox, doors, origin, dns):
    server = origin(serve=origins.silent_serve)
    proxy = doors(rules=[tcp(OTHER, server.listen(443))])
    wrong, _ = seen(sandbox.verify(*proxy.words))
    at = OTHER + ":443"
    assert {line: wrong.get(line) for line in [("proxy-refused", at), ("socks5-refused", at), ("dns-refused", at)]} == {
        ("proxy-refused", at): "leak", ("socks5-refused", at): "leak", ("dns-refused", at): "leak"}


def test_rights_to_raw_sockets_leak(sandbox, doors):
    proxy = doors()
    wrong, _ = seen(sandbox.verify(*proxy.words, rights=True))
    assert wrong == {("raw-ipv4", None): "leak", ("raw-ipv6", None): "leak", ("raw-packet", None): "leak"}


LISTEN = """
import socket, sys
sock = socket.socket(getattr(socket, sys.argv[1]))
if sys.argv[1] == "AF_INET":
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
sock.bind(sys.argv[2].replace("0", "\\0") if sys.argv[1] == "AF_UNIX" else ("127.0.0.1", 0))
sock.listen()
if sys.argv[2:] == ["twice"]:
    more = socket.socket()
    more.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    more.bind(sock.getsockname())
    more.listen()
print(sock.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def neighbour(sandbox):
    """neighbour(family): another user of the sandbox's network listens; its port.  In a name each 0 is a NUL."""
    made = []

    def make(*at):
        made.append(sandbox.start("setpriv", "--reuid=4711", "--clear-groups", sys.executable, "-c", LISTEN, *at, rights=True,
                                  stdin=subprocess.PIPE))
        listens = made[-1].stdout.readline().strip()
        assert listens
        return listens
    yield make
    for one in made:
        one.communicate(timeout=30)


def test_another_users_port_on_the_same_loopback_leaks_unless_it_is_meant(sandbox, doors, neighbour):
    proxy, port = doors(), neighbour("AF_INET", "twice")
    wrong, said = seen(sandbox.verify(*proxy.words))
    assert wrong == {("loopback", None): "leak"}
    told = next(p["said"] for p in said["probes"] if p["probe"] == "loopback")
    assert told.count(port + " of user 4711") == 1, told
    assert seen(sandbox.verify(*proxy.words, "--own", port))[0] == {}


@pytest.mark.parametrize("how", [{}, {"preexec_fn": seccomp.no_netlink}], ids=["diagnostics", "the list"])
def test_another_users_abstract_socket_leaks(sandbox, doors, neighbour, how):
    """Also where its name has NULs within, or at its end, and @ besides: the system's list shows all of them as @."""
    proxy, names = doors(), ["0weir-test", "0weir-test00", "0weir@te0st@a0", "0weir@test0a@0b", "0weir-test@@"]
    for name in names:
        neighbour("AF_UNIX", name)
    wrong, said = seen(sandbox.verify(*proxy.words, **how))
    assert wrong == {("abstract", None): "leak"}
    found = next(p["said"] for p in said["probes"] if p["probe"] == "abstract")
    assert sorted(found.partition(": ")[2].split(", ")) == sorted(name.replace("0", "@") for name in names)


def test_a_boundary_that_lets_nothing_through_does_not_hold(sandbox, doors):
    proxy = doors()
    proxy.stop()
    wrong, said = seen(sandbox.verify(*proxy.words))
    positive = {p["probe"] for p in said["probes"] if p["kind"] == "positive"}
    assert {probe for (probe, _), result in wrong.items() if result == "fail"} == positive
    assert all(result == "unsure" for (probe, _), result in wrong.items() if probe not in positive)


def test_a_probe_that_says_nothing_fails_unless_that_is_allowed(sandbox, doors, origin):
    """A tunnel in which neither a server nor an end answers."""
    proxy = doors()
    words = [w for w in proxy.words if w != "--json"]
    with sandbox.inside():  # a DNS server that refuses, but not as weir does
        server = sandboxes.Answerer(sandbox.fd, "127.0.0.1", 5353, lambda data: data[:2] + b"\x81\x83" + data[4:])
    try:
        at = words.index("--dns")
        odd = words[:at] + ["--dns", "127.0.0.1:5353"] + words[at + 2:]
        status, out, _ = sandbox.verify(*odd)
        assert status == 1 and "unsure another name is not resolved: %s:443" % OTHER in out
        assert "FAIL   an allowed name has an address" in out and "-> " in out
    finally:
        server.close()


def test_the_policy_in_force_is_shown_by_its_digest(sandbox, doors):
    """As the records have it; without a gateway there is nobody to tell."""
    proxy = doors()
    wrong, said = seen(sandbox.verify(*proxy.words))
    records = {r["policy"] for r in proxy.finals(3)}
    assert wrong == {} and len(said["policy"]) == 64 and records == {said["policy"]}
    assert any(said["policy"] in p["said"] for p in said["probes"] if p["probe"] == "gateway-session")
    at = proxy.words.index("--gateway")
    assert seen(sandbox.verify(*proxy.words[:at], *proxy.words[at + 2:]))[1]["policy"] is None


def test_a_gateway_that_names_no_policy_is_not_weirs(sandbox, doors, origin):
    proxy = doors()
    other = "127.0.0.1:%d" % origin().listen(fd=sandbox.fd)
    at = proxy.words.index("--gateway")
    wrong, said = seen(sandbox.verify(*proxy.words[:at], "--gateway", other, *proxy.words[at + 2:], "--timeout", "1s"))
    assert wrong == {("gateway-session", None): "fail"} and said["policy"] is None


def test_a_token_is_brought_to_each_door(sandbox, doors, tmp_path):
    proxy = doors(config={"sessions": sessions()}, environment={"KEY": SECRET})
    wrong, _ = seen(sandbox.verify(*proxy.words))
    assert wrong[("gateway-session", None)] == "fail" and wrong[("proxy-refused", OTHER + ":443")] == "unsure"
    (tmp_path / "token").write_text(tokens.mint(SECRET) + "\n")
    without_dns = [w for i, w in enumerate(proxy.words) if "--dns" not in proxy.words[max(0, i - 1):i + 1]]
    wrong, said = seen(sandbox.verify(*without_dns, "--token-file", str(tmp_path / "token")))
    assert wrong == {}, said


def test_the_proxy_is_that_of_the_environment_when_none_is_named(sandbox, doors):
    proxy = doors()
    words = proxy.words[:proxy.words.index("--proxy")]
    wrong, said = seen(sandbox.verify(*words, env=dict(os.environ, https_proxy="http://%s:3128/" % WEIR)))
    assert wrong == {} and "socks5-allowed" not in {p["probe"] for p in said["probes"]}


def test_doors_with_tls_are_tried_by_tls(sandbox, doors, authority, tmp_path):
    certificate, key = authority.leaf("IP:" + WEIR)
    tls = {"listen": {"cert": "file:" + certificate, "key": "file:" + key}}
    proxy = doors(config={"tls": tls}, listen={door: ["tls:%s:%d" % (WEIR, PORTS[door])] for door in ("proxy", "gateway", "socks5")})
    words = proxy.words[:proxy.words.index("--proxy")]
    at = ["--gateway", "https://%s:%d" % (WEIR, PORTS["gateway"]), "--proxy", "https://%s:3128" % WEIR,
          "--socks5", "tls:%s:%d" % (WEIR, PORTS["socks5"])]
    wrong, said = seen(sandbox.verify(*words, *at, env=dict(os.environ, SSL_CERT_FILE=authority.certificate)))
    assert wrong == {} and {"proxy-allowed", "proxy-refused", "gateway-session", "socks5-allowed", "socks5-refused"} <= {p["probe"] for p in said["probes"]}, said
    status, out, _ = sandbox.verify(*words, env=dict(os.environ, https_proxy="https://weir:x@%s:3128" % WEIR))
    assert status == 1 and "its certificate is not trusted here" in out


def said_of(said, probe):
    """What one of the probes by this name saw, and what to do."""
    one = next(p for p in said["probes"] if p["probe"] == probe)
    return one["result"], one["said"], one["mend"]


def test_a_door_that_is_spoken_to_by_the_wrong_transport_is_told_as_that(sandbox, doors, authority):
    certificate, key = authority.leaf("IP:" + WEIR)
    tls = {"listen": {"cert": "file:" + certificate, "key": "file:" + key}}
    proxy = doors(config={"tls": tls}, listen={door: ["tls:%s:%d" % (WEIR, PORTS[door])] for door in ("proxy", "gateway", "socks5")})
    said = seen(sandbox.verify(*proxy.words, "--timeout", "500ms"))[1]
    for probe, failed, seen_is in (("socks5-allowed", "fail", "no SOCKS answer came: is it a tls: door"),
                                   ("socks5-refused", "unsure", "no SOCKS answer came: is it a tls: door"),
                                   ("proxy-allowed", "fail", "request_malformed: is it a door with TLS (https://, tls:)?"),
                                   ("proxy-refused", "unsure", "request_malformed: is it a door with TLS (https://, tls:)?"),
                                   ("proxy-metadata", "unsure", "request_malformed: is it a door with TLS (https://, tls:)?"),
                                   ("gateway-session", "fail", "request_malformed: is it a door with TLS (https://, tls:)?")):
        result, text, mend = said_of(said, probe)
        assert result == failed and seen_is in text and (failed == "unsure" or "https://HOST:PORT, or tls:HOST:PORT" in mend)
    untrusted = ["--allow", NAME, *WAYS, "--timeout", "2s", "--json", "--proxy", "https://%s:3128" % WEIR]
    assert "SSL_CERT_FILE (weir env" in said_of(seen(sandbox.verify(*untrusted))[1], "proxy-allowed")[2]


def test_socks_is_not_answered_by_the_proxys_port(sandbox, doors):
    doors()
    words = ["--allow", NAME, *WAYS, "--timeout", "500ms", "--json", "--socks5", "%s:%d" % (WEIR, PORTS["proxy"])]
    assert said_of(seen(sandbox.verify(*words))[1], "socks5-allowed")[1].startswith("no SOCKS answer came")


@pytest.mark.parametrize("target, told, mend", [
    (OTHER, "host_not_allowed", "weir explain"), (NAME + ":1", "port_not_allowed", "at other ports"),
    ("inside.test", "address_denied", "private:")])
def test_the_hint_is_of_the_refusals_reason(sandbox, doors, dns, target, told, mend):
    one = doors(rules=[{"host": "inside.test", "protocol": "https"}],
                config={"dns": {"servers": [dns.server], "hosts": {"inside.test": ["10.9.8.7"]}}})
    words = [*WAYS, "--timeout", "2s", "--json", "--proxy", "%s:%d" % (WEIR, PORTS["proxy"]), "--socks5",
             "%s:%d" % (WEIR, PORTS["socks5"]), "--allow", target, "--deny", "another.test"]
    said = seen(sandbox.verify(*words))[1]
    assert one and told in said_of(said, "proxy-allowed")[1] and mend in said_of(said, "proxy-allowed")[2]
    assert said_of(said, "socks5-allowed")[1:] == (
        "the SOCKS5 door refused it: reply 2", "policy, or the session, does not allow it: weir audit tail says by which rule")


def test_it_waits_until_the_rules_are_there_and_says_no_when_they_do_not_come(sandbox, doors):
    proxy = doors()
    sandbox.rules(forward="accept")
    assert seen(sandbox.verify(*proxy.words, "--wait", "500ms"))[1]["leak"] > 0
    process = sandbox.start(binary(), "verify", *proxy.words, "--wait", "60s")
    n = len(proxy.finals())
    wait_for(lambda: len(proxy.finals()) > n + 10, what="a first pass")
    assert process.poll() is None
    sandbox.rules()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and json.loads(out)["holds"]


# -- where connections are led to weir

@pytest.fixture
def led(sandbox, doors, tmp_path):
    """led(*changes): the shipped rules, with changes made to them; what verify is told."""
    def make(*changes, **how):
        text = (NFT / "vm-redirect.nft").read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "changed.nft").write_text(text)
        netns.nft(tmp_path / "changed.nft", "-D", "sandbox=s0")
        proxy = doors(listen={door: ["%s:%d" % (WEIR, port), "[%s]:%d" % (netns.Sandbox.WEIR6, port)]
                              for door, port in (("transparent", 15001), ("dns", 15053))}, **how)
        proxy.words.append("--transparent")
        return proxy
    return make


def test_the_shipped_rules_hold_for_programs_that_know_no_proxy(sandbox, led):
    wrong, said = seen(sandbox.verify(*led().words))
    assert wrong == {}, said
    assert {"transparent-allowed", "transparent-refused"} <= {p["probe"] for p in said["probes"]}
    assert next(p["said"] for p in said["probes"] if p["probe"] == "tcp").startswith("taken in by weir")


TCP = "meta l4proto tcp redirect to :$transparent_port"
DNS = "udp dport 53 redirect to :$dns_port"
ALL = "iifname != $sandbox accept\n\t\tudp"
FORWARD = "iifname $sandbox counter reject with icmpx type admin-prohibited\n\t}\n}"
UDP = {("udp", AT4 + ":443"): "leak", ("udp", AT4 + ":123"): "leak"}
BROKEN = {
    "no redirect": ([(TCP, "")], {
        ("transparent-allowed", None): "fail", ("transparent-refused", OTHER + ":443"): "unsure"}),
    "no v6": ([(TCP, "meta nfproto ipv4 " + TCP), (FORWARD, "}\n}")], {**UDP, ("tcp", "[%s]:443" % AT6): "leak"}),
    "DNS open": ([(DNS, "udp dport 53 accept"), (FORWARD, "udp dport 53 accept\n\t\t" + FORWARD)], {
        ("dns-udp", AT4 + ":53"): "leak", ("dns-udp", "[%s]:53" % AT6): "leak", ("dns-allowed", None): "fail",
        ("dns-refused", OTHER + ":443"): "unsure"}),
    "443 open": ([(ALL, "iifname != $sandbox accept\n\t\ttcp dport 443 accept\n\t\tudp"),
                  (FORWARD, "tcp dport 443 accept\n\t\t" + FORWARD)], {
        ("tcp", AT4 + ":443"): "leak", ("tcp", "[%s]:443" % AT6): "leak",
        ("transparent-refused", OTHER + ":443"): "unsure"}),
    "no rules": ([(TCP, ""), (DNS, ""), ("tcp dport 53 redirect to :$dns_port", ""), (FORWARD, "}\n}")], {**UDP, **{
        (probe, at): "leak" for at in (AT4 + ":53", "[%s]:53" % AT6) for probe in ("dns-udp", "dns-tcp")},
        ("tcp", AT4 + ":443"): "leak", ("tcp", "[%s]:443" % AT6): "leak", ("metadata", METADATA + ":80"): "leak",
        ("transparent-allowed", None): "fail", ("transparent-refused", OTHER + ":443"): "unsure",
        ("dns-allowed", None): "fail", ("dns-refused", OTHER + ":443"): "unsure"}),
}


@pytest.mark.parametrize("changes,lines", BROKEN.values(), ids=BROKEN)
def test_the_shipped_rules_broken_on_purpose_are_caught(sandbox, led, changes, lines):
    """An allowed host's own port is whichever was free."""
    wrong, _ = seen(sandbox.verify(*led(*changes).words))
    assert {(probe, None if at and NAME in at else at): result for (probe, at), result in wrong.items()} == lines


# -- beside weir, in the same network

@pytest.fixture
def beside(weir, origin, authority, outside, net, dns, tmp_path):
    """beside(*changes): the shipped rules by user, with changes made to them; what verify is told."""
    site = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    site.listen(443, netns.PUB2, net.outside)
    dns.set({NAME: {"A": [netns.PUB2], "ttl": 0}})
    tmp_path.chmod(0o755)
    weir([{"host": NAME, "protocol": "https"}], config={"user": "nobody", "listen": {
        door: ["127.0.0.1:%d" % port, "[::1]:%d" % port] for door, port in (("transparent", 15001), ("dns", 15053))}})

    def make(*changes):
        text = (NFT / "sidecar.nft").read_text()
        for old, new in (("weir_uid = 1337", "weir_uid = %d" % pwd.getpwnam("nobody").pw_uid), *changes):
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "changed.nft").write_text(text)
        netns.nft(tmp_path / "changed.nft")
        return ["--allow", NAME, "--deny", OTHER, *WAYS, "--timeout", "4s", "--json", "--transparent",
                "--dns", "127.0.0.1:15053"]
    yield make
    netns.nft_flush()


def verify_beside(words):
    done = subprocess.run([*sandboxes.NO_RIGHTS, binary(), "verify", *words], capture_output=True, text=True, check=False,
                          timeout=120)
    return seen((done.returncode, done.stdout, done.stderr))[0]


OWN = ["--own", "15001", "--own", "15053"]


def test_the_shipped_rules_by_user_hold(beside):
    assert verify_beside([*beside(), *OWN]) == {}


@pytest.mark.parametrize("changes,lines", [
    ([("meta skuid $weir_uid return", "meta skuid 0 return"), ("meta skuid $weir_uid accept", "meta skuid 0 accept")],
     {"tcp", "udp", "dns-udp", "dns-tcp", "metadata", "transparent-allowed", "transparent-refused"}),
    ([("policy drop", "policy accept"), ("counter reject with icmpx type admin-prohibited", "")], {"udp"}),
], ids=["the wrong user", "no wall"])
def test_the_shipped_rules_by_user_broken_on_purpose_are_caught(beside, changes, lines):
    assert {probe for probe, _ in verify_beside([*beside(*changes), *OWN])} == lines


# -- the sandbox itself

def held(sandbox, proxy, *arguments, **how):
    """{probe: said} of what the sandbox holds and must not."""
    said = seen(sandbox.verify(*proxy.words, "--sandbox", *arguments, **how))[1]["probes"]
    return {p["probe"]: p["said"] for p in said if p["result"] == "leak"}


def clean(tmp_path, **more):
    """An environment with nothing in it to find."""
    return dict({"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, **more)


def test_a_secret_in_the_environment_is_named_and_not_shown(sandbox, doors, tmp_path):
    proxy, secret = doors(), "AK" + "IA" + "Q3EGRIZ7" + "JH2LWYTX"
    assert "environment" not in held(sandbox, proxy, env=clean(tmp_path))
    found = held(sandbox, proxy, env=clean(tmp_path, BUILD_KEY=secret, DATABASE_PASSWORD="-".join(["horse", "9", "battery"])))
    assert found["environment"].split(", ") == ["BUILD_KEY", "DATABASE_PASSWORD"]


def test_the_sessions_token_is_no_secret_of_the_sandbox(sandbox, doors, tmp_path):
    proxy, token = doors(), tokens.mint(SECRET)
    (tmp_path / "token").write_text(token)
    how = {"env": clean(tmp_path, ANTHROPIC_API_KEY=token, https_proxy="http://weir:%s@%s:3128" % (token, WEIR))}
    assert "environment" in held(sandbox, proxy, **how)
    assert "environment" not in held(sandbox, proxy, "--token-file", str(tmp_path / "token"), **how)


def test_credential_files_and_agents_are_found(sandbox, doors, tmp_path):
    proxy = doors()
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("")
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "agent"))
        agent.listen()
        found = held(sandbox, proxy, env=clean(tmp_path, SSH_AUTH_SOCK=str(tmp_path / "agent")))
    assert found["files"].startswith(str(tmp_path / ".aws")[:40]) and str(tmp_path / "agent")[:40] in found["engine"]


def test_rights_that_undo_a_boundary_and_a_weir_in_sight_are_found(sandbox, doors, tmp_path):
    proxy = doors()
    found = held(sandbox, proxy, env=clean(tmp_path), rights=True)
    assert {"net_admin", "net_raw", "setuid"} <= set(found["rights"].split(", "))
    assert {"new-rights", "weir"} <= set(found) and found["weir"].startswith("process ")
    assert "rights" not in held(sandbox, proxy, env=clean(tmp_path))


def test_a_process_that_can_gain_no_rights_is_one(sandbox, doors, tmp_path):
    proxy = doors()
    process = sandbox.start("setpriv", "--no-new-privs", "--", binary(), "verify", *proxy.words, "--sandbox", env=clean(tmp_path))
    out, _ = process.communicate(timeout=60)
    assert next(p["result"] for p in json.loads(out)["probes"] if p["probe"] == "new-rights") == "ok"


# -- words

@pytest.mark.parametrize("arguments,words", [
    (["--allow", NAME], "which doors"), (["--proxy", "h:1"], "--allow HOST is missing"),
    (["--proxy", "h"], "HOST:PORT, https://HOST:PORT or unix:PATH"), (["--dns", "x y"], "HOST:PORT or unix:PATH"), (["--allow", "a b"], "--allow takes HOST"),
    (["--direct", "1.1.1.1"], "--direct takes HOST:PORT"), (["--wait", "5"], "duration"), (["--own", "x"], "a port"),
    (["word"], "no option"),
    (["--proxy", "h:1", "--gateway", "h:2", "--socks5", "h:3", *("--allow=n%d.test" % n for n in range(120)),
      *("--deny=o%d.test" % n for n in range(120))], "more than 512 probes")])
def test_what_proves_nothing_is_refused(arguments, words):
    done = subprocess.run([binary(), "verify", *arguments], capture_output=True, text=True, check=False,
                          env={k: v for k, v in os.environ.items() if k.lower() != "https_proxy"})
    assert done.returncode == 64 and words in done.stderr

