"""Interception: a rule that wants to see requests over https sees them, and only such a rule.

weir answers the client's TLS under its own CA, proves the origin first, and judges each request inside by the same policy.
"""
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import threading

import pytest

from rig import client as rig_client, gateway as rig_gateway, hello, origin as origins, provider as rig_provider, tls
from rig.ca import Ca, Inside
from rig.weir import WAIT, NotStarted, binary, proxy_and_health, wait_for
from rules import https, in_order, is_refusal
from test_forward import WS, websocket_origin

NAME, OTHER = "allowed.test", "other.test"


@pytest.fixture
def ca(tmp_path):
    return Ca(tmp_path / "ca")


@pytest.fixture
def site(origin, authority):
    """HTTPS under the allowed names."""
    context = authority.context(NAME, OTHER)
    one = origin(serve=tls.tls_serve(context, origins.http_serve))
    one.context = context
    one.port = one.listen()
    return one


@pytest.fixture
def opening(weir, ca, authority):
    """opening(rules): a weir that opens TLS where a rule wants to see."""
    def make(rules, config=None, **how):
        config = dict({"listen": proxy_and_health()}, **(config or {}))
        config["tls"] = dict({"roots": authority.certificate, "intercept": ca.setting}, **config.get("tls", {}))
        return weir(rules, config=config, **how)
    return make


@pytest.fixture
def inside(ca):
    """inside(weir, port): a client in the TLS of a tunnel, which trusts weir's CA and no other."""
    made = []

    def make(proxy, port, name=NAME, context=None, **how):
        made.append(Inside.open(proxy, context or ca.trusting(), name, port, **how))
        return made[-1]
    yield make
    for one in made:
        one.close()


def ask(client, target="/", method="GET", host=NAME, more="", body=""):
    client.send("%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n%s" % (method, target, host, more, body))
    return client.response(method)


def tunnel_of(records):
    return next(r for r in records if r["kind"] == "connect")


def insides_of(records):
    return [r for r in in_order(records) if r["kind"] == "http"]


# -- what a rule sees

def test_a_request_inside_is_seen_judged_and_sent(opening, site, inside):
    proxy = opening([https(NAME, site.port, methods=["GET"], paths=["/repos/**"])])
    client = inside(proxy, site.port)
    assert ask(client, "/repos/a?b=secret", host="%s:%d" % (NAME, site.port)).status == 200
    request = site.requests[0]
    assert (request.method, request.target, request.get("host")) == ("GET", "/repos/a?b=secret", "%s:%d" % (NAME, site.port))
    assert request.get("via") == "1.1 weir"
    client.close()
    records = proxy.finals(2)
    outer, (inner,) = tunnel_of(records), insides_of(records)
    assert inner["parent"] == outer["id"] and "parent" not in outer
    assert (outer["decision"], outer["reason"], outer["flags"], outer["assurance"]) == ("allow", "ok", ["intercepted"], "origin")
    assert (inner["decision"], inner["reason"], inner["assurance"]) == ("allow", "ok", "host")
    assert (inner["target"]["protocol"], inner["target"]["method"], inner["target"]["path"]) == ("https", "GET", "/repos/a")
    assert inner["target"]["query_keys"] == ["b"]
    assert proxy.metric("weir_intercepted_total") == 1 and proxy.metric("weir_leaves_made_total") == 1


def test_a_developer_is_told_the_rule_for_the_very_request_inside(opening, site, inside):
    rule = https(NAME, site.port, methods=["GET"], paths=["/repos/**"])
    proxy = opening([rule], config={"errors": "developer"})
    client = inside(proxy, site.port)
    refused = ask(client, "/repos/x?y", "POST", "%s:%d" % (NAME, site.port))
    fix = json.loads(refused.body)["error"]["fix"]["rule"]
    assert refused.status == 405 and (fix["methods"], fix["paths"]) == (["POST"], ["/repos/x"])
    assert fix["private"] and all(address.startswith(("127.", "::1")) for address in fix["private"])
    pasted = opening([rule, fix])
    client = inside(pasted, site.port)
    assert ask(client, "/repos/x?y", "POST", "%s:%d" % (NAME, site.port)).status == 200
    assert ask(client, "/repos/z", "POST", "%s:%d" % (NAME, site.port)).status == 403


