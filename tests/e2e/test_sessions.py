"""Sessions at the proxy door: who may ask, on whose behalf, for how long, and what the record says."""
import base64
import hashlib
import hmac
import json
import os
import subprocess
import threading
import time

import pytest

from rig import token as tokens
from rig.weir import WAIT, wait_for
from rules import http, https, in_order, is_refusal, tcp

NAME, URL = "allowed.test", "http://allowed.test/"
SECRET = tokens.new_secret()
CHALLENGE = 'Basic realm="weir", Bearer'


def sessions(**more):
    return dict({"keys": [{"issuer": tokens.ISSUER, "audience": tokens.AUDIENCE, "alg": "HS256", "secret": "env:KEY"}]}, **more)


@pytest.fixture
def guarded(weir):
    """guarded(**keys of sessions): a weir that wants sessions."""
    def make(rules=None, config=None, environment=None, policy=None, **more):
        return weir(policy or rules or [http(NAME), https("secure.test"), tcp("raw.test", [7, 8])],
                    config=dict({"sessions": sessions(**more)}, **(config or {})),
                    environment=dict({"KEY": SECRET}, **(environment or {})))
    return make


def ask(connection, token=None, url=URL, header=None):
    header = header or (tokens.basic(token) if token else None)
    return connection.get(url, headers=[("Proxy-Authorization", header)] if header else [])


def tunnel(connection, token, target):
    return connection.connect(target, "Proxy-Authorization: %s\r\n" % tokens.basic(token))


def last(proxy, n):
    return in_order(proxy.finals(n))[n - 1]


# -- who is asked for

def test_who_brings_no_token_is_told_how(guarded, upstream, connect, dns):
    proxy = guarded()
    client = connect(proxy)
    for _ in range(2):  # a 407 to an absolute-form request keeps the connection
        answer = is_refusal(ask(client), 407, "session_required")
        assert answer.get("proxy-authenticate") == CHALLENGE
        assert json.loads(answer.body)["error"]["type"] == "session"
    assert not upstream.requests and not dns.asked()
    record = last(proxy, 1)
    assert (record["decision"], record["reason"], record["session"]) == ("deny", "session_required", None)


def test_a_refused_connect_is_a_whole_answer_and_then_closes(guarded, connect):
    client = connect(guarded())
    answer = is_refusal(client.connect("secure.test:443"), 407, "session_required")
    assert answer.get("connection") == "close" and answer.get("proxy-connection") == "close"
    assert answer.get("proxy-authenticate") == CHALLENGE and client.read_all() == b""


@pytest.mark.parametrize("header", [tokens.basic, tokens.bearer, lambda t: tokens.basic(t, ""), lambda t: "bearer  " + t,
                                    lambda t: "BASIC " + base64.b64encode(b"x:" + t.encode()).decode()])
def test_a_token_comes_as_basic_password_or_as_bearer(guarded, upstream, connect, header):
    proxy = guarded()
    assert ask(connect(proxy), header=header(tokens.mint(SECRET, "s1", turn="t1"))).status == 200
    assert not upstream.requests[0].all("proxy-authorization")
    record = last(proxy, 1)
    session = record["session"]
    assert (session["issuer"], session["tenant"], session["sub"], session["sid"], session["turn"]) == (
        tokens.ISSUER, "acme", "user-17", "s1", "t1")
    assert list(session) == ["issuer", "tenant", "sub", "sid", "turn", "jti"]


def forged(header, key):
    return tokens.sign(key, tokens.claims(), header)


def unsigned():
    parts = [tokens.b64(json.dumps(part).encode()) for part in ({"alg": "none"}, tokens.claims())]
    return ".".join(parts) + "."


