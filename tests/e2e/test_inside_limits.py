"""What may leave holds for requests inside TLS that weir opens, too, and whatever way they go out."""
import pytest

from rig import parent as rig_parent
from rules import https, is_refusal
from test_dlp import SHAPED
from test_intercept import NAME, ask, ca, insides_of, inside, opening, site  # noqa: F401 - fixtures

pytestmark = pytest.mark.single


def post(client, port, body, more=""):
    return ask(client, "/x", "POST", "%s:%d" % (NAME, port), "Content-Length: %d\r\n%s" % (len(body), more), body)


def test_dlp_over_https_looks_inside(opening, site, inside):  # noqa: F811
    proxy = opening([https(NAME, site.port, dlp="block")])
    is_refusal(post(inside(proxy, site.port), site.port, "a note: %s\n" % SHAPED), 403, "dlp_blocked")
    assert post(inside(proxy, site.port), site.port, "a note\n").status == 200
    assert [r.body for r in site.requests] == [b"a note\n"]
    inner = insides_of(proxy.finals(3))
    assert [r["reason"] for r in inner] == ["dlp_blocked", "ok"] and "dlp" in inner[0]["flags"]


def test_a_coding_in_a_field_of_its_own_hides_a_body_no_less(opening, site, inside):  # noqa: F811
    proxy = opening([https(NAME, site.port, dlp="block")])
    more = "Content-Encoding: identity\r\n"
    assert post(inside(proxy, site.port), site.port, "a note\n", more).status == 200
    is_refusal(post(inside(proxy, site.port), site.port, "not a note\n", more + "Content-Encoding: gzip\r\n"), 403, "dlp_blocked")
    assert [r.body for r in site.requests] == [b"a note\n"]


def test_what_is_sent_inside_is_counted(opening, site, inside):  # noqa: F811
    proxy = opening([https(NAME, site.port, methods=["POST"], upload="4KiB")])
    client = inside(proxy, site.port)
    assert post(client, site.port, "b" * 3000).status == 200
    is_refusal(post(client, site.port, "b" * 3000), 403, "upload_exhausted")
    assert len(site.requests) == 1


def test_a_body_inside_is_cut_where_it_crosses(opening, site, inside):  # noqa: F811
    proxy = opening([https(NAME, site.port, methods=["POST"], upload="64KiB")])
    client = inside(proxy, site.port)
    client.send("POST / HTTP/1.1\r\nHost: %s:%d\r\nTransfer-Encoding: chunked\r\n\r\n" % (NAME, site.port))
    for _ in range(100):
        client.send(b"400\r\n" + b"c" * 1024 + b"\r\n")
    is_refusal(client.response(), 403, "upload_exhausted")
    assert not site.requests and len(site.bytes()) <= 64 * 1024


def test_tls_that_weir_opens_goes_through_the_parent(opening, site, inside):  # noqa: F811
    parent = rig_parent.Parent()
    try:
        proxy = opening([https(NAME, site.port, methods=["GET"])], {"upstream": {"proxy": parent.url}})
        client = inside(proxy, site.port)
        for _ in range(2):
            assert ask(client, host="%s:%d" % (NAME, site.port)).status == 200
        assert parent.asked == ["127.0.0.1:%d" % site.port]
        client.close()
        assert all("parent" in r["flags"] for r in proxy.finals(3) if r["kind"] == "connect")
    finally:
        parent.close()
