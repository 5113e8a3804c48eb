"""The provider's host by every door but the meter, and the meter's door to anywhere but its provider."""
import base64
import json
import socket

import pytest

from rig import client as rig_client
from rig import hello
from rig import provider as rig_provider
from rig.gateway import ASK, SONNET
from test_gateway import rule_all
from tries import all_refused, said

CLOSED = {"metered_host", "host_not_allowed", "host_invalid", "host_mismatch", "request_malformed", "ip_literal_not_allowed", "address_denied",
          "port_not_allowed", "protocol_not_allowed", "sni_mismatch", "host_misdirected", "loop_detected", "dns_failed", "session_required"}
NAME = "llm.example.test"
OPEN = {"broad": True, "host": "*", "private": ["127.0.0.0/8"]}
WIDE = {"tcp": [dict(rule_all(), host="*")], "seen": [dict(OPEN, protocol=["https"]), dict(OPEN, protocol=["http"])]}


def spellings(port):
    """Of the one host that is metered; some are it, some are nothing."""
    for name in (NAME, NAME + ".", NAME + "..", NAME.upper(), "LLM.Example.Test.", "llm%2eexample.test", "llm\u3002example.test", "llm.\uff45xample.test",
                 NAME + "%00", NAME + "\t", "user@" + NAME, NAME + "#.allowed.test", "allowed.test@" + NAME, NAME + ":443",
                 "127.0.0.1", "[::ffff:127.0.0.1]", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "localhost", "[::1]", "[::ffff:7f00:1]"):
        for p in (port, 80, 443):
            yield "%s:%d" % (name, p)
        yield name


