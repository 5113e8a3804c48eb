"""Upload caps at the gateway: they hold a provider that no meter limits, as they hold any host."""
import pytest

from rig import gateway as rig_gateway
from rig import provider as rig_provider
from rig import token as tokens
from rig.gateway import SECRET
from rig.weir import proxy_and_health
from rules import in_order
from test_gateway import keyed, unmetered
from test_in_place import ca, call, inside, place  # noqa: F401 - all but call() are fixtures
from test_intercept import reload

pytestmark = pytest.mark.single


@pytest.fixture
def forge(gateway, provider):
    """forge(): a gateway whose provider has no meter."""
    provider.answer = rig_provider.refused(200, {"ok": "yes"})

    def make(cap=None, **more):
        return gateway(config={"limits": {"upload": cap}} if cap else {}, providers=[unmetered(provider)], **more)
    return make


def body(size):
    """So much JSON, which the provider reads."""
    return b'"%s"' % (b"b" * (size - 2))


def send(g, size, token=None):
    return g.call("/forge/x", body(size), token)


def is_exhausted(answer):
    return (answer.status, answer.get("x-weir-reason"), answer.get("x-should-retry")) == (403, "upload_exhausted", "false")


def of_calls(g, n):
    return [r for r in in_order(g.weir.finals(n)) if r["kind"] == "gateway"]


@pytest.mark.parametrize("where", ["limits", "token"])
def test_a_provider_without_a_meter_is_held_by_the_cap(forge, provider, where):
    g = forge("10KiB" if where == "limits" else None, sessions=keyed(bind="none"))
    cap = {"limits": {"uploadBytes": 10240}} if where == "token" else {}
    one, two = (tokens.mint(SECRET, sid, **cap) for sid in ("s1", "s2"))
    assert send(g, 6000, one).status == 200
    assert is_exhausted(send(g, 6000, one)) and len(provider.requests) == 1
    assert send(g, 3000, one).status == 200, "there is room for less"
    assert send(g, 6000, two).status == 200, "others are others"
    record = of_calls(g, 4)[1]
    assert (record["decision"], record["reason"], record["status"], record["outcome"]) == ("deny", "upload_exhausted", 403, "exhausted")


def test_what_is_announced_is_refused_before_it_is_read(forge, provider):
    g = forge("10KiB")
    with g.open() as client:
        client.send("POST /forge/x HTTP/1.1\r\nHost: weir\r\nContent-Length: 11000\r\n\r\n")
        assert is_exhausted(client.response("POST"))
    assert provider.conns == []


def test_a_body_in_chunks_that_is_longer_does_not_leave(forge, provider):
    g = forge("10KiB")
    with g.open() as client:
        for size in 9000, 9000:
            client.send(b"POST /forge/x HTTP/1.1\r\nHost: weir\r\nTransfer-Encoding: chunked\r\n\r\n" +
                        rig_provider.chunk(body(size)) + b"0\r\n\r\n")
            answer = client.response("POST")
            assert answer.status == 200 or is_exhausted(answer)
    assert answer.status == 403 and len(provider.requests) == 1
    assert [r["bytes"]["up"] > 0 for r in of_calls(g, 2)] == [True, False]


def test_heads_count_there_and_what_crosses_the_cap_is_cut(forge, provider):
    g = forge("3000B")
    assert is_exhausted(send(g, 2990)), "the body alone has room"
    record = of_calls(g, 1)[0]
    assert (record["reason"], record["status"], record["close"]) == ("upload_exhausted", 403, "weir")
    assert record["bytes"]["up"] == 3000 and provider.requests == []
    assert is_exhausted(g.call("/forge/x", method="GET")), "and nothing is left"


def test_a_restart_gives_no_session_more_there(forge, provider):
    g = forge("10KiB")
    assert send(g, 6000).status == 200
    g.weir.stop()
    g.weir.start()
    assert is_exhausted(send(g, 6000)) and send(g, 3000).status == 200
    assert len(provider.requests) == 2


def test_a_cap_that_a_reload_brings_holds_what_is_asked_in_place(gateway, provider, authority, ca, inside):  # noqa: F811
    provider.answer = rig_provider.refused(200, {"ok": "yes"})
    g = gateway(config={"tls": {"roots": authority.certificate, "intercept": ca.setting}},
                providers=[dict(unmetered(provider), hosts=[provider.name])])
    client = inside(g)
    assert call(client, provider, body={"b": "b" * 3000}).status == 200
    g.weir.config["limits"] = {"upload": "10KiB"}
    reload(g.weir)
    assert call(client, provider, body={"b": "b" * 6000}).status == 200, "what was sent before does not count"
    assert is_exhausted(call(client, provider, body={"b": "b" * 6000})) and len(provider.requests) == 2


def test_calls_that_a_meter_limits_are_held_by_none(gateway):
    g = gateway(config={"limits": {"upload": "10B"}, "listen": dict(rig_gateway.listen(), **proxy_and_health())})
    assert g.messages().status == 200 and g.spent() > 0
    assert g.weir.metric("weir_upload_loads_total") == 0 and g.weir.metric("weir_upload_sessions") == 0
