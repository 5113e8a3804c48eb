"""Upload caps that a reload brings, or takes away: what is still open is held by them with all that it has sent."""
import pytest

from rig.weir import proxy_and_health, wait_for
from rules import tcp
from test_upload import NAME, by_connect

pytestmark = pytest.mark.single


def reload_to(proxy, rules, config=None):
    """Until the tunnel that is open was judged again."""
    before = proxy.metric("weir_tunnels_rejudged_total")
    proxy.config.update(config or {})
    proxy.reload([{"policy": "test", "allow": rules}])
    wait_for(lambda: proxy.metric("weir_tunnels_rejudged_total") > before, what="a tunnel that was judged again")


def is_sent(sock, origin, data):
    before = len(origin.bytes())
    sock.send(data)
    return origin.wait(lambda: len(origin.bytes()) == before + len(data))


def is_cut(sock, proxy, reason):
    return sock.read_all() == b"" and sock.is_reset and proxy.finals(1)[0]["reason"] == reason


def test_what_a_tunnel_has_sent_counts_when_a_cap_comes(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port)], {"listen": proxy_and_health()})
    sock = connect(proxy)
    assert by_connect(sock, silent.port) and is_sent(sock, silent, b"s" * 2000)
    reload_to(proxy, [tcp(NAME, silent.port, upload="2010B")])
    assert is_sent(sock, silent, b"t" * 10)
    sock.send(b"!")
    assert is_cut(sock, proxy, "upload_exhausted") and len(silent.bytes()) == 2010


def test_and_counts_once_when_it_goes_and_comes_again(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port, upload="5000B")], {"listen": proxy_and_health()})
    sock = connect(proxy)
    assert by_connect(sock, silent.port) and is_sent(sock, silent, b"s" * 2000)
    reload_to(proxy, [tcp(NAME, silent.port)])
    assert is_sent(sock, silent, b"t" * 4000)
    reload_to(proxy, [tcp(NAME, silent.port)], {"limits": {"upload": "6010B"}})
    assert is_sent(sock, silent, b"u" * 10)
    sock.send(b"!")
    assert is_cut(sock, proxy, "upload_exhausted") and len(silent.bytes()) == 6010


def test_one_that_has_sent_more_ends_at_once(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port)], {"listen": proxy_and_health()})
    sock = connect(proxy)
    assert by_connect(sock, silent.port) and is_sent(sock, silent, b"s" * 2000)
    reload_to(proxy, [tcp(NAME, silent.port, upload="1000B")])
    assert is_cut(sock, proxy, "policy_changed") and len(silent.bytes()) == 2000
