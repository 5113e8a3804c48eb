"""What is secret stays secret wherever weir writes, and what an operator must know never goes to a client."""
import base64
import json
import signal
import subprocess
import urllib.parse

import pytest

from rig import gateway as rig_gateway, netns, provider as rig_provider
from rig.gateway import row
from rig.planted import Search, guises, noise
from rig.weir import binary, free_port, wait_for
from rules import http

# -- planted, and searched for


def pages(weir):
    """What an operator may read."""
    yield from (weir.health(path)[1] for path in ("/healthz", "/readyz", "/metrics"))
    for words in (["status"], ["sessions"], ["connections"]):
        told = subprocess.run([binary(), "ctl", "-s", weir.config["listen"]["admin"][0][5:], *words],
                              capture_output=True, text=True, check=False)
        yield told.stdout + told.stderr


def users(passwords):
    return [{"user": "user%d" % i, "password": "env:P%d" % i, "claims": {"sid": "s%d" % i, "tenant": "acme"}}
            for i in range(len(passwords))]


def test_of_200_planted_secrets_none_is_written_anywhere(gateway, provider, connect, tmp_path):
    held, sent = [noise() for _ in range(140)], [noise() for _ in range(60)]
    credential, signing = noise().replace("%", "x"), noise()
    environment = dict({"P%d" % i: secret for i, secret in enumerate(held)}, CREDENTIAL=credential, AUDITKEY=signing)
    one = row("anthropic", provider)
    one["credential"]["value"] = "env:CREDENTIAL"
    g = gateway(sessions={"required": True, "static": users(held)}, providers=[one], environment=environment, config={
        "listen": {"proxy": ["127.0.0.1:%d" % free_port()], "gateway": ["127.0.0.1:%d" % free_port()],
                   "health": ["127.0.0.1:%d" % free_port()], "admin": ["unix:%s" % (tmp_path / "a.sock")]},
        "audit": {"path": str(tmp_path / "audit.jsonl"), "key": "env:AUDITKEY"}})
    answers = []

    def ask(head, body=b""):
        client = connect(g.weir)
        client.send(head.encode("latin-1") + b"\r\n\r\n" + body)
        answers.append(client.response())

    login = "Proxy-Authorization: Basic " + base64.b64encode(("user0:" + held[0]).encode()).decode()
    for secret in held[1:]:  # in what is recorded: a path
        path = "/".join(guises(secret))
        ask("GET http://nowhere.test/%s HTTP/1.1\r\nHost: nowhere.test\r\n%s" % (path, login))
    for i, secret in enumerate(sent):
        plain = urllib.parse.quote(secret, safe="")
        ask("GET http://user:%s@nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\n%s" % (plain, login))
        ask("GET http://nowhere.test/?api_key=%s&token=%s HTTP/1.1\r\nHost: nowhere.test\r\nCookie: session=%s\r\n"
            "Authorization: Bearer %s\r\nX-Api-Key: %s\r\n%s" % (plain, plain, plain, plain, plain, login))
        ask("GET http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\nProxy-Authorization: Basic %s"
            % base64.b64encode(("user%d:%s" % (i, secret)).encode()).decode())
    provider.answer = rig_provider.refused(401, {"error": {"message": " ".join([credential, *guises(credential)[2:7]])}})
    for secret in (held[0], held[1]):
        answers.append(g.call("/anthropic/v1/messages", {"model": "no-" + secret, "max_tokens": 5, "messages": []},
                              token="user0:" + held[0], headers=[("Authorization", "Basic " + base64.b64encode(
                                  ("user0:" + held[0]).encode()).decode())]))
    g.weir.finals(len(answers))
    good = g.weir.config
    g.weir.config = dict(good, log={"level": held[1]})  # the operator's own mistake, said in the log
    g.weir.write_config()
    g.weir.signal(signal.SIGHUP)
    wait_for(lambda: "reload refused" in g.weir.log(), what="the refused reload")
    g.weir.config = good
    g.weir.write_config()
    told = {"audit": (tmp_path / "audit.jsonl").read_text(), "log": g.weir.log(), "pages": "\n".join(pages(g.weir)),
            "answers": "\n".join(a.body.decode("latin-1") + repr(a.headers) for a in answers)}
    assert "~redacted.held." in told["audit"] and "****" in told["log"]
    search = Search(held + sent + [credential, signing])
    assert {where: search.text(text) for where, text in told.items()} == {where: set() for where in told}
    search.close()


