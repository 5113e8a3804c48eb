"""What is to look cheap: a document whose page tree lies, an image with a small header before the large one, thousands of tiny tools, text of one byte a token.

Where the most that it can cost does not fit, it is not sent on a guess: it is counted by the provider, or refused.
"""
import base64
import struct

import pytest

from rig import provider as rig_provider
from rig import token as tokens
from rig.gateway import ASK, SECRET, SONNET, laptop, nano, usd
from rig.weir import wait_for
from test_gateway import keyed

pytestmark = pytest.mark.single

PATH = "/anthropic/v1/messages"


def user(*blocks):
    return [{"role": "user", "content": list(blocks)}]


def document(data):
    return {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(data).decode()}}


def image(data):
    return {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": base64.b64encode(data).decode()}}


def frame(width, height):
    return b"\xff\xc0" + struct.pack("!HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"


def pdf(said):
    """One object for all of its 4000 pages; the tree says another number."""
    return b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count %d/Kids[%s]>>endobj\n" \
        b"3 0 obj<</Type/Page/Parent 2 0 R>>endobj\ntrailer<</Root 1 0 R>>" % (said, b"3 0 R " * 500)


LARGE, SMALL = frame(7900, 7900), frame(8, 8)
LIES = {  # what it costs at the least when it is what it is not said to be, in tokens; what is asked
    "pages": (500 * 1500, dict(ASK, messages=user(document(pdf(1))))),
    "no pages": (500 * 1500, dict(ASK, messages=user(document(pdf(0))))),
    "two frames": (1500, dict(ASK, messages=user(image(b"\xff\xd8" + SMALL + LARGE + b"\xff\xd9")))),
    "two frames, the other way": (1500, dict(ASK, messages=user(image(b"\xff\xd8" + LARGE + SMALL + b"\xff\xd9")))),
    "a frame in a comment": (1500, dict(ASK, messages=user(image(b"\xff\xd8\xff\xfe\0\x20" + SMALL.ljust(30, b"\0") + LARGE)))),
    "tools": (5000 * 60, dict(ASK, tools=[{"name": "t%d" % i, "input_schema": {}} for i in range(5000)])),
    "messages": (3000 * 10, dict(ASK, messages=[{"role": r, "content": "x"} for r in ("user", "assistant") * 1500])),
    "control characters": (200000, dict(ASK, messages=user({"type": "text", "text": "\x01\x02" * 100000}))),
    "cuneiform": (200000, dict(ASK, messages=user({"type": "text", "text": "\U00012000" * 50000}))),
    "in the system prompt": (200000, dict(ASK, system="\x01" * 200000)),
    "in the description of a tool": (200000, dict(ASK, tools=[{"name": "t", "description": "\x01" * 200000, "input_schema": {}}])),
}


def price(tokens):
    return rig_provider.cost_nano(SONNET, tokens)


def paid(what, amount):
    return tokens.mint(SECRET, what.replace(" ", "-").replace(",", ""), budget={"sessionUsd": amount})


def priced(g, n):
    """The final records of calls that were paid for."""
    def pick():
        return [r for r in g.weir.finals() if "reserved" in r.get("usd", {})]
    wait_for(lambda: len(pick()) == n, what="%d records" % n)
    return pick()


def test_it_is_not_sent_on_what_it_says_of_itself(gateway, provider):
    """There is enough for the lie, and not for what it is."""
    g = gateway(sessions=keyed(), count_tokens=False)
    for what, (least, body) in LIES.items():
        answer = g.call(PATH, body, paid(what, usd(price(least))))
        assert answer.status in (400, 402, 413) and provider.requests == [], (what, answer)


def test_where_it_is_sent_that_much_is_held(gateway, provider):
    g = gateway(sessions=keyed(), count_tokens=False)
    for what, (least, body) in LIES.items():
        provider.answer, token, before = rig_provider.messages(plain=least, output=50), paid(what, "900"), provider.bill
        assert g.call(PATH, body, token).status == 200
        assert g.spent(token) == provider.bill - before >= price(least)
    for record in priced(g, len(LIES)):
        assert nano(record["usd"]["reserved"]) >= nano(record["usd"]["charged"]) and "over_hold" not in record.get("flags", []), record


def test_neither_header_of_an_image_changes_what_is_held(gateway, provider):
    """Nor does a history of cheap images: there is no ratio to be learned."""
    g = gateway(sessions=laptop("900"), count_tokens=False)
    provider.answer = rig_provider.messages(plain=10, output=1)
    for one in (SMALL + LARGE, LARGE + SMALL, SMALL + SMALL, LARGE + LARGE) * 2:
        assert g.call(PATH, dict(ASK, messages=user(image(b"\xff\xd8" + one)))).status == 200
    assert len({record["usd"]["reserved"] for record in priced(g, 8)}) == 1
