"""The log over files and deaths: segments, signed checkpoints, and the same said in a second place."""
import base64
import hashlib
import itertools
import json
import os
import shutil
import signal
import subprocess

import pytest
from rig.planted import noise
from rig.weir import binary, proxy_and_health, wait_for
from rules import http, tcp
from test_audit_soak import files_of
from test_record import assert_chained, get, lines_of
from test_trail import SOON, assert_one_final_each, die, of, opens, tunnel

NAME = "allowed.test"


@pytest.fixture(scope="session")
def key(tmp_path_factory):
    """Of a private key the file, and of its public key the file and the id."""
    private = tmp_path_factory.mktemp("sign") / "sign.pem"
    public, der = private.with_name("public.pem"), private.with_name("public.der")
    def openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
    openssl("genpkey", "-algorithm", "ed25519", "-out", private)
    openssl("pkey", "-in", private, "-pubout", "-out", public)
    openssl("pkey", "-in", private, "-pubout", "-outform", "DER", "-out", der)
    private.chmod(0o600)
    return {"private": private, "public": public, "id": hashlib.sha256(der.read_bytes()).hexdigest()[:16]}


def is_signed(said, key, tmp_path):
    text, sig = tmp_path / "text", tmp_path / "sig"
    text.write_text("weir-checkpoint-v1\n%(name)s\n%(ts)s\n%(lines)s\n%(head)s\n" % said)
    sig.write_bytes(base64.b64decode(said["sig"], validate=True))
    return subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(key["public"]), "-rawin",
                           "-in", str(text), "-sigfile", str(sig)], check=False, capture_output=True).returncode == 0


def segments(proxy):
    """The log's files in their order, by what each says of the one before, where weir alone cut them."""
    path = proxy.config["audit"]["path"]
    directory, base = os.path.split(path)
    before = {}
    for name in os.listdir(directory):
        if name.startswith(base):
            with open(os.path.join(directory, name), "rb") as f:
                first = f.readline()
            before[name] = json.loads(first).get("before") if first.endswith(b"\n") else None
    out = [base]
    while before[out[-1]]:
        out.append(before[out[-1]])
    assert len(out) == len(before), before
    return [os.path.join(directory, name) for name in reversed(out)]


def segments_or_none(proxy):
    """The same, while they are made."""
    try:
        return segments(proxy)
    except (AssertionError, KeyError, ValueError, FileNotFoundError):
        return []


def check_lines(records):
    """`lines` and `head` of every checkpoint are true."""
    seen = 0
    for i, r in enumerate(records):
        if r.get("event") == "checkpoint":
            assert (int(r["lines"]), r["head"]) == (i, r["prev"])
            seen += 1
    return seen


def test_a_checkpoint_stands_at_the_start_and_at_the_end(weir, upstream, connect):
    proxy = weir([http(NAME)], {"name": "w1"})

    def wait_for_checkpoint(n):
        wait_for(lambda: sum(b'"event":"checkpoint"' in line for line in lines_of(proxy.config["audit"]["path"])) == n,
                 what="checkpoint %d" % n)
    for run in range(2):
        wait_for_checkpoint(2 * run + 1)
        assert get(connect(proxy)).status == 200
        proxy.stop()
        proxy.start()
    wait_for_checkpoint(5)
    proxy.stop()
    records = [json.loads(line) for line in lines_of(proxy.config["audit"]["path"])]
    assert [r.get("event", "-") for r in records] == (["start", "checkpoint", "-", "stop", "checkpoint"] * 2
                                                      + ["start", "checkpoint", "stop", "checkpoint"])
    assert check_lines(records) == 6
    assert list(records[1]) == ["v", "ts", "seq", "kind", "phase", "event", "name", "lines", "head", "prev"]
    assert records[1]["name"] == "w1"


def test_lines_go_on_after_a_death(weir, upstream, connect):
    proxy = weir([http(NAME)])
    for _ in range(3):
        assert get(connect(proxy)).status == 200
        proxy.audit(lambda all_: all_[-1]["kind"] == "http" and all_[-2].get("event") == "checkpoint"
                    or all_[-1].get("event") == "checkpoint" and all_[-2]["kind"] == "http")
        die(proxy)
        proxy.start()
    proxy.audit(lambda all_: all_[-1].get("event") == "checkpoint")
    proxy.stop()
    assert check_lines([json.loads(line) for line in lines_of(proxy.config["audit"]["path"])]) == 5