@pytest.mark.parametrize("make,reason", [
    (lambda: "nonsense", "session_invalid"),
    (lambda: tokens.mint(SECRET, aud="other"), "session_invalid"),
    (lambda: tokens.mint(SECRET, aud=None), "session_invalid"),
    (lambda: tokens.mint(SECRET, iss="https://evil.test"), "session_invalid"),
    (lambda: tokens.mint(SECRET, exp=None), "session_invalid"),
    (lambda: tokens.mint(SECRET, ttl=-31), "session_expired"),
    (lambda: tokens.mint(SECRET, ttl=48 * 3600), "session_invalid"),
    (lambda: tokens.mint(SECRET, nbf=int(time.time()) + 600), "session_invalid"),
    (lambda: tokens.mint(SECRET, sid=None), "session_invalid"),
    (lambda: tokens.mint(SECRET, sid="a/b"), "session_invalid"),
    (lambda: tokens.mint("not-the-secret"), "session_invalid"),
    (lambda: tokens.mint(SECRET, profile="rich"), "profile_unknown"),
    (lambda: tokens.mint(SECRET, budget={"sessionUsd": "-1"}), "session_invalid"),
    (lambda: tokens.mint(SECRET, public=True), "session_invalid"),
    (lambda: forged({"alg": "HS512"}, SECRET), "session_invalid"),
    (lambda: forged({"alg": "HS256", "crit": ["x"]}, SECRET), "session_invalid"),
    (unsigned, "session_invalid"),
    (lambda: tokens.mint(SECRET)[:-2] + "AA", "session_invalid"),
    (lambda: tokens.mint(SECRET) + "=", "session_invalid"),
])
def test_what_is_no_good_token_is_refused_with_its_reason(guarded, upstream, connect, make, reason):
    proxy = guarded()
    status = 403 if reason == "profile_unknown" else 407
    is_refusal(ask(connect(proxy), make()), status, reason)
    record = last(proxy, 1)
    assert record["reason"] == reason and record["error"] and not upstream.requests


def test_a_public_key_is_no_hmac_secret(guarded, tmp_path, connect, upstream):
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", tmp_path / "key"], check=True)
    public = subprocess.run(["openssl", "ec", "-in", tmp_path / "key", "-pubout"], check=True, capture_output=True).stdout
    (tmp_path / "public").write_bytes(public)
    proxy = guarded(keys=[{"issuer": tokens.ISSUER, "audience": tokens.AUDIENCE, "alg": "ES256",
                           "pem": "file:%s" % (tmp_path / "public")}])
    for key in (public, public.strip()):
        is_refusal(ask(connect(proxy), tokens.sign(key, tokens.claims())), 407, "session_invalid")
    assert not upstream.requests


@pytest.mark.parametrize("extra", ["Proxy-Authorization: Basic %s\r\nProxy-Authorization: Basic %s\r\n",
                                   "Proxy-Authorization: Basic %s, Basic %s\r\n", "Proxy-Authorization: Digest %s%s\r\n",
                                   "Proxy-Authorization: Basic =%s%s\r\n", "Authorization: Basic %s\r\nX-Other: %s\r\n"])
def test_two_credentials_or_another_scheme_are_none(guarded, connect, extra):
    value = tokens.basic(tokens.mint(SECRET)).split()[1]
    answer = connect(guarded()).connect("secure.test:443", extra % (value, value))
    assert answer.status == 407


def test_a_static_user_is_a_session_of_its_own(guarded, upstream, connect):
    password = tokens.new_secret()
    proxy = guarded(static=[{"user": "sandbox1", "password": "env:PASSWORD", "claims": {"sid": "st1", "tenant": "local"}}],
                    environment={"PASSWORD": password})
    assert ask(connect(proxy), header=tokens.basic(password, "sandbox1")).status == 200
    assert last(proxy, 1)["session"]["sid"] == "st1"
    is_refusal(ask(connect(proxy), header=tokens.basic(password, "sandbox2")), 407, "session_invalid")
    is_refusal(ask(connect(proxy), header=tokens.basic(password + "x", "sandbox1")), 407, "session_invalid")
    is_refusal(ask(connect(proxy), header=tokens.bearer(password)), 407, "session_invalid")


def test_who_needs_no_session_is_the_default_one(weir, upstream, connect):
    proxy = weir([http(NAME)], config={"sessions": {"default": {"sid": "laptop", "tenant": "local"}}})
    assert ask(connect(proxy)).status == 200
    assert last(proxy, 1)["session"] == {"issuer": "weir:default", "tenant": "local", "sid": "laptop"}


# -- two sessions, one connection

