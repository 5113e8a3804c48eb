"""An allowed origin says back what it hears: the credential that weir put in, in each form and each place that he can ask for."""
import base64
import gzip
import json
import re
import urllib.parse

import pytest

from rig.gateway import laptop
from rig.weir import NotStarted
from rules import https
from test_inject import BEARER, SECRET, credentials
from test_intercept import NAME, ask, ca, inside, opening, site  # noqa: F401

pytestmark = pytest.mark.single

RAW = SECRET.encode()
FORMS = {
    "plain": RAW, "hex": RAW.hex().encode(), "HEX": RAW.hex().upper().encode(), "percent": urllib.parse.quote(SECRET, safe="").encode(),
    "all percent": "".join("%%%02x" % c for c in RAW).encode(), "JSON": json.dumps({"a": SECRET}).encode(),
    "JSON, escaped": b"".join(b"\\u%04x" % c for c in RAW),
    **{"base64, %d before" % n: base64.b64encode(b"x" * n + RAW) for n in range(3)}, "base64url": base64.urlsafe_b64encode(RAW).rstrip(b"="),
}


def reveals(text):
    """Is the secret in it, however it is written?"""
    if isinstance(text, str):
        text = text.encode("latin1")
    bare = [text, urllib.parse.unquote_to_bytes(text), re.sub(rb"\\u00(..)", lambda m: bytes.fromhex(m.group(1).decode()), text)]
    for word in re.findall(rb"[0-9a-fA-F]{16,}", text):
        bare.append(bytes.fromhex(word[:len(word) & ~1].decode()))
    for word in re.findall(rb"[A-Za-z0-9+/_-]{16,}", text):
        bare += [base64.b64decode(word[at:].replace(b"-", b"+").replace(b"_", b"/") + b"==", validate=False)
                 for at in range(4) if (len(word) - at) % 4 != 1]
    return any(RAW in one for one in bare)


@pytest.fixture
def injecting(opening, site):  # noqa: F811
    return opening([https(NAME, site.port, inject=BEARER)], config={"sessions": laptop(), "credentials": credentials()}, environment={"FORGE": SECRET})


def at(site):  # noqa: F811
    return "%s:%d" % (NAME, site.port)


def heard(answer, client):
    """All that a client has of an answer."""
    return b"" if answer is None else ("%s %s %s" % (answer.status, answer.phrase, answer.headers)).encode() + b"\n" + answer.body + client.data


def test_it_is_known_when_it_is_seen():
    assert all(reveals(form) for form in FORMS.values()) and not reveals(b"*" * 100)


@pytest.mark.parametrize("form", FORMS)
def test_no_form_comes_back_in_any_place(injecting, site, inside, form):  # noqa: F811
    said = FORMS[form]
    places = [
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said),
        b"HTTP/1.1 200 %s\r\nContent-Length: 0\r\n\r\n" % said,
        b"HTTP/1.1 200 OK\r\nX-Echo: %s\r\nContent-Length: 0\r\n\r\n" % said,
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=%s\r\nContent-Length: 0\r\n\r\n" % said,
        b"HTTP/1.1 302 Found\r\nLocation: https://evil.test/?%s\r\nContent-Length: 0\r\n\r\n" % said,
        b"HTTP/1.1 103 Early Hints\r\nLink: <https://evil.test/%s>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" % said,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(b"1\r\n%c\r\n" % c for c in said) + b"0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=%s\r\nhello\r\n0\r\n\r\n" % said,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Echo\r\n\r\n5\r\nhello\r\n0\r\nX-Echo: %s\r\n\r\n" % said,
        b"HTTP/1.1 500 No\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said),
    ]
    for i, reply in enumerate(places):
        site.reply = lambda request, reply=reply: reply
        client = inside(injecting, site.port)
        interim = []
        client.send("GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % at(site))
        answer = client.response(interim=interim)
        assert not reveals(heard(answer, client)) and not any(reveals(str(m.headers)) for m in interim), i
        client.close()
    assert len(site.requests) == len(places)


def parts_of(text, header):
    """What an origin that honours Range says."""
    wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", header or "")
    if not wanted:
        return b"HTTP/1.1 200 OK\r\nAccept-Ranges: bytes\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
    first, last = wanted.groups()
    piece = text[-int(last):] if not first else text[int(first):int(last or len(text)) + 1]
    return b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %s-%s/%d\r\nContent-Length: %d\r\n\r\n%s" % (
        first.encode(), last.encode(), len(text), len(piece), piece)


FIELDS = ["Range: bytes=%d-%d", "range:bytes=%d-%d", "Request-Range: bytes=%d-%d", "X-Range: bytes=%d-%d", "x-ms-range: bytes=%d-%d",
          "Range: bytes=%d-%d\r\nIf-Range: \"a\"", "RANGE: bytes=%d-%d\r\nConnection: range", "X-Forwarded-Range: bytes=%d-%d"]


@pytest.mark.parametrize("field", FIELDS)
def test_it_is_not_to_be_had_a_few_bytes_at_a_time(injecting, site, inside, field):  # noqa: F811
    """Each answer has no form of it; together they would have been all of it."""
    def reply(request):
        header = next((v for n, v in request.headers if n.lower().endswith("range") and v.startswith("bytes")), None)
        return parts_of(b"you said: " + request.get("authorization").encode(), header)
    site.reply = reply
    got = b""
    for first in range(0, 90, 30):
        client = inside(injecting, site.port)
        answer = ask(client, host=at(site), more=field % (first, first + 29) + "\r\n")
        got += answer.body if answer.status == 206 else b""
        assert not reveals(heard(answer, client)) and answer.status in (200, 502)
    assert got == b""


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "x-unknown", "identity, gzip"])
def test_a_coding_that_he_asks_for_is_not_asked_for(injecting, site, inside, coding):  # noqa: F811
    def reply(request):
        body = gzip.compress(request.get("authorization").encode())
        asked = request.get("accept-encoding")
        return b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s" % (
            b"" if asked == "identity" else b"Content-Encoding: gzip\r\n", len(body), body if asked != "identity" else b"x" * len(body))
    site.reply = reply
    client = inside(injecting, site.port)
    answer = ask(client, host=at(site), more="Accept-Encoding: %s\r\nTE: %s\r\nX-Accept-Encoding: %s\r\n" % (coding, coding, coding))
    assert answer.status == 200 and site.requests[0].get("accept-encoding") == "identity" and not site.requests[0].all("te")


def test_trace_and_other_methods_that_say_all_back_are_scrubbed_too(injecting, site, inside):  # noqa: F811
    def reply(request):
        text = "\r\n".join("%s: %s" % pair for pair in request.headers).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: message/http\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
    site.reply = reply
    for method in ("TRACE", "OPTIONS", "GET", "DEBUG"):
        client = inside(injecting, site.port)
        answer = ask(client, "/", method, at(site))
        assert answer is None or not reveals(heard(answer, client)), method
        client.close()


@pytest.mark.parametrize("host,hosts", [("*.forge.test", ["*.forge.test"]), ("*.forge.test", ["forge.test"]), ("old.forge.test", ["forge.test"])])
def test_it_is_not_to_be_had_from_a_subdomain_that_somebody_left(opening, host, hosts):  # noqa: F811
    """A rule for all names under one, and a credential for all of them: neither is meant by accident."""
    with pytest.raises(NotStarted, match=r"\[(broad|credential_hosts)\]"):
        opening([{"host": host, "inject": BEARER}], config={"sessions": laptop(), "credentials": credentials(hosts=hosts)}, environment={"FORGE": SECRET})