def test_the_ordinary_port_is_not_said(opening, origin, authority, inside):
    site = origin(serve=tls.tls_serve(authority.context(NAME), origins.http_serve))
    site.listen(443)
    proxy = opening([https(NAME, methods=["GET"])])
    assert ask(inside(proxy, 443)).status == 200
    assert site.requests[0].get("host") == NAME


@pytest.mark.parametrize("target, method, status, reason", [
    ("/repos/a", "DELETE", 405, "method_not_allowed"),
    ("/users/a", "GET", 403, "path_not_allowed"),
    ("/repos/../users", "GET", 403, "path_not_allowed"),
    ("/repos/%2e%2e/users", "GET", 403, "path_not_allowed"),
])
def test_what_a_rule_does_not_let_through_is_refused_inside(opening, site, inside, target, method, status, reason):
    proxy = opening([https(NAME, site.port, methods=["GET"], paths=["/repos/**"])])
    client = inside(proxy, site.port)
    answer = is_refusal(ask(client, target, method, host="%s:%d" % (NAME, site.port)), status, reason)
    assert status != 405 or answer.get("allow") == "GET, HEAD"
    assert not site.requests
    client.close()
    inner, = insides_of(proxy.finals(2))
    assert (inner["decision"], inner["reason"]) == ("deny", reason)


def test_each_request_of_a_connection_is_judged(opening, site, inside):
    proxy = opening([https(NAME, site.port, paths=["/a", "/b"])])
    client, host = inside(proxy, site.port), "%s:%d" % (NAME, site.port)
    assert [ask(client, target, host=host).status for target in ("/a", "/b")] == [200, 200]
    is_refusal(ask(client, "/c", host=host), 403, "path_not_allowed")
    assert [r.target for r in site.requests] == ["/a", "/b"] and len(site.conns) == 1


def test_a_rule_that_wants_no_sight_stays_closed(opening, site, connect, authority):
    proxy = opening([https(NAME, site.port), https(OTHER, site.port, methods=["GET"])])
    client = connect(proxy)
    assert client.connect("%s:%d" % (NAME, site.port)).status == 200
    with authority.client().wrap_socket(client.sock, server_hostname=NAME) as own:  # the origin's own certificate
        own.sendall(b"POST / HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 0\r\n\r\n")
        assert own.recv(100).startswith(b"HTTP/1.1 200")
    record, = proxy.finals(1)
    assert ("flags" in record, record["assurance"]) == (False, "sni")


def test_the_rule_that_decides_says_whether_there_is_sight(opening, site, connect, authority, inside):
    """Exact before wildcard: one is seen, the other not."""
    proxy = opening([https("*.test", site.port, methods=["GET"]), https(NAME, site.port)])
    client = connect(proxy)
    assert client.connect("%s:%d" % (NAME, site.port)).status == 200
    with authority.client().wrap_socket(client.sock, server_hostname=NAME):
        pass
    assert ask(inside(proxy, site.port, OTHER), host="%s:%d" % (OTHER, site.port)).status == 200


def test_a_deny_rule_looks_inside(opening, site, inside):
    proxy = opening({"policy": "test", "allow": [https(NAME, site.port)],
                     "deny": [{"host": NAME, "paths": ["/admin/**"], "why": "not yours"}]})
    host = "%s:%d" % (NAME, site.port)
    assert ask(inside(proxy, site.port), "/fine", host=host).status == 200
    answer = is_refusal(ask(inside(proxy, site.port), "/admin/x", host=host), 403, "host_denied")
    assert "not yours" in answer.body.decode()
    assert [r.target for r in site.requests] == ["/fine"]


