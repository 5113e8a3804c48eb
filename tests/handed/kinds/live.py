"""What the kinds that run weir for real share: one stage for each worker, groups by policy."""
import json
import os
import tempfile

import policy
from rig import ca, dns, netns, origin, tls, weir

# Where an origin waits on loopback, so that a wrong dial is seen and not only refused.
PORTS = [22, 80, 443, 8080, 8443]
CHUNK = 30  # cases in one group: small enough to spread over the workers
QUICK = {"head_timeout": "1s", "hello_timeout": "1s", "idle_keepalive": "1s", "idle": "1s",
         "response_timeout": "1s"}


class Wrong(Exception):
    """What a case found; its text is the failure's line."""


def need(condition, text, *values):
    if not condition:
        raise Wrong(text % values if values else text)


class Seen:
    """What one request came to."""

    def __init__(self, status, is_closed=False, answers=()):
        self.status, self.is_closed, self.answers = status, is_closed, list(answers)


def stage(net):
    """The worker's origin and DNS server, made at first use."""
    if not hasattr(net, "upstream"):
        net.upstream = origin.Upstream()
        for port in PORTS:
            net.upstream.listen(port)
            net.upstream.listen(port, "::", net.outside)
        net.dns = dns.Dns()
        net.dns.set({}, {"A": ["127.0.0.1"], "ttl": 0})
        netns.lead(int(TRANSPARENT.rpartition(":")[2]))
    return net


GATEWAY = "127.0.0.1:8787"
TRANSPARENT = "127.0.0.1:15001"


def through(proxy, case):
    """Where a case's client connects: the door itself, or where it would have been going."""
    return netns.Led(case["original_dst"]) if "original_dst" in case else proxy


def by_policy(cases, known, is_quick):
    """Groups of cases with one policy, door and set of limits: one weir for each."""
    shared = {}
    for case in cases:
        neutral = case.get("policy") or DEFAULT_POLICY
        own, settings = policy.translate(neutral, policy.by_port, policy.LOOPBACK)
        limits = dict(weir.FREE_OF_LIMITS, **(QUICK if is_quick(case) else {}))
        if "limits.refusals" in known:
            limits["refusals"] = 0
        settings["limits"] = limits
        if "original_dst" in case:
            settings["listen"] = {"transparent": [TRANSPARENT]}
        if case.get("listener") == "gateway":
            settings["listen"] = {"gateway": [GATEWAY]}
        if case.get("listener") == "mitm":
            settings["is_opened"] = True
            for rule in own["allow"]:
                if rule["protocol"] == "https":
                    rule["assurance"] = "host"
        shared.setdefault(json.dumps([own, settings], sort_keys=True), []).append(case)
    groups = []
    for key, some in shared.items():
        own, settings = json.loads(key)
        for i in range(0, len(some), CHUNK):
            groups.append({"cases": some[i:i + CHUNK], "policy": own, "settings": settings})
    return sorted(groups, key=lambda g: "idle" in g["settings"]["limits"], reverse=True)


DEFAULT_POLICY = {"hosts": [{"host": "allowed.test", "ports": [80, 443]},
                            {"host": "*.wild.test", "ports": [80, 443]},
                            {"host": "other.test", "ports": [80, 443]}]}


SECRET = os.urandom(24).hex()


def known(value):
    """The cases' own secrets are too short for weir: theirs stand for one of ours."""
    head, space, secret = value.rpartition(" ")
    return head + space + SECRET if secret in ("REAL", "REAL-KEY-123") else value


def open_tls(group, config):
    """An interception CA, and an authority that origins are proved by."""
    directory = tempfile.mkdtemp(prefix="weir-handed-")
    for name in ("ca", "origins"):
        os.mkdir("%s/%s" % (directory, name))
    group["ca"], group["authority"] = ca.Ca(directory + "/ca"), tls.Authority(directory + "/origins")
    config["tls"] = {"roots": group["authority"].certificate, "intercept": group["ca"].setting}


def start(net, group):
    config = dict(group["settings"])
    net.group = group
    if config.pop("is_opened", False):
        open_tls(group, config)
    config["dns"] = dict(config.get("dns", {}), servers=[net.dns.server])
    return weir.Weir([group["policy"]], config, listen="127.0.0.1:3128",
                     environment=group.get("environment") or {policy.PASSWORD[4:]: os.urandom(24).hex(),
                                                              policy.CREDENTIAL: SECRET})


def policy_later(case):
    try:
        policy.translate(case.get("policy") or DEFAULT_POLICY, policy.by_port)
    except policy.NotYet as why:
        return str(why)
    return None


def restart(proxy):
    proxy.process.kill()
    proxy.process.wait()
    proxy.start()


def run_each(net, group, check):
    """check(stage, weir, case) raises Wrong; every case sees an origin without a past."""
    net, outcomes = stage(net), []
    try:
        proxy = start(net, group)
    except weir.NotStarted as why:
        return [(case["id"], "failed", str(why)) for case in group["cases"]]
    with proxy:
        for case in group["cases"]:
            net.upstream.serve, net.upstream.reply = origin.http_serve, lambda request: origin.OK
            try:
                check(net, proxy, case)
                need(not net.upstream.faults, "%s", "; ".join(net.upstream.faults))
                need(proxy.process.poll() is None, "weir ended")
                outcomes.append((case["id"], "passed", ""))
            except (Wrong, AssertionError, TimeoutError) as why:
                outcomes.append((case["id"], "failed", str(why)))
                restart(proxy)  # one failure is one, not a group of them
            net.upstream.reset()
    return outcomes


def records_of(proxy, before, least):
    """The final records of this case's exchanges, once there are as many as answers.

    Behind the transparent door, and where TLS is opened, they are in a tunnel, which has a record of its own.
    """
    def of_this_case():
        new = proxy.finals()[before:]
        is_led = bool(new) and (new[0]["client"]["door"] == "transparent" or "tls" in proxy.config)
        inside = [r for r in new if r.get("parent")]
        return inside if is_led and inside else [r for r in new if not r.get("parent")]
    weir.wait_for(lambda: len(of_this_case()) >= least, what="%d final records" % least)
    return of_this_case()
