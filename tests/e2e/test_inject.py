"""Credentials of any host: put into requests behind the decision, and nowhere else.

What the origin saw, what the client saw of it, and what the audit log says; the sandbox holds none.
"""
import base64
import gzip
import json

import pytest

from rig import origin as origins, tls
from rig import token as tokens
from rig.gateway import laptop
from rig.weir import NotStarted
from rules import http, https, is_refusal
from test_dlp import SHAPED
from test_intercept import NAME, OTHER, ask, ca, inside, insides_of, opening, reload, site  # noqa: F401

pytestmark = pytest.mark.single

SECRET, SECOND = tokens.new_secret(), tokens.new_secret()
PLACEHOLDER = "ph-of-the-forge"
BEARER = {"header": "authorization", "scheme": "Bearer", "credential": "forge"}
BASIC = {"header": "authorization", "scheme": "Basic", "user": "bot", "credential": "forge"}
SWAP = {"credential": "forge"}


def credentials(**more):
    return {"forge": dict({"value": "env:FORGE", "hosts": [NAME], "placeholder": PLACEHOLDER}, **more)}


@pytest.fixture
def injecting(opening, site):  # noqa: F811
    """injecting(inject): a weir with a session, and a rule that injects."""
    def make(inject=None, rules=None, config=None, sessions=None, row=None):
        rules = rules or [https(NAME, site.port, inject=inject or BEARER)]
        return opening(rules, config=dict({"sessions": sessions or laptop(), "credentials": credentials(**(row or {}))},
                                          **(config or {})), environment={"FORGE": SECRET, "OTHER": SECOND, "KEY": SECRET})
    return make


def basic(user, password):
    return "Basic " + base64.b64encode(("%s:%s" % (user, password)).encode()).decode()


def at(site):  # noqa: F811
    return "%s:%d" % (NAME, site.port)


@pytest.mark.parametrize("inject, field, value", [
    (BEARER, "authorization", "Bearer " + SECRET), (BASIC, "authorization", basic("bot", SECRET)),
    ({"header": "PRIVATE-TOKEN", "credential": "forge"}, "private-token", SECRET)], ids=["bearer", "basic", "alone"])
def test_a_credential_is_put_in_and_the_clients_own_field_stays_away(injecting, site, inside, inject, field, value):  # noqa: F811
    proxy = injecting(inject)
    client = inside(proxy, site.port)
    assert ask(client, host=at(site), more="%s: dummy\r\nCookie: a=b\r\n" % field).status == 200
    request = site.requests[0]
    assert [v for n, v in request.headers if n.lower() == field] == [value]
    assert request.get("cookie") is None and request.get("accept-encoding") == "identity"
    client.close()
    records = proxy.finals(2)
    assert SECRET not in json.dumps(proxy.audit()) + proxy.log()
    assert insides_of(records)[0]["reason"] == "ok"


def test_it_is_recorded_before_it_goes(injecting, site, inside):  # noqa: F811
    proxy = injecting()
    seen = []
    site.reply = lambda request: seen.append([r["phase"] for r in proxy.audit() if r["kind"] == "http"]) or origins.OK
    assert ask(inside(proxy, site.port), host=at(site)).status == 200
    assert seen == [["open"]]


@pytest.mark.parametrize("field, sent, want", [
    ("Authorization", "Bearer " + PLACEHOLDER, "Bearer " + SECRET), ("X-Api-Key", PLACEHOLDER, SECRET),
    ("Authorization", basic("git", PLACEHOLDER), basic("git", SECRET)),
    ("X-Note", "a %s b %s" % (PLACEHOLDER, PLACEHOLDER), "a %s b %s" % (SECRET, SECRET))],
    ids=["bearer", "alone", "basic", "twice"])
def test_a_placeholder_is_swapped_where_a_field_has_it(injecting, site, inside, field, sent, want):  # noqa: F811
    proxy = injecting(SWAP)
    assert ask(inside(proxy, site.port), host=at(site), more="%s: %s\r\n" % (field, sent)).status == 200
    assert site.requests[0].get(field) == want


REFUSED = "A credential keeps this request from passing"


def is_told(answer, words):
    """It says what is wrong with this request, in one sentence, and no secret."""
    message = json.loads(is_refusal(answer, 403, "credential_refused").body)["error"]["message"]
    assert message.startswith(REFUSED) and (words in message if words else message == REFUSED + "."), message
    assert SECRET not in message and PLACEHOLDER not in message


@pytest.mark.parametrize("target, more, words", [
    ("/?key=" + PLACEHOLDER, "", "stands in the URL"), ("/%s/x" % PLACEHOLDER, "", "stands in the URL"),
    ("/", "X-%s: 1\r\n" % PLACEHOLDER, "in the name of a field")])
def test_a_placeholder_where_nothing_is_swapped_is_refused(injecting, site, inside, target, more, words):  # noqa: F811
    proxy = injecting(SWAP)
    is_told(ask(inside(proxy, site.port), target, host=at(site), more=more), words)
    assert not site.requests