def test_any_of_the_layers_may_want_to_see(opening, site, inside):
    proxy = opening([{"policy": "outer", "allow": [https(NAME, site.port)]},
                     {"policy": "inner", "allow": [https(NAME, site.port, methods=["GET"])]}])
    is_refusal(ask(inside(proxy, site.port), method="POST", host="%s:%d" % (NAME, site.port), more="Content-Length: 0\r\n"),
               405, "method_not_allowed")


def test_a_body_larger_than_the_rule_allows_does_not_pass(opening, site, inside):
    proxy = opening([https(NAME, site.port, max_body="10B")])
    host = "%s:%d" % (NAME, site.port)
    is_refusal(ask(inside(proxy, site.port), "/", "POST", host, "Content-Length: 11\r\n", "x" * 11), 413, "body_too_large")
    assert ask(inside(proxy, site.port), "/", "POST", host, "Content-Length: 10\r\n", "x" * 10).status == 200
    assert [r.body for r in site.requests] == [b"x" * 10]


def test_what_rewrites_a_request_at_the_origin_is_taken_out(opening, site, inside):
    proxy = opening([https(NAME, site.port, assurance="host")])
    assert ask(inside(proxy, site.port), host="%s:%d" % (NAME, site.port), more="X-HTTP-Method-Override: DELETE\r\n").status == 200
    assert site.requests[0].get("x-http-method-override") is None


# -- whose request it is

@pytest.mark.parametrize("host, status, reason", [
    (OTHER, 421, "host_misdirected"), ("denied.test", 403, "host_not_allowed"), (NAME + ":1", 421, "host_misdirected"),
    ("a b", 400, "host_invalid")])
def test_a_request_names_the_host_of_its_tunnel(opening, site, inside, host, status, reason):
    proxy = opening([https([NAME, OTHER], site.port, assurance="host")])
    is_refusal(ask(inside(proxy, site.port), host=host), status, reason)
    assert not site.requests


def test_an_absolute_target_names_it_too(opening, site, inside):
    proxy = opening([https([NAME, OTHER], site.port, assurance="host")])
    host = "%s:%d" % (NAME, site.port)
    assert ask(inside(proxy, site.port), "https://%s/x" % host, host=host).status == 200
    assert site.requests[0].target == "/x"
    is_refusal(ask(inside(proxy, site.port), "https://%s:%d/x" % (OTHER, site.port), host=host), 421, "host_misdirected")
    assert ask(inside(proxy, site.port), "http://%s/x" % NAME, host=host).status == 200
    is_refusal(ask(inside(proxy, site.port), "http://%s:80/x" % NAME, host=host), 421, "host_misdirected")


@pytest.mark.parametrize("text", [
    "GET / HTTP/1.1\r\nHost: %s\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: %s\r\nHost: %s\r\n\r\n", "GET / HTTP/1.1\r\nHost : %s\r\n\r\n", "GET / HTTP/1.1\nHost: %s\n\n",
    "POST / HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: %s\r\n X: folded\r\n\r\n"])
def test_smuggling_inside_is_refused_like_any(opening, site, inside, text):
    proxy = opening([https(NAME, site.port, methods=["GET"])])
    client = inside(proxy, site.port)
    host = "%s:%d" % (NAME, site.port)
    client.send(text % ((host,) * text.count("%s")))
    assert client.response().status in (400, 501)
    assert not site.requests


def test_a_websocket_goes_through_where_the_rule_lets_it(opening, origin, authority, inside):
    site = origin(serve=tls.tls_serve(authority.context(NAME), websocket_origin))
    port = site.listen()
    proxy = opening([https(NAME, port, assurance="host", upgrade=["websocket"])])
    client = inside(proxy, port)
    more = "".join("%s: %s\r\n" % pair for pair in WS)
    assert ask(client, host="%s:%d" % (NAME, port), more=more).status == 101
    client.send("ping" * 50000)
    assert client.read_until(lambda data: len(data) == 200000)
    client.close()
    assert "websocket" in insides_of(proxy.finals(2))[0]["flags"]


