"""He is found out while weir opens his TLS: whatever it waits for at that moment, no more of his goes to the origin.

The origin being proved, the certificate being made, the client's handshake, a head, a body, an answer: by the operator's
word, and by his token's own end.
"""
import ssl
import threading

import pytest

from rig import client as rig_client
from rig import origin as origins, tls
from rig import token as tokens
from rig.leaves import Leaves
from rig.weir import WAIT, proxy_and_health, wait_for
from rules import https
from test_admin import ctl
from test_intercept import NAME, OTHER, ca, inside, opening  # noqa: F401 - fixtures
from test_sessions import SECRET, sessions


@pytest.fixture
def site(origin, authority):
    """Its TLS waits for `hello`, its answers for `go`."""
    one = origin(serve=lambda conn: one.hello.wait(WAIT) and served(conn))
    served = tls.tls_serve(authority.context(NAME, OTHER), origins.http_serve)
    one.hello, one.go = threading.Event(), threading.Event()
    one.hello.set()
    one.reply = lambda request: one.go.wait(WAIT) and origins.OK
    one.port = one.listen()
    yield one
    one.hello.set()
    one.go.set()


@pytest.fixture
def leaves(tmp_path):
    one = Leaves(tmp_path)
    yield one
    one.release()


@pytest.fixture
def proxy(opening, site, leaves, tmp_path):  # noqa: F811
    return opening([https([NAME, OTHER], site.port, assurance="host")], environment=dict(leaves.environment, KEY=SECRET), config={
        "sessions": sessions(bind="none"), "limits": {"stream_grace": "0s"}, "listen": dict(proxy_and_health(), admin=["unix:%s/admin" % tmp_path])})


class Midway:
    """One client of the session, and how far it is."""

    def __init__(self, proxy, ca, site, token, name=NAME):  # noqa: F811
        self.proxy, self.site, self.host = proxy, site, "%s:%d" % (name, site.port)
        self.client, self.at = rig_client.Client(proxy), len(site.conns)
        assert self.client.connect(self.host, "Proxy-Authorization: %s\r\n" % tokens.basic(token)).status == 200
        self.out, self.into = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = ca.trusting().wrap_bio(self.into, self.out, server_hostname=name)

    def step(self, do):
        while True:
            try:
                said = do()
                self.client.send(self.out.read())
                return said
            except ssl.SSLWantReadError:
                self.client.send(self.out.read())
                assert self.client.recv(), "closed"
                self.into.write(self.client.data)
                self.client.data = b""

    def say_hello(self):
        before = self.proxy.metric("weir_intercepted_total")
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.do_handshake()
        self.client.send(self.out.read())
        wait_for(lambda: self.proxy.metric("weir_intercepted_total") > before, what="the hello")

    def ask(self, text):
        self.step(self.tls.do_handshake)
        self.step(lambda: self.tls.write((text % self.host).encode()))


def origin_is_proved(m, leaves):
    m.site.hello.clear()
    m.say_hello()


def leaf_is_made(m, leaves):
    leaves.hold()
    m.say_hello()
    wait_for(lambda: isinstance(m.site.conn(m.at).sock, ssl.SSLSocket), what="the origin's TLS")


def client_shakes_hands(m, leaves):
    m.say_hello()
    assert m.client.recv()  # weir's flight, which stays unanswered


def head_comes(m, leaves):
    m.ask("GET / HTTP/1.1\r\nHost: %s\r\nX-Half: ")


def body_comes(m, leaves):
    m.ask("POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\n\r\nhalf.")
    assert m.site.wait(lambda: b"half." in m.site.bytes())  # a dot: no secret begins with it


def answer_is_awaited(m, leaves):
    m.ask("GET / HTTP/1.1\r\nHost: %s\r\n\r\n")
    assert m.site.wait(lambda: m.site.requests)


STAGES = [head_comes, body_comes, answer_is_awaited, client_shakes_hands, leaf_is_made, origin_is_proved]


def is_over(all_of_them, leaves, reason):
    """The client hears nothing more, the origin neither, and the record says why; weir goes on."""
    proxy, site = all_of_them[0].proxy, all_of_them[0].site
    sent = len(site.bytes())
    for m in all_of_them:
        m.client.read_all()
    site.hello.set()
    site.go.set()
    leaves.release()
    assert site.wait(lambda: all(c.is_ended or c.is_reset for c in site.conns))
    assert len(site.bytes()) == sent
    proxy.audit(lambda rs: len([r for r in rs if r["kind"] == "connect" and r["phase"] == "final"]) == len(all_of_them))
    assert {r["reason"] for r in proxy.finals() if r["kind"] == "connect"} == {reason}
    other = "Proxy-Authorization: %s\r\n" % tokens.basic(tokens.mint(SECRET, "another"))
    assert rig_client.Client(proxy).connect("%s:%d" % (NAME, site.port), other).status == 200


@pytest.mark.parametrize("stage", STAGES)
def test_the_operators_word_ends_it(proxy, ca, site, leaves, stage):  # noqa: F811
    m = Midway(proxy, ca, site, tokens.mint(SECRET, "s1", jti="j1"), OTHER)
    stage(m, leaves)
    assert ctl(proxy, *(["revoke", "acme", "s1"] if stage in STAGES[::2] else ["revoke-token", "acme", "j1"]))[0] == 0
    is_over([m], leaves, "session_revoked")


@pytest.mark.plain
def test_its_own_end_ends_it_wherever_it_is(proxy, ca, site, leaves):  # noqa: F811
    all_of_them, token = [], tokens.mint(SECRET, "s1", ttl=5)
    for stage in STAGES:
        all_of_them.append(Midway(proxy, ca, site, token, OTHER if stage == leaf_is_made else NAME))
        stage(all_of_them[-1], leaves)
    is_over(all_of_them, leaves, "session_expired")
