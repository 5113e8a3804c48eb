"""Another site behind an allowed name's edge, its name in an encrypted hello: the ECHConfig is public, so he carries it with him."""
import pytest

from rig import hello
from rules import https, tcp
from test_upload import DOORS, NAME, behind

pytestmark = pytest.mark.single

POINTS = [hello.ECH, *range(0xFE08, 0xFE0D), 0xFFCE]  # RFC 9849's code point and those of its drafts


@pytest.mark.parametrize("door", sorted(DOORS))
def test_it_does_not_reach_the_edge(weir, silent, connect, door):
    proxy = behind(weir, door, [https(NAME, silent.port), https("*.test", silent.port)])
    tries = [hello.hello(NAME, extra=hello.ech(number)) for number in POINTS]
    tries += [hello.records(hello.client_hello(NAME, extra=hello.ech()), size) for size in (1, 40, 200)]
    tries += [hello.hello(NAME, extra=hello.ech(), size=size) for size in (2000, 15000)]
    tries += [hello.hello(NAME, extra=hello.ext(hello.ECH, b"\1")), hello.hello(NAME, extra=hello.ext(hello.ECH, b""))]  # the inner form, and none
    for first in tries:
        sock = connect(proxy)
        assert DOORS[door](sock, silent.port)
        sock.send(first)
        assert sock.read_all()[:1] == b"\x15"
    assert silent.bytes() == b""
    reasons = [r["reason"] for r in proxy.finals(len(tries))]
    assert set(reasons) == {"ech_refused", "tls_malformed"} and reasons.count("tls_malformed") == 1, reasons  # a record for each byte is none


def test_nor_in_a_second_hello(weir, origin, connect):
    """The first is plain; what follows a HelloRetryRequest is not."""
    edge = origin(serve=lambda conn: conn.recv() and conn.send(hello.server_hello(retry=True)) and conn.recv())
    port = edge.listen()
    proxy = weir([https(NAME, port)])
    sock, share = connect(proxy), b"s" * 32
    assert sock.connect("%s:%d" % (NAME, port)).status == 200
    sock.send(hello.hello(NAME, share=share))
    assert sock.read_until(lambda data: len(data) > 5)
    seen = len(edge.bytes())
    sock.send(hello.hello(NAME, share=share, extra=hello.ech()))
    sock.read_all()
    assert edge.wait(lambda: edge.conn().is_ended) and len(edge.bytes()) == seen
    assert proxy.finals(1)[0]["reason"] == "sni_mismatch"  # the second hello is not the first one's again


def test_where_a_rule_lets_it_the_record_does_not_vouch_for_the_name(weir, silent, connect):
    """And a second layer that wants to know more refuses it."""
    proxy = weir([https(NAME, silent.port, ech="allow")])
    sock = connect(proxy)
    assert sock.connect("%s:%d" % (NAME, silent.port)).status == 200
    sock.send(hello.hello(NAME, extra=hello.ech()))
    assert silent.wait(silent.bytes)
    sock.close()
    assert proxy.finals(1)[0]["assurance"] == "name"
    strict = weir([{"policy": "outer", "allow": [https(NAME, silent.port, assurance="sni")]},
                   {"policy": "inner", "allow": [https(NAME, silent.port, ech="allow")]}])
    sock, before = connect(strict), len(silent.bytes())
    if sock.connect("%s:%d" % (NAME, silent.port)).status == 200:
        sock.send(hello.hello(NAME, extra=hello.ech()))
        sock.read_all()
    assert strict.finals(1)[0]["reason"] in ("ech_refused", "assurance_too_low") and len(silent.bytes()) == before


def test_a_rule_that_is_opaque_by_its_name_is_not_taken_for_https(weir, silent, connect):
    """tcp and https on one port would be the way round: such a policy is none, and a tcp rule says what it is."""
    proxy = weir([tcp(NAME, silent.port)])
    sock = connect(proxy)
    assert sock.connect("%s:%d" % (NAME, silent.port)).status == 200
    sock.send(hello.hello(NAME, extra=hello.ech()))
    assert silent.wait(silent.bytes)
    sock.close()
    assert proxy.finals(1)[0]["assurance"] in ("name", "address")