# -- the origin is proved

@pytest.fixture
def stranger(tmp_path):
    directory = tmp_path / "stranger"
    directory.mkdir()
    return tls.Authority(str(directory))


@pytest.mark.parametrize("fault", ["authority", "name", "silence"])
def test_an_origin_that_is_not_proved_is_told_inside_and_never_passed_through(opening, origin, authority, stranger, inside, fault):
    context = stranger.context(NAME) if fault == "authority" else authority.context("another.test")
    site = origin(serve=(lambda conn: conn.close()) if fault == "silence" else tls.tls_serve(context, origins.http_serve))
    port = site.listen()
    proxy = opening([https(NAME, port, assurance="host")])
    client = inside(proxy, port)
    is_refusal(ask(client, host="%s:%d" % (NAME, port)), 502, "upstream_tls_failed")
    assert not site.requests and b"HTTP" not in site.bytes()
    client.close()
    records = proxy.finals(2)
    outer, (inner,) = tunnel_of(records), insides_of(records)
    assert outer["reason"] == inner["reason"] == "upstream_tls_failed" and outer["error"] == inner["error"] != ""


def test_what_policy_refuses_is_told_before_what_the_origin_is(opening, origin, stranger, inside):
    site = origin(serve=tls.tls_serve(stranger.context(NAME), origins.http_serve))
    port = site.listen()
    proxy = opening([https(NAME, port, methods=["GET"])])
    is_refusal(ask(inside(proxy, port), method="PUT", host="%s:%d" % (NAME, port), more="Content-Length: 0\r\n"), 405,
               "method_not_allowed")


# -- the client's TLS

def test_a_client_that_distrusts_the_ca_is_recorded_as_such(opening, site, connect, authority):
    proxy = opening([https(NAME, site.port, assurance="host")])
    client = connect(proxy)
    assert client.connect("%s:%d" % (NAME, site.port)).status == 200
    with pytest.raises(ssl.SSLCertVerificationError):
        authority.client().wrap_socket(client.sock, server_hostname=NAME)
    record, = proxy.finals(1)
    assert (record["reason"], record["close"]) == ("client_aborted", "client")
    assert record["flags"] == ["intercepted", "client_distrusts_ca"]
    assert proxy.metric("weir_client_distrusts_ca_total") == 1


def test_http_1_1_is_all_that_is_spoken(opening, site, inside, ca, connect):
    proxy = opening([https(NAME, site.port, assurance="host")])
    both, only = ca.trusting(), ca.trusting()
    both.set_alpn_protocols(["h2", "http/1.1"])
    only.set_alpn_protocols(["h2"])
    assert inside(proxy, site.port, context=both).sock.selected_alpn_protocol() == "http/1.1"
    with pytest.raises(ssl.SSLError):
        inside(proxy, site.port, context=only)


def test_no_session_can_be_resumed(opening, site, inside, ca):
    proxy = opening([https(NAME, site.port, assurance="host")])
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ca.trusting()
        context.maximum_version = version
        client = inside(proxy, site.port, context=context)
        assert ask(client, host="%s:%d" % (NAME, site.port)).status == 200
        session = client.sock.session
        assert session is None or not session.has_ticket
        assert client.sock.version() == ("TLSv1.2" if version == ssl.TLSVersion.TLSv1_2 else "TLSv1.3")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_versions_are_not_spoken(opening, site, inside, ca):
    proxy = opening([https(NAME, site.port, assurance="host")])
    context = ca.trusting()
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, OSError)):
        inside(proxy, site.port, context=context)


