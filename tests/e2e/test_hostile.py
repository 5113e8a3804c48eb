"""Clients and origins that mean harm: what one exchange leaves behind never reaches another."""
import pytest

from rig import origin as origins
from rig.weir import wait_for
from rules import http, is_refusal, tcp

NAME = "allowed.test"
OVERRIDE = [("X-HTTP-Method-Override", "DELETE")]  # seen only when the rule is known: after the dial


@pytest.fixture
def upstream(origin):
    one = origin()
    one.listen(80)
    return one


@pytest.fixture
def echo(origin):
    one = origin(serve=origins.echo_serve)
    one.port = one.listen()
    return one


# -- an origin is its own exchange's

def test_a_refused_requests_origin_is_not_the_next_ones(weir, upstream, echo, connect):
    proxy = weir([http(NAME, methods=["GET"]), tcp("other.test", echo.port)])
    sock = connect(proxy)
    is_refusal(sock.get("http://allowed.test/", headers=OVERRIDE), 405, "method_not_allowed")
    assert sock.connect("other.test:%d" % echo.port).status == 200
    sock.send(b"DELETE / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    assert sock.read_until(lambda data: data.endswith(b"\r\n\r\n"))
    assert sock.data.startswith(b"DELETE /") and not upstream.requests
    sock.close()
    assert proxy.finals(2)[1]["upstream"]["addr"].endswith(":%d" % echo.port)


def test_refused_requests_keep_no_connections_to_origins(weir, upstream, connect):
    proxy = weir([http(NAME, methods=["GET"])])
    sock = connect(proxy)
    for _ in range(5):
        assert sock.get("http://allowed.test/", headers=OVERRIDE).status == 405
        assert sock.get("http://allowed.test/").status == 200
    sock.close()
    proxy.finals(10)
    for conn in list(upstream.conns):  # their ends reach nobody who is gone
        conn.close()
    wait_for(lambda: all(conn.is_ended for conn in upstream.conns), what="the end of each connection")
    assert connect(proxy).get("http://allowed.test/").status == 200
