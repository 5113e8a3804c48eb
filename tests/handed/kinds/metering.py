"""metering.jsonl: a model call, its answer or none -> what it costs, or why it may not run.

All of it goes through one `weir meter --batch`, which takes the lines as they are.
"""
import json
import subprocess

from rig import weir

NEEDS_NET = False

# The cases' words for a refusal, where weir has another.
REASONS = {"hosted_tool_blocked": "hosted_tool_denied", "ambiguous_request": "request_malformed",
           "duplicate_keys": "request_malformed", "unsupported_encoding": "encoding_unsupported",
           "unknown_endpoint": "endpoint_not_metered", "endpoint_not_allowed": "endpoint_not_metered",
           "body_unreadable": "request_malformed", "byok_blocked": "credential_refused",
           "credential_smuggling": "credential_refused"}


def later(case, known):
    return None


def groups(cases, known):
    return [{"cases": cases}] if cases else []


def _flags(said):
    return said.get("flags", [])


def _clamps(said, wanted):
    clamp = said.get("clamp", {})
    return clamp.get("field") == wanted["field"] and wanted["min"] <= clamp["value"] <= wanted["max"]


def _is(key):
    return lambda said, wanted: said.get(key) == wanted


def _at_least(key):
    return lambda said, wanted: key in said and said[key] >= wanted


def _at_most(key):
    return lambda said, wanted: key in said and said[key] <= wanted


# What each key of `expect` asks of the line that weir wrote.
CHECKS = {
    "deny_reason": lambda said, wanted: said.get("deny_reason") == REASONS.get(wanted, wanted),
    "http_status": _is("status"),
    "error_shape": _is("shape"),
    "error_code": _is("code"),
    "request_rewrite": _is("rewrite"),
    "anomaly": lambda said, wanted: wanted in _flags(said),
    "ledger_flag": lambda said, wanted: wanted in _flags(said),
    "estimated": lambda said, wanted: ("estimated" in _flags(said)) == wanted,
    "cost_nano_min": _at_least("cost_nano"),
    "cost_nano_max": _at_most("cost_nano"),
    "reserve_nano_min": _at_least("reserve_nano"),
    "reserve_nano_max": _at_most("reserve_nano"),
    "settlements": lambda said, wanted: len(said.get("settlements", [])) == wanted,
    "reservation": lambda said, wanted: (said["action"] == "hold") == (wanted == "kept"),
    "clamp": _clamps,
}


def complaint(case, said):
    """What is wrong with weir's line, or None."""
    if said is None:
        return "no line"
    if "error" in said:
        return "could not be asked: %s" % json.dumps(said["error"])[:300]
    wrong = ["%s is not %s" % (key, json.dumps(wanted)) for key, wanted in case["expect"].items()
             if not CHECKS.get(key, _is(key))(said, wanted)]
    return "; ".join(wrong) + " in " + json.dumps(said)[:500] if wrong else None


def run_group(net, group):
    batch = subprocess.run([weir.binary(), "meter", "--batch"], capture_output=True, check=False,
                           input="".join(json.dumps(case) + "\n" for case in group["cases"]).encode())
    said = {}
    for line in batch.stdout.splitlines():
        answer = json.loads(line)
        said[answer.get("id")] = answer
    outcomes = []
    for case in group["cases"]:
        why = complaint(case, said.get(case["id"]))
        if why and not batch.stdout:
            why += "; weir said %r" % batch.stderr[-200:]
        outcomes.append((case["id"], "failed" if why else "passed", why or ""))
    return outcomes