def test_the_certificate_is_for_the_name_and_short_lived(opening, site, inside):
    proxy = opening([https(NAME, site.port, assurance="host")])
    shown = inside(proxy, site.port).certificate()
    assert shown["subjectAltName"] == (("DNS", NAME),)
    days = (ssl.cert_time_to_seconds(shown["notAfter"]) - ssl.cert_time_to_seconds(shown["notBefore"])) / 86400
    assert 6 < days < 8


def test_a_literal_has_a_certificate_for_its_address(opening, origin, authority, inside):
    site = origin(serve=tls.tls_serve(authority.context("IP:127.0.0.1"), origins.http_serve))
    port = site.listen()
    proxy = opening([{"host": "127.0.0.1", "ports": [port], "methods": ["GET"]}])
    client = inside(proxy, port, "127.0.0.1")
    assert client.certificate()["subjectAltName"] == (("IP Address", "127.0.0.1"),)
    assert ask(client, host="127.0.0.1:%d" % port).status == 200


@pytest.mark.parametrize("every", [1, 7, 100])
def test_a_hello_in_pieces_is_answered(opening, site, ca, connect, every):
    proxy = opening([https(NAME, site.port, assurance="host")])
    client = connect(proxy)
    assert client.connect("%s:%d" % (NAME, site.port)).status == 200
    theirs, ours = ssl.MemoryBIO(), ssl.MemoryBIO()
    peer = ca.trusting().wrap_bio(theirs, ours, server_hostname=NAME)

    def flush():
        client.send_pieces(ours.read(), every)

    def step(do):
        while True:
            try:
                out = do()
                flush()
                return out
            except ssl.SSLWantReadError:
                flush()
                assert client.recv(), "closed"
                theirs.write(client.data)
                client.data = b""
    step(peer.do_handshake)
    step(lambda: peer.write(b"GET / HTTP/1.1\r\nHost: allowed.test:%d\r\n\r\n" % site.port))
    assert step(lambda: peer.read(100)).startswith(b"HTTP/1.1 200")


def test_what_the_origin_cuts_the_client_sees_cut(opening, origin, authority, inside):
    def serve(conn):
        conn.recv()
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        conn.sock.close()
    site = origin(serve=tls.tls_serve(authority.context(NAME), serve))
    port = site.listen()
    proxy = opening([https(NAME, port, assurance="host")])
    client = inside(proxy, port)
    answer = ask(client, host="%s:%d" % (NAME, port))
    assert not answer.is_complete and client.is_reset
    client.close()
    assert insides_of(proxy.finals(2))[0]["reason"] == "upstream_incomplete"


def test_an_idle_tunnel_ends_with_a_goodbye(opening, site, inside):
    proxy = opening([https(NAME, site.port, assurance="host")], config={"limits": {"idle_keepalive": "200ms"}})
    client = inside(proxy, site.port)
    assert ask(client, host="%s:%d" % (NAME, site.port)).status == 200
    assert client.read_all() == b"" and not client.is_reset  # a reset, or a TLS that was cut, is an error
    assert tunnel_of(proxy.finals(2))["reason"] == "ok"


def test_another_sni_than_the_tunnels_opens_nothing(opening, site, connect, ca):
    proxy = opening([https([NAME, OTHER], site.port, assurance="host")])
    with pytest.raises(ssl.SSLError):
        Inside.open(proxy, ca.trusting(), NAME, site.port, sni=OTHER)
    assert proxy.finals(1)[0]["reason"] == "sni_mismatch"
    assert not site.bytes()


def test_an_ech_extension_hides_nothing_from_who_answers_it(opening, site, connect):
    proxy = opening([https(NAME, site.port, assurance="host")])
    client = connect(proxy)
    assert client.connect("%s:%d" % (NAME, site.port)).status == 200
    client.send(hello.hello(NAME, extra=hello.ech()))
    assert client.recv() and client.data[:1] == b"\x16", "a ServerHello"


# -- reloads

