"""The journal: exactly one final record for each exchange, chained, and without a secret."""
import hashlib
import hmac
import json
import os
import signal

import pytest

from rig import hello
from rig.weir import wait_for
from rules import http, https, tcp

NAME = "allowed.test"
CHAIN_START = "0" * 64


@pytest.fixture
def proxy(weir, upstream):
    return weir([http(NAME), https(NAME, 4443), tcp(NAME, 4444)], {"limits": {"head_timeout": "500ms", "idle": "2s"}})


def lines_of(*paths):
    out = []
    for path in paths:
        with open(path, "rb") as f:
            out += f.read().splitlines()
    return out


def assert_chained(lines, first=CHAIN_START):
    for line in lines:
        assert json.loads(line)["prev"] == first
        first = hashlib.sha256(line).hexdigest()
    return first


# -- one each

def get(sock, path="/"):
    sock.send("GET http://allowed.test%s HTTP/1.1\r\nHost: allowed.test\r\n\r\n" % path)
    return sock.response()


def aborts_in_head(sock):
    sock.send("GET http://allo")
    sock.reset()


def ends_in_head(sock):
    sock.send("GET http://allo")
    sock.finish()
    sock.read_all()


def aborts_in_body(sock):
    sock.send("POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 100\r\n\r\nhalf")
    sock.reset()


def aborts_before_the_answer(sock):
    sock.send("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
    sock.reset()


def sends_one_byte(sock):
    sock.send("G")
    sock.close()


def is_too_slow(sock):
    sock.send("GET ")
    sock.read_all()


def sends_nonsense(sock):
    sock.send(b"\0\1\2\3\r\n\r\n")
    sock.read_all()


def sends_tls(sock):
    sock.send(hello.hello(NAME))
    sock.read_all()


def is_refused(sock):
    sock.send("GET http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test\r\n\r\n")
    assert sock.response().status == 403


def is_allowed(sock):
    assert get(sock).status == 200


def connects_to_nobody(sock):
    assert sock.connect("allowed.test:4443").status == 502


EXCHANGES = [
    (is_allowed, "allow", "ok"), (is_refused, "deny", "host_not_allowed"), (sends_nonsense, "deny", "request_malformed"),
    (sends_tls, "deny", "request_malformed"), (is_too_slow, None, "client_timeout"), (aborts_in_head, None, "client_aborted"),
    (ends_in_head, None, None), (sends_one_byte, None, None), (aborts_in_body, None, None),
    (aborts_before_the_answer, None, None), (connects_to_nobody, None, "connect_refused"),
]


@pytest.mark.parametrize("act,decision,reason", EXCHANGES, ids=[e[0].__name__ for e in EXCHANGES])
def test_an_exchange_has_one_record(proxy, connect, act, decision, reason):
    act(connect(proxy))
    records = proxy.finals(1)
    marker = connect(proxy)
    assert get(marker, "/marker").status == 200  # a record that came twice would be here by now
    marker.close()
    records = proxy.finals(2)
    assert len(records) == 2 and records[1]["target"]["path"] == "/marker"
    assert decision is None or records[0]["decision"] == decision
    assert reason in (None, "ok") or records[0]["reason"] == reason


def test_a_connection_without_a_byte_is_no_exchange(proxy, connect):
    connect(proxy).close()
    assert get(connect(proxy)).status == 200
    assert len(proxy.finals(1)) == 1


def test_every_exchange_of_a_connection_has_its_own(proxy, connect):
    sock = connect(proxy)
    for i in range(5):
        assert get(sock, "/%d" % i).status == 200
    records = proxy.finals(5)
    assert [r["target"]["path"] for r in records] == ["/%d" % i for i in range(5)]
    assert len({r["id"] for r in records}) == 5
    assert [r["seq"] for r in records] == sorted(r["seq"] for r in records)


def test_many_at_once_have_one_each(proxy, connect):
    socks = [connect(proxy) for _ in range(50)]
    for i, sock in enumerate(socks):
        sock.send("GET http://allowed.test/%d HTTP/1.1\r\nHost: allowed.test\r\n\r\n" % i)
    ids = set()
    for sock in socks:
        assert sock.response().status == 200
    records = proxy.finals(50)
    ids = {r["id"] for r in records}
    assert len(records) == 50 and len(ids) == 50
    assert sorted(int(r["target"]["path"][1:]) for r in records) == list(range(50))


FIRST_KEYS = ["v", "ts", "id"]


def test_a_record_says_what_happened(proxy, upstream, connect):
    assert get(connect(proxy), "/where?a=1&b=2").status == 200
    record = proxy.finals(1)[0]
    assert list(record)[:3] == FIRST_KEYS and record["v"] == 1
    assert len(record["id"]) == 26 and record["kind"] == "http"
    assert record["phase"] == "final" and record["decision"] == "allow" and record["outcome"] == "ok"
    assert record["ts"].endswith("Z") and len(record["ts"]) == len("2026-01-01T00:00:00.000000Z")
    assert record["session"] is None
    assert record["client"]["addr"].startswith("127.0.0.1") and record["client"]["door"] == "proxy"
    assert record["target"]["host"] == NAME and record["target"]["port"] == 80 and record["target"]["protocol"] == "http"
    assert record["target"]["query_keys"] == ["a", "b"]
    assert record["upstream"]["addr"] == "127.0.0.1:80"
    assert record["status"] == 200 and record["bytes"]["down"] > 0 and record["ms"]["total"] >= 0
    assert record["policy"] and record["generation"] >= 1 and record["rule"]
    assert list(record)[-1] == "prev"


def test_every_answer_is_recorded_and_explained(weir, connect):
    answers = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "10.0.0.1"]
    proxy = weir([http(NAME)], {"errors": "developer", "dns": {"hosts": {NAME: answers}}})
    error = json.loads(get(connect(proxy)).body)["error"]
    assert error["reason"] == "address_denied"
    assert error["trace"][-1]["verdict"] == "deny" and error["trace"][-1]["stage"] == "address"
    assert proxy.finals(1)[0]["dns"]["answers"] == answers