def test_two_sessions_on_one_connection_are_judged_and_recorded_apart(guarded, upstream, connect):
    proxy = guarded()
    client = connect(proxy)
    one, two = tokens.mint(SECRET, "one"), tokens.mint(SECRET, "two", network="deny-all")
    assert ask(client, one).status == 200
    is_refusal(ask(client, two), 403, "host_not_allowed")
    is_refusal(ask(client), 407, "session_required")  # the connection is nobody's
    assert ask(client, one).status == 200
    said = [(r["session"] or {}).get("sid") for r in proxy.finals(4)]
    assert said == ["one", "two", None, "one"] and len(upstream.requests) == 2


def test_kept_origin_connections_are_not_shared_between_sessions(guarded, upstream, connect):
    client = connect(guarded())
    one, two = tokens.mint(SECRET, "one"), tokens.mint(SECRET, "two")
    for token in (one, two, one, two):
        assert ask(client, token).status == 200
    assert len(upstream.conns) == 2


def test_the_longest_names_keep_connections_apart_too(guarded, upstream, connect):
    host = ".".join(["h" * 60] * 4)
    client = connect(guarded([http(host)]))
    long = [tokens.mint(SECRET, "s" * 127 + end, tenant="t" * 128) for end in "ab"]
    for token in long * 2:
        assert ask(client, token, url="http://%s/" % host).status == 200
    assert len(upstream.conns) == 2


# -- what it may reach

def test_a_network_claim_only_narrows(guarded, upstream, connect):
    proxy = guarded([http(NAME), http("other.test")])
    token = tokens.mint(SECRET, network={"allow": [NAME, "elsewhere.test"]})
    client = connect(proxy)
    assert ask(client, token).status == 200
    is_refusal(ask(client, token, "http://other.test/"), 403, "host_not_allowed")
    is_refusal(ask(client, token, "http://elsewhere.test/"), 403, "host_not_allowed")
    assert last(proxy, 2)["reason"] == "host_not_allowed"


def test_developers_are_told_why_a_claim_refuses_too(guarded, connect):
    proxy = guarded(config={"errors": "developer"})
    is_refusal(ask(connect(proxy), tokens.mint(SECRET, network="deny-all")), 403, "host_not_allowed")


def test_without_a_network_claim_nothing_is_reached_where_one_is_required(guarded, upstream, connect):
    proxy = guarded(network="required")
    is_refusal(ask(connect(proxy), tokens.mint(SECRET)), 403, "host_not_allowed")
    assert ask(connect(proxy), tokens.mint(SECRET, "s2", network={"allow": [NAME]})).status == 200


def test_a_profile_has_policies_of_its_own(weir, upstream, connect, tmp_path):
    (tmp_path / "ci.json").write_text(json.dumps({"policy": "ci", "allow": [http("other.test")]}))
    proxy = weir([http(NAME)], config={"sessions": sessions(), "profiles": {"ci": {"policies": [str(tmp_path / "ci.json")]}}},
                 environment={"KEY": SECRET})
    token = tokens.mint(SECRET, profile="ci")
    client = connect(proxy)
    assert ask(client, token, "http://other.test/").status == 200
    is_refusal(ask(client, token), 403, "host_not_allowed")
    assert ask(client, tokens.mint(SECRET, "s2")).status == 200
    assert [(r.get("profile"), r["layer"]) for r in in_order(proxy.finals(3))] == [("ci", "ci"), ("ci", "ci"), (None, "test")]


def test_a_reload_judges_open_tunnels_by_their_claims_too(guarded, echo, connect):
    policy = {"policy": "test", "allow": [tcp("raw.test", [echo.port])]}
    proxy = guarded(policy=policy)
    client = connect(proxy)
    token = tokens.mint(SECRET, network={"allow": ["raw.test"]})
    # a short allow of a claim has no tcp: whatever it is refused for, it is not relayed
    answer = tunnel(client, token, "raw.test:%d" % echo.port)
    assert answer.status in (200, 403)
    plain = connect(proxy)
    assert tunnel(plain, tokens.mint(SECRET, "s2"), "raw.test:%d" % echo.port).status == 200
    proxy.reload([{"policy": "test", "allow": [http(NAME)]}])
    plain.read_all()
    assert any(r["reason"] == "policy_changed" for r in proxy.finals(2))


# -- whose it is, and where