def reload(proxy, policies=None):
    before = proxy.log().count(" reloaded")
    proxy.reload(policies)
    wait_for(lambda: proxy.log().count(" reloaded") > before, what="the reload")


def test_a_tunnel_that_flows_unseen_is_closed_when_sight_is_wanted(opening, site, connect, authority):
    proxy = opening([https(NAME, site.port)])
    client = connect(proxy)
    assert client.connect("%s:%d" % (NAME, site.port)).status == 200
    own = authority.client().wrap_socket(client.sock, server_hostname=NAME)
    reload(proxy, [{"policy": "test", "allow": [https(NAME, site.port, methods=["GET"])]}])
    assert own.recv(100) == b""
    assert proxy.finals(1)[0]["reason"] == "policy_changed"


def test_a_tunnel_that_flows_unseen_is_closed_when_its_address_is_looked_at(opening, site, connect, authority):
    """As a new one would be refused: by its name nothing says that its TLS is to be opened."""
    proxy = opening([https(NAME, site.port)])
    client = connect(proxy)
    assert client.connect("%s:%d" % (NAME, site.port)).status == 200
    own = authority.client().wrap_socket(client.sock, server_hostname=NAME)
    reload(proxy, [{"policy": "test", "allow": [https(NAME, site.port)], "deny": [{"host": "127.0.0.0/8", "paths": ["/admin/**"]}]}])
    assert own.recv(100) == b""
    assert proxy.finals(1)[0]["reason"] == "policy_changed"
    is_refusal(connect(proxy).connect("%s:%d" % (NAME, site.port)), 403, "host_denied")


def test_open_tunnels_are_judged_by_the_new_rules(opening, site, inside):
    proxy = opening([https(NAME, site.port, methods=["GET", "POST"])])
    client, host = inside(proxy, site.port), "%s:%d" % (NAME, site.port)
    assert ask(client, method="POST", host=host, more="Content-Length: 0\r\n").status == 200
    reload(proxy, [{"policy": "test", "allow": [https(NAME, site.port, methods=["GET"])]}])
    assert ask(client, host=host).status == 200
    is_refusal(ask(client, method="POST", host=host, more="Content-Length: 0\r\n"), 405, "method_not_allowed")


def test_a_rotated_ca_signs_after_a_reload_and_the_bundle_has_both(opening, site, inside, ca):
    proxy = opening([https(NAME, site.port, assurance="host")])
    old = ca.trusting()
    host = "%s:%d" % (NAME, site.port)
    ca.run("rotate")
    both = ca.trusting()
    assert ask(inside(proxy, site.port, context=both), host=host).status == 200
    ca.run("rotate", "--finish")
    reload(proxy)
    assert ask(inside(proxy, site.port, context=both), host=host).status == 200
    with pytest.raises(ssl.SSLCertVerificationError):
        inside(proxy, site.port, context=old)


@pytest.mark.command
def test_a_ca_that_cannot_be_published_is_none(ca, tmp_path):
    """And of a run that was cut off, the next one makes a whole one."""
    def run(*arguments):
        return subprocess.run([binary(), "ca", *arguments], capture_output=True, text=True, check=False).returncode

    def names():
        return sorted(os.listdir(ca.directory))
    before = names()
    blocked = ca.bundle + ".new"  # where a bundle is made
    os.makedirs(blocked + "/full")
    assert run("rotate", ca.directory) == 69 and names() == sorted([*before, "bundle.pem.new"])
    other = tmp_path / "other"
    os.makedirs(other / "bundle.pem.new/full")
    assert run("init", str(other)) == 69 and os.listdir(other) == ["bundle.pem.new"]
    shutil.rmtree(blocked)
    pathlib.Path(ca.path("next.key")).write_text("cut off\n")
    old = pathlib.Path(ca.bundle).read_text()
    assert run("rotate", ca.directory) == 0 and run("rotate", ca.directory) == 1
    both = pathlib.Path(ca.bundle).read_text()
    pathlib.Path(ca.bundle).write_text(old)
    assert run("rotate", "--finish", ca.directory) == 1  # no sandbox can trust it
    assert run("rotate", ca.directory) == 0 and pathlib.Path(ca.bundle).read_text() == both
    assert run("rotate", "--finish", ca.directory) == 0 and pathlib.Path(ca.certificate).read_text() in both