# -- the chain

def test_the_chain_holds_over_a_restart(proxy, connect):
    for i in range(10):
        assert get(connect(proxy), "/%d" % i).status == 200
    proxy.stop()
    proxy.start()
    assert get(connect(proxy), "/again").status == 200
    proxy.stop()
    lines = lines_of(proxy.config["audit"]["path"])
    assert len(lines) >= 11
    assert_chained(lines)


def test_a_key_adds_a_mac(weir, upstream, connect, tmp_path):
    key = b"0123456789abcdef0123456789abcdef"
    (tmp_path / "audit.key").write_bytes(key)
    proxy = weir([http(NAME)], {"audit": {"key": "file:%s" % (tmp_path / "audit.key")}})
    assert get(connect(proxy)).status == 200
    proxy.stop()
    lines = lines_of(proxy.config["audit"]["path"])
    assert_chained(lines)
    for line in lines:
        signed, mac = line[:line.rindex(b',"mac"')], json.loads(line)["mac"]
        assert mac == hmac.new(key, signed, hashlib.sha256).hexdigest()


def test_a_torn_last_line_is_kept_and_named(weir, upstream, connect):
    proxy = weir([http(NAME)], start=False)
    path = proxy.config["audit"]["path"]
    with open(path, "wb") as f:
        f.write(b'{"v":1,"kind":"http","half a rec')
    proxy.start()
    assert get(connect(proxy)).status == 200
    proxy.stop()
    lines = lines_of(path)
    assert lines[0].startswith(b'{"v":1,"kind":"http","half a rec')
    records = []
    for line in lines:
        try:
            records.append(json.loads(line))
        except ValueError:
            assert line == lines[0]
    assert any(r["kind"] == "system" for r in records)
    assert [r["status"] for r in records if r["kind"] == "http" and "status" in r] == [200]


def test_reopening_goes_on_in_a_new_file_with_the_same_chain(proxy, connect):
    path = proxy.config["audit"]["path"]
    assert get(connect(proxy), "/before").status == 200
    proxy.finals(1)
    os.rename(path, path + ".1")
    proxy.signal(signal.SIGUSR1)
    wait_for(lambda: os.path.exists(path), what="the new audit file")
    assert get(connect(proxy), "/after").status == 200
    proxy.stop()
    assert b"/before" in b"".join(lines_of(path + ".1"))
    assert b"/after" in b"".join(lines_of(path))
    assert_chained(lines_of(path + ".1", path))


def test_where_no_new_file_can_be_made_the_old_one_goes_on_and_the_log_says_so(weir, upstream, connect, tmp_path):
    directory = tmp_path / "logs"
    directory.mkdir()
    proxy = weir([http(NAME)], {"audit": {"path": str(directory / "audit.jsonl")}})
    directory.rename(tmp_path / "moved")
    proxy.signal(signal.SIGUSR1)
    wait_for(lambda: "goes on in the old audit log" in proxy.log(), what="a word about the old file")
    assert "make the directory audit.path is in" in proxy.log()
    assert get(connect(proxy), "/after").status == 200
    proxy.stop()
    assert b"/after" in b"".join(lines_of(str(tmp_path / "moved" / "audit.jsonl")))


def test_a_dash_is_stdout(weir, upstream, connect):
    proxy = weir([http(NAME)], {"audit": {"path": "-"}})
    assert get(connect(proxy)).status == 200
    proxy.stop()
    records = [json.loads(line) for line in proxy.process.stdout.read().splitlines()]
    assert [r["status"] for r in records if r["kind"] == "http"] == [200]


def until(proxy, connect, status, tries=2000, path="/"):
    """Requests until one is answered with `status`; how many were let through."""
    passed = 0
    for _ in range(tries):
        sock = connect(proxy)
        answer = get(sock, path)
        sock.close()
        passed += answer.status == 200
        if answer.status == status:
            return passed, answer
    raise AssertionError("never %d" % status)


