"""The DNS door: names that policy allows, as addresses that stand for them or as the resolver has them, and no others."""
import socket
import struct

import pytest

from rig import netns
from rig import token as tokens
from rig.weir import NotStarted, free_port, wait_for
from rules import http, https, tcp
from test_admin import ctl
from test_sessions import SECRET, sessions

NAME = "allowed.test"
A, AAAA, TXT, HTTPS = 1, 28, 16, 65
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
BLOCKED, PROHIBITED = 15, 18


def query(name, qtype=A, number=1, opt=True):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!6H", number, 0x0100, 1, 0, 0, opt) + labels + b"\0" + struct.pack("!HH", qtype, 1) + \
        (b"\0\0\x29\x04\xd0\0\0\0\0\0\0" if opt else b"")


class Answer:
    def __init__(self, raw, asked):
        self.number, flags, _, self.n, _, opt = struct.unpack("!6H", raw[:12])
        self.rcode, self.is_cut = flags & 15, bool(flags & 0x0200)
        at, self.addresses, self.ede = 12 + len(asked), [], None
        assert raw[12:at] == asked
        for _ in range(self.n):
            kind, _, self.ttl, n = struct.unpack("!HHIH", raw[at + 2:at + 12])
            self.addresses.append(socket.inet_ntop({A: socket.AF_INET, AAAA: socket.AF_INET6}[kind], raw[at + 12:at + 12 + n]))
            at += 12 + n
        if opt and raw[at + 11:at + 13] == b"\0\x0f":
            self.ede = struct.unpack("!H", raw[at + 15:at + 17])[0]


def asked_of(message):
    return message[12:message.index(b"\0", 12) + 5]


class Door:
    """A weir whose DNS door is asked."""

    def __init__(self, weir):
        self.weir = weir
        host, _, port = weir.config["listen"]["dns"][0].rpartition(":")
        self.at = (host.strip("[]"), int(port))
        self.family = socket.AF_INET6 if ":" in self.at[0] else socket.AF_INET

    def ask(self, name, qtype=A, timeout=30, source=None, **how):
        message = query(name, qtype, **how)
        with socket.socket(self.family, socket.SOCK_DGRAM) as sock:
            if source:
                sock.bind((source, 0))
            sock.settimeout(timeout)
            sock.connect(self.at)
            sock.send(message)
            return Answer(sock.recv(4096), asked_of(message))

    def connect(self):
        return socket.create_connection(self.at, 30)


def framed(message):
    return struct.pack("!H", len(message)) + message


def read_framed(sock, asked):
    with sock.makefile("rb") as f:
        return [Answer(f.read(struct.unpack("!H", f.read(2))[0]), one) for one in asked]


@pytest.fixture
def door(weir):
    """door(rules, mode=..., config=...): a weir with a DNS door."""
    def make(rules, mode="synthetic", address="127.0.0.1", config=None, **more):
        config = dict(config or {})
        config["listen"] = dict({"dns": ["%s:%d" % (address, free_port())]}, **config.get("listen", {}))
        made = weir(rules, config=config, environment={"KEY": SECRET}, start=False)
        made.config["dns"]["door"] = dict({"mode": mode}, **more)
        made.write_config()
        return Door(made.start())
    return make


# -- which names

def test_an_allowed_name_has_an_address_that_stands_for_it(door, dns):
    one = door([https(NAME)])
    first = one.ask(NAME)
    assert first.rcode == NOERROR and first.addresses[0].startswith("198.18.") and first.ttl == 30
    assert one.ask(NAME.upper()).addresses == first.addresses
    assert not dns.asked()  # nothing is asked upstream before somebody connects
    record = one.weir.finals(1)[0]
    assert (record["kind"], record["decision"], record["reason"]) == ("dns", "allow", "ok")
    assert record["target"] == {"host": NAME, "method": "A"} and record["dns"]["answers"] == first.addresses
    assert record["client"]["door"] == "dns"


@pytest.mark.parametrize("mode", ["synthetic", "forward"])
@pytest.mark.parametrize("name", ["other.test", "evilallowed.test", "allowed.test.corp.example", "wild.test", "localhost",
                                  "test", "x.onion"])
def test_a_name_that_is_not_allowed_does_not_exist_and_leaves_nothing(door, dns, mode, name):
    one = door([https(NAME), https("*.wild.test")], mode)
    for qtype in (A, AAAA, TXT):
        answer = one.ask(name, qtype)
        assert (answer.rcode, answer.ede, answer.addresses) == (NXDOMAIN, BLOCKED, [])
    assert not dns.asked()
    assert {r["reason"] for r in one.weir.finals(3)} == {"host_not_allowed"}


