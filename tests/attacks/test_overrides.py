"""A request that its origin is to take for another one: fields and query keys that frameworks obey, under a rule for GET and one path."""
import pytest

from rules import http, https
from test_intercept import NAME, ask, ca, inside, opening, site  # noqa: F401

pytestmark = pytest.mark.single

FIELDS = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Original-URI", "X-Forwarded-Host",
          "X-Forwarded-Prefix", "X-Forwarded-Uri", "X-Forwarded-Path", "Forwarded"]
QUERIES = ["_method=DELETE", "%5Fmethod=DELETE", "_METHOD=DELETE", "a=1&_method=DELETE", "x-http-method-override=DELETE", "x-method-override=PUT",
           "a=1;_method=DELETE", "_method"]
REASONS = {"method_not_allowed", "path_not_allowed", "request_malformed"}


def spellings(name):
    yield from (name, name.lower(), name.upper(), name.swapcase(), name.replace("-", "_"), name.replace("-", "_", 1))


def tries():
    """(target, more)"""
    for name in FIELDS:
        for spelt in spellings(name):
            yield "/open/a", "%s: DELETE\r\n" % spelt
        yield "/open/a", "X-First: 1\r\n%s: /admin\r\n%s: /open/a\r\n" % (name, name)
        yield "/open/a", "Connection: %s\r\n%s: /admin\r\n" % (name, name)  # hop by hop, he says
    for query in QUERIES:
        yield "/open/a?" + query, ""


def through_the_proxy(weir, upstream, site, connect, opening, inside):  # noqa: F811
    proxy = weir([http(NAME, methods=["GET"], paths=["/open/**"])])
    return (lambda target, more: connect(proxy).get("http://%s%s" % (NAME, target), headers=[tuple(h.split(": ")) for h in more.splitlines()])), upstream


def in_a_tunnel(weir, upstream, site, connect, opening, inside):  # noqa: F811
    proxy = weir([http(NAME, upstream.port, methods=["GET"], paths=["/open/**"])])

    def call(target, more):
        client = connect(proxy)
        assert client.connect("%s:%d" % (NAME, upstream.port)).status == 200
        return ask(client, target, host=NAME, more=more)
    return call, upstream


def within_tls(weir, upstream, site, connect, opening, inside):  # noqa: F811
    proxy = opening([https(NAME, site.port, methods=["GET"], paths=["/open/**"])])
    return (lambda target, more: ask(inside(proxy, site.port), target, host="%s:%d" % (NAME, site.port), more=more)), site


@pytest.mark.parametrize("way", [through_the_proxy, in_a_tunnel, within_tls])
def test_none_is_obeyed_by_anybody(weir, upstream, site, connect, opening, inside, way):  # noqa: F811
    call, server = way(weir, upstream, site, connect, opening, inside)
    assert call("/open/a", "").status == 200
    through = []
    for target, more in tries():
        answer = call(target, more)
        names = {n.lower().replace("_", "-") for n, _ in server.requests[-1].headers}
        is_clean = answer.status == 200 and not names & {f.lower() for f in FIELDS} and "method" not in server.requests[-1].target.lower()
        if answer.get("x-weir-reason") not in REASONS and not is_clean:
            through.append((target, more, answer.status, answer.get("x-weir-reason")))
    assert not through, "\n".join(map(repr, through))
    assert {r.method for r in server.requests} == {"GET"}


def test_the_body_of_a_form_is_the_origins_to_read(opening, site, inside):  # noqa: F811
    """Where a rule allows POST, `_method` in its body is data: a rule that must not see DELETE does not allow POST."""
    proxy = opening([https(NAME, site.port, methods=["GET"])])
    answer = ask(inside(proxy, site.port), "/", "POST", "%s:%d" % (NAME, site.port), "Content-Length: 14\r\n", "_method=DELETE")
    assert (answer.status, answer.get("x-weir-reason")) == (405, "method_not_allowed") and not site.requests
