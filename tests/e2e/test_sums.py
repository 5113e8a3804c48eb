"""Who is refused without end: the same answer, later, and one record for many."""
import base64
import json
import secrets

from rig import hello
from rig.weir import proxy_and_health, wait_for
from rules import http, https
from test_record import assert_chained, get, lines_of

NAME = "allowed.test"
LIMIT = {"limits": {"refusals": "5/min"}, "listen": proxy_and_health()}


def records_of(proxy):
    proxy.stop()
    lines = lines_of(proxy.config["audit"]["path"])
    assert_chained(lines)
    return [json.loads(line) for line in lines]


def sums(records):
    return [r for r in records if r.get("event") == "sum"]


def refused(sock, name="nowhere.test"):
    sock.send("GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (name, name))
    answer = sock.response()
    assert (answer.status, answer.get("x-weir-reason")) == (403, "host_not_allowed")


def test_refusals_beyond_the_limit_are_summed_and_none_is_left_out(weir, upstream, connect):
    proxy = weir([http(NAME)], LIMIT)
    sock = connect(proxy)
    for _ in range(9):
        refused(sock)
    for _ in range(9):
        assert get(sock).status == 200
    records = records_of(proxy)
    own = [r for r in records if r["kind"] == "http"]
    refusals = [r for r in own if r["decision"] == "deny"]
    assert len([r for r in own if r["decision"] == "allow"]) == 9, "what was let through has its own record"
    assert all("delayed" not in r.get("flags", []) for r in own)
    one, = sums(records)
    assert len(refusals) + int(one["count"]) == 9 and len(refusals) >= 5
    assert (one["reason"], one["client"], one["door"]) == ("host_not_allowed", "127.0.0.1", "proxy")
    assert "sid" not in one and one["from"] <= one["to"] <= one["ts"]
    assert list(one) == ["v", "ts", "seq", "kind", "phase", "event", "reason", "count", "client", "door", "from", "to", "prev"]


def test_each_reason_has_its_own(weir, upstream, connect):
    proxy = weir([http(NAME, methods=["GET"])], LIMIT)
    sock = connect(proxy)
    for _ in range(8):
        refused(sock)
        sock.send("DELETE http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (NAME, NAME))
        assert sock.response().status == 405
    counts = {r["reason"]: int(r["count"]) for r in sums(records_of(proxy))}
    assert set(counts) == {"host_not_allowed", "method_not_allowed"} and 8 <= sum(counts.values()) <= 11


def test_one_session_is_not_slowed_or_hidden_by_another(weir, upstream, connect):
    words = {user: secrets.token_urlsafe(32) for user in ("loud", "quiet")}
    users = [{"user": user, "password": "env:" + user.upper(), "claims": {"sid": user, "tenant": "acme"}} for user in words]
    proxy = weir([http(NAME)], dict(LIMIT, sessions={"required": True, "static": users}),
                 environment={user.upper(): word for user, word in words.items()})
    socks = {user: connect(proxy) for user in words}

    def ask(user):
        word = base64.b64encode(("%s:%s" % (user, words[user])).encode()).decode()
        socks[user].send("GET http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\nProxy-Authorization: Basic %s\r\n\r\n" % word)
        assert socks[user].response().status == 403
    for _ in range(12):
        ask("loud")
    for _ in range(5):
        ask("quiet")
    records = records_of(proxy)
    one, = sums(records)
    assert (one["tenant"], one["sid"]) == ("acme", "loud")
    quiet = [r for r in records if r["kind"] == "http" and (r["session"] or {}).get("sid") == "quiet"]
    assert len(quiet) == 5 and all("delayed" not in r.get("flags", []) for r in quiet)


def test_tunnels_refused_by_their_first_bytes_are_summed_too(weir, upstream, connect, echo):
    proxy = weir([https(NAME, echo.port)], LIMIT)
    for _ in range(8):
        sock = connect(proxy)
        assert sock.connect("%s:%d" % (NAME, echo.port)).status == 200
        sock.send(hello.hello("other.test"))
        sock.read_all()
        sock.close()
    one, = sums(records_of(proxy))
    assert one["reason"] == "sni_mismatch" and int(one["count"]) >= 2


def test_heads_that_are_cut_short_are_summed_too(weir, upstream, connect):
    proxy = weir([http(NAME)], LIMIT)
    for _ in range(12):
        with connect(proxy) as sock:
            sock.send("GET http://%s/ HTTP/1.1\r\n" % NAME)
    wait_for(lambda: proxy.metric("weir_exchanges_open") == 0, what="an end of all")
    with connect(proxy) as sock:
        assert get(sock).status == 200
    records = records_of(proxy)
    one, = sums(records)
    own = [r for r in records if r.get("reason") == "client_aborted" and r["kind"] == "http"]
    assert one["reason"] == "client_aborted" and len(own) >= 5 and len(own) + int(one["count"]) == 12


def test_connections_closed_unheard_are_summed(weir, upstream, connect):
    proxy = weir([http(NAME)], {"limits": {"client_connections": 1}})
    socks = [connect(proxy) for _ in range(120)]
    for sock in socks:
        sock.send("G")  # before it nobody is let in at all
    for sock in socks[65:]:
        sock.read_all()
    counted = sums(records_of(proxy))
    assert sum(int(r["count"]) for r in counted) > 0
    assert {(r["reason"], r["door"], r["client"]) for r in counted} == {("concurrency_limited", "proxy", "127.0.0.1")}


def test_the_table_has_a_bound(weir, upstream, connect):
    proxy = weir([http(NAME, methods=["GET"])], dict(LIMIT, audit={"sums": 1}))
    sock = connect(proxy)
    for _ in range(8):
        refused(sock)
        sock.send("DELETE http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (NAME, NAME))
        assert sock.response().status == 405
    rows = sums(records_of(proxy))
    assert len(rows) == 2
    other = next(r for r in rows if r["reason"] == "other")
    assert "client" not in other and "door" not in other and int(other["count"]) > 0


def test_what_has_an_open_record_has_its_own_end(weir, upstream, connect):
    proxy = weir([http(NAME)], dict(LIMIT, audit={"open_after": "100ms"}))
    sock = connect(proxy)
    for _ in range(8):
        refused(sock)
    slow = connect(proxy)
    slow.send("GET http://nowhere")
    opened = next(r for r in proxy.audit(lambda all_: any(r["phase"] == "open" for r in all_)) if r["phase"] == "open")
    slow.send(".test/ HTTP/1.1\r\nHost: nowhere.test\r\n\r\n")
    assert slow.response().status == 403
    records = records_of(proxy)
    final = [r for r in records if r.get("id") == opened["id"] and r["phase"] == "final"]
    assert len(final) == 1 and "delayed" in final[0]["flags"]

