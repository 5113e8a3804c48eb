"""egress.jsonl, kind metering: a host that is metered is a provider's, and the gateway alone reaches it.

A sentence about a call and its answer is played by a provider over TLS which keeps its own bill.
"""
import gzip
import json
import re
import shutil
import subprocess
import zlib

from rig import families, gateway, provider, tls

from .egress_identity import opts_of
from .live import Seen, need

LISTEN = "127.0.0.1:8787"
PIPES = {"br": ["brotli", "-c"], "zstd": ["zstd", "-qc"]}
CODINGS = {"gzip": gzip.compress, "deflate": zlib.compress, "identity": bytes}

# The families: where each is asked, by which provider, and the least that it wants.
TURNS = [{"role": "user", "content": "hi"}]
FAMILIES = [
    (r"/v1/messages", "anthropic", {"model": gateway.SONNET, "max_tokens": 100, "messages": TURNS}),
    (r"/v1/chat/completions", "litellm", {"model": gateway.SONNET, "max_tokens": 100, "messages": TURNS}),
    (r"/v1/responses", "openai", {"model": "gpt-6.1-terra", "max_output_tokens": 100, "input": "hi"}),
    (r"/v1beta/models/[^:/]+:\w+", "gemini", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
]


def family_of(path):
    return next(((kind, body) for pattern, kind, body in FAMILIES if re.fullmatch(pattern, path)), (None, None))


# -- sentences

CALL = re.compile(r"POST (?P<path>/\S+?)(?: with (?P<field>[\w-]+): (?P<value>[^;]+))?; "
                  r"reply (?:(?P<coding>gzip|deflate|br|zstd|identity) )?(?P<form>SSE|JSON)(?: with usage in the last event)?")
USAGE = re.compile(r"reply usage: prompt (?P<prompt>\d+) of which (?P<cached>\d+) cached \(.*\)")


def encoded(coding, text):
    if coding in PIPES:
        return subprocess.run(PIPES[coding], input=text, check=True, capture_output=True).stdout
    return CODINGS[coding](text)


def coded_answer(coding):
    """Whoever asks, in the family and form that was asked for; encoded whatever was accepted."""
    def answer(one, conn, request, body):
        said = families.asked_for(request, body, "hello")
        is_document = isinstance(said, dict)
        data = encoded(coding, json.dumps(said).encode() if is_document else b"".join(said))
        kind = "application/json" if is_document else "text/event-stream"
        more = [] if coding == "identity" else ["Content-Encoding: " + coding]
        conn.send(provider.head(200, kind, more, length=len(data)) + data)
        return families.Asked(request, body).bill()
    return answer


def called(net, proxy, path, body, headers=()):
    kind, _ = family_of(path)
    return gateway.Gateway(proxy).call("/" + kind + path, body, headers=headers)


def play_call(net, proxy, case, found):
    net.provider.answer = coded_answer(found["coding"] or "identity")
    body = dict(family_of(found["path"])[1])
    if found["form"] == "SSE" and "contents" not in body:
        body["stream"] = True
    answer = called(net, proxy, found["path"], body, [(found["field"], found["value"])] if found["field"] else [])
    need(answer.get("content-encoding") is None or answer.get("content-encoding") in (found["value"] or ""),
         "the client got %s, which it did not ask for", answer.get("content-encoding"))
    return Seen(answer.status, False, [answer])


def chat_usage(prompt, cached, output):
    """The style that counts the cached ones in."""
    def answer(one, conn, request, body):
        conn.send(provider.whole({"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
                      "prompt_tokens_details": {"cached_tokens": cached}}}))
        return provider.cost_nano(body["model"], prompt - cached, read=cached, output=output)
    return answer


def play_usage(net, proxy, case, found):
    prompt, cached, output = int(found["prompt"]), int(found["cached"]), 50
    styles = [("/v1/messages", provider.messages(plain=prompt - cached, read=cached, output=output)),
              ("/v1/chat/completions", chat_usage(prompt, cached, output))]
    answers = []
    for path, answer in styles:
        net.provider.answer = answer
        answers.append(called(net, proxy, path, family_of(path)[1]))
    return Seen(max(a.status for a in answers), False, answers)


SENTENCES = [(CALL, play_call), (USAGE, play_usage)]


def why_later(case, request):
    meter = opts_of(case).get("meter") or {}
    if set(meter) - {"host", "price"} or meter.get("price", "table") not in ("table", "reported"):
        return "meter %s" % json.dumps(meter)
    found = CALL.fullmatch(request) if isinstance(request, str) else None
    if found and family_of(found["path"])[0] is None:
        return "path " + found["path"]
    if found and found["coding"] in PIPES and not shutil.which(PIPES[found["coding"]][0]):
        return "coding " + found["coding"]
    return None


# -- the weir

def metered_hosts(case):
    hosts = (opts_of(case).get("meter") or {}).get("host", [])
    return hosts if isinstance(hosts, list) else [hosts]


def without_metered(layers, hosts):
    """The same layers without the rules that name a provider's host, which weir does not load."""
    return [dict(layer, allow=[r for r in layer.get("allow") or [] if r["host"] not in hosts]) for layer in layers]


def names_metered(layers, hosts):
    return any(r["host"] in hosts for layer in layers for r in layer.get("allow") or [])


def prepare(net, case, directory):
    """(settings, environment); net.provider is who stands behind every port of the origin."""
    hosts, settle = metered_hosts(case), (opts_of(case).get("meter") or {}).get("price", "table")
    if not hosts:
        return {}, {}
    authority = tls.Authority(directory)
    net.provider = provider.Provider(authority, hosts[0])
    rows = [dict(gateway.row(kind, net.provider, settle=settle), upstream="https://" + hosts[0], hosts=hosts)
            for kind in ("anthropic", "litellm", "openai", "gemini")]
    return {"listen": {"gateway": [LISTEN]}, "tls": {"roots": authority.certificate}, "sessions": gateway.laptop(),
            "gateway": {"prices": str(provider.PRICES), "providers": rows}}, gateway.ENVIRONMENT


# -- what must be

def charged(run):
    """n$ of each call; one record of each is there already."""
    return [gateway.nano(r["usd"]["charged"]) for r in run.records if "charged" in r.get("usd", {})]


def booked_as_billed(run):
    amounts = charged(run)
    need(sum(amounts) == run.provider.bill, "charged %s, the provider billed %s", amounts, run.provider.billed)
    need(sorted(amounts) == sorted(run.provider.billed), "charged %s, the provider billed %s", amounts, run.provider.billed)


def never_zero(run):
    need(charged(run) and all(amount > 0 for amount in charged(run)), "charged %s", charged(run))


def one_cost(run):
    booked_as_billed(run)
    need(len(charged(run)) > 1 and len(set(charged(run))) == 1, "charged %s for the same work", charged(run))


def only_metered(run):
    """Whatever the provider read came from the gateway."""
    read = sum(len(c.data) for c in run.upstream.conns)
    need(run.provider.requests or not read, "the model host got %d bytes past the meter", read)
    need(len(run.provider.requests) == len(charged(run)),
         "the model host was asked %d times", len(run.provider.requests))


PHRASES = [("cost booked from the decoded usage", booked_as_billed), ("book zero for a 200", never_zero),
           ("both styles give the same cost", one_cost), ("any unmetered byte to the model host", only_metered)]
