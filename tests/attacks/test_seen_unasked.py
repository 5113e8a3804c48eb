"""The transparent door, where TLS is opened, too: a program that knows of no proxy is seen, judged and told no less.

In a namespace of its own whose packets the shipped rules lead to weir; he is root in it.
"""
import ssl

import pytest

from rig import client as rig_client
from rig import netns, origin as origins, tls
from rig.ca import Ca
from rules import https, in_order, is_refusal
from test_intercept import ask
from test_transparent import SOMEWHERE, Way, curl

pytestmark = pytest.mark.single

NAME, OTHER = "allowed.test", "other.test"


@pytest.fixture
def way(net):
    one = Way("redirect")
    yield one
    one.close()


@pytest.fixture
def ca(tmp_path):
    return Ca(tmp_path / "ca")


@pytest.fixture
def site(origin, authority):
    one = origin(serve=tls.tls_serve(authority.context(NAME, OTHER), origins.http_serve))
    one.listen(443)
    return one


@pytest.fixture
def seeing(weir, way, ca, authority):
    def make(rules, **more):
        return weir(rules, config=dict({"listen": {"transparent": way.at}, "tls": {"roots": authority.certificate, "intercept": ca.setting}}, **more))
    return make


class To:
    """TLS of the sandbox's to an address of its choice, under a name of its choice."""

    def __init__(self, way, context, name, address=SOMEWHERE, port=443):
        self.way, self.context, self.name, self.to = way, context, name, (address, port)

    def connect(self, timeout):
        return self.context.wrap_socket(self.way.box.connect(*self.to, timeout), server_hostname=self.name)


@pytest.fixture
def inside(way, ca):
    made = []

    def make(name=NAME, context=None, **how):
        made.append(rig_client.Client(To(way, context or ca.trusting(), name, **how)))
        return made[-1]
    yield make
    for one in made:
        one.close()


def test_an_ordinary_program_is_seen_and_its_request_judged(seeing, way, site, ca):
    proxy = seeing([https(NAME, paths=["/open/**"])])
    assert curl(way, "--cacert", ca.bundle, "https://%s/open/x" % NAME).stdout == "ok"
    refused = curl(way, "--cacert", ca.bundle, "-D", "-", "https://%s/shut" % NAME).stdout
    assert "403 weir: path_not_allowed" in refused
    assert [r.target for r in site.requests] == ["/open/x"]
    records = in_order(proxy.finals(4))
    assert [(r["kind"], r["reason"]) for r in records if r["kind"] == "http"] == [("http", "ok"), ("http", "path_not_allowed")]
    outer = [r for r in records if r["kind"] == "transparent"]
    assert all(r["flags"] == ["intercepted"] and r["client"]["addr"] == way.box.OWN for r in outer)
    assert {r["parent"] for r in records if r["kind"] == "http"} == {r["id"] for r in outer}


def test_another_host_inside_is_not_reached(seeing, way, site, inside):
    seeing([https([NAME, OTHER], assurance="host")])
    for host, status, reason in ((OTHER, 421, "host_misdirected"), ("hidden.test", 403, "host_not_allowed"), (NAME + ":8443", 421, "host_misdirected"),
                                 (SOMEWHERE, 403, "ip_literal_not_allowed")):
        is_refusal(ask(inside(), host=host), status, reason)
    client = inside()
    client.send("GET / HTTP/1.1\r\nHost: %s\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % NAME)
    assert client.response().status == 400
    assert site.requests == []


def test_the_address_he_chose_counts_for_nothing(seeing, way, site, inside, origin, net, authority):
    evil = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    evil.listen(443, "::", net.outside)
    seeing([https(NAME, assurance="host")])
    for address in (netns.PUB1, netns.PUB2, "10.99.0.1"):
        if address != "10.99.0.1":
            assert ask(inside(address=address), host=NAME).status == 200
    assert evil.conns == [] and len(site.requests) == 2


def test_what_has_no_name_or_another_gets_no_certificate(seeing, way, site, dns, ca):
    proxy = seeing([https(NAME, methods=["GET"])])
    trusting = ca.trusting()
    trusting.check_hostname = False
    for name in (None, "hidden.test", "x." + NAME, NAME + ".evil.test", SOMEWHERE):
        with pytest.raises((ssl.SSLError, OSError)):
            To(way, trusting, name).connect(30)
    assert not any(q[0] != NAME for q in dns.asked()) and site.bytes() == b""
    assert {r["reason"] for r in proxy.finals(5)} <= {"host_not_allowed", "ip_literal_not_allowed", "sni_missing"}


def test_who_trusts_the_origins_authority_alone_gets_nothing_unseen(seeing, way, site, authority):
    """He takes weir's CA out of his trust: then nothing passes, rather than something unseen."""
    proxy = seeing([https(NAME, methods=["GET"])])
    done = curl(way, "--cacert", authority.certificate, "https://%s/" % NAME)
    assert done.returncode == 60 and site.requests == []
    assert "client_distrusts_ca" in proxy.finals(1)[0]["flags"]