def test_any_rule_for_a_name_is_enough_and_a_deny_rule_takes_it_away(door):
    one = door({"policy": "p", "allow": [tcp("raw.test", [7]), http("plain.test"), https("*.wild.test"), https("deep.test")],
                "deny": [{"host": "bad.wild.test"}, {"host": "deep.test", "ports": [8443]}]})
    rcodes = [one.ask(n).rcode for n in ("raw.test", "plain.test", "a.b.wild.test", "deep.test", "bad.wild.test")]
    assert rcodes == [NOERROR] * 4 + [NXDOMAIN]


def test_a_name_must_pass_every_layer(door):
    one = door([{"policy": "outer", "allow": [https(NAME)]}, {"policy": "inner", "allow": [https(NAME), https("other.test")]}])
    assert one.ask(NAME).rcode == NOERROR and one.ask("other.test").rcode == NXDOMAIN


@pytest.mark.parametrize("mode", ["synthetic", "forward"])
@pytest.mark.parametrize("qtype", [TXT, HTTPS, 2, 6, 12, 33, 43])
def test_other_types_of_an_allowed_name_have_no_data(door, dns, mode, qtype):
    answer = door([https(NAME)], mode).ask(NAME, qtype)
    assert (answer.rcode, answer.addresses) == (NOERROR, []) and not dns.asked()


# -- synthetic

def test_in_synthetic_mode_there_is_no_ipv6(door):
    answer = door([https(NAME)]).ask(NAME, AAAA)
    assert (answer.rcode, answer.addresses) == (NOERROR, [])


def test_the_pool_and_the_names_of_a_client_are_bounded(door):
    one = door([https("*.wild.test")], pool4="198.18.7.0/30", ttl="1h")
    addresses = [one.ask("n%d.wild.test" % i).addresses for i in range(4)]
    assert sorted(a[0] for a in addresses) == ["198.18.7.%d" % i for i in range(4)]
    assert one.ask("n4.wild.test").rcode == SERVFAIL and one.ask("n0.wild.test").addresses == addresses[0]
    assert sorted(r["reason"] for r in one.weir.finals(6)) == ["ok"] * 5 + ["overloaded"]


def test_no_rule_opens_the_pool(door, connect):
    rule = {"host": "198.18.0.0/15", "protocol": "tcp", "ports": [80], "private": ["198.18.0.0/15"]}
    one = door([rule], config={"listen": {"proxy": ["127.0.0.1:%d" % free_port()]}})
    answer = connect(one.weir).connect("198.18.0.0:80")
    assert answer.get("x-weir-reason") == "address_denied"


# -- forward

def test_in_forward_mode_an_answer_is_the_resolvers_and_the_guards(door, dns):
    dns.set({NAME: {"A": [netns.PUB1], "AAAA": ["2606:2800:220:1::1"], "ttl": 5}})
    one = door([https(NAME)], "forward")
    assert one.ask(NAME).addresses == [netns.PUB1]
    assert one.ask(NAME, AAAA).addresses == ["2606:2800:220:1::1"]
    assert one.weir.finals(2)[0]["dns"]["answers"]


@pytest.mark.parametrize("entry,rcode,ede", [
    ({"A": ["10.0.0.1"]}, NOERROR, BLOCKED), ({"A": ["169.254.169.254"]}, NOERROR, BLOCKED),
    ({"A": [netns.PUB1, "10.0.0.1"]}, NOERROR, BLOCKED), ({"A": ["198.18.0.1"]}, NOERROR, BLOCKED),
    ({"rcode": "SERVFAIL"}, SERVFAIL, None), ({"rcode": "NXDOMAIN"}, NXDOMAIN, None), ({"ttl": 1}, NOERROR, None)])
def test_what_must_not_be_reached_is_not_told(door, dns, entry, rcode, ede):
    dns.set({NAME: entry})
    answer = door([https(NAME)], "forward").ask(NAME)
    assert (answer.rcode, answer.ede, answer.addresses) == (rcode, ede, [])


def test_one_slow_name_does_not_hold_up_another(door, dns):
    dns.set({NAME: {"A": [netns.PUB1], "delay": 2}, "quick.test": {"A": [netns.PUB1]}})
    one = door([https(NAME), https("quick.test")], "forward")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(30)
        sock.connect(one.at)
        sock.send(query(NAME, number=1))
        sock.send(query("quick.test", number=2))
        assert [struct.unpack("!H", sock.recv(4096)[:2])[0] for _ in range(2)] == [2, 1]


# -- transport

def test_over_tcp_questions_may_come_together_and_in_pieces(door):
    one = door([https(NAME)])
    messages = [query(NAME, number=1), query("other.test", number=2), query(NAME, AAAA, number=3)]
    for every in (1, 1000):
        with one.connect() as sock:
            data = b"".join(map(framed, messages))
            for i in range(0, len(data), every):
                sock.sendall(data[i:i + every])
            answers = read_framed(sock, [asked_of(m) for m in messages])
            assert [(a.number, a.rcode) for a in answers] == [(1, NOERROR), (2, NXDOMAIN), (3, NOERROR)]