@pytest.mark.command
def test_a_permitted_name_may_end_in_a_dot(tmp_path):
    ca = Ca(tmp_path / "ca", "--permit", "Example.COM.")
    told = subprocess.run(["openssl", "x509", "-in", ca.certificate, "-noout", "-text"], capture_output=True, text=True,
                          check=True).stdout
    assert "DNS:example.com\n" in told, told


def test_a_reload_with_the_same_ca_keeps_its_certificates(opening, site, inside):
    proxy = opening([https(NAME, site.port, assurance="host")])
    first = inside(proxy, site.port).certificate()["serialNumber"]
    reload(proxy)
    assert inside(proxy, site.port).certificate()["serialNumber"] == first


@pytest.fixture
def slow_site(origin, authority):
    """Its TLS is not answered before `go`."""
    one = origin(serve=lambda conn: one.go.wait(WAIT) and answered(conn))
    one.go, answered = threading.Event(), tls.tls_serve(authority.context(NAME), origins.http_serve)
    one.port = one.listen()
    yield one
    one.go.set()


class Proving:
    """A client whose hello has come, while its origin is not proved yet."""

    def __init__(self, proxy, ca, port):
        self.out, self.into = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client, self.tls = rig_client.Client(proxy), ca.trusting().wrap_bio(self.into, self.out, server_hostname=NAME)
        assert self.client.connect("%s:%d" % (NAME, port)).status == 200
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.do_handshake()
        self.client.send(self.out.read())
        wait_for(lambda: proxy.metric("weir_intercepted_total") == 1, what="the hello")


def test_an_intercepted_tunnel_ends_when_the_ca_goes_before_it_has_a_certificate(opening, slow_site, ca):
    proxy = opening([https(NAME, slow_site.port, methods=["GET"])])
    proving = Proving(proxy, ca, slow_site.port)
    proxy.config["tls"].pop("intercept")
    reload(proxy, [{"policy": "test", "allow": [https(NAME, slow_site.port)]}])
    slow_site.go.set()
    assert proving.client.read_all() == bytes([21, 3, 3, 0, 2, 2, 80])
    assert proxy.finals(1)[0]["reason"] == "policy_changed"
    assert not slow_site.requests and proxy.stop() == 0


def test_an_intercepted_tunnel_ends_when_its_host_becomes_a_providers(opening, slow_site, ca):
    """What is metered goes another way, on which nothing has been dialled yet."""
    proxy = opening([https(NAME, slow_site.port, methods=["GET"])], config={"sessions": rig_gateway.laptop()},
                    environment=rig_gateway.ENVIRONMENT)
    proving = Proving(proxy, ca, slow_site.port)
    proxy.config["gateway"] = {"prices": str(rig_provider.PRICES), "providers": [
        {"name": "a", "kind": "anthropic", "path": "/a", "upstream": "https://%s:%d" % (NAME, slow_site.port),
         "credential": {"header": "x-api-key", "value": "env:PROVIDER_KEY"}}]}
    reload(proxy, [{"policy": "test", "allow": [https(OTHER)]}])
    slow_site.go.set()
    assert proving.client.read_all() == b"" and proving.client.is_reset
    assert proxy.finals(1)[0]["reason"] == "policy_changed"
    assert not slow_site.requests and proxy.stop() == 0


# -- a configuration that is none

