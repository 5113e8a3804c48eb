"""Data into his own account at an allowed service: pushed, posted, published, or under his own key."""
import ssl

import pytest

from rig import token as tokens
from rig.gateway import laptop
from rules import http, https, is_refusal
from test_inject import BEARER, SECRET, credentials
from test_intercept import NAME, ask, ca, inside, opening, site  # noqa: F401
from test_sessions import SECRET as KEY
from test_sessions import guarded  # noqa: F401
from test_upload import post

pytestmark = pytest.mark.single

LOOT = "x" * 5000
PUSHES = [("POST", "/repos/mine/loot/git-receive-pack"), ("PUT", "/repos/acme/app/contents/loot"), ("PATCH", "/repos/acme/app"), ("DELETE", "/repos/acme/app"),
          ("POST", "/gists"), ("POST", "/repos/acme/app/issues"), ("PROPFIND", "/repos/acme/app"), ("get", "/repos/acme/app"), ("GETX", "/repos/acme/app")]
PATHS = ["/repos/mine/loot", "/gists", "/repos/acme/app/../../mine/loot", "/repos/acme/app/%2e%2e/%2e%2e/mine/loot", "/repos/acme/app/..;/..;/mine",
         "/repos/acme/app\\..\\..\\mine", "//repos/acme/app", "/repos/acme/appx", "/repos/acme/%61pp", "/REPOS/acme/app", "/repos/acme/app%2f..%2f..%2fmine"]


def at(site):  # noqa: F811
    return "%s:%d" % (NAME, site.port)


def test_what_may_be_read_is_not_written(opening, site, inside):  # noqa: F811
    proxy = opening([https(NAME, site.port, methods=["GET"], paths=["/repos/acme/app/**", "/repos/acme/app"])])
    for method, path in PUSHES:
        answer = ask(inside(proxy, site.port), path, method, at(site), "Content-Length: %d\r\n" % len(LOOT), LOOT)
        assert answer.status in (400, 403, 405), (method, path, answer)
    for path in PATHS:
        answer = ask(inside(proxy, site.port), path, host=at(site))
        assert answer.status in (400, 403), (path, answer)
    assert site.requests == [] and LOOT[:100].encode() not in site.bytes()


def test_what_may_be_written_is_counted_whatever_it_is_spread_over(opening, site, inside):  # noqa: F811
    """In heads, in URLs, in bodies, over connections and methods: `upload` counts all that leaves."""
    cap = 20 << 10
    proxy = opening([https(NAME, site.port, assurance="host", upload="20KiB")])
    piece, through = "z" * 700, 0
    ways = [lambda client: ask(client, "/?q=" + piece, host=at(site)), lambda client: ask(client, host=at(site), more="X-Loot: %s\r\n" % piece),
            lambda client: ask(client, "/", "POST", at(site), "Content-Length: 700\r\n", piece)]
    for i in range(40):
        try:
            answer = ways[i % 3](inside(proxy, site.port))
            through += answer.status == 200
        except ssl.SSLError:  # told in TLS, once nothing at all is left
            pass
    assert 5 < through < 30 and sum(len(c.data) for c in site.conns) <= cap
    assert proxy.finals(40)[-1]["reason"] == "upload_exhausted"


def test_nor_does_waiting_for_a_restart_give_more(guarded, upstream, connect):  # noqa: F811
    """A little before each start, day after day."""
    proxy, token, through = guarded([http("allowed.test", upload="8KiB")]), tokens.mint(KEY, "s1"), 0
    for _ in range(4):
        for _ in range(4):
            with connect(proxy) as client:
                through += post(client, b"z" * 700, headers=[("Proxy-Authorization", tokens.basic(token))]).status == 200
        proxy.stop()
        proxy.start()
    assert through < 12 and sum(len(c.data) for c in upstream.conns) <= 8 << 10


KEYS = [("Authorization", "Bearer mine"), ("Cookie", "session=mine"), ("X-Api-Key", "mine"), ("Private-Token", "mine"), ("X-Auth-Token", "mine"),
        ("Job-Token", "mine"), ("X-Amz-Security-Token", "mine"), ("authorization", "token mine"), ("X_Api_Key", "mine")]


@pytest.mark.parametrize("name,value", KEYS)
def test_where_weir_speaks_for_the_operator_his_own_key_does_not(opening, site, inside, name, value):  # noqa: F811
    proxy = opening([https(NAME, site.port, inject=BEARER)], config={"sessions": laptop(), "credentials": credentials()}, environment={"FORGE": SECRET})
    answer = ask(inside(proxy, site.port), host=at(site), more="%s: %s\r\n" % (name, value))
    assert answer.status == 200 or answer.get("x-weir-reason") == "credential_refused"
    assert all("mine" not in v for r in site.requests for _, v in r.headers)
    assert all(r.all("authorization") == ["Bearer " + SECRET] for r in site.requests)


def test_a_cap_holds_for_what_an_injected_request_sends(opening, site, inside):  # noqa: F811
    """The credential counts, too: what leaves is what is counted, whoever wrote it."""
    proxy = opening([https(NAME, site.port, inject=BEARER, upload="4KiB")], config={"sessions": laptop(), "credentials": credentials()},
                    environment={"FORGE": SECRET})
    answers = [ask(inside(proxy, site.port), "/", "POST", at(site), "Content-Length: 600\r\n", "y" * 600) for _ in range(8)]
    assert answers[0].status == 200
    is_refusal(answers[-1], 403, "upload_exhausted")
    assert sum(len(c.data) for c in site.conns) <= 4 << 10 and len(site.requests) >= 2
    is_refusal(ask(inside(proxy, site.port), "/", "POST", at(site), "Content-Length: 5000\r\n", LOOT), 403, "upload_exhausted")
    assert all(SECRET not in repr(a.headers) and SECRET.encode() not in a.body for a in answers)


def test_a_body_that_is_cut_at_the_cap_takes_the_credential_nowhere_else(opening, site, inside):  # noqa: F811
    """Chunked, so that nobody knows its length before: cut in the middle, and the client is told without the secret."""
    proxy = opening([https(NAME, site.port, inject=BEARER, upload="8KiB")], config={"sessions": laptop(), "credentials": credentials()},
                    environment={"FORGE": SECRET})
    client = inside(proxy, site.port)
    client.send("POST / HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % at(site))
    assert site.wait(lambda: b"\r\n\r\n" in site.bytes())
    for _ in range(40):
        client.send("400\r\n" + "c" * 1024 + "\r\n")
    is_refusal(client.response(), 403, "upload_exhausted")
    assert site.wait(lambda: site.conn().is_ended) and len(site.bytes()) <= 8 << 10
    assert site.requests == [] and SECRET not in proxy.log()
