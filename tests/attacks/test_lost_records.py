"""He leaks in short exchanges and waits for weir to die: what was open then is on record when it is back."""
import pytest

from rig import origin as origins
from rig import token as tokens
from rig.gateway import laptop
from rules import https, tcp
from test_inject import BEARER, SECRET, credentials
from test_intercept import NAME, ask, ca, inside, opening, site  # noqa: F401

MANY = 40
SOON = {"open_after": "100ms"}  # the least that it takes


def die(proxy):
    proxy.process.kill()
    proxy.process.wait()
    proxy.start()


def of(records, phase):
    return [r for r in records if r.get("phase") == phase and r["kind"] != "system"]


def test_every_tunnel_that_was_open_has_an_end_on_record(weir, silent, connect):
    proxy = weir([tcp("raw.test", silent.port)], {"audit": SOON})
    socks = [connect(proxy) for _ in range(MANY)]
    for i, sock in enumerate(socks):
        assert sock.connect("raw.test:%d" % silent.port).status == 200
        sock.send(b"x" * (100 + i))
    assert silent.wait(lambda: len(silent.bytes()) == sum(100 + i for i in range(MANY)))
    opened = of(proxy.audit(lambda records: len(of(records, "open")) == MANY), "open")
    die(proxy)
    lost = [r for r in proxy.finals(MANY) if r["outcome"] == "lost"]
    assert {r["id"] for r in lost} == {r["id"] for r in opened} and len(lost) == MANY
    assert {r["target"]["host"] for r in lost} == {"raw.test"}


def test_one_that_carries_a_credential_is_on_record_before_the_origin_hears_of_it(opening, site, inside):  # noqa: F811
    """However young it is: killed in the moment in which the origin has the request, weir knows of it afterwards."""
    proxy = opening([https(NAME, site.port, inject=BEARER)], config={"sessions": laptop(), "credentials": credentials()}, environment={"FORGE": SECRET})

    def reply(request):
        proxy.process.kill()
        return origins.OK
    site.reply = reply
    ask(inside(proxy, site.port), host="%s:%d" % (NAME, site.port))
    assert len(site.requests) == 1
    proxy.process.wait()
    proxy.start()
    record = next(r for r in proxy.finals(1) if r["kind"] == "http")
    assert (record["outcome"], record["target"]["host"]) == ("lost", NAME) and record["session"]["sid"] == "s1"


@pytest.mark.parametrize("name", ["deny\n{\"id\":\"forged\"}", "a\",\"decision\":\"allow", "x" * 5000, "\u2028\u0000\x1b[2J"])
def test_what_he_writes_into_a_target_is_one_line_of_one_record(weir, connect, name):
    proxy = weir([https(NAME)])
    for text in ("GET http://%s/ HTTP/1.1\r\nHost: a\r\n\r\n" % name, "CONNECT %s:443 HTTP/1.1\r\nHost: a\r\n\r\n" % name):
        sock = connect(proxy)
        sock.send(text)
        sock.response()
    records = proxy.finals(2)
    assert len(records) == 2 and all(r["decision"] == "deny" and r["id"] != "forged" for r in records)
    assert tokens.ISSUER not in str(records)
