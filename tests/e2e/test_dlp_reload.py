"""dlp on a websocket that is open while the policy is loaded again."""
import pytest

from rig.weir import wait_for
from rules import http
from test_dlp import HELD, NAME, SHAPED, URL, WS, chat, holding  # noqa: F401 - some are fixtures

pytestmark = pytest.mark.single


def reload_to(proxy, **more):
    before = proxy.metric("weir_tunnels_rejudged_total")
    proxy.reload([{"policy": "test", "allow": [http(NAME, upgrade=["websocket"], **more)]}])
    wait_for(lambda: proxy.metric("weir_tunnels_rejudged_total") > before, what="a websocket that was judged again")


def test_an_open_websocket_is_looked_at_as_before(chat, upstream):  # noqa: F811
    """What it is looked at with is the old configuration's no more."""
    proxy, ws = chat("block")
    for _ in range(3):
        reload_to(proxy, dlp="block")
        ws.send_message(2, b"clean words " * 9000, 3)
        assert ws.message() == (2, b"clean words " * 9000)
    ws.send(1, SHAPED.encode())
    assert ws.next_control() == (8, b"\x03\xf0dlp_blocked")


def test_a_stricter_word_holds_for_what_is_open(chat, upstream):  # noqa: F811
    proxy, ws = chat("mark")
    reload_to(proxy, dlp="block")
    ws.send(1, SHAPED.encode())
    assert ws.next_control() == (8, b"\x03\xf0dlp_blocked") and upstream.frames == []


def test_a_websocket_that_flows_unseen_ends_when_it_must_be_seen(chat, upstream):  # noqa: F811
    proxy, ws = chat(None)
    reload_to(proxy, dlp="mark")
    assert ws.sock.read_all() == b"" and ws.sock.is_reset
    assert proxy.finals(1)[0]["reason"] == "policy_changed"


def test_what_is_open_is_not_looked_at_any_more_when_dlp_goes(chat, upstream):  # noqa: F811
    """Nor is what was held back."""
    proxy, ws = chat("block")
    ws.send(2, b"begun", final=False)
    reload_to(proxy)
    ws.send(0, SHAPED.encode())
    assert ws.message() == (2, b"begun" + SHAPED.encode())
    ws.send(9, HELD.encode())
    assert ws.next_control() == (10, HELD.encode())