# -- for the operator, and for him only

def beyond(provider, **more):
    """A provider whose upstream is somewhere else."""
    return dict(row("anthropic", provider), **more)


@pytest.mark.parametrize("name, upstream, reason, marker", [
    ("dns", "https://inner-marker.example.test", "dns_failed", "inner-marker"),
    ("connect", "https://127.0.0.1:9", "connect_refused", "127.0.0.1"),
    ("tls", "https://other-marker.example.test:%d", "upstream_tls_failed", "other-marker"),
])
@pytest.mark.parametrize("errors", ["public", "developer"])
def test_a_fault_of_a_provider_is_told_without_where_it_is(gateway, provider, dns, errors, name, upstream, reason, marker):
    dns.set({"inner-marker.example.test": {"rcode": "NXDOMAIN"}}, {"A": ["127.0.0.1"], "ttl": 0})
    where = upstream % provider.port if "%" in upstream else upstream
    g = gateway(providers=[beyond(provider, upstream=where)], config={"errors": errors})
    told = g.messages()
    assert told.get("x-weir-reason") == reason
    said = told.body.decode() + repr(told.headers)
    record = g.weir.finals(1)[0]
    assert record["reason"] == reason and marker in json.dumps(record) + g.weir.log()
    assert rig_provider.KEY not in said + json.dumps(record) + g.weir.log()
    if errors == "public":
        for word in ("marker", "127.0.0.1", "example.test", str(provider.port), g.weir.directory):
            assert word.lower() not in said.lower(), said


@pytest.mark.parametrize("zone, reason, address", [
    ({"A": ["10.97.98.99"]}, "address_denied", "10.97.98.99"), ({"A": [netns.UNROUTED]}, "connect_unroutable", netns.UNROUTED),
    ({"A": ["169.254.169.254"]}, "address_denied", "169.254.169.254"), ({"rcode": "SERVFAIL"}, "dns_failed", None)])
def test_where_a_name_leads_is_recorded_and_not_told(weir, connect, dns, zone, reason, address):
    dns.set({"inside.test": dict(zone, ttl=0)}, {"A": ["127.0.0.1"], "ttl": 0})
    proxy = weir([http("inside.test")])
    client = connect(proxy)
    client.send(b"GET http://inside.test/ HTTP/1.1\r\nHost: inside.test\r\n\r\n")
    told = client.response()
    said = told.body.decode() + repr(told.headers)
    record = proxy.finals(1)[0]
    assert told.get("x-weir-reason") == reason == record["reason"]
    assert proxy.directory not in said and dns.server not in said
    if address is not None:
        assert address not in said and address in json.dumps(record)


def test_a_ledger_that_is_away_is_told_without_its_place(weir, provider, authority):
    port, password = free_port(), noise()
    g = rig_gateway.Gateway(weir([], config={
        "listen": rig_gateway.listen(), "tls": {"roots": authority.certificate}, "sessions": rig_gateway.laptop(),
        "gateway": {"prices": str(rig_provider.PRICES), "providers": [row("anthropic", provider)]},
        "ledger": {"url": "redis://127.0.0.1:%d/0" % port, "password": "env:STORE"}},
        environment=dict(rig_gateway.ENVIRONMENT, STORE=password)))
    told = g.messages()
    said = told.body.decode() + repr(told.headers)
    assert (told.status, told.get("x-weir-reason")) == (503, "ledger_unavailable")
    for word in ("redis", "127.0.0.1", str(port), password, g.weir.directory):
        assert word not in said, said
    assert password not in g.weir.log() + json.dumps(g.weir.finals(1))
