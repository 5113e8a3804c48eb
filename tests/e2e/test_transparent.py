"""The transparent door: a program that ignores every proxy variable still gets only where policy lets it.

The rules that lead it there are the shipped ones, in a namespace of the sandbox's own or beside it.
"""
import pathlib
import pwd
import socket
import subprocess

import pytest

from rig import hello, netns, origin as origins, tls
from rig import token as tokens
from rules import http, https, in_order, tcp
from test_admin import ctl
from test_dns_door import asked_of, query, Answer
from test_sessions import SECRET, sessions

pytestmark = pytest.mark.single

NFT = pathlib.Path(__file__).resolve().parents[2] / "contrib/nftables"
NAME, TABLE = "allowed.test", "119"
SOMEWHERE, SOMEWHERE6 = "203.0.113.9", "2001:db8::9"  # what the client thinks it connects to


class Way:
    """How the sandbox's connections come to weir."""

    def __init__(self, name):
        self.name, self.box = name, netns.Sandbox()
        netns.nft(NFT / ("vm-%s.nft" % name), "-D", "sandbox=s0")
        if name == "tproxy":
            for family, default in (("-4", "0.0.0.0/0"), ("-6", "::/0")):
                subprocess.run(["ip", family, "rule", "add", "fwmark", "0x77", "lookup", TABLE], check=True)
                subprocess.run(["ip", family, "route", "add", "local", default, "dev", "lo", "table", TABLE], check=True)
        self.at = ["127.0.0.1:15001", "[::1]:15001"] if name == "tproxy" else \
            ["%s:15001" % self.box.WEIR, "[%s]:15001" % self.box.WEIR6]

    def close(self):
        netns.nft_flush()
        for family in ("-4", "-6") if self.name == "tproxy" else ():
            subprocess.run(["ip", family, "rule", "del", "fwmark", "0x77"], check=True)
            subprocess.run(["ip", family, "route", "flush", "table", TABLE], check=True)
        self.box.close()


@pytest.fixture(params=["redirect", "tproxy"])
def way(net, request):
    one = Way(request.param)
    yield one
    one.close()


@pytest.fixture
def led(weir, way):
    """led(rules): a weir to which the sandbox is led."""
    def make(rules, config=None, dns=False, **how):
        listen = dict({"transparent": way.at}, **(config or {}).pop("listen", {}))
        if dns:
            listen["dns"] = ["%s:15053" % way.box.WEIR, "[%s]:15053" % way.box.WEIR6]
        return weir(rules, config=dict({"listen": listen}, **(config or {})), **how)
    return make


@pytest.fixture
def site(origin, authority):
    """HTTPS under the allowed name, on the ordinary port."""
    one = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    one.listen(443)
    return one


def curl(way, *arguments, to=SOMEWHERE):
    return way.box.run("curl", "-sS", "-m", "30", "--noproxy", "*", "--connect-to", "::%s:" % to, *arguments)


# -- allowed

@pytest.mark.parametrize("to", [SOMEWHERE, "[%s]" % SOMEWHERE6])
def test_tls_goes_where_its_sni_says_whatever_address_was_chosen(led, way, site, authority, to):
    proxy = led([https(NAME)])
    done = curl(way, "--cacert", authority.certificate, "https://%s/x" % NAME, to=to)
    assert done.stdout == "ok", done.stderr
    record = proxy.finals(1)[0]
    assert (record["kind"], record["decision"], record["assurance"]) == ("transparent", "allow", "sni")
    assert record["target"] == {"host": NAME, "port": 443, "protocol": "https"}
    assert record["upstream"]["addr"] == "127.0.0.1:443" and record["client"]["door"] == "transparent"
    assert record["client"]["addr"] == (way.box.OWN6 if ":" in to else way.box.OWN)


def test_http_goes_where_its_host_says_and_each_request_is_judged(led, way, upstream):
    proxy = led([http(NAME, paths=["/open/**"])])
    assert curl(way, "http://%s/open/x" % NAME).stdout == "ok"
    refused = curl(way, "-D", "-", "http://%s/shut" % NAME).stdout
    assert "403 weir: path_not_allowed" in refused
    assert [r.target for r in upstream.requests] == ["/open/x"]
    assert sorted(r["kind"] for r in proxy.finals(4)) == ["http", "http", "transparent", "transparent"]


def resolved(way, name):
    """The address that the DNS door gives for a name."""
    with netns.inside(way.box.fd), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(30)
        sock.connect(("8.8.8.8", 53))  # any server is weir
        sock.send(query(name))
        return Answer(sock.recv(4096), asked_of(query(name))).addresses[0]