def test_checkpoints_are_signed_and_anchored(weir, upstream, connect, key, tmp_path):
    anchor = tmp_path / "anchor.jsonl"
    proxy = weir([http(NAME)], {"name": "w1", "audit": {"sign": "file:%s" % key["private"], "anchor": str(anchor)}})
    assert get(connect(proxy)).status == 200
    proxy.stop()
    told = [r for r in map(json.loads, lines_of(proxy.config["audit"]["path"])) if r.get("event") == "checkpoint"]
    anchored = [json.loads(line) for line in lines_of(anchor)]
    assert len(told) == len(anchored) == 2 and os.stat(anchor).st_mode & 0o777 == 0o640
    for record, said in zip(told, anchored):
        assert record["key"] == key["id"] and is_signed(record, key, tmp_path)
        assert list(said) == ["v", "name", "ts", "lines", "head", "key", "sig"]
        assert said == dict({k: record[k] for k in said if k != "v"}, v=1)
        assert not is_signed(dict(record, lines="1" + record["lines"]), key, tmp_path)


def test_verify_takes_the_anchor_and_the_key_from_the_configuration(weir, upstream, connect, key, tmp_path):
    anchor = tmp_path / "anchor.jsonl"
    proxy = weir([http(NAME)], {"audit": {"sign": "file:%s" % key["private"], "anchor": str(anchor)}})
    log = proxy.config["audit"]["path"]
    assert get(connect(proxy)).status == 200
    proxy.stop()

    def verify():
        return subprocess.run([binary(), "audit", "verify", "-c", proxy.path("weir.yaml")], check=False,
                              capture_output=True, text=True)

    found = verify()
    assert found.returncode == 0 and " 2 signatures verified" in found.stdout, found
    lines = lines_of(log)
    with open(log, "wb") as f:
        f.write(b"".join(line + b"\n" for line in lines[:-2]))
    found = verify()
    assert found.returncode == 1 and str(anchor) in found.stdout, found
    with open(log, "wb") as f:
        f.write(b"".join(line + b"\n" for line in lines))
    assert verify().returncode == 0
    proxy.config["name"] = "another"
    proxy.write_config()
    found = verify()
    assert found.returncode == 1 and "ends as the log of weir, and the configuration is of another" in found.stdout, found
    anchor.unlink()
    assert verify().returncode == 66


def test_a_log_older_than_its_keys_is_in_order_for_who_kept_its_head(weir, upstream, connect, key, tmp_path):
    proxy = weir([http(NAME)])
    log = proxy.config["audit"]["path"]
    assert get(connect(proxy)).status == 200
    proxy.stop()
    head = hashlib.sha256(lines_of(log)[-1]).hexdigest()
    (tmp_path / "mac").write_text(noise())
    (tmp_path / "mac").chmod(0o600)
    proxy.config["audit"].update(key="file:%s" % (tmp_path / "mac"), sign="file:%s" % key["private"])
    proxy.write_config()
    proxy.start()
    assert get(connect(proxy)).status == 200
    proxy.stop()
    status, said = checked("-c", proxy.path("weir.yaml"))
    assert status == 1 and "2 findings" in said and said.count("older than the key, or not weir's") == 2, said
    status, said = checked("-c", proxy.path("weir.yaml"), "--head", head)
    assert status == 0 and said.count("are older, as the given head says") == 2 and "it is in order\n" in said, said


