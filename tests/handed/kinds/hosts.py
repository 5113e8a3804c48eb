"""hosts.jsonl: authority bytes, a policy, DNS answers -> allow or deny, and what would be dialled.

All of it goes through one `weir explain --batch`: the addresses in these cases
must not be dialled for real.
"""
import base64
import ipaddress
import json
import subprocess

import policy
from rig import weir

NEEDS_NET = False

STATUS = {"allow": [200], "deny": [403], "reject": [400], "error": [502, 504]}
CHAIN_MAX = 16


def later(case, known):
    return None


def groups(cases, known):
    return [{"cases": cases}] if cases else []


def _entry(answers, name):
    entry = answers.get(name)
    if entry and "sequence" in entry:
        entry = entry["sequence"][0]
    return entry


def resolve(answers, host):
    """What the stub resolver would say: a list of addresses, or {"error": ...}."""
    table = {name.lower().rstrip("."): entry for name, entry in answers.items()}
    name = host.lower()
    name = name[:-1] if name.endswith(".") else name
    for _ in range(CHAIN_MAX):
        entry = _entry(table, name)
        if entry is None:
            return {"error": "nxdomain"}
        if "rcode" in entry:
            return {"error": entry["rcode"].lower()}
        if entry.get("drop"):
            return {"error": "timeout"}
        if "CNAME" not in entry:
            return entry.get("A", []) + ([] if entry.get("AAAA_drop") else entry.get("AAAA", []))
        name = entry["CNAME"].lower().rstrip(".")
    return {"error": "servfail"}


def _ask(case, via):
    """The target fields of one batch line."""
    authority = base64.b64decode(case["authority_b64"])
    if via == "connect":
        return {"via": "connect", "method": "CONNECT", "target_b64": case["authority_b64"]}
    if via == "absolute":
        target = b"http://" + authority + b"/"
        return {"via": "http", "method": "GET", "target_b64": base64.b64encode(target).decode()}
    port = int(case["port"]) if str(case["port"]).isdigit() else case["port"]
    return {"via": "socks5", "host_b64": case["host_b64"], "port": port}


def lines(case):
    """[(via, batch line)]"""
    own, settings = policy.translate(case["policy"], policy.both_on_every_port)
    out = []
    for via in case["via"]:
        line = dict({"id": "%s %s" % (case["id"], via)}, **_ask(case, via))
        line["policy"], line["settings"] = own, dict({"production": False}, **settings)
        if case["answers"] is not None:
            host = base64.b64decode(case["host_b64"]).decode("latin1")
            line["answers"] = resolve(case["answers"], host)
        out.append((via, line))
    return out


def _endpoint(text):
    host, _, port = text.rpartition(":")
    return ipaddress.ip_address(host.strip("[]")), int(port)


def complaint(case, verdict):
    """What is wrong with a verdict, or None."""
    if verdict is None:
        return "no verdict"
    if "error" in verdict:
        return "policy refused: %s" % json.dumps(verdict["error"])[:300]
    right = case.get("status_in") or STATUS[case["expect"]]
    status = 200 if verdict["decision"] == "allow" else verdict["status"]
    said = "%s %s (%s)" % (verdict["decision"], status, verdict.get("reason"))
    if status not in right:
        return "%s, wanted one of %s" % (said, right)
    if verdict["decision"] != "allow":
        return None
    dial = [_endpoint(text) for text in verdict.get("dial", [])]
    allowed = [_endpoint(text) for text in case["dial"] or []]
    if not dial:
        return said + " without an address to dial"
    if case["dial"] and not set(dial) <= set(allowed):
        return "%s would dial %s, may dial %s" % (said, verdict["dial"], case["dial"])
    return None


def run_group(net, group):
    asks = [line for case in group["cases"] for _via, line in lines(case)]
    batch = subprocess.run([weir.binary(), "explain", "--batch"], capture_output=True, check=False,
                           input="".join(json.dumps(line) + "\n" for line in asks).encode())
    verdicts = {}
    for line in batch.stdout.splitlines():
        verdict = json.loads(line)
        verdicts[verdict.get("id")] = verdict
    outcomes = []
    for case in group["cases"]:
        wrong = []
        for via in case["via"]:
            why = complaint(case, verdicts.get("%s %s" % (case["id"], via)))
            if why:
                wrong.append("%s: %s" % (via, why))
        text = "; ".join(wrong)
        if text and not batch.stdout:
            text += "; weir said %r" % batch.stderr[-200:]
        outcomes.append((case["id"], "failed" if wrong else "passed", text))
    return outcomes
