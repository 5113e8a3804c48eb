"""Rules as the tests write them: loopback is opened, for that is where their origins are."""

from rig.weir import WAIT, wait_for

LOOPBACK = ["127.0.0.0/8"]


def rule(host, protocol, ports=None, **more):
    out = {"host": host, "protocol": protocol, "private": LOOPBACK}
    if ports is not None:
        out["ports"] = ports if isinstance(ports, list) else [ports]
    if "*" in host:
        out["broad"] = True
    return dict(out, **more)


def http(host, ports=None, **more):
    return rule(host, "http", ports, **more)


def https(host, ports=None, **more):
    return rule(host, "https", ports, **more)


def tcp(host, ports, **more):
    return rule(host, "tcp", ports, **more)


def is_refusal(answer, status, reason):
    """The whole contract of a refusal, as an assert with words."""
    assert answer is not None, "closed without an answer"
    assert (answer.status, answer.phrase) == (status, "weir: " + reason)
    assert answer.get("x-weir-reason") == reason
    said = answer.get("proxy-status")
    assert said.startswith("weir; error=") and 'details="%s"' % reason in said
    assert len(answer.get("x-weir-request")) == 26
    assert answer.get("content-type", "").startswith("application/json")
    return answer


def until_refused(ask, status, reason, timeout=WAIT):
    """Asks until the answer is a refusal: that one.  None from ask(): what ends the session cut what was under way."""
    answers = []

    def is_over():
        answers.append(ask())
        return answers[-1] is not None and answers[-1].status != 200
    wait_for(is_over, timeout, reason)
    return is_refusal(answers[-1], status, reason)


def in_order(records):
    """As they began: several threads write them as they end."""
    return sorted(records, key=lambda record: record["ts"])
