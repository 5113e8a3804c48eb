"""The cases' neutral policies -> weir's own.

The rules of this translation are part of the cases' format: what a neutral
`hosts` entry means differs by kind, and each function here says how.
"""

DEFAULT_PORTS = [80, 443]
LOOPBACK = ["127.0.0.0/8"]


def is_wild(host):
    return "*" in host


def is_address(host):
    return ":" in host or host.replace(".", "").replace("/", "").isdigit()


class NotYet(Exception):
    """The case needs a feature this build has no key for; the text says which."""


def _glob(path):
    return path[:-2] + "/**" if path.endswith("/*") else path


def _http(entry, neutral):
    """What only a request in sight can be asked."""
    rule = {}
    if "methods" in entry:
        rule["methods"] = entry["methods"]
    if "paths" in entry:
        rule["paths"] = [_glob(p) for p in entry["paths"]]
    if "max_body" in neutral:
        rule["max_body"] = "%dB" % neutral["max_body"]
    if "upgrade" in neutral:
        rule["upgrade"] = neutral["upgrade"]
    return rule


CREDENTIAL = "WEIR_HANDED_CREDENTIAL"


def _inject(fields):
    """One field: {"Authorization": "Bearer REAL"}."""
    (name, value), = fields.items()
    scheme, _, _secret = value.rpartition(" ")
    return dict({"header": name, "credential": "one"}, **({"scheme": scheme} if scheme else {}))


def _provider(gateway):
    """A route that puts a key in, and no meter."""
    (name, _secret), = gateway["inject"].items()
    return {"name": "case", "kind": "none", "path": gateway["prefix"].rstrip("/"), "upstream": gateway["upstream"],
            "paths": [_glob(path) for path in gateway["paths"]], "credential": {"header": name, "value": "env:" + CREDENTIAL}}


def injected(neutral):
    """[(host, secret)] of a policy's entries that inject."""
    return [(entry["host"], value.rpartition(" ")[2]) for entry in neutral.get("hosts", [])
            for value in entry.get("inject", {}).values()]


def _rules(entry, neutral, split):
    """`split` gives [(protocol, ports)] for an entry's ports."""
    ports = entry.get("ports", DEFAULT_PORTS)
    private = entry.get("private", [])
    for protocol, some in split(ports):
        rule = {"host": entry["host"], "protocol": protocol, "ports": some}
        if private:
            rule["private"] = private
        if isinstance(entry["host"], str) and (entry["host"] == "*" or (private and is_wild(entry["host"]))):
            rule["broad"] = True
        if protocol == "http":
            rule.update(_http(entry, neutral))
        else:
            rule["ech"] = "refuse" if neutral.get("ech") == "deny" else "allow"
            if "inject" in entry:
                rule["inject"] = _inject(entry["inject"])
        yield rule


def both_on_every_port(ports):
    """hosts.jsonl: an http and an https rule on every port."""
    return [("http", ports), ("https", ports)]


def by_port(ports):
    """The other kinds: 80 is http, every other port https."""
    halves = [("http", [p for p in ports if p == 80]), ("https", [p for p in ports if p != 80])]
    return [half for half in halves if half[1]]


KNOWN = {"gateway", "hosts", "deny", "ip_literals", "address_exceptions", "upgrade", "ech", "max_body",
         "via_pseudonym", "nat64_prefix", "proxy_auth"}
PASSWORD = "env:WEIR_HANDED_PASSWORD"  # the cases' own are too short for weir, and none of them fits


def translate(neutral, split, private=()):
    """(policy, settings to add) of a protocol file's policy; `private` is where names lead, never literals."""
    unknown = set(neutral) - KNOWN
    if unknown:
        raise NotYet("policy " + ", ".join(sorted(unknown)))
    exceptions = neutral.get("address_exceptions", [])
    private = list(private) + exceptions
    allow, ports = [], []
    for entry in neutral.get("hosts", []):
        allow += _rules(dict(entry, private=private), neutral, split)
        ports += [p for p in entry.get("ports", DEFAULT_PORTS) if p not in ports]
    if neutral.get("ip_literals"):
        entry = {"host": neutral["ip_literals"], "ports": ports or DEFAULT_PORTS, "private": exceptions}
        allow += _rules(entry, neutral, split)
    policy = {"policy": "case", "allow": allow}
    if neutral.get("deny"):
        policy["deny"] = [{"host": host} for host in neutral["deny"]]
    settings = {}
    if "via_pseudonym" in neutral:
        settings["name"] = neutral["via_pseudonym"]
    if "nat64_prefix" in neutral:
        settings["dns"] = {"nat64": [neutral["nat64_prefix"]]}
    if "gateway" in neutral:
        settings["gateway"] = {"providers": [_provider(neutral["gateway"])]}
        settings["sessions"] = {"required": False, "default": {"sid": "s1", "tenant": "acme"}}
    if injected(neutral):
        settings["credentials"] = {"one": {"value": "env:" + CREDENTIAL, "hosts": [host for host, _ in injected(neutral)]}}
        settings["sessions"] = {"required": False, "default": {"sid": "s1", "tenant": "acme"}}
    if "proxy_auth" in neutral:
        settings["sessions"] = {"static": [{"user": user, "password": PASSWORD, "claims": {"sid": user}}
                                           for user in neutral["proxy_auth"]]}
    return policy, settings


# -- egress.jsonl

COMMENTS = {"note", "opts_note"}
DEFAULT_PORT = {"http": 80, "https": 443}
# Options that are the configuration's, or what every weir does: no policy says them.
ELSEWHERE = {"identity", "on_expiry", "meter", "secrets"}


def _egress_rule(entry, is_allow, ech_hosts):
    rule = {}
    for key, value in entry.items():
        if key in COMMENTS:
            continue
        if key == "host":
            rule["host"] = "*" if value == "**" else value
            if value in ("*", "**") and is_allow:
                rule["broad"] = True
        elif key == "proto" and is_allow:
            rule["protocol"] = value
        elif key == "proto":
            rule.setdefault("ports", [DEFAULT_PORT[value]])
        elif key == "allowed_ips":
            rule["private"] = value
            if is_wild(entry["host"]):
                rule["broad"] = True
        else:
            rule[key] = value  # what weir does not know stays, so that weir refuses it
    if rule.get("host") in ech_hosts and rule.get("protocol") == "https":
        rule["ech"] = "allow"
    return rule


def translate_egress(neutral, ech_hosts=()):
    """One layer -> (policy, settings to add)."""
    policy, settings = {}, {}
    for key, value in neutral.items():
        if key == "default" and value == "deny":
            policy["policy"] = "case"
        elif key in ("allow", "deny") and isinstance(value, list):
            policy[key] = [_egress_rule(entry, key == "allow", ech_hosts) for entry in value]
        elif key == "opts":
            for name, option in value.items():
                if name == "max_tunnels":
                    settings["limits"] = {"tunnels": option}
                elif name not in COMMENTS | ELSEWHERE:
                    policy[name] = option
        else:
            policy[key] = value
    return policy, settings