def test_a_session_is_its_first_owners(guarded, upstream, connect):
    proxy = guarded()
    assert ask(connect(proxy), tokens.mint(SECRET, "s1")).status == 200
    is_refusal(ask(connect(proxy), tokens.mint(SECRET, "s1", sub="somebody")), 403, "session_owner_mismatch")
    assert last(proxy, 2)["session"]["sub"] == "somebody"


def test_an_owner_lasts_across_restarts(guarded, upstream, connect):
    proxy = guarded()
    assert ask(connect(proxy), tokens.mint(SECRET, "s1")).status == 200
    proxy.stop()
    proxy.start()
    is_refusal(ask(connect(proxy), tokens.mint(SECRET, "s1", sub="somebody")), 403, "session_owner_mismatch")
    assert ask(connect(proxy), tokens.mint(SECRET, "s1")).status == 200


def listen(tmp_path):
    return {"proxy": ["unix:%s/a" % tmp_path, "unix:%s/b" % tmp_path]}


class Through:
    """The same weir by another of its sockets."""

    def __init__(self, proxy, i):
        self.proxy, self.address = proxy, proxy.config["listen"]["proxy"][i]

    def connect(self, timeout=WAIT):
        return type(self.proxy).connect(self, timeout)


@pytest.mark.parametrize("bind,status", [("first", 403), ("none", 200)])
def test_the_first_source_holds_the_session(guarded, upstream, connect, tmp_path, bind, status):
    proxy = guarded(config={"listen": listen(tmp_path)}, bind=bind)
    token = tokens.mint(SECRET)
    first = connect(proxy)
    assert ask(first, token).status == 200
    answer = ask(connect(Through(proxy, 1)), token)
    assert answer.status == status
    if status == 403:
        is_refusal(answer, 403, "session_not_attached")
    assert ask(first, token).status == 200


def test_an_armed_session_is_good_nowhere_else(guarded, connect):
    is_refusal(ask(connect(guarded(bind="armed")), tokens.mint(SECRET)), 403, "session_not_attached")


# -- turns

def test_a_new_turn_ends_the_one_before(guarded, upstream, connect):
    proxy = guarded()
    client = connect(proxy)
    one, two = tokens.mint(SECRET, turn="t1", gen=1), tokens.mint(SECRET, turn="t2", gen=2)
    assert ask(client, one).status == 200
    assert ask(client, two).status == 200
    is_refusal(ask(client, one), 407, "turn_ended")
    assert ask(client, two).status == 200


def test_turns_may_be_concurrent(guarded, upstream, connect):
    client = connect(guarded(turns="concurrent"))
    one, two = tokens.mint(SECRET, turn="t1", gen=1), tokens.mint(SECRET, turn="t2", gen=2)
    assert [ask(client, t).status for t in (one, two, one)] == [200, 200, 200]


# -- sub-agents

def test_a_sub_agent_passes_through_what_its_ancestors_may(guarded, upstream, connect):
    proxy = guarded([http(NAME), http("other.test")])
    client = connect(proxy)
    assert ask(client, tokens.mint(SECRET, "top", network={"allow": [NAME]})).status == 200
    child = tokens.mint(SECRET, "child", par="top")
    assert ask(client, child).status == 200
    is_refusal(ask(client, child, "http://other.test/"), 403, "host_not_allowed")


def test_an_unknown_parent_is_none(guarded, connect):
    is_refusal(ask(connect(guarded()), tokens.mint(SECRET, "child", par="nobody")), 407, "session_invalid")


# -- how much, how long

def test_requests_a_minute_are_counted(guarded, upstream, connect):
    client = connect(guarded())
    token = tokens.mint(SECRET, limits={"requestsPerMinute": 2})
    assert [ask(client, token).status for _ in range(2)] == [200, 200]
    answer = is_refusal(ask(client, token), 429, "rate_limited")
    assert 1 <= int(answer.get("retry-after")) <= 60


def test_open_exchanges_are_counted_until_they_end(guarded, echo, connect):
    proxy = guarded([tcp("raw.test", [echo.port])])
    token = tokens.mint(SECRET, limits={"concurrency": 1})
    first = connect(proxy)
    assert tunnel(first, token, "raw.test:%d" % echo.port).status == 200
    answer = is_refusal(tunnel(connect(proxy), token, "raw.test:%d" % echo.port), 429, "concurrency_limited")
    assert answer.get("retry-after")
    first.close()
    proxy.finals(2)
    assert tunnel(connect(proxy), token, "raw.test:%d" % echo.port).status == 200


