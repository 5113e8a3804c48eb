"""A provider's host reached by another door than the gateway: its calls are metered where they pass.

The client talks to the provider's own name, over TLS, with whatever key it has; weir opens the tunnel, counts, and puts in
the key that pays.
"""
import json

import pytest

from rig import gateway as rig_gateway, provider as rig_provider
from rig.ca import Ca, Inside
from rig.client import Client
from rules import http, is_refusal
from test_intercept import reload
from test_sessions import sessions

pytestmark = pytest.mark.single

ASK = rig_gateway.ASK


@pytest.fixture
def ca(tmp_path):
    return Ca(tmp_path / "ca")


@pytest.fixture
def place(gateway, provider, ca, authority):
    """place(): a gateway whose weir opens TLS, and its provider of one family."""
    def make(kind="anthropic", config=None, row=None, **more):
        config = dict({"tls": {"roots": authority.certificate, "intercept": ca.setting}}, **(config or {}))
        return gateway(config=config, providers=[rig_gateway.row(kind, provider, **(row or {}))], **more)
    return make


@pytest.fixture
def inside(place, provider, ca):
    made = []

    def make(g, **how):
        made.append(Inside.open(g.weir, ca.trusting(), provider.name, int(provider.url.rpartition(":")[2]), **how))
        return made[-1]
    yield make
    for one in made:
        one.close()


def call(client, provider, path="/v1/messages", body=None, method="POST", headers=(("x-api-key", "mine"),), host=None):
    data = json.dumps(body or ASK).encode() if method == "POST" else b""
    lines = ["%s %s HTTP/1.1" % (method, path), "Host: " + (host or provider.url.split("//")[1]), "Content-Type: application/json",
             "Content-Length: %d" % len(data), *("%s: %s" % pair for pair in headers)]
    client.send("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
    return client.response(method)


def test_a_call_in_a_tunnel_to_the_provider_is_metered_and_paid_with_weirs_key(place, provider, inside):
    provider.answer = rig_provider.messages()
    g = place()
    client = inside(g)
    answer = call(client, provider)
    assert answer.status == 200 and answer.get("x-weir-budget-remaining") is not None
    request = provider.requests[0]
    assert (request.target, request.get("x-api-key"), request.get("host")) == (
        "/v1/messages", rig_provider.KEY, provider.url.split("//")[1])
    assert call(client, provider).status == 200
    client.close()
    records = g.weir.finals(3)
    assert g.spent() == provider.bill > 0
    outer = next(r for r in records if r["kind"] == "connect")
    calls = [r for r in records if r["kind"] == "gateway"]
    assert [r["parent"] for r in calls] == [outer["id"]] * 2 and outer["flags"] == ["intercepted"]
    assert sum(rig_gateway.nano(r["usd"]["charged"]) for r in calls) == provider.bill
    assert "upstream" not in outer and outer["decision"] == "allow"


def test_a_stream_passes_in_place(place, provider, inside):
    provider.answer = rig_provider.message_stream()
    g = place()
    answer = call(inside(g), provider, body=dict(ASK, stream=True))
    assert answer.status == 200 and b"message_stop" in answer.body
    assert g.spent() == provider.bill > 0


def test_the_budget_stops_it_there_in_the_familys_words(place, provider, inside):
    provider.answer = rig_provider.messages()
    g = place(sessions=rig_gateway.laptop(usd="0.000001"))
    answer = call(inside(g), provider)
    assert answer.status == 402 and answer.get("x-should-retry") == "false"
    assert json.loads(answer.body)["type"] == "error" and not provider.requests


def test_what_is_not_metered_does_not_pass(place, provider, inside):
    g = place()
    for path in ("/v1/files", "/anthropic/v1/messages", "/v1/../v1/messages"):
        answer = call(inside(g), provider, path)
        assert answer.status in (400, 403) and not provider.requests, path


def test_what_only_begins_like_the_providers_base_is_not_under_it(place, provider, inside):
    g = place(row={"upstream": provider.url + "/base"})
    for path in ("/base", "/base/v1/messages", "/basement/v1/messages", "/base.x/v1/messages", "/bas/v1/messages"):
        answer = call(inside(g), provider, path)
        assert (answer.status == 200) == (path == "/base/v1/messages"), path
    assert [r.target for r in provider.requests] == ["/base/v1/messages"]


def test_a_providers_address_is_metered_in_place_like_its_name(place, provider, ca):
    g = place(row={"hosts": [provider.name, "127.0.0.1"]})
    client = Inside.open(g.weir, ca.trusting(), "127.0.0.1", provider.port)
    assert call(client, provider, host="127.0.0.1:%d" % provider.port).status == 200
    client.close()
    assert provider.requests[0].get("host") == provider.url.split("//")[1]
    assert g.spent() == provider.bill > 0


def test_another_host_inside_is_misdirected(place, provider, inside):
    g = place()
    answer = call(inside(g), provider, host="other.test")
    assert (answer.status, answer.get("x-weir-reason")) == (421, "host_misdirected") and not provider.requests


def test_who_has_no_session_pays_for_nothing(place, provider, inside):
    g = place(sessions=sessions(required=False))
    assert call(inside(g), provider).get("x-weir-reason") == "session_required" and not provider.requests


@pytest.mark.parametrize("first, reason", [(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "tls_required"), (b"junk", "tls_required")])
def test_what_is_no_tls_to_that_name_does_not_pass(place, provider, first, reason):
    g = place()
    with Client(g.weir) as client:
        assert client.connect(provider.url.split("//")[1]).status == 200
        client.send(first)
        client.read_all()
    record, = g.weir.finals(1)
    assert (record["decision"], record["reason"]) == ("deny", reason) and not provider.conns


def test_other_ways_to_that_host_stay_closed(place, provider):
    g = place(policy=[http("*.test")])
    with Client(g.weir) as client:
        is_refusal(client.get("http://%s/" % provider.name), 403, "metered_host")
    with Client(g.weir) as client:
        is_refusal(client.connect("%s:1234" % provider.name), 403, "metered_host")
    assert not provider.conns


def test_a_provider_that_a_reload_takes_away_closes_its_tunnels(place, provider, inside):
    provider.answer = rig_provider.messages()
    g = place()
    client = inside(g)
    assert call(client, provider).status == 200
    settings = g.weir.config["gateway"]
    g.weir.config["gateway"] = dict(settings, providers=[])
    reload(g.weir)
    client.read_all()
    assert client.is_reset
    assert next(r for r in g.weir.finals(2) if r["kind"] == "connect")["reason"] == "policy_changed"
    g.weir.config["gateway"] = settings
    reload(g.weir)
