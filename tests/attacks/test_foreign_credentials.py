"""The one forge token that was meant for another tenant's agent: asked for in every way that a session of his own allows."""
import pytest

from rig import token as tokens
from rules import http, https
from test_inject import BASIC, BEARER, PLACEHOLDER, SECRET, SWAP, basic, credentials
from test_intercept import NAME, OTHER, ask, ca, inside, opening, site  # noqa: F401
from test_sessions import SECRET as KEY
from test_sessions import sessions

pytestmark = pytest.mark.single


def said(token):
    return "Proxy-Authorization: %s\r\n" % tokens.basic(token)


@pytest.fixture
def theirs(opening, site):  # noqa: F811
    """Two tenants on one weir; the credential is acme's."""
    def make(inject, row=None, rules=None):
        return opening(rules or [https([NAME, OTHER], site.port, inject=inject)], config={"sessions": sessions(bind="none"), "credentials": credentials(
            **dict({"tenants": ["acme"], "hosts": [NAME, OTHER]}, **(row or {})))}, environment={"FORGE": SECRET, "KEY": KEY})
    return make


@pytest.mark.parametrize("inject", [BEARER, BASIC, SWAP])
def test_another_tenants_session_gets_it_by_no_word(theirs, site, inside, inject):  # noqa: F811
    proxy, host = theirs(inject), "%s:%d" % (NAME, site.port)
    own = tokens.mint(KEY, "mine", tenant="globex")
    acme = said(tokens.mint(KEY, "theirs"))
    assert ask(inside(proxy, site.port, extra=acme), host=host, more="Authorization: Bearer %s\r\n" % PLACEHOLDER).status == 200
    assert SECRET in site.requests[0].get("authorization") or basic("bot", SECRET) == site.requests[0].get("authorization")
    for token in (own, tokens.mint(KEY, "mine", tenant="globex", sub="acme"), tokens.mint(KEY, "acme", tenant="globex"),
                  tokens.mint(KEY, "mine", tenant="ACME"), tokens.mint(KEY, "mine", tenant="acme.globex"), tokens.mint(KEY, "c", tenant="globex", par="theirs")):
        for more in ("", "Authorization: Bearer %s\r\n" % PLACEHOLDER, "X-Tenant: acme\r\n", acme, "X-Weir-Session: theirs\r\n"):
            try:
                answer = ask(inside(proxy, site.port, extra=said(token)), host=host, more=more)
            except (AssertionError, OSError):  # no such session: the tunnel was refused
                continue
            assert answer.get("x-weir-reason") in ("credential_refused", "session_invalid"), (more, answer)
    assert len(site.requests) == 1


def test_a_policy_cannot_send_it_where_it_may_not_go(theirs, site, inside, connect, upstream):  # noqa: F811
    """The rule of another host, the same tenant; and plain http."""
    proxy = theirs(SWAP, {"hosts": [NAME]}, [https(NAME, site.port, inject=SWAP), https(OTHER, site.port, assurance="host"), http(OTHER)])
    acme = said(tokens.mint(KEY, "s1"))
    more = "Authorization: Bearer %s\r\n" % PLACEHOLDER
    answer = ask(inside(proxy, site.port, OTHER, extra=acme), host="%s:%d" % (OTHER, site.port), more=more)
    assert answer.get("x-weir-reason") == "credential_refused"
    answer = connect(proxy).get("http://%s/" % OTHER, headers=[("Proxy-Authorization", tokens.basic(tokens.mint(KEY, "s1"))),
                                                               ("Authorization", "Bearer " + PLACEHOLDER)])
    assert answer.get("x-weir-reason") == "credential_refused"
    assert site.requests == [] and upstream.requests == []
