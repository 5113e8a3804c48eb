"""What weir says of a request is what its policy says, worked out the slow way, and what it then does."""
import json
import random
import subprocess

import pytest

from rig import oracle
from rig.weir import binary
from rules import LOOPBACK

SEED, MANY = 20240229, 1500
PUBLIC = ["93.184.215.14"]


def line(number, layers, name, port, request, **more):
    method, target = ("CONNECT", "%s:%d" % (name, port)) if request is None else \
        (request[0], "http://%s:%d%s" % (name, port, request[1]))
    return dict({"id": number, "via": "http" if request else "connect", "method": method, "target": target,
                 "policy": layers, "answers": PUBLIC,
                 "settings": {"production": False}}, **more)


def explained(lines, *arguments):
    done = subprocess.run([binary(), "explain", "--batch", *arguments], capture_output=True, text=True,
                          input="".join(json.dumps(one) + "\n" for one in lines))
    told = [json.loads(text) for text in done.stdout.splitlines()]
    assert len(told) == len(lines) and not any("error" in one for one in told), next(
        (one for one in told if "error" in one), done.stderr)
    return told


def made(rng):
    return [oracle.made_layer(rng, i) for i in range(rng.randint(1, 3))]


@pytest.mark.command
def test_the_naive_matcher_says_the_same():
    rng = random.Random(SEED)
    asked = [(made(rng), *oracle.made_request(rng)) for _ in range(MANY)]
    told = explained([line(i, *one) for i, one in enumerate(asked)])
    for one, said in zip(asked, told):
        assert (said["decision"] == "allow") == oracle.allows(*one), (one, said)
    assert 0.1 * MANY < sum(said["decision"] == "allow" for said in told) < 0.9 * MANY


@pytest.mark.command
def test_a_layer_or_a_claim_more_never_allows_what_was_denied():
    rng = random.Random(SEED + 1)
    lines = []
    for i in range(MANY // 2):
        layers, request = made(rng), oracle.made_request(rng)
        more = list(layers)
        more.insert(rng.randint(0, len(more)), oracle.made_layer(rng, 9))
        network = rng.choice(["deny-all", {"allow": oracle.some(rng, oracle.PATTERNS)}])
        lines += [line(3 * i, layers, *request), line(3 * i + 1, more, *request),
                  line(3 * i + 2, layers, *request, claims={"sid": "s", "tenant": "t", "network": network})]
    told = explained(lines)
    for i in range(0, len(told), 3):
        first, layer, claim = (one["decision"] for one in told[i:i + 3])
        assert first == "allow" or (layer, claim) == ("deny", "deny"), lines[i:i + 3]
    assert any(one["decision"] == "allow" for one in told[1::3]) and any(one["decision"] == "allow" for one in told[2::3])


@pytest.mark.single
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_what_is_explained_is_what_happens(weir, origin, connect, seed):
    """The same reason, by explain and on the wire: requests by http, and tunnels that speak it."""
    rng = random.Random(SEED + 2 + seed)
    upstream = origin()
    for port in (80, 8080):
        upstream.listen(port)
    layers = [oracle.made_layer(rng, i, protocols=("http",)) for i in range(2)]
    for layer in layers:
        for rule in layer["allow"]:
            rule["private"] = LOOPBACK
    proxy = weir(layers)
    asked = [(name, port, request or ("GET", "/x")) for name, port, request in
             (oracle.made_request(rng) for _ in range(40)) if port in (80, 8080)]
    told = explained([{"id": i, "via": "http", "method": request[0], "target": "http://%s:%d%s" % (name, port, request[1]),
                       "answers": ["127.0.0.1"]} for i, (name, port, request) in enumerate(asked)], "-c", proxy.path("weir.yaml"))
    sock = connect(proxy)
    for (name, port, (method, path)), said in zip(asked, told):
        answer = sock.get("http://%s:%d%s" % (name, port, path), method)
        assert (answer.status, answer.get("x-weir-reason", "ok")) == (said["status"], said["reason"]), (name, port, method, path)
    assert len({said["reason"] for said in told}) > 1