def test_a_name_of_the_dns_door_is_reached_by_its_address(led, way, echo):
    """Opaque, and the server may speak first: nothing but the address says where."""
    proxy = led([tcp(NAME, echo.port)], dns=True)
    address = resolved(way, NAME)
    with way.box.connect(address, echo.port) as sock:
        sock.sendall(b"\0anything")
        assert sock.recv(100) == b"\0anything"
    with way.box.connect("198.18.0.200", echo.port) as sock:  # nobody's; who waits to be spoken to hears the end soon
        assert sock.recv(100) == b""
    records = [r for r in proxy.finals(3) if r["kind"] == "transparent"]
    assert {r["reason"] for r in records} == {"ok", "ip_literal_not_allowed"}


def test_a_server_that_speaks_first_is_heard_at_once(led, way, origin, net):
    def greets(conn):
        conn.send(b"220 hello\r\n")
        origins.silent_serve(conn)
    server = origin(serve=greets)
    server.listen(2525, "::", net.outside)
    led([{"host": netns.PUB1, "protocol": "tcp", "ports": [2525]}])
    with way.box.connect(netns.PUB1, 2525) as sock:
        assert sock.recv(100) == b"220 hello\r\n"


# -- refused

def test_another_name_gets_nowhere_and_is_told_in_tls(led, way, dns):
    proxy = led([https(NAME)])
    done = curl(way, "-k", "https://other.test/")
    assert done.returncode == 35 and "unrecognized name" in done.stderr, done.stderr
    assert proxy.finals(1)[0]["reason"] == "host_not_allowed" and not dns.asked()


ALERT = b"\x15\x03\x03\x00\x02\x02"


def said(sock, first):
    """All that comes for these first bytes."""
    sock.sendall(first)
    answer = b""
    while piece := sock.recv(4096):
        answer += piece
    return answer


def test_a_refused_name_of_the_dns_door_is_told_in_the_language_of_the_client(led, way):
    """Where it wants to go is known before its first byte, and how it can be told is not."""
    proxy = led([https(NAME)], dns=True)
    address = resolved(way, NAME)
    with way.box.connect(address, 8443) as sock:
        assert said(sock, hello.hello(NAME)) == ALERT + b"\x31"
    with way.box.connect(address, 8080) as sock:
        sock.sendall(b"GET /x HTTP/1.1")
        told = said(sock, b"\r\nHost: %s\r\n\r\n" % NAME.encode())
    assert told.startswith(b"HTTP/1.1 403 weir: port_not_allowed\r\n") and b"X-Weir-Request: " in told
    assert b"\r\nConnection: close\r\n" in told and b"not on this port: %s:8080" % NAME.encode() in told
    with way.box.connect(address, 22) as sock:  # SSH has no word for it
        assert said(sock, b"SSH-2.0-x\r\n") == b""
    records = [r for r in proxy.finals(4) if r["kind"] == "transparent"]
    assert [(r["reason"], r.get("status")) for r in in_order(records)] == [("port_not_allowed", n) for n in (None, 403, None)]


def test_an_address_of_the_dns_door_that_is_nobodys_is_told_too(led, way):
    led([https(NAME)], dns=True)
    with way.box.connect("198.18.0.200", 443) as sock:
        assert said(sock, hello.hello(NAME)) == ALERT + b"\x31"
    with way.box.connect("198.18.0.200", 80) as sock:
        assert said(sock, b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME.encode()).startswith(
            b"HTTP/1.1 403 weir: ip_literal_not_allowed\r\n")


def test_an_address_of_the_clients_choice_counts_for_nothing(led, way, origin, net, site, authority):
    """The allowed name, sent to somebody else's server: weir dials the name's own."""
    evil = origin()
    evil.listen(443, "::", net.outside)
    led([https(NAME)])
    done = curl(way, "--cacert", authority.certificate, "https://%s/" % NAME, to=netns.PUB2)
    assert done.stdout == "ok" and not evil.conns


@pytest.mark.parametrize("first,reason", [
    (None, "ip_literal_not_allowed"), (b"SSH-2.0-x\r\n", "ip_literal_not_allowed"),
    (b"\x16\x03\x01\xff\xff", "tls_malformed"), (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "host_invalid"),
    (b"GET / HTTP/1.1\r\n\r\n", "request_malformed"), (b"GET / HTTP/1.0\r\n\r\n", "ip_literal_not_allowed")])
def test_who_names_nobody_gets_nowhere(led, way, dns, first, reason):
    proxy = led([https(NAME), http(NAME)])
    with way.box.connect(SOMEWHERE, 443) as sock:
        sock.sendall(first or hello.hello(None))
        while sock.recv(4096):
            pass
    assert proxy.finals(1)[0]["reason"] == reason and not dns.asked()


def test_a_hello_in_single_bytes_is_read(led, way, dns):
    led([https(NAME, 443)], {"limits": {"head_timeout": "60s"}})
    first = hello.hello("other.test", size=3000)
    with way.box.connect(SOMEWHERE, 443) as sock:
        for i in range(len(first)):
            sock.sendall(first[i:i + 1])
        assert sock.recv(100)[:1] == b"\x15" and not dns.asked()


