"""Names that he controls, or an allowed wildcard, pointed inside: at neighbours with public addresses, at weir's own store, resolver and doors."""
import subprocess

import pytest

from rig import netns
from rig.weir import NotStarted, free_port
from rules import http, is_refusal, tcp

pytestmark = pytest.mark.single

NAME = "*.wild.test"
NEIGHBOUR = "93.184.217.77"  # public by its class, and on weir's own link


@pytest.fixture
def neighbour(net, origin):
    """A machine beside weir, at an address that looks like anybody's."""
    for at, what in ((None, ["addr", "replace", "93.184.217.65/28", "dev", "w0"]), (net.outside, ["addr", "replace", NEIGHBOUR + "/28", "dev", "w1"])):
        if at is None:
            subprocess.run(["ip", *what], check=True)
        else:
            with netns.inside(at):
                subprocess.run(["ip", *what], check=True)
    one = origin()
    one.listen(80, NEIGHBOUR, net.outside)
    yield one
    subprocess.run(["ip", "addr", "del", "93.184.217.65/28", "dev", "w0"], check=True)
    with netns.inside(net.outside):
        subprocess.run(["ip", "addr", "del", NEIGHBOUR + "/28", "dev", "w1"], check=True)


def test_a_neighbour_is_inside_whatever_its_address_looks_like(weir, dns, connect, neighbour):
    dns.set({"a.wild.test": {"A": [NEIGHBOUR]}, "b.wild.test": {"A": [netns.PUB1, NEIGHBOUR]}, "c.wild.test": {"A": [netns.OWN]},
             "d.wild.test": {"AAAA": ["::ffff:" + NEIGHBOUR]}, "e.wild.test": {"AAAA": ["64:ff9b::5db8:d94d"]}})
    proxy = weir([{"host": NAME, "protocol": "http", "broad": True}])
    for label in "abcde":
        is_refusal(connect(proxy).get("http://%s.wild.test/" % label), 403, "address_denied")
    is_refusal(connect(proxy).get("http://%s/" % NEIGHBOUR), 403, "ip_literal_not_allowed")
    assert neighbour.conns == []


def test_what_the_operator_closed_is_closed_though_it_is_public(weir, dns, connect, net, origin):
    """The node's own public address, and the hairpin to it."""
    node = origin()
    node.listen(80, "::", net.outside)
    dns.set({"a.wild.test": {"A": [netns.PUB1]}, "b.wild.test": {"AAAA": [netns.PUB6]}, "c.wild.test": {"A": [netns.PUB2]}})
    proxy = weir([{"host": NAME, "protocol": "http"}, {"host": netns.PUB1, "protocol": "http"}], {"addresses": {"closed": [netns.PUB1 + "/32", "2606:2800:21f::/48"]}})
    for url in ("http://a.wild.test/", "http://b.wild.test/", "http://%s/" % netns.PUB1):
        is_refusal(connect(proxy).get(url), 403, "address_denied")
    assert node.conns == [] and connect(proxy).get("http://c.wild.test/").status == 200


def test_weirs_own_store_resolver_and_doors_are_not_dialled_in_an_opened_range(weir, dns, connect, tmp_path):
    """`private` opens loopback here, and the wildcard is meant: what weir lives on stays closed all the same."""
    port, admin = free_port(), free_port()
    with subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)], stdout=subprocess.DEVNULL) as server:
        try:
            doors = {"proxy": ["127.0.0.1:%d" % free_port()], "health": ["127.0.0.1:%d" % admin]}
            resolver = int(dns.server.rpartition(":")[2]) if ":" in dns.server else 53
            ports = [port, admin, resolver, int(doors["proxy"][0].rpartition(":")[2])]
            proxy = weir([tcp(NAME, ports), tcp("127.0.0.1", ports)], {"ledger": {"url": "redis://127.0.0.1:%d/0" % port}, "listen": doors})
            for one in ports:
                for host in ("a.wild.test", "127.0.0.1"):
                    is_refusal(connect(proxy).connect("%s:%d" % (host, one)), 403, "address_denied")
        finally:
            server.terminate()


@pytest.mark.parametrize("rule", [
    {"host": NAME, "protocol": "http", "private": ["10.2.0.0/16"]}, {"host": NAME, "protocol": "http", "metadata": True},
    {"host": "a.test", "protocol": "http", "private": ["0.0.0.0/0"]}, {"host": "a.test", "protocol": "http", "private": ["::/0"]},
    {"host": "a.test", "protocol": "http", "private": ["169.254.169.254/32"]}])
def test_a_rule_that_opens_inside_to_whoever_names_it_is_none(weir, rule):
    with pytest.raises(NotStarted, match="ended with 78"):
        weir([rule])


def test_metadata_by_any_name_is_closed(weir, dns, connect):
    """And a range that holds it opens nothing: such a policy is none."""
    places = ["169.254.169.254", "169.254.170.2", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "::ffff:169.254.169.254"]
    dns.set({"m%d.wild.test" % i: {("AAAA" if ":" in a else "A"): [a]} for i, a in enumerate(places)})
    proxy = weir([http(NAME)])
    for i in range(len(places)):
        is_refusal(connect(proxy).get("http://m%d.wild.test/" % i), 403, "address_denied")


@pytest.mark.parametrize("held", ["169.254.0.0/16", "fd00::/8", "100.64.0.0/10", "192.0.0.0/24"])
def test_no_range_that_holds_metadata_is_opened(weir, held):
    with pytest.raises(NotStarted, match="private_metadata"):
        weir([dict(http(NAME), private=[held])])
