"""A token from a log, a neighbour or a shared volume: good from nowhere but where its session is."""
import subprocess

import pytest

from rig import token as tokens
from rig.weir import WAIT, binary, wait_for
from rules import http, is_refusal
from test_sessions import NAME, SECRET, Through, ask, guarded  # noqa: F401 - fixtures


def doors(tmp_path):
    return {"listen": {"proxy": ["unix:%s/a" % tmp_path, "unix:%s/b" % tmp_path, "127.0.0.1:3128"], "admin": ["unix:%s/admin" % tmp_path]}}


def ctl(tmp_path, *words, stdin=None):
    done = subprocess.run([binary(), "ctl", "-s", "%s/admin" % tmp_path, *words], input=stdin, capture_output=True, text=True, timeout=WAIT * 6)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def held(guarded, upstream, connect, tmp_path):
    """A session that the first socket holds, and what another's way in is."""
    proxy = guarded([http(NAME)], config=doors(tmp_path))
    token = tokens.mint(SECRET, "mine")
    first = connect(proxy)
    assert ask(first, token).status == 200
    return proxy, first, token


def elsewhere(proxy, connect, token):
    return [ask(connect(Through(proxy, i)), token) for i in (1, 2)]


def test_it_is_no_good_from_another_source(held, connect, upstream):
    proxy, first, token = held
    copies = [token, tokens.mint(SECRET, "mine"), tokens.mint(SECRET, "mine", gen=2 ** 40), tokens.mint(SECRET, "mine", turn="t2")]
    for copy in copies:
        for answer in elsewhere(proxy, connect, copy):
            is_refusal(answer, 403, "session_not_attached")
    assert ask(first, token).status == 200 and len(upstream.requests) == 2


def test_it_is_no_good_in_another_form(held, connect, upstream):
    proxy, _first, token = held
    there = connect(Through(proxy, 1))
    for header in (tokens.basic(token, "mine"), tokens.bearer(token), "bearer " + token, tokens.basic(token, "")):
        is_refusal(ask(there, header=header), 403, "session_not_attached")
    for changed in (token + "=", token[:-1], token.replace(".", ". ", 1), token + "." + token.split(".")[2], token.swapcase()):
        assert ask(there, changed).get("x-weir-reason") == "session_invalid"
    assert len(upstream.requests) == 1


def test_a_child_of_it_does_not_open_its_parents_door(held, connect):
    proxy, _first, token = held
    # a session of its own, held by whoever came first with it; what its parent may not, it may not
    assert ask(connect(Through(proxy, 1)), tokens.mint(SECRET, "child", par="mine")).status == 200
    for answer in elsewhere(proxy, connect, token):
        is_refusal(answer, 403, "session_not_attached")


def test_somebody_elses_name_in_it_opens_nothing(held, connect):
    proxy, _first, _token = held
    is_refusal(ask(connect(Through(proxy, 1)), tokens.mint(SECRET, "mine", sub="thief")), 403, "session_owner_mismatch")


def test_revoked_it_is_good_nowhere_and_what_it_has_open_ends(held, connect, tmp_path):
    proxy, first, token = held
    ctl(tmp_path, "revoke", "acme", "mine")
    for i in (0, 1, 2):
        is_refusal(ask(connect(Through(proxy, i)), token), 403, "session_revoked")
    is_refusal(ask(connect(proxy), tokens.mint(SECRET, "mine", gen=2 ** 40)), 403, "session_revoked")
    first.read_all()


def test_an_armed_session_is_its_sockets_until_it_is_disarmed_and_then_nobodys(guarded, upstream, connect, tmp_path):
    proxy = guarded([http(NAME)], config=doors(tmp_path), bind="armed")
    token, source = tokens.mint(SECRET, "mine"), "%s/a" % tmp_path
    ctl(tmp_path, "arm", source, "600", stdin=token)
    assert wait_for(lambda: ask(connect(proxy)).status == 200, what="the arm")
    for answer in elsewhere(proxy, connect, token):
        is_refusal(answer, 403, "session_not_attached")
    ctl(tmp_path, "disarm", source)
    for i in (0, 1, 2):
        is_refusal(ask(connect(Through(proxy, i)), token), 403, "session_not_attached")
    is_refusal(ask(connect(proxy)), 407, "session_required")