def test_silence_is_ended(led, way):
    proxy = led([https(NAME)], {"limits": {"head_timeout": "300ms"}})
    with way.box.connect(SOMEWHERE, 443) as sock:
        assert sock.recv(100) == b""
    assert proxy.finals(1)[0]["reason"] == "client_timeout"


def test_nothing_but_tcp_and_dns_leaves(led, way, net):
    led([https(NAME)], dns=True)
    with netns.inside(net.outside):
        heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        heard.bind((netns.PUB1, 443))
    with heard, netns.inside(way.box.fd), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(30)
        sock.connect((netns.PUB1, 443))
        sock.send(b"quic")
        with pytest.raises(OSError):  # refused by the kernel, with a word
            sock.recv(100)
        heard.setblocking(False)
        with pytest.raises(BlockingIOError):
            heard.recv(100)
    assert way.box.run("ping", "-c", "1", "-W", "2", netns.PUB1).returncode != 0


def test_the_address_is_who_asks(led, way, site, authority, tmp_path):
    admin = "unix:%s/admin" % tmp_path
    proxy = led([https(NAME)], {"sessions": sessions(), "listen": {"admin": [admin]}}, environment={"KEY": SECRET})
    done = curl(way, "--cacert", authority.certificate, "https://%s/" % NAME)
    assert done.returncode == 35 and proxy.finals(1)[0]["reason"] == "session_required"
    assert ctl(proxy, "arm", way.box.OWN, stdin=tokens.mint(SECRET, "s1"))[0] == 0
    assert curl(way, "--cacert", authority.certificate, "https://%s/" % NAME).stdout == "ok"
    assert in_order(proxy.finals(2))[1]["session"]["sid"] == "s1"


def test_a_reload_ends_what_it_no_longer_allows(led, way, net, origin):
    server = origin(serve=origins.echo_serve)
    server.listen(2525, "::", net.outside)
    rule = {"host": netns.PUB1, "protocol": "tcp", "ports": [2525]}
    proxy = led([rule])
    with way.box.connect(netns.PUB1, 2525) as sock:
        sock.sendall(b"x")
        assert sock.recv(10) == b"x"
        proxy.reload([{"policy": "less", "allow": [https(NAME)]}])
        try:
            assert sock.recv(10) == b""
        except ConnectionResetError:
            pass
    assert proxy.finals(1)[0]["reason"] == "policy_changed"


# -- beside it, by user

WEIR_USER, PROGRAM = pwd.getpwnam("nobody"), 1000


@pytest.fixture
def beside(net, tmp_path):
    """Whatever is not weir's user in weir's own namespace is led to weir."""
    rules = (NFT / "sidecar.nft").read_text()
    assert "define weir_uid = 1337\n" in rules
    (tmp_path / "sidecar.nft").write_text(rules.replace("weir_uid = 1337", "weir_uid = %d" % WEIR_USER.pw_uid))
    netns.nft(tmp_path / "sidecar.nft")
    yield
    netns.nft_flush()


def as_user(uid, *command, **how):
    return subprocess.run(["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *command],
                          capture_output=True, text=True, timeout=60, **how)


@pytest.fixture
def neighbour(weir, beside, origin, net, authority, dns, tmp_path):
    """A weir of its own user, and the allowed site outside."""
    site = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    site.listen(443, "::", net.outside)
    dns.set({NAME: {"A": [netns.PUB1], "AAAA": [netns.PUB6], "ttl": 0}})
    made = weir([{"host": NAME, "protocol": "https"}], start=False, config={
        "listen": {"transparent": ["127.0.0.1:15001", "[::1]:15001"], "dns": ["127.0.0.1:15053", "[::1]:15053"]},
        "user": WEIR_USER.pw_name})
    tmp_path.chmod(0o755)
    return made.start()


@pytest.mark.parametrize("uid", [PROGRAM, 0])
@pytest.mark.parametrize("to", [SOMEWHERE, "[%s]" % SOMEWHERE6])
def test_a_program_beside_weir_is_led_to_it_by_its_user(neighbour, authority, uid, to):
    with open(authority.certificate) as trusted:
        done = as_user(uid, "curl", "-sS", "-m", "30", "--cacert", "/dev/stdin", "--connect-to", "::%s:" % to,
                       "https://%s/" % NAME, stdin=trusted)
    assert done.stdout == "ok", done.stderr
    refused = as_user(uid, "curl", "-sSk", "-m", "30", "--connect-to", "::%s:" % to, "https://other.test/")
    assert refused.returncode == 35
    assert [r["reason"] for r in in_order(neighbour.finals(2))] == ["ok", "host_not_allowed"]