def test_a_stdout_nobody_reads_refuses_heals_and_does_not_hold_up_the_end(weir, upstream, connect):
    proxy = weir([http(NAME)], {"audit": {"path": "-"}})
    passed, refused = until(proxy, connect, 503, path="/" + "x" * 900)
    assert refused.get("x-weir-reason") == "audit_unavailable" and passed > 0
    os.set_blocking(proxy.process.stdout.fileno(), False)
    read = b""

    def is_healed():
        nonlocal read
        read += proxy.process.stdout.read() or b""
        with connect(proxy) as sock:
            return get(sock).status == 200
    wait_for(is_healed, what="recovery without a restart")
    wait_for(lambda: is_healed() and read.count(b'"kind":"http"') >= passed, what="the records that waited")
    until(proxy, connect, 503, path="/" + "x" * 900)
    assert proxy.stop() == 0
    assert_chained(read[:read.rfind(b"\n")].splitlines())


# -- no secrets

# Built from parts: the tests' own text must not look like a secret.
SECRETS = {
    "anthropic": "sk-" + "ant-" + "api03-" + "Zk3" * 12,
    "openai": "sk-" + "proj-" + "Qx7" * 14,
    "forge": "gh" + "p_" + "A1b2C3d4E5" * 4,
    "cloud": "AK" + "IA" + "IOSFODNN7EXAMPL2",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0" + "." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
}


def everything(proxy):
    proxy.stop()
    with open(proxy.config["audit"]["path"], encoding="utf-8") as f:
        return proxy.log() + f.read()


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_in_the_path_is_never_written(proxy, connect, kind):
    secret = SECRETS[kind]
    assert get(connect(proxy), "/v1/%s/x" % secret).status == 200
    proxy.finals(1)
    text = everything(proxy)
    assert secret not in text and secret[8:] not in text
    assert "~redacted." in text


def test_no_query_value_no_body_no_field_value_is_written(proxy, connect):
    sock = connect(proxy)
    sock.send("POST http://allowed.test/f?sig=VALUE1&api_key=VALUE2 HTTP/1.1\r\nHost: allowed.test\r\nCookie: VALUE3\r\n"
              "Authorization: Bearer VALUE4\r\nProxy-Authorization: Basic VALUE5\r\nContent-Length: 6\r\n\r\nVALUE6")
    assert sock.response().status == 200
    assert proxy.finals(1)[0]["target"]["query_keys"] == ["sig", "api_key"]
    assert "VALUE" not in everything(proxy)


@pytest.mark.parametrize("target", ["/f?sig=VALUE", "https://allowed.test/f?sig=VALUE", "http://a..test/f?sig=VALUE"])
def test_a_target_nobody_understood_is_written_without_query_values(proxy, connect, target):
    sock = connect(proxy)
    sock.send("GET %s HTTP/1.1\r\nHost: allowed.test\r\n\r\n" % target)
    assert sock.response().status == 400
    record = proxy.finals(1)[0]
    told = target.split("?")[0]
    assert record["target"]["query_keys"] == ["sig"]
    assert record["target"].get("path" if told == "/f" else "host") == told
    assert "VALUE" not in everything(proxy)


@pytest.mark.parametrize("target", ["GET http://user:%s@allowed.test/", "GET http:/user:%s@allowed.test/",
                                    "GET //user:%s@allowed.test/", "GET http://user%%3A%s%%40allowed.test/",
                                    "CONNECT user:%s@allowed.test:443", "CONNECT %s@allowed.test:443"])
def test_userinfo_is_refused_and_not_written(proxy, connect, target):
    secret = "hunter2" + "hunter2"
    sock = connect(proxy)
    sock.send("%s HTTP/1.1\r\nHost: allowed.test\r\n\r\n" % (target % secret))
    answer = sock.response()
    assert answer.status == 400 and secret.encode() not in answer.body
    proxy.finals(1)
    assert secret not in everything(proxy)


@pytest.mark.parametrize("evil", ["\x1b[2K", "\r\n{\"decision\":\"allow\"}", "\x00", "\x7f", "\xc0\xaf", "\u2028"],
                         ids=["escape", "newline", "nul", "delete", "bad utf-8", "line separator"])
def test_one_exchange_is_one_line_of_clean_text(proxy, connect, evil):
    sock = connect(proxy)
    sock.send(b"CONNECT a" + evil.encode("latin1", "ignore") + b".test:443 HTTP/1.1\r\nHost: x\r\n\r\n")
    sock.read_all()
    proxy.finals(1)
    with open(proxy.config["audit"]["path"], "rb") as f:
        data = f.read()
    assert not any(b < 0x20 and b != 0x0A or b == 0x7F for b in data)
    for line in data.decode("utf-8").splitlines():
        json.loads(line)


def test_an_audit_log_that_cannot_be_opened_stops_the_start(weir, tmp_path):
    proxy = weir([http(NAME)], {"audit": {"path": str(tmp_path / "nowhere" / "audit.jsonl")}}, start=False)
    proxy.start(wait=False)
    assert proxy.process.wait(10) != 0
    assert "nowhere" in proxy.log()