def test_a_placeholder_towards_another_host_is_refused(injecting, site, upstream, inside, connect):  # noqa: F811
    rules = [https(NAME, site.port, inject=SWAP), https(OTHER, site.port, assurance="host"), http(OTHER)]
    proxy = injecting(rules=rules)
    host, more = "%s:%d" % (OTHER, site.port), "Authorization: Bearer %s\r\n" % PLACEHOLDER
    is_told(ask(inside(proxy, site.port, OTHER), host=host, more=more), "what may not go to this host")
    is_told(connect(proxy).get("http://%s/" % OTHER, headers=[("Authorization", "Bearer " + PLACEHOLDER)]),
            "what may not go to this host")
    assert not site.requests and not upstream.requests


@pytest.mark.parametrize("inject", [BEARER, SWAP])
@pytest.mark.parametrize("field", ["X-Api-Key", "Private-Token", "Proxy-Connection"])
def test_a_credential_of_the_clients_own_does_not_pass_beside_it(injecting, site, inside, inject, field):  # noqa: F811
    proxy = injecting(inject)
    answer = ask(inside(proxy, site.port), host=at(site), more="%s: mine\r\n" % field)
    if field == "Proxy-Connection":  # no credential at all
        assert answer.status == 200
        return
    is_told(answer, "a credential of its own")
    assert not site.requests


@pytest.mark.parametrize("query, status", [
    ("a=1&access_token=mine", 403), ("private%5Ftoken=mine", 403), ("API-KEY=mine", 403), ("page_token=a&key=b", 200)])
def test_a_query_key_that_is_a_credential_is_one_of_the_clients_own(injecting, site, inside, query, status):  # noqa: F811
    answer = ask(inside(injecting(), site.port), "/?" + query, host=at(site))
    assert (answer.status, len(site.requests)) == (status, status == 200)
    assert status == 200 or answer.get("x-weir-reason") == "credential_refused"


def test_what_stands_beside_a_placeholder_is_looked_at_like_all_that_leaves(injecting, site, inside):  # noqa: F811
    proxy = injecting(rules=[https(NAME, site.port, inject=SWAP, dlp="block")],
                      config={"credentials": dict(credentials(), other={"value": "env:OTHER", "hosts": [OTHER]})})

    def put(value):
        return ask(inside(proxy, site.port), host=at(site), more="Authorization: %s\r\n" % value)
    for text in (SHAPED, SECOND):
        for value in ("Bearer %s %s" % (PLACEHOLDER, text), basic(text, PLACEHOLDER), basic("git", text + PLACEHOLDER)):
            is_refusal(put(value), 403, "dlp_blocked")
    assert not site.requests
    assert [put(value).status for value in ("Bearer " + PLACEHOLDER, basic("git", PLACEHOLDER))] == [200, 200]


def test_a_name_that_cgi_takes_for_the_injected_one_stays_away(injecting, site, inside):  # noqa: F811
    proxy = injecting({"header": "x-forge", "credential": "forge"})
    assert ask(inside(proxy, site.port), host=at(site), more="X_Forge: mine\r\n").status == 200
    assert [value for name, value in site.requests[0].headers if name.lower().replace("_", "-") == "x-forge"] == [SECRET]


# -- what comes back

def chunked(*pieces):
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(
        b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize("reply", [
    b"HTTP/1.1 401 No\r\nX-Echo: %(s)s\r\nContent-Length: %(n)d\r\n\r\n%(s)s",
    b"HTTP/1.1 200 OK\r\n\r\nkey is %(s)s", "pieces", "coded"])
def test_an_answer_that_echoes_it_is_scrubbed(injecting, site, inside, reply):  # noqa: F811
    secret = SECRET.encode()
    if reply == "pieces":
        data = chunked(b"so: ", *[bytes([c]) for c in secret], b".")
    elif reply == "coded":
        data = chunked(base64.b64encode(b"user:" + secret), b" ", secret.hex().encode())
    else:
        data = reply % {b"s": secret, b"n": len(secret)}

    def answer(request):
        return data
    site.reply = answer
    ends = reply not in ("pieces", "coded") and b"Content-Length" not in data
    if ends:
        site.serve = tls.tls_serve(site.context, lambda conn: (conn.recv(), conn.send(data), conn.sock.unwrap()))
    proxy = injecting()
    client = inside(proxy, site.port)
    got = ask(client, host=at(site))
    text = repr(got.headers).encode() + got.body
    for form in (secret, secret.hex().encode(), base64.b64encode(b"user:" + secret)[8:-4]):
        assert form not in text
    assert b"*" in got.body and got.is_complete


@pytest.mark.parametrize("coding", [b"gzip", b"identity, gzip", b"identity\r\nContent-Encoding: gzip"])
def test_an_answer_that_cannot_be_looked_through_does_not_pass(injecting, site, inside, coding):  # noqa: F811
    body = gzip.compress(SECRET.encode())
    site.reply = lambda request: b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s" % (
        coding, len(body), body)
    proxy = injecting()
    is_refusal(ask(inside(proxy, site.port), host=at(site)), 502, "upstream_malformed")


