"""weir redact in a pipe: what a program beside it sees, and when."""
import fcntl
import signal
import socket
import struct
import subprocess
import termios
import threading

import pytest

from rig.weir import binary, wait_for

pytestmark = pytest.mark.command

SECRET = "gh" "p_" + "0123456789abcdefghijABCDEFGHIJ012345"


@pytest.fixture
def pipe():
    """A weir that reads what the test writes; ended with the test."""
    started = []

    def start(*arguments, stdout=subprocess.PIPE):
        weir = subprocess.Popen([binary(), "redact", *arguments], stdin=subprocess.PIPE, stdout=stdout,
                                stderr=subprocess.PIPE, bufsize=0)
        started.append(weir)
        return weir

    yield start
    for weir in started:
        weir.kill()
        weir.wait()
        for stream in filter(None, (weir.stdin, weir.stdout, weir.stderr)):
            stream.close()


@pytest.mark.parametrize("form", ["text", "url", "json"])
def test_a_line_is_answered_before_the_next_one_comes(pipe, form):
    weir = pipe("--as", form)
    for n in range(3):
        weir.stdin.write(b'{"n": %d, "token": "%s"}\n' % (n, SECRET.encode()))
        said = b""
        while b"}" not in said:
            said += weir.stdout.read(4096)
        assert b'"n": %d' % n in said and b"~redacted.github." in said and SECRET.encode() not in said


def test_a_secret_in_two_writes_is_one(pipe):
    weir = pipe()
    weir.stdin.write(b"use " + SECRET[:17].encode())
    weir.stdin.write(SECRET[17:].encode() + b" now\n")
    said = weir.stdout.read(4096)
    assert said.startswith(b"use ~redacted.github.") and said.endswith(b"~ now\n")


def test_a_key_that_was_cut_does_not_hold_the_log_back(pipe):
    weir = pipe()
    weir.stdin.write(b"-----BEGIN RSA PRIV" b"ATE KEY-----\n" + b"A" * 64 + b"\n2031-04-05 worker started again\n")
    said = b""
    while b"again\n" not in said:
        said += weir.stdout.read(4096)
    assert b"AAAA" not in said and b"~redacted.pem." in said


def test_who_stops_reading_ends_it(pipe):
    weir = pipe()
    weir.stdout.close()
    try:
        for _ in range(100):
            weir.stdin.write(b"a line\n" * 1000)
    except BrokenPipeError:
        pass
    assert weir.wait(timeout=30) == -signal.SIGPIPE  # as any filter
    assert weir.stderr.read() == b""


def test_an_output_that_cannot_be_written_ends_it_though_no_more_input_comes(pipe):
    with open("/dev/full", "wb") as full:
        weir = pipe(stdout=full)
    weir.stdin.write(b"a line\n")
    assert weir.wait(timeout=30) == 69
    assert b"No space left" in weir.stderr.read()


def test_descriptors_that_somebody_made_non_blocking_are_waited_for():
    ours, its = socket.socketpair()
    its.setblocking(False)
    with its, subprocess.Popen([binary(), "redact"], stdin=its, stdout=its) as weir:
        its.close()
        writer = threading.Thread(target=lambda: (ours.sendall(b"a line\n" * 200000), ours.shutdown(socket.SHUT_WR)))
        writer.start()
        with ours.makefile("rb") as said:
            assert said.read() == b"a line\n" * 200000
        writer.join()
        ours.close()
        assert weir.wait() == 0


def is_read(stream):
    """Nothing is left in the pipe."""
    return struct.unpack("i", fcntl.ioctl(stream, termios.FIONREAD, bytes(4)))[0] == 0


def test_a_field_is_answered_when_the_next_one_begins(pipe):
    weir = pipe("--as", "header")
    for n in range(3):
        weir.stdin.write(b"Next-%d: a\n b\n" % n)
        wait_for(lambda: is_read(weir.stdin), what="a weir that reads")
        weir.stdin.write(b"A")
        said = b""
        while not said.endswith(b" b\n"):
            said += weir.stdout.read(4096)
        assert b"Next-%d: a\n b\n" % n in said


def test_a_reader_that_is_slow_gets_all_of_it(pipe):
    weir = pipe()
    words = b" and what else there is to say in a line of a log" * 2  # they pay for the mark
    text = b"".join(b"%d password=hunter2%s\n" % (n, words) for n in range(20000))

    def write():
        with weir.stdin as to:
            for at in range(0, len(text), 4096):
                to.write(text[at:at + 4096])

    writer = threading.Thread(target=write)
    writer.start()
    said = b""
    while piece := weir.stdout.read(1000):
        said += piece
    writer.join()
    lines = said.split(b"\n")
    assert len(lines) == 20001 and b"hunter2" not in said
    assert all(line.startswith(b"%d password=~redacted.password.k0." % n) for n, line in enumerate(lines[:-1]))


def test_explain_names_what_was_found_and_why_and_never_the_value():
    told = subprocess.run([binary(), "redact", "--explain"], text=True, capture_output=True, check=True,
                          input="first line\na password=hunter" "2hunter2 " + SECRET + "\n")
    assert told.stdout.splitlines() == [
        "22-36 password: the key before it",
        "37-77 github: its own shape",
    ]
    assert "hunter2" not in told.stdout + told.stderr and SECRET not in told.stdout + told.stderr


def test_explain_of_a_text_without_secrets_says_nothing():
    told = subprocess.run([binary(), "redact", "--explain"], text=True, capture_output=True, check=True, input="a b\n")
    assert told.stdout == ""
