"""Upload caps over several workers: all of them together send no more than there is."""
import threading

from rules import http, is_refusal, tcp
from test_upload import KIB, NAME, by_connect, is_cut, post


def test_many_tunnels_at_once_send_no_more_together(weir, silent, connect):
    proxy = weir([tcp(NAME, silent.port, upload="4MiB")], {"workers": 4})
    tunnels = [connect(proxy) for _ in range(8)]
    assert all(by_connect(sock, silent.port) for sock in tunnels)
    threads = [threading.Thread(target=is_cut, args=(sock,)) for sock in tunnels]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    records = proxy.finals(8)
    assert {r["reason"] for r in records} == {"upload_exhausted"}
    assert sum(r["bytes"]["up"] for r in records if "bytes" in r) == 4 * KIB * KIB
    assert silent.wait(lambda: all(c.is_ended for c in silent.conns)) and len(silent.bytes()) <= 4 * KIB * KIB


def test_many_requests_at_once_send_no_more_together(weir, upstream, connect):
    proxy = weir([http(NAME, upload="256KiB")], {"workers": 4})
    answers = []

    def send():
        with connect(proxy) as client:
            for _ in range(8):
                answers.append(post(client, b"b" * (8 * KIB)))
                if answers[-1].status != 200:
                    break
    threads = [threading.Thread(target=send) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for answer in answers:
        assert answer.status == 200 or is_refusal(answer, 403, "upload_exhausted")
    sent = sum(r.get("bytes", {"up": 0})["up"] for r in proxy.finals(len(answers)))
    assert 128 * KIB < sent <= 256 * KIB and len(upstream.requests) == sum(a.status == 200 for a in answers)
