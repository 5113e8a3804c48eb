"""http-responses.jsonl: exact bytes from the origin; what the client gets."""
import base64

from rig import client, http1, origin

from . import live
from .http_requests import raw
from .live import Wrong, need

NEEDS_NET = True


def later(case, known):
    return live.policy_later(case)


def groups(cases, known):
    return live.by_policy(cases, known, lambda case: case["then"] == "stall")


# -- the origin

def end(conn, how):
    if how == "close":
        conn.close()
    elif how == "rst":
        conn.reset()


def answers(case):
    """Serves a case's bytes after the request."""
    data = raw(case)

    def write(conn):
        step = case.get("split_every", len(data) or 1)
        for i in range(0, len(data), step):
            conn.send(data[i:i + step])
        end(conn, case["then"])

    def serve(conn):
        is_written = False
        while conn.recv():
            if not is_written and b"\r\n\r\n" in conn.data:
                conn.upstream.requests.append(http1.read_request(conn.data)[0])
                is_written = True
                write(conn)
    return serve


# -- the client

def method_of(case):
    return raw(case, "request_b64").split(b" ", 1)[0].decode()


def wait_answer(sock, case):
    """(interim, final): until one whole answer is there or the connection ended."""
    seen = [method_of(case)]

    def is_whole(data):
        final = http1.read_responses(data, sock.is_ended, seen)[1]
        return bool(final) and final[0].is_complete
    try:
        sock.read_until(is_whole)
        interim, final, rest = http1.read_responses(sock.data, sock.is_ended, seen)
    except http1.Malformed as why:
        raise Wrong("the client got nonsense: %s" % why) from None
    need(len(final) == 1, "%d answers: %r", len(final), sock.data[:200])
    need(not rest, "bytes behind the answer: %r", rest[:80])
    return interim, final[0]


def nothing_more(sock):
    """The answer is all there is: after our end, weir's end comes and no byte before it."""
    sock.data = b""
    sock.finish()
    sock.read_all()
    need(not sock.data, "after the answer came %r", sock.data[:80])


def forward(case, answer):
    wanted = case["must_return"]
    need(answer.status == wanted["status"], "status %d, wanted %d", answer.status, wanted["status"])
    need(answer.is_complete, "the answer is incomplete: %s", answer)
    for name, value in wanted["headers"]:
        need(answer.all(name) == [value], "%s %r, wanted %r", name, answer.all(name), value)
    for name in wanted["headers_absent"]:
        need(not answer.all(name), "%s must not be there: %r", name, answer.all(name))
    if wanted["body_b64"] is not None:
        need(answer.body == base64.b64decode(wanted["body_b64"]), "body %r", answer.body[:80])
    need(not answer.trailers, "trailers came through: %r", answer.trailers)


def gateway_error(case, answer, statuses=(502, 504)):
    need(answer.status in statuses, "status %d, wanted one of %s", answer.status, statuses)
    need(answer.is_complete, "the answer is incomplete: %s", answer)
    said = answer.get("proxy-status", "")
    right = case.get("proxy_status_error") or []
    need(not right or any("error=" + word in said.replace(" ", "") for word in right),
         "Proxy-Status %r, wanted one of %s", said, right)


def truncate(case, answer):
    need(answer.status == case["must_return"]["status"], "status %d", answer.status)
    need(not answer.is_complete, "the answer looks complete: %s", answer)
    need(answer.framing != "close", "an end by close hides that the answer is cut")


EXPECT = {"forward": [forward], "bad_gateway": [gateway_error], "truncate": [truncate],
          "either": [forward, gateway_error],
          "timeout": [lambda case, answer: gateway_error(case, answer, (504,))]}


def retried(net, case, answer):
    """A second try on a fresh connection, and nothing of what the first one said."""
    need(answer.status == 200 and len(net.upstream.conns) > 1, "status %d after %d connections",
         answer.status, len(net.upstream.conns))
    said = http1.read_response(raw(case), True, method_of(case))[0]
    need(answer.body != said.body, "the answer to nothing was passed on: %r", answer.body)


def judge(net, case, answer):
    """Right when one of the readings is."""
    readings = EXPECT[case["expect"]] + EXPECT.get(case.get("also_ok"), [])
    if case.get("may_retry"):
        readings.append(lambda each, got: retried(net, each, got))
    wrong = []
    for reading in readings:
        try:
            reading(case, answer)
            return
        except Wrong as why:
            wrong.append(str(why))
    need(not wrong, "%s", " / ".join(wrong))


def no_reuse(net, case, sock):
    """The next request goes out on a new connection and gets its own answer."""
    net.upstream.serve = origin.http_serve
    old = list(net.upstream.conns)
    sock.data = b""
    answer = sock.get("http://allowed.test/next")
    need(answer is not None and answer.body == b"ok", "the next answer was %s", answer)
    need(all(b"/next" not in c.data for c in old), "a connection with unread bytes was used again")


def speak_early(net, proxy, case, sock):
    """The case's bytes over a connection that weir keeps, while it has asked nothing."""
    net.upstream.serve = origin.http_serve
    answer = sock.get("http://allowed.test/before")
    need(answer is not None and answer.body == b"ok", "before the case the answer was %s", answer)
    conn = net.upstream.conn(0)
    conn.send(raw(case))
    end(conn, case["then"])


def check(net, proxy, case):
    net.upstream.serve = answers(case)
    before = len(proxy.finals())
    with client.Client(proxy) as sock:
        if case.get("timing") == "before_request":
            speak_early(net, proxy, case, sock)
            before += 1
        sock.send(raw(case, "request_b64"))
        interim, answer = wait_answer(sock, case)
        judge(net, case, answer)
        if "interim" in case:
            need([m.status for m in interim] == case["interim"], "1xx %s, wanted %s", interim, case["interim"])
        if case.get("upstream_reuse") is False:
            no_reuse(net, case, sock)
            before += 1
        nothing_more(sock)
    records = live.records_of(proxy, before, 1)
    need(len(records) == 1, "%d records", len(records))


def run_group(net, group):
    return live.run_each(net, group, check)