def test_many_addresses_are_cut_over_udp_and_whole_over_tcp(door, dns):
    dns.set({NAME: {"A": ["93.184.215.%d" % i for i in range(1, 32)]}})
    one = door([https(NAME)], "forward")
    cut = one.ask(NAME, opt=False)
    assert cut.is_cut and cut.addresses == []
    assert len(one.ask(NAME).addresses) == 31  # EDNS has room
    with one.connect() as sock:
        sock.sendall(framed(query(NAME, opt=False)))
        answer, = read_framed(sock, [asked_of(query(NAME))])
        assert len(answer.addresses) == 31 and not answer.is_cut


def test_ipv6_clients_are_answered(door):
    assert door([https(NAME)], address="[::1]").ask(NAME).addresses[0].startswith("198.18.")


@pytest.mark.parametrize("raw", [b"", b"\0" * 11, query(NAME)[:2] + b"\x81\x80" + query(NAME)[4:]])
def test_what_is_no_question_gets_no_answer_and_harms_nobody(door, raw):
    one = door([https(NAME)])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(30)
        sock.connect(one.at)
        sock.send(raw)
        sock.send(query(NAME, number=7))
        assert struct.unpack("!H", sock.recv(4096)[:2])[0] == 7  # the only answer


# -- who asks

def test_without_a_session_where_one_is_required_nothing_is_told(door, dns):
    one = door([https(NAME)], config={"sessions": sessions()})
    answer = one.ask(NAME)
    assert (answer.rcode, answer.ede, answer.addresses) == (REFUSED, PROHIBITED, []) and not dns.asked()
    assert one.weir.finals(1)[0]["reason"] == "session_required"


def test_an_armed_address_asks_as_its_session(door, tmp_path):
    """And only for what that session may reach; its requests are not counted by that."""
    admin = "unix:%s/admin" % tmp_path
    one = door([https(NAME), https("other.test")], config={"sessions": sessions(), "listen": {"admin": [admin]}})
    token = tokens.mint(SECRET, "s1", network={"allow": [NAME]}, limits={"requestsPerMinute": 1})
    assert ctl(one.weir, "arm", "127.0.0.1", stdin=token)[0] == 0
    assert [one.ask(NAME).rcode for _ in range(3)] == [NOERROR] * 3
    assert one.ask("other.test").rcode == NXDOMAIN
    records = one.weir.finals(4)
    assert {r["session"]["sid"] for r in records} == {"s1"}


# -- floods

def test_refused_questions_beyond_the_limit_are_one_record(door):
    one = door([https(NAME)], config={"limits": {"refusals": "3/min"}})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(30)
        sock.connect(one.at)
        for i in range(20):
            sock.send(query("x%d.other.test" % i, number=i + 1))
        for i in range(20):
            sock.recv(4096)
    assert one.weir.stop() == 0
    records = one.weir.audit()
    sums = [r for r in records if r.get("event") == "sum"]
    assert len([r for r in records if r["kind"] == "dns"]) == 3
    assert sum(int(r["count"]) for r in sums) == 17, sums


def test_a_sender_that_says_it_is_many_has_the_records_of_one(door, net):
    """A datagram's source is what it says: each of these would have a limit of its own."""
    one = door([https(NAME)], address="192.0.2.1", config={"limits": {"refusals": "3/min"}})
    with netns.inside(net.outside):
        for i in range(1, 21):
            assert one.ask("other.test", source="93.184.215.%d" % i).rcode == NXDOMAIN
    assert one.weir.stop() == 0
    records = one.weir.audit()
    assert len([r for r in records if r["kind"] == "dns"]) == 3
    assert sum(int(r["count"]) for r in records if r.get("event") == "sum") == 17


def test_drain_ends_the_door(door):
    one = door([https(NAME)])
    assert one.ask(NAME).rcode == NOERROR
    one.weir.signal(15)
    wait_for(lambda: one.weir.process.poll() is not None, what="its end")
    assert one.weir.finals(1)[0]["outcome"] == "ok"


# -- the configuration

@pytest.mark.parametrize("address", ["0.0.0.0:53", "[::]:53", "unix:/tmp/x"])
def test_the_door_listens_at_named_addresses_alone(weir, address):
    with pytest.raises(NotStarted, match="dns_not_named"):
        weir([https(NAME)], config={"listen": {"dns": [address]}})


def test_a_port_that_is_taken_over_udp_is_an_error(weir):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(NotStarted, match="another process listens there"):
            weir([https(NAME)], config={"listen": {"dns": ["127.0.0.1:%d" % taken.getsockname()[1]]}})