@pytest.mark.parametrize("name", ["Range", "If-Range", "request-range", "If_Range", "x-ms-range"])
def test_an_answer_is_never_asked_for_in_parts(injecting, site, inside, name):  # noqa: F811
    assert ask(inside(injecting(), site.port), host=at(site), more="%s: bytes=0-5\r\n" % name).status == 200
    assert not [n for n, _ in site.requests[0].headers if "range" in n.lower()]


def test_a_part_that_comes_unasked_does_not_pass(injecting, site, inside):  # noqa: F811
    site.reply = lambda request: b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-5/9\r\nContent-Length: 6\r\n\r\n%s" % \
        SECRET.encode()[:6]
    answer = is_refusal(ask(inside(injecting(), site.port), host=at(site)), 502, "upstream_malformed")
    assert SECRET[:6].encode() not in answer.body


def test_a_redirect_is_the_clients_to_follow(injecting, site, inside):  # noqa: F811
    site.reply = lambda request: b"HTTP/1.1 302 Found\r\nLocation: https://%s/\r\nContent-Length: 0\r\n\r\n" % OTHER.encode()
    proxy = injecting()
    answer = ask(inside(proxy, site.port), host=at(site))
    assert (answer.status, answer.get("location")) == (302, "https://%s/" % OTHER)
    assert len(site.conns) == 1


# -- whose it is

def test_another_tenants_session_does_not_get_it(injecting, site, inside):  # noqa: F811
    proxy = injecting(row={"tenants": ["someone"]})
    is_told(ask(inside(proxy, site.port), host=at(site)), None)  # whose it is, is not for others
    assert "not this tenant's" in insides_of(proxy.finals(1))[0]["error"]
    assert not site.requests


def test_without_a_session_nothing_is_put_in(injecting, site, inside):  # noqa: F811
    proxy = injecting(sessions={"required": False})
    is_told(ask(inside(proxy, site.port), host=at(site)), "without a session")
    assert not site.requests


def test_a_rotated_credential_is_the_new_one_after_a_reload(opening, site, inside, tmp_path):  # noqa: F811
    path = tmp_path / "forge"
    path.write_text(SECRET)
    path.chmod(0o600)
    proxy = opening([https(NAME, site.port, inject=BEARER)],
                    config={"sessions": laptop(), "credentials": credentials(value="file:%s" % path)})
    assert ask(inside(proxy, site.port), host=at(site)).status == 200
    path.write_text(SECOND)
    reload(proxy)
    assert ask(inside(proxy, site.port), host=at(site)).status == 200
    assert [r.get("authorization") for r in site.requests] == ["Bearer " + SECRET, "Bearer " + SECOND]


# -- what cannot be meant

@pytest.mark.parametrize("code, rules, row", [
    ("inject_needs_tls", [http(NAME, inject=BEARER)], {}),
    ("unknown_credential", [https(NAME, inject=dict(BEARER, credential="forgery"))], {}),
    ("credential_hosts", [https([NAME, OTHER], inject=BEARER)], {}),
    ("credential_hosts", [https("*.allowed.test", inject=BEARER)], {}),
    ("broad", [{"host": "*.allowed.test", "inject": BEARER}], {"hosts": ["**.allowed.test"]}),
    ("bad_inject", [https(NAME, inject=dict(BEARER, header="Host"))], {}),
    ("bad_inject", [https(NAME, inject=dict(BASIC, scheme="Bearer"))], {}),
    ("bad_inject", [https(NAME, inject=SWAP)], {"placeholder": None}),
    ("bad_inject", [https(NAME, inject=BEARER, upgrade=["websocket"])], {}),
    ("missing_key", [https(NAME, inject={"header": "authorization"})], {}),
    ("unknown_key", [https(NAME, inject=dict(BEARER, value="x"))], {})])
def test_what_would_give_a_secret_away_is_no_policy(injecting, code, rules, row):
    if row.get("placeholder", "") is None:
        row = {"placeholder": "unused"}
        rules = [https(NAME, inject={"credential": "bare"})]
        config = {"credentials": {"bare": {"value": "env:OTHER", "hosts": [NAME]}}}
    else:
        config = {}
    with pytest.raises(NotStarted) as told:
        injecting(rules=rules, row=row, config=config)
    assert "[%s]" % code in str(told.value), told.value


def test_one_layer_alone_says_what_is_injected(opening):  # noqa: F811
    with pytest.raises(NotStarted) as told:
        opening([{"policy": name, "allow": [https(NAME, inject=BEARER)]} for name in ("outer", "inner")],
                config={"sessions": laptop(), "credentials": credentials()}, environment={"FORGE": SECRET})
    assert "[inject_twice]" in str(told.value)
