"""What a policy says, worked out the slow way, and policies and requests made at random to ask both.

Nothing here is shared with weir: rules are lists that are gone through, one by one.
"""

NAMES = ["ex.test", "a.ex.test", "b.ex.test", "c.a.ex.test", "other.test", "a.other.test"]
PATTERNS = NAMES + ["*.ex.test", "**.ex.test", "*.a.ex.test", "**.a.ex.test", "*.other.test", "*.test", "*"]
PORTS = {"http": [80, 8080], "https": [443, 8080], "tcp": [22, 2222]}
USUAL = {80: "http", 443: "https"}
METHODS, PATHS = ["GET", "HEAD", "POST", "DELETE"], ["/", "/x", "/x/y", "/x/y/z", "/q"]
PATH_PATTERNS = ["/", "/x", "/*", "/x/*", "/x/**", "/**", "/q"]


# -- the slow way

def fits(pattern, name):
    if pattern == "*":
        return True
    stars, _, base = pattern.rpartition("*.")
    if not stars and "*" not in pattern:
        return name == pattern
    return name.endswith("." + base) or (pattern.startswith("**.") and name == base)


def fits_path(pattern, path):
    wanted, there = pattern.split("/")[1:], path.split("/")[1:]

    def rest(i, k):
        if i == len(wanted):
            return k == len(there)
        if wanted[i] == "**":
            return any(rest(i + 1, j) for j in range(k + (i + 1 == len(wanted)), len(there) + 1))
        return k < len(there) and (wanted[i] in ("*", there[k])) and rest(i + 1, k + 1)
    return rest(0, 0)


def has_method(rule, method):
    listed = rule.get("methods")
    return listed is None or method in listed or (method == "HEAD" and "GET" in listed)


def has_path(rule, path):
    listed = rule.get("paths")
    return listed is None or any(fits_path(p, path) for p in listed)


def sees(rule):
    return "methods" in rule or "paths" in rule


def is_about(rule, name):
    return any(fits(p, name) for p in rule["host"])


def protocols_at(rule, port):
    if "ports" in rule:
        return {rule["protocol"]} if port in rule["ports"] else set()
    return {rule["protocol"]} if USUAL.get(port) == rule["protocol"] else set()


def left_by(layer, name, port, asked, request):
    """The protocols that one layer leaves of those that are asked about; request: (method, path), or None in a tunnel."""
    unseen = set()
    for rule in layer.get("deny", []):
        if not is_about(rule, name) or port not in rule.get("ports", [port]):
            continue
        if not sees(rule):
            return set()
        if request is None:
            unseen = {"https", "tcp"}
        elif has_method(rule, request[0]) and has_path(rule, request[1]):
            return set()
    out = set()
    for rule in layer.get("allow", []):
        if is_about(rule, name) and (request is None or (has_method(rule, request[0]) and has_path(rule, request[1]))):
            out |= protocols_at(rule, port) & asked
    return out - unseen


def allows(layers, name, port, request):
    left = {"http"} if request else {"http", "https", "tcp"}
    for layer in layers:
        left = left_by(layer, name, port, left, request)
    return bool(left)


# -- at random

def some(random, of, most=3):
    return random.sample(of, random.randint(1, min(most, len(of))))


def made_rule(random, is_deny, protocols=("http", "http", "https", "tcp")):
    rule = {"host": some(random, PATTERNS)}
    protocol = random.choice(protocols)
    if not is_deny:
        rule["protocol"] = protocol
        rule["broad"] = True
    if protocol == "tcp" or random.random() < 0.4:
        rule["ports"] = some(random, PORTS[protocol], 2)
    if (is_deny or protocol == "http") and random.random() < 0.4:
        rule["methods"] = some(random, METHODS)
    if (is_deny or protocol == "http") and random.random() < 0.4:
        rule["paths"] = some(random, PATH_PATTERNS)
    return rule


def made_layer(random, number, **how):
    return {"policy": "layer%d" % number, "allow": [made_rule(random, False, **how) for _ in range(random.randint(1, 5))],
            "deny": [made_rule(random, True, **how) for _ in range(random.randint(0, 2))]}


def made_request(random):
    """(name, port, None or (method, path))"""
    name = random.choice(NAMES)
    if random.random() < 0.5:
        return name, random.choice([80, 443, 8080, 22, 2222]), None
    return name, random.choice([80, 8080]), (random.choice(METHODS), random.choice(PATHS))