@pytest.mark.parametrize("code", ["secret_missing", "half_a_ca", "bad_ca", "secret_readable_by_all"])
def test_a_ca_that_is_not_in_order_is_refused_at_start(weir, ca, tmp_path, code):
    setting = dict(ca.setting)
    if code == "secret_missing":
        setting["key"] = "file:/nowhere/ca.key"
    elif code == "half_a_ca":
        setting.pop("key")
    elif code == "bad_ca":
        setting["key"] = Ca(tmp_path / "other").setting["key"]
    else:
        os.chmod(ca.key, 0o604)
    with pytest.raises(NotStarted) as told:
        weir([https(NAME, 443, methods=["GET"])], config={"tls": {"intercept": setting}})
    assert "[%s]" % code in str(told.value), told.value


def test_without_a_ca_nothing_may_want_to_see(weir):
    with pytest.raises(NotStarted) as told:
        weir([https(NAME, 443, methods=["GET"])])
    assert "[needs_sight]" in str(told.value)


def explained(directory, ca, rules, *arguments):
    path = directory / "weir.yaml"
    (directory / "policy.yaml").write_text(json.dumps({"policy": "p", "allow": rules}))
    path.write_text(json.dumps({"production": False, "listen": {"proxy": ["127.0.0.1:3128"]}, "policies": ["policy.yaml"],
                                "audit": {"path": "audit.jsonl"}, "tls": {"intercept": ca.setting}}))
    done = subprocess.run([binary(), "explain", "-c", str(path), "--json", *arguments], capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.command
@pytest.mark.parametrize("method, target, reason", [
    ("GET", "https://forge.example.com/repos/a", "ok"), ("PUT", "https://forge.example.com/repos/a", "method_not_allowed"),
    ("GET", "https://forge.example.com/users", "path_not_allowed"), ("CONNECT", "forge.example.com:443", "ok")])
def test_explain_says_what_is_seen_inside(ca, tmp_path, method, target, reason):
    rules = [{"host": "forge.example.com", "methods": ["GET"], "paths": ["/repos/**"]}]
    said = explained(tmp_path, ca, rules, method, target)
    assert (said["reason"], said["decision"]) == (reason, "allow" if reason == "ok" else "deny")
    if target.startswith("https") and reason == "ok":
        assert said["assurance"] == "host"


# -- what leaves

def test_a_cap_holds_for_what_is_sent_inside(opening, site, inside):
    proxy = opening([https(NAME, site.port, assurance="host", upload="64KiB")])
    host, more = "%s:%d" % (NAME, site.port), "Content-Length: %d\r\n"
    client = inside(proxy, site.port)
    assert ask(client, "/", "POST", host, more % 1000, "x" * 1000).status == 200
    answer = ask(client, "/", "POST", host, more % 100000, "x" * 100000)
    assert answer is None or answer.get("x-weir-reason") == "upload_exhausted"
    assert [len(r.body) for r in site.requests] == [1000]
    assert sum(len(c.data) for c in site.conns) <= 64 << 10


def test_a_rule_looks_for_secrets_inside(opening, site, inside):
    proxy = opening([https(NAME, site.port, dlp="block")])
    secret = "ghp_" + "a1B2" * 9
    host = "%s:%d" % (NAME, site.port)
    is_refusal(ask(inside(proxy, site.port), "/?x=" + secret, host=host), 403, "dlp_blocked")
    assert not site.requests


@pytest.mark.command
def test_check_tells_a_ca_that_ends_soon(tmp_path):
    ca, config = Ca(tmp_path / "ca", "--days", "20"), tmp_path / "weir.yaml"
    (tmp_path / "policy.yaml").write_text("policy: p\nallow: [{ host: a.example.com, methods: [GET] }]\n")
    config.write_text(json.dumps({"production": False, "listen": {"proxy": ["127.0.0.1:3128"]}, "policies": ["policy.yaml"],
                                  "audit": {"path": "audit.jsonl"}, "tls": {"intercept": ca.setting}}))
    done = subprocess.run([binary(), "check", "-c", str(config)], capture_output=True, text=True)
    assert done.returncode == 0 and "[ca_ends]" in done.stderr