def through_the_proxy(g, port):
    for authority in spellings(port):
        def tunnel(authority=authority):
            with rig_client.Client(g.weir) as client:
                client.send(("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (authority, authority)).encode())
                return client.response("CONNECT")
        yield "CONNECT %r" % authority, tunnel

        def plain(authority=authority):
            with rig_client.Client(g.weir) as client:
                client.send(("GET http://%s/v1/messages HTTP/1.1\r\nHost: %s\r\n\r\n" % (authority, authority)).encode())
                return client.response("GET")
        yield "GET http://%r" % authority, plain
    for target, host in (("http://allowed.test/", NAME), ("http://%s/" % NAME, "allowed.test"), ("/v1/messages", NAME), ("*", NAME),
                         ("https://%s/v1/messages" % NAME, NAME), ("http:/%s/" % NAME, NAME), ("http://allowed.test\\@%s/" % NAME, NAME)):
        def smuggled(target=target, host=host):
            with rig_client.Client(g.weir) as client:
                client.send(("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, host)).encode())
                return client.response("GET")
        yield "%s of %s" % (target, host), smuggled


@pytest.fixture(params=sorted(WIDE))
def wide(gateway, request):
    """As open as a policy can make it."""
    return gateway(policy=[{"policy": "p", "allow": WIDE[request.param]}])


def test_no_door_but_the_meters_reaches_the_provider(wide, provider, dns):
    through = []
    for what, call in through_the_proxy(wide, provider.port):
        answer = call()
        if answer is not None and answer.status == 200:
            through.append((what, answer.status))
        elif answer is not None and NAME in what.lower() and answer.get("x-weir-reason") not in CLOSED:
            through.append((what, said(answer)))
    assert not through, "\n".join(map(str, through))
    assert provider.conns == [] and provider.requests == []


def test_another_name_of_the_providers_address_is_no_way_in(wide, provider):
    """A tunnel to an alias, and inside it the provider's name: what is inside is not what was asked for."""
    with rig_client.Client(wide.weir) as client:
        answer = client.connect("alias.test:443")
        if answer.status == 200:
            client.send(hello.hello(NAME))
            assert client.read_all() == b""
    with rig_client.Client(wide.weir) as client:
        if client.connect("alias.test:80").status == 200:
            client.send("GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME)
            assert said(client.response("GET"))[1] in CLOSED
    assert provider.requests == [] and b"messages" not in provider.bytes()


def paths():
    inside = ["/../", "/./../", "//", "/%2e%2e/", "/%2E./", "/..%2f", "/..;/", "/%252e%252e/", "/.%00./", "\\..\\", "/%5c../", "/;/../"]
    for way in inside:
        yield "/anthropic%sv1/messages" % way
        yield "/anthropic/v1%smessages" % way
        yield "/anthropic%sopenai/v1/chat/completions" % way
        yield "/anthropic/v1/messages%scount_tokens" % way
        yield "/openai%santhropic/v1/messages" % way
    for path in ("/anthropic", "/anthropic/", "/anthropicx/v1/messages", "/Anthropic/v1/messages", "/anthropi%63/v1/messages", "/anthropic/v1/Messages",
                 "/anthropic/v1/messages/", "/anthropic/v1/messages%20", "/anthropic/v1/messages;x", "/anthropic/v1/messages/batches", "/v1/messages",
                 "/anthropic/v1/complete", "/anthropic/v1/messages%3Fbeta=true", "/anthropic/@evil.test/v1/messages", "//evil.test/v1/messages",
                 "/anthropic:443/v1/messages", "/anthropic/v1/messages#/v1/models", "http://evil.test/anthropic/v1/messages", "/openai/v1/realtime",
                 "/openai/v1/images/generations", "/openai/v1/audio/speech", "/openai/v1/videos", "/openai/v1/completions", "/openai/v1/moderations",
                 "/gemini/v1beta/models/x:predict", "/gemini/v1beta/models/x:predictLongRunning", "/gemini/v1beta/interactions",
                 "/vercel/v4/ai/image-model", "/vercel/v4/ai/video-model", "/vercel/v1/credits", "/vercel/v5/ai/language-model"):
        yield path


REFUSED = {"endpoint_not_metered", "request_malformed", "host_mismatch", "host_invalid", "model_unpriced"}


def test_no_path_leaves_the_meter(gateway, provider):
    g = gateway()
    all_refused(g, provider, [(path, lambda path=path: g.call(path, ASK)) for path in paths()], REFUSED)
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "post"):
        answer = g.call("/anthropic/v1/messages", ASK if method not in ("GET", "HEAD") else None, method=method)
        assert answer is None or answer.status >= 400, method
    assert provider.requests == []


OVERRIDES = [("X-HTTP-Method-Override", "GET"), ("X-Original-URL", "/v1/files"), ("X-Rewrite-URL", "/v1/files"), ("X-Forwarded-Host", "evil.test"),
             ("Forwarded", "host=evil.test"), ("X-Forwarded-Prefix", "/v1/files"), ("X-Real-IP", "1.2.3.4"), ("OpenAI-Organization", "org-theirs"),
             ("OpenAI-Project", "proj_theirs"), ("X-Goog-User-Project", "theirs"), ("Cookie", "a=theirs"), ("api-key", "theirs-key"),
             ("Proxy-Authorization", "Bearer theirs"), ("X_HTTP_Method_Override", "GET"), ("X-Weir-Session", "theirs"), ("Referer", "http://evil.test/theirs"),
             ("cf-aig-authorization", "Bearer theirs"), ("x-litellm-api-key", "theirs"), ("x-portkey-api-key", "theirs"), ("x-portkey-virtual-key", "theirs"), ("x-goog-iam-authorization-token", "theirs"), ("Helicone-Auth", "Bearer theirs"),
             ("x-amz-security-token", "theirs"), ("anthropic-workspace-id", "theirs"), ("Te", "trailers, theirs"), ("x-vercel-oidc-token", "theirs")]


def test_no_field_says_who_pays_or_where_it_goes(gateway, provider):
    g, passed = gateway(), []
    for name, value in OVERRIDES:
        answer = g.messages(headers=[(name, value)])
        if answer.status == 200 and provider.requests[-1].all(name.lower()):
            passed.append(name)
    assert passed == []
    assert all(r.target == "/v1/messages" and r.method == "POST" and r.get("host") == "%s:%d" % (provider.name, provider.port) and
               r.all("x-api-key") == [rig_provider.KEY] for r in provider.requests)
    assert g.spent() == provider.bill


def test_two_lengths_or_two_requests_in_one_are_refused(gateway, provider):
    g, body = gateway(), json.dumps(ASK).encode()
    smuggled = b"POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    for fields in (b"Content-Length: %d\r\nContent-Length: 0\r\n" % len(body), b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % len(body),
                   b"Transfer-Encoding: chunked, identity\r\n", b"Transfer-Encoding:\tchunked\r\n chunked\r\n", b"Content-Length: +%d\r\n" % len(body)):
        with g.open() as client:
            client.send(b"POST /anthropic/v1/messages HTTP/1.1\r\nHost: weir\r\n" + fields + b"\r\n" + body + smuggled)
            answer = client.response("POST")
            assert answer is None or answer.status >= 400
    assert provider.requests == []


def test_one_providers_key_never_goes_to_another(gateway, provider, authority):
    other = rig_provider.Provider(authority, "other.example.test")
    rows = [{"name": one.name.split(".")[0], "kind": "anthropic", "path": "/" + one.name.split(".")[0], "upstream": one.url, "hosts": [one.name],
             "credential": {"header": "x-api-key", "value": value}} for one, value in ((provider, "env:PROVIDER_KEY"), (other, "env:KEY"))]
    g = gateway(providers=rows)
    ways = ["/llm/v1/messages", "/other/v1/messages", "/llm/../other/v1/messages", "/other/%2e%2e/llm/v1/messages", "//other/v1/messages", "/llm//other/v1/messages"]
    for path in ways:
        for host in ("weir", provider.name, other.name, "%s:443" % other.name):
            with g.open() as client:
                data = json.dumps(ASK).encode()
                client.send(("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n" % (path, host, len(data))).encode() + data)
                client.response("POST")
    assert provider.requests and other.requests
    for one, theirs in ((provider, other), (other, provider)):
        mine = {key for r in one.requests for key in r.all("x-api-key")}
        assert len(mine) == 1 and not mine & {key for r in theirs.requests for key in r.all("x-api-key")}
    other.close()


def test_a_redirect_takes_the_key_nowhere(gateway, provider, silent):
    g = gateway()
    for status in (301, 302, 303, 307, 308):
        provider.answer = rig_provider.refused(status, {}, more=["Location: http://127.0.0.1:%d/" % silent.port])
        answer = g.messages()
        assert answer.status in (status, 502) and answer.get("location") is None
    assert silent.conns == []


def test_a_key_of_its_own_does_not_pass(gateway, provider):
    """What leaves with somebody else's key leaves into somebody else's account."""
    g, theirs = gateway(), "-".join(["sk", "theirs", "0" * 24])
    for headers in ([("x-api-key", theirs)], [("authorization", "Bearer " + theirs)], [("x-goog-api-key", theirs)],
                    [("authorization", "Basic " + base64.b64encode(theirs.encode()).decode())], [("x-api-key", theirs), ("x-api-key", theirs)]):
        g.messages(headers=headers)
    provider.answer = rig_provider.refused(400, {})
    g.call("/gemini/v1beta/models/gemini-3.8-flash:countTokens?key=%s" % theirs, {"contents": []})
    g.call("/gemini/v1beta/models/gemini-3.8-flash:countTokens?%%6bey=%s" % theirs, {"contents": []})
    sent = provider.bytes()
    assert b"theirs" not in sent and base64.b64encode(theirs.encode()) not in sent


def test_nobody_reaches_the_meters_own_doors_through_it(wide, provider):
    port = int(wide.door.port)
    for target in ("127.0.0.1:%d" % port, "localhost:%d" % port, "[::1]:%d" % port, "weir.test:%d" % port):
        with rig_client.Client(wide.weir) as client:
            assert client.connect(target).status >= 400, target
    assert socket.create_connection(("127.0.0.1", port), 5).close() is None and SONNET and provider.requests == []
