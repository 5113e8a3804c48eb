"""Domain fronting: CONNECT and SNI say the allowed name, the request inside another tenant of the same edge."""
import pytest

from rig import tls, origin as origins
from rules import https, is_refusal
from test_intercept import NAME, OTHER, ask, ca, inside, insides_of, opening, site, tunnel_of  # noqa: F401

pytestmark = pytest.mark.single

HIDDEN = "hidden.test"  # no rule names it; the edge serves it to who asks


@pytest.fixture
def edge(site):  # noqa: F811
    """Says which of its tenants it served."""
    site.reply = lambda r: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(r.get("host")), r.get("host").encode())
    return site


@pytest.mark.parametrize("rule", [{"assurance": "host"}, {"methods": ["GET"]}, {"paths": ["/**"]}])
def test_no_other_tenant_of_the_edge_is_asked_for(opening, edge, inside, rule):  # noqa: F811
    proxy = opening([https(NAME, edge.port, **rule), https(OTHER, edge.port, **rule)])
    mine = "%s:%d" % (NAME, edge.port)
    for host in (HIDDEN, "%s:%d" % (HIDDEN, edge.port), OTHER, "%s:%d" % (OTHER, edge.port), NAME + ".evil.test", "%s@%s" % (NAME, HIDDEN),
                 "%s,%s" % (mine, HIDDEN), HIDDEN + "#" + NAME, NAME + "\\." + HIDDEN, "127.0.0.1", ""):
        answer = ask(inside(proxy, edge.port), host=host)
        assert answer.status in (400, 403, 421) and answer.get("x-weir-reason"), (host, answer)
    for text in ("GET / HTTP/1.1\r\nHost: %s\r\nHost: %s\r\n\r\n" % (mine, HIDDEN), "GET / HTTP/1.1\r\nHost: %s\r\n Host: %s\r\n\r\n" % (mine, HIDDEN),
                 "GET https://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (HIDDEN, mine), "GET //%s/ HTTP/1.0\r\n\r\n" % HIDDEN, "GET / HTTP/1.1\r\n\r\n"):
        client = inside(proxy, edge.port)
        client.send(text)
        answer = client.response()
        assert answer.status in (400, 403, 421) or answer.body.decode() == mine, (text, answer)
    assert {r.get("host") for r in edge.requests} <= {mine}


def test_the_second_request_of_a_connection_is_no_way_either(opening, edge, inside):  # noqa: F811
    proxy = opening([https(NAME, edge.port, assurance="host")])
    client, mine = inside(proxy, edge.port), "%s:%d" % (NAME, edge.port)
    client.send("GET / HTTP/1.1\r\nHost: %s\r\n\r\nGET /steal HTTP/1.1\r\nHost: %s\r\n\r\n" % (mine, HIDDEN))
    assert client.response().body.decode() == mine
    is_refusal(client.response(), 403, "host_not_allowed")
    assert [r.get("host") for r in edge.requests] == [mine]


def test_fields_that_name_another_host_do_not_get_there(opening, edge, inside):  # noqa: F811
    proxy = opening([https(NAME, edge.port, assurance="host")])
    mine = "%s:%d" % (NAME, edge.port)
    for name in ("X-Forwarded-Host", "Forwarded", "X_Forwarded_Host", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix"):
        assert ask(inside(proxy, edge.port), host=mine, more="%s: %s\r\n" % (name, HIDDEN)).status == 200
    assert not any(HIDDEN in value for r in edge.requests for _, value in r.headers)


def test_without_sight_the_record_says_how_little_is_known(weir, origin, authority, connect):
    """What weir does not stop it does not vouch for: the assurance is the SNI's, not the host's."""
    server = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    port = server.listen()
    proxy = weir([https(NAME, port)])
    client = connect(proxy)
    assert client.connect("%s:%d" % (NAME, port)).status == 200
    with authority.client().wrap_socket(client.sock, server_hostname=NAME) as own:
        own.sendall(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % HIDDEN.encode())
        assert own.recv(100).startswith(b"HTTP/1.1 200")
    assert proxy.finals(1)[0]["assurance"] == "sni"


def test_and_a_layer_that_wants_more_refuses_it(opening, edge, inside):  # noqa: F811
    """The outer layer's `assurance: host` holds for an inner one that asks for less."""
    proxy = opening([{"policy": "outer", "allow": [https(NAME, edge.port, assurance="host")]},
                     {"policy": "inner", "allow": [https(NAME, edge.port)]}])
    is_refusal(ask(inside(proxy, edge.port), host=HIDDEN), 403, "host_not_allowed")
    assert edge.requests == []