def checked(*arguments):
    """Its exit status and what it says."""
    done = subprocess.run([binary(), "audit", "verify", *map(str, arguments)], check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def vouched(weir, upstream, connect, key, tmp_path):
    """A log whose checkpoints are signed, and anchored in the file `anchor`."""
    proxy = weir([http(NAME)], {"audit": {"sign": "file:%s" % key["private"], "anchor": str(tmp_path / "anchor")}})
    assert get(connect(proxy)).status == 200
    proxy.stop()
    return proxy.config["audit"]["path"]


def test_verify_takes_a_public_key_from_a_file(vouched, key, tmp_path):
    status, said = checked("--public-key", key["public"], vouched)
    assert status == 0 and " 2 signatures verified" in said, said
    other = tmp_path / "other.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(other)], check=True, capture_output=True)
    assert checked("--public-key", other, vouched)[0] == 1
    other.write_bytes(b"\n" * (1 << 16) + other.read_bytes())
    status, said = checked("--public-key", other, vouched)
    assert status == 66 and "too large" in said, said


@pytest.mark.parametrize("left", [b"", b"what is no record"])
def test_a_log_that_was_emptied_is_not_in_order(vouched, key, tmp_path, left):
    with open(vouched, "wb") as f:
        f.write(left)
    for more in (["--public-key", key["public"]], ["--anchor", tmp_path / "anchor"]):
        status, said = checked(*more, vouched)
        assert status == 1, said


def test_another_log_than_the_one_that_was_anchored_is_not_in_order(vouched, tmp_path):
    """Not even one that says it is the end of a longer and younger one."""
    head, forged = "1" * 64, []
    for n in range(1, 4):
        forged.append('{"v":1,"ts":"2999-01-01T00:00:00.000000Z","seq":%d,"kind":"system","phase":"final","event":"reload"'
                      ',"prev":"%s"}' % (n, head))
        head = hashlib.sha256(forged[-1].encode()).hexdigest()
    with open(vouched, "w", encoding="ascii") as f:
        f.write("\n".join(forged) + "\n")
    assert checked(vouched)[0] == 0
    status, said = checked("--anchor", tmp_path / "anchor", vouched)
    assert status == 1 and "no checkpoint that" in said, said


@pytest.mark.parametrize("kind", ["rsa", "public", "passphrase", "nonsense"])
def test_what_cannot_sign_is_an_error_of_the_configuration(weir, key, tmp_path, kind):
    bad = tmp_path / "bad.pem"
    if kind == "rsa":
        subprocess.run(["openssl", "genpkey", "-algorithm", "rsa", "-out", str(bad)], check=True, capture_output=True)
    elif kind == "public":
        bad.write_bytes(key["public"].read_bytes())
    elif kind == "passphrase":
        subprocess.run(["openssl", "pkey", "-in", str(key["private"]), "-aes256", "-passout", "pass:words",
                        "-out", str(bad)], check=True, capture_output=True)
    else:
        bad.write_text("no key\n")
    bad.chmod(0o600)
    proxy = weir([http(NAME)], {"audit": {"sign": "file:%s" % bad}}, start=False)
    proxy.start(wait=False)
    assert proxy.process.wait(60) == 78 and "bad_sign" in proxy.log()


def test_an_anchor_that_is_away_makes_weir_unready_and_gets_all_when_it_is_back(weir, upstream, connect, tmp_path):
    away = tmp_path / "away"
    anchor = away / "anchor.jsonl"
    proxy = weir([http(NAME)], {"listen": proxy_and_health(), "audit": {"anchor": str(anchor)}})
    assert get(connect(proxy)).status == 200, "the log itself stands"
    assert proxy.health("/readyz")[0] == 503 and "anchor" in proxy.health("/readyz")[1]
    assert "the audit anchor cannot be written" in proxy.log() and proxy.metric("weir_audit_anchor_errors_total") > 0
    away.mkdir()
    wait_for(lambda: proxy.health("/readyz")[0] == 200, what="an anchor")
    first = json.loads(lines_of(anchor)[0])
    checkpoint = next(r for r in proxy.audit() if r.get("event") == "checkpoint")
    assert first["head"] == checkpoint["head"]


def test_an_anchor_that_stands_still_holds_up_neither_the_log_nor_the_traffic(weir, upstream, connect, tmp_path):
    anchor = tmp_path / "anchor"
    os.mkfifo(anchor)
    reader = os.open(anchor, os.O_RDWR | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(reader, b"x" * 4095 + b"\n")
    proxy = weir([http(NAME)], {"listen": proxy_and_health(), "audit": {"anchor": str(anchor)}})
    with connect(proxy) as sock:
        assert get(sock).status == 200
    wait_for(lambda: proxy.health("/readyz")[0] == 503 and proxy.metric("weir_audit_anchor_errors_total") > 0,
             what="an anchor that is told to be away")
    wait_for(lambda: any(r["kind"] == "http" for r in proxy.audit()), what="a record in a log that goes on")
    with pytest.raises(BlockingIOError):
        while True:
            os.read(reader, 65536)
    wait_for(lambda: proxy.health("/readyz")[0] == 200, what="an anchor that takes again")
    assert json.loads(os.read(reader, 65536).splitlines()[0])["head"]
    os.close(reader)


def test_an_anchor_that_ends_in_a_torn_line_goes_on_behind_it(weir, tmp_path):
    anchor = tmp_path / "anchor.jsonl"
    anchor.write_bytes(b'{"v":1,"na')
    proxy = weir([http(NAME)], {"audit": {"anchor": str(anchor)}})
    wait_for(lambda: len(lines_of(anchor)) == 2, what="the checkpoint of the start")
    proxy.stop()
    lines = lines_of(anchor)
    assert lines[0] == b'{"v":1,"na' and len([json.loads(line) for line in lines[1:]]) == 2


# -- segments

def cut_config(**more):
    return {"audit": dict({"segment": "4KiB"}, **more)}


def test_the_chain_goes_on_over_segments(weir, upstream, connect, key, tmp_path):
    proxy = weir([http(NAME)], cut_config(sign="file:%s" % key["private"]))
    sock = connect(proxy)
    for i in itertools.count():
        assert get(sock, "/%d" % i).status == 200
        if len(segments_or_none(proxy)) >= 4:
            break
        assert i < 20000
    proxy.stop()
    files = segments(proxy)
    lines = lines_of(*files)
    assert_chained(lines)
    records = [json.loads(line) for line in lines]
    check_lines(records)
    assert sum(r["kind"] == "http" for r in records) == i + 1
    for older, newer in zip(files, files[1:]):
        last, first = json.loads(lines_of(older)[-1]), json.loads(lines_of(newer)[0])
        assert last["event"] == "checkpoint" and is_signed(last, key, tmp_path)
        assert first["event"] == "segment" and first["before"] == os.path.basename(older)
        assert first["head"] == first["prev"] == hashlib.sha256(lines_of(older)[-1]).hexdigest()
        assert os.path.getsize(older) > 4096


def test_the_files_of_a_log_are_counted_when_it_is_cut_and_at_the_start(weir, upstream, connect):
    proxy = weir([http(NAME)], dict(cut_config(), listen=proxy_and_health()))
    assert proxy.metric("weir_audit_files") == 1
    sock = connect(proxy)
    while len(segments_or_none(proxy)) < 3:
        assert get(sock).status == 200
    wait_for(lambda: proxy.metric("weir_audit_files") == len(segments_or_none(proxy)), what="the count of files")
    path = proxy.config["audit"]["path"]
    proxy.stop()
    for i in range(5):
        shutil.copy(path, "%s.copy%d" % (path, i))
    n = sum(name.startswith(os.path.basename(path)) for name in os.listdir(os.path.dirname(path)))
    proxy.start()
    assert proxy.metric("weir_audit_files") == n


MOST = 65536


@pytest.mark.plain
def test_more_files_than_are_looked_at_are_said_by_all_who_should_look(weir, upstream, connect):
    """Copies of one record will do; a file has no more than 65000 names."""
    proxy = weir([http(NAME)])
    assert get(connect(proxy)).status == 200
    path = proxy.config["audit"]["path"]
    proxy.stop()
    for half in "ab":
        shutil.copy(path, "%s.%s" % (path, half))
        for i in range(MOST // 2 - 2 + (half == "b")):
            os.link("%s.%s" % (path, half), "%s.%s%05d" % (path, half, i))

    def told(*words):
        done = subprocess.run([binary(), "audit", *words, path], capture_output=True, text=True, check=False, timeout=300)
        return done.returncode, "more than %d files" % MOST in done.stderr, done.stdout
    status, is_said, text = told("verify")
    assert (status, is_said) == (0, False) and text.endswith("it is in order\n")
    os.link(path + ".b", path + ".one-more")
    status, is_said, text = told("verify")
    assert (status, is_said) == (66, True) and text.endswith("what could be read is in order\n")
    for word in ("tail", "stats"):
        status, is_said, text = told(word)
        assert (status, is_said) == (66, True) and text, word
    proxy.start()
    assert "more files than weir audit looks at" in proxy.log() and "files=%d" % (MOST + 1) in proxy.log()


def test_what_began_some_segments_ago_is_lost_with_the_rest(weir, upstream, echo, connect):
    proxy = weir([http(NAME), tcp(NAME, echo.port)], cut_config(**dict(SOON, progress="1h")))
    held = tunnel(proxy, connect, echo)
    opened = opens(proxy, 1)[0]
    sock = connect(proxy)
    for i in itertools.count():
        assert get(sock, "/%d" % i).status == 200
        if len(segments_or_none(proxy)) >= 3:
            break
        assert i < 20000
    die(proxy)
    held.close()
    proxy.start()
    proxy.stop()
    records = [json.loads(line) for line in lines_of(*segments(proxy))]
    assert_one_final_each(records)
    assert of(records, opened["id"])[-1]["outcome"] == "lost"


def test_a_death_between_two_segments_breaks_no_chain(weir, upstream, echo, connect):
    """As kill -9 leaves it: the file is renamed, and the next one is not there, or has no line yet."""
    proxy = weir([http(NAME), tcp(NAME, echo.port)], {"audit": SOON})
    path = proxy.config["audit"]["path"]
    made = []
    for turn, is_made in enumerate((False, True, False)):
        held = tunnel(proxy, connect, echo)
        opens(proxy, 1)
        die(proxy)
        held.close()
        made.append("%s.2031010%dT000000Z%s" % (path, min(turn + 1, 2), "-1" if turn == 2 else ""))
        os.rename(path, made[-1])
        proxy._seen, proxy._records = 0, []
        if is_made:
            with open(path, "wb"):
                pass
        proxy.start()
        proxy.audit(lambda all_: all_ and all_[-1].get("event") == "checkpoint")
        assert json.loads(lines_of(path)[0])["before"] == os.path.basename(made[-1])
    proxy.stop()
    lines = lines_of(*made, path)
    assert_chained(lines)
    records = [json.loads(line) for line in lines]
    check_lines(records)
    assert_one_final_each(records)
    assert sum(r.get("outcome") == "lost" for r in records) == 3


def test_a_new_log_beside_old_segments_that_went_on_elsewhere_is_new(weir, upstream, connect):
    proxy = weir([http(NAME)], cut_config())
    path = proxy.config["audit"]["path"]
    sock = connect(proxy)
    while len(segments_or_none(proxy)) < 2:
        assert get(sock).status == 200
    proxy.stop()
    os.rename(path, path + ".1")
    proxy.start()
    proxy.stop()
    assert json.loads(lines_of(path)[0])["prev"] == "0" * 64


def test_killed_while_it_cuts_the_chain_is_whole(weir, upstream, connect):
    proxy = weir([http(NAME)], cut_config())
    for _ in range(8):
        socks = [connect(proxy) for _ in range(8)]
        done = 0
        while done < 40:
            for sock in socks:
                sock.send("GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (NAME, NAME))
            for sock in socks:
                done += sock.response().status == 200
        die(proxy)
        for sock in socks:
            sock.close()
        proxy.start()
    proxy.stop()
    lines = []
    for line in lines_of(*segments(proxy)):
        try:
            json.loads(line)
            lines.append(line)
        except ValueError:
            continue
    assert_chained(lines)
    check_lines([json.loads(line) for line in lines])


def test_where_no_file_can_be_cut_the_log_grows_on(weir, upstream, connect, tmp_path):
    directory = tmp_path / "logs"
    directory.mkdir()
    path = directory / "audit.jsonl"
    subprocess.run(["mount", "--bind", str(directory), str(directory)], check=True)
    try:
        proxy = weir([http(NAME)], {"audit": {"path": str(path), "segment": "4KiB"}})
        # a mount point cannot be renamed
        subprocess.run(["mount", "--bind", str(path), str(path)], check=True)
        sock = connect(proxy)
        wait_for(lambda: get(sock).status == 200 and "cannot be cut" in proxy.log(), what="a word about it")
        before = len(lines_of(path))
        assert get(sock).status == 200
        wait_for(lambda: len(lines_of(path)) > before, what="more lines")
        assert [n for n in os.listdir(directory)] == ["audit.jsonl"]
        proxy.stop()
        assert_chained(lines_of(path))
    finally:
        subprocess.run(["umount", "-l", str(path)], check=False)
        subprocess.run(["umount", "-l", str(directory)], check=False)


def test_reopening_and_segments_go_together(weir, upstream, connect):
    proxy = weir([http(NAME)], cut_config())
    path = proxy.config["audit"]["path"]
    sock = connect(proxy)
    while len(segments_or_none(proxy)) < 2:
        assert get(sock).status == 200
    os.rename(path, path + ".moved")
    proxy.signal(signal.SIGUSR1)
    wait_for(lambda: os.path.exists(path), what="a new file")
    assert get(sock).status == 200
    proxy.stop()
    files = files_of(path)
    assert len(files) > 2 and path + ".moved" in files
    assert_chained(lines_of(*files))