@pytest.mark.parametrize("how,reason", [({"ttl": 4}, "session_expired"),
                                        ({"budget": {"vmSeconds": 4}}, "session_time_exhausted")])
def test_an_open_tunnel_ends_with_its_session(guarded, echo, connect, how, reason):
    proxy = guarded([tcp("raw.test", [echo.port])])
    client = connect(proxy)
    token = tokens.mint(SECRET, "s1", **how)
    assert tunnel(client, token, "raw.test:%d" % echo.port).status == 200
    client.send(b"hello")
    assert client.read_until(lambda data: b"hello" in data)
    client.read_all()
    record = last(proxy, 1)
    assert (record["decision"], record["reason"], record["close"]) == ("allow", reason, "weir")
    answer = tunnel(connect(proxy), token, "raw.test:%d" % echo.port)
    assert answer.get("x-weir-reason") in (reason, "session_expired")


def test_what_goes_on_in_grace_is_the_answer_and_nothing_after_it(guarded, upstream, connect):
    go_on = threading.Event()

    def serve(conn):
        conn.recv()
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
        go_on.wait(WAIT)
        conn.send(b"k")
        conn.recv()
    upstream.serve = serve
    proxy, token = guarded(), tokens.mint(SECRET, "s1", budget={"vmSeconds": 3})
    inside = connect(proxy)
    assert tunnel(inside, token, NAME + ":80").status == 200
    request = ("GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME).encode()
    inside.send(request)
    assert inside.read_until(lambda data: data.endswith(b"\r\n\r\no"))
    with connect(proxy) as other:
        wait_for(lambda: ask(other, token, "http://other.test/").get("x-weir-reason") == "session_time_exhausted",
                 what="the session's end")
    go_on.set()
    answer = inside.response()
    assert (answer.status, answer.body) == (200, b"ok")
    inside.send(request)
    is_refusal(inside.response(), 403, "session_time_exhausted")
    assert len(upstream.conns) == 1


# -- clients

def test_curl_brings_its_token_when_asked(guarded, upstream):
    proxy = guarded()
    token = tokens.mint(SECRET)
    told = subprocess.run(["curl", "-sS", "-m", "60", "--proxy-anyauth", "-x", "http://weir:%s@%s" % (token, proxy.address), URL],
                          capture_output=True)
    assert told.stdout == b"ok", told.stderr
    assert [r["reason"] for r in in_order(proxy.finals(2))] == ["session_required", "ok"]


def test_git_clones_through_a_407(guarded, authority, origin, tmp_path):
    from rig import origin as origins, tls
    from test_clients import backend, git
    server = origin(serve=tls.tls_serve(authority.context("secure.test"), origins.http_serve))
    server.listen(443)
    proxy = guarded()
    url = "http://weir:%s@%s" % (tokens.mint(SECRET), proxy.address)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "https_proxy": url, "GIT_TERMINAL_PROMPT": "0",
           "GIT_SSL_CAINFO": authority.certificate}
    (tmp_path / "srv").mkdir()
    git(tmp_path, env, "init", "-q", "--bare", "-b", "main", "srv/project.git")
    server.reply = backend(tmp_path / "srv")
    git(tmp_path, env, "-c", "http.proxyAuthMethod=anyauth", "clone", "-q", "https://secure.test/project.git", "work")
    reasons = [r["reason"] for r in proxy.finals(2)]
    assert "session_required" in reasons and "ok" in reasons


# -- what never leaves

def test_a_token_is_in_no_record_no_log_and_no_request(guarded, upstream, connect):
    proxy = guarded(config={"log": {"level": "debug"}})
    token = tokens.mint(SECRET)
    client = connect(proxy)
    assert ask(client, token).status == 200
    is_refusal(ask(client, token, "http://forbidden.test/"), 403, "host_not_allowed")
    is_refusal(ask(client, token + "x"), 407, "session_invalid")
    proxy.finals(3)
    with open(proxy.config["audit"]["path"]) as f:
        told = f.read() + proxy.log() + repr([r.headers for r in upstream.requests])
    assert token not in told and token.split(".")[2] not in told
