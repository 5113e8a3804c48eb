"""redaction.jsonl: a text with secrets in it, or with none -> what `weir redact` gives out.

Of a secret nothing may be left but its first bytes, what is to be kept stays, a text
without secrets stays as it is, JSON stays JSON, and a second pass changes nothing.
A case of tier 1 and a text without secrets must be right; of tier 2, 19 of 20; tier 3
is what would be good to have.
"""
import json
import subprocess

from rig import weir

NEEDS_NET = False
KEY = "env:REDACTION_KEY"
SHOWN = 12  # of a long secret: its public prefix
PIECE = 12  # so much of the rest gives it away
LONG = 32
SHOULD = 0.95
TIME = 60  # seconds; a machine may be busy, but nothing here is large


def later(case, known):
    return None


def groups(cases, known):
    return [{"cases": cases}] if cases else []


def text_of(case):
    """The input; `expand` stands for what is too long to be written down."""
    text = "".join(case["input_parts"])
    for part in case.get("expand", ()):
        text = text.replace(part["mark"], "".join(part["unit"]) * part["times"])
    return text


def redact(case, text):
    return subprocess.run([weir.binary(), "redact", "--as", case["kind"], "--key", KEY], input=text, timeout=TIME,
                          env={"REDACTION_KEY": "a key for these cases"}, capture_output=True, check=True).stdout


def pieces(secret):
    """What of a secret may not be seen."""
    yield secret
    if len(secret) >= LONG:
        for at in range(SHOWN, len(secret) - PIECE + 1):
            yield secret[at:at + PIECE]


def is_json(case, before, after):
    if case["kind"] != "json":
        return True
    try:
        for document in after.splitlines() if b"\n{" in before else [after]:
            if document.strip():
                json.loads(document)
    except ValueError:
        return False
    return True


def complaint(case):
    """What is wrong, or None."""
    def as_bytes(text):
        return text.encode(case.get("bytes", "utf-8"))

    before = as_bytes(text_of(case))
    try:
        after = redact(case, before)
        if redact(case, after) != after:
            return "a second pass changes it"
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as wrong:
        return str(wrong)
    if case.get("unchanged"):
        return None if after == before else "there is no secret, but it was changed"
    for secret in case["secret_parts"]:
        if any(as_bytes(piece) in after for piece in pieces("".join(secret.values()))):
            return "a secret is seen"
    lost = [word for word in case["keep"] if as_bytes(word) not in after]
    if lost:
        return "lost is %s" % ", ".join(map(json.dumps, lost))
    return None if is_json(case, before, after) else "it is no JSON any more"


def judge(case, why, is_enough):
    """(id, word, text): what a complaint about a case counts."""
    if why is None:
        return (case["id"], "passed", "")
    text = "%s, %s: %s" % (case["kind"], case["cls"], why)
    if case.get("unchanged") or case["tier"] == 1 or (case["tier"] == 2 and not is_enough):
        return (case["id"], "failed", text)
    return (case["id"], "later", "tier %d %s %s" % (case["tier"], case["id"], text))


def run_group(net, group):
    wrong = {case["id"]: complaint(case) for case in group["cases"]}
    should = [case["id"] for case in group["cases"] if case["tier"] == 2]
    is_enough = sum(wrong[case] is None for case in should) >= SHOULD * len(should)
    return [judge(case, wrong[case["id"]], is_enough) for case in group["cases"]]
