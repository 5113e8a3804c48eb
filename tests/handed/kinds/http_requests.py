"""http-requests.jsonl: exact bytes from the client; what reached the origin, what came back, what was recorded."""
import base64
import select

from rig import ca, client, gateway, hello, http1, origin, tls

from . import live
from .live import Wrong, need

NEEDS_NET = True
METHODS_GUESSED = 64
OPENED = ("allowed.test", 443)  # what a client of an intercepted tunnel has asked for


def later(case, known):
    if case["listener"] not in ("proxy", "transparent-http", "mitm", "gateway"):
        return "listener " + case["listener"]
    return live.policy_later(case)


def groups(cases, known):
    return live.by_policy(cases, known, lambda case: case["area"] == "timeouts")


# -- the client's side

def raw(case, key="raw_b64"):
    return base64.b64decode(case[key])


def methods(data):
    """The methods of what is sent, as well as they can be told: HEAD and CONNECT change answers."""
    out = []
    for piece in data.lstrip(b"\r\n").split(b"\r\n\r\n"):
        word = piece.split(b" ", 1)[0]
        out.append(word.decode("latin1") if word.isalpha() and len(word) < 20 else "GET")
    return (out + ["GET"])[:METHODS_GUESSED]


def drip(sock, data, pause):
    """One byte each `pause` seconds, until weir says something."""
    for byte in data:
        if not sock.send(bytes([byte])) or select.select([sock.sock], [], [], pause)[0]:
            return


def talk(case, sock):
    """Sends the case's bytes the way it says."""
    data = raw(case)
    if "drip_ms" in case:
        head = data.index(b"\r\n\r\n") + 4 if case["drip_from"] == "body" else 0
        sock.send(data[:head])
        drip(sock, data[head:], case["drip_ms"] / 1000)
    elif "split_every" in case:
        sock.send_pieces(data, case["split_every"])
    else:
        sock.send(data)
    if case.get("client_then") == "shutdown_write":
        sock.finish()


def listen_back(sock, wanted, sent):
    """(interim, final): reads until `wanted` final answers came or the connection ended."""
    seen = methods(sent)

    def is_enough(data):
        _interim, final, _rest = http1.read_responses(data, sock.is_ended, seen)
        return len([m for m in final if m.is_complete]) >= wanted
    sock.read_until(is_enough)
    try:
        interim, final, rest = http1.read_responses(sock.data, sock.is_ended, seen)
    except http1.Malformed as why:
        raise Wrong("the client got nonsense: %s" % why) from None
    return interim, final, rest


def must_close(sock):
    """The connection ends after the reply, and nothing more comes on it."""
    already = len(sock.data)
    while not sock.is_ended:
        try:
            sock.recv(5)
        except TimeoutError:
            raise Wrong("the connection did not close after the reply") from None
    need(len(sock.data) == already, "more came after the reply: %r", sock.data[already:][:80])


# -- the origin's side

def is_same(request, wanted):
    """What differs between a request at the origin and the one that must be there, or None."""
    if (request.method, request.target) != (wanted["method"], wanted["target"]):
        return "%s %s, wanted %s %s" % (request.method, request.target, wanted["method"], wanted["target"])
    if len(request.all("host")) != 1 or request.get("host") not in wanted["host_in"]:
        return "Host %r, wanted one of %s" % (request.all("host"), wanted["host_in"])
    for name in {n.lower() for n, _v in wanted["headers"]}:
        values = [live.known(v) for n, v in wanted["headers"] if n.lower() == name]
        if request.all(name) != values:
            return "%s %r, wanted %r" % (name, request.all(name), values)
    for name, value in wanted.get("header_if_present", []):
        if request.all(name) and request.all(name) != [value]:
            return "%s %r, wanted %r or nothing" % (name, request.all(name), value)
    for name in wanted["headers_absent"]:
        if request.all(name):
            return "%s must not be there: %r" % (name, request.all(name))
    if request.body != base64.b64decode(wanted["body_b64"]):
        return "body %r, wanted %r" % (request.body[:60], base64.b64decode(wanted["body_b64"])[:60])
    return None


def check_forwarded(net, case):
    upstream, wanted = net.upstream, case["must_forward"]
    upstream.wait(lambda: len(upstream.requests) >= len(wanted), 5)
    need(len(upstream.requests) == len(wanted), "the origin saw %d requests, wanted %d: %r",
         len(upstream.requests), len(wanted), upstream.bytes()[:200])
    for got, want in zip(upstream.requests, wanted):
        why = is_same(got, want)
        need(why is None, "at the origin: %s", why)
    if "via_contains" in case:
        via = ", ".join(upstream.requests[0].all("via"))
        need(all(part in via for part in case["via_contains"]), "Via %r, wanted %s", via, case["via_contains"])
    if "must_not_contain_upstream_b64" in case:
        need(raw(case, "must_not_contain_upstream_b64") not in upstream.bytes(), "the origin saw what it must not")


def check_nothing_reached(net, case):
    need(not net.upstream.requests, "the origin saw a request: %s", net.upstream.requests)
    if case.get("must_not_reach_upstream"):
        need(not net.upstream.bytes(), "the origin saw bytes: %r", net.upstream.bytes()[:120])


# -- each `expect`

def is_followed(case):
    """More than the request was sent, and is a request of its own: weir may answer that too."""
    return "must_not_contain_upstream_b64" in case


def forward(net, case, sock, interim, final):
    wanted = case.get("responses", 1)
    if is_followed(case):
        final = final[:wanted]
    statuses = [m.status for m in final]
    need(len(final) == wanted, "%d answers (%s), wanted %d", len(final), statuses, wanted)
    if "statuses" in case:
        need(statuses in [case["statuses"]] + case.get("statuses_alt", []), "statuses %s, wanted %s",
             statuses, case["statuses"])
    elif not case.get("then_tunnel"):
        need(all(200 <= s < 300 for s in statuses), "statuses %s", statuses)
    if case.get("no_interim"):
        need(not interim, "a 1xx came: %s", interim)
    check_forwarded(net, case)
    if case.get("then_tunnel"):
        need(statuses == [101], "statuses %s, wanted 101", statuses)
        relay_works(net, sock)


def relay_works(net, sock):
    sock.data = b""
    sock.send(b"from the client")
    conn = net.upstream.conns[-1]
    need(net.upstream.wait(lambda: conn.data.endswith(b"from the client"), 5), "nothing went up the pipe")
    conn.send(b"from the origin")
    need(sock.read_until(lambda data: data == b"from the origin"), "down the pipe came %r", sock.data)


def refuse(net, case, sock, interim, final):
    status = final[0].status if final else 0
    need(len(final) <= 1, "%d answers: %s", len(final), final)
    need(status in case["status_in"], "status %d, wanted one of %s", status, case["status_in"])
    need(not interim, "a refused request got a 1xx: %s", interim)
    need(not final or final[0].is_complete, "the answer was cut: %s", final)
    if case.get("close"):
        must_close(sock)
    check_nothing_reached(net, case)


def abort(net, case, sock, interim, final):
    status = final[0].status if final else 0
    need(len(final) <= 1, "%d answers: %s", len(final), final)
    if case.get("status_in"):
        need(status in case["status_in"], "status %d, wanted one of %s", status, case["status_in"])
    else:
        need(status == 0 or status >= 400, "status %d for a message that was never whole", status)
    must_close(sock)
    need(net.upstream.wait(lambda: all(c.is_ended for c in net.upstream.conns), 5),
         "the origin's connection was left open")
    need(not net.upstream.requests, "the origin saw a whole request: %s", net.upstream.requests)


def either(net, case, sock, interim, final):
    status = final[0].status if final else 0
    if status in case["status_in"] and not net.upstream.requests:
        check_nothing_reached(net, case)
    else:
        forward(net, case, sock, interim, final)


def tunnel(net, case, sock, interim, final):
    need([m.status for m in final] == [200], "answers %s, wanted 200", final)
    for name in ("content-length", "transfer-encoding", "connection"):
        need(not final[0].all(name), "200 to CONNECT carries %s", name)
    sock.data = b""
    if "inner_b64" in case:
        return inner(net, case, sock)
    sent = hello.hello("allowed.test")
    sock.send(sent)
    need(net.upstream.wait(lambda: net.upstream.bytes() == sent, 5), "the hello did not come through whole")
    net.upstream.conn().send(hello.ALERT)
    need(sock.read_until(lambda data: data == hello.ALERT), "the origin's answer came as %r", sock.data)
    return sock.finish()


def inner(net, case, sock):
    sock.send(raw(case, "inner_b64"))
    if case["inner_expect"] == "close":
        sock.read_all()
    else:
        answer = sock.response()
        need(answer is not None and answer.status in case["status_in"], "inside the tunnel: %s, wanted one of %s",
             answer, case["status_in"])
        sock.finish()
    need(not net.upstream.bytes(), "the origin saw bytes: %r", net.upstream.bytes()[:120])


EXPECT = {"forward": forward, "reject": refuse, "deny": refuse, "abort": abort, "either": either, "tunnel": tunnel}


def prepare(net, case):
    if case["listener"] == "mitm":
        net.upstream.serve = tls.tls_serve(net.group["authority"].context(OPENED[0]), origin.http_serve)
    if case["expect"] == "tunnel" and "inner_b64" not in case:
        net.upstream.serve = origin.silent_serve
    if "upstream_reply_b64" in case:
        reply = raw(case, "upstream_reply_b64")
        net.upstream.reply = lambda request: reply


def opened(net, proxy, case):
    """The client's connection: the door itself, or the TLS inside a tunnel."""
    if case["listener"] == "gateway":
        return client.Client(gateway.Door(proxy))
    if case["listener"] == "mitm":
        return ca.Inside.open(proxy, net.group["ca"].trusting(), *OPENED)
    return client.Client(live.through(proxy, case))


def check(net, proxy, case):
    prepare(net, case)
    before = len(proxy.finals())
    sent = raw(case)
    with opened(net, proxy, case) as sock:
        talk(case, sock)
        interim, final, _rest = listen_back(sock, case.get("responses", 1), sent)
        EXPECT[case["expect"].split(":")[0]](net, case, sock, interim, final)
        sock.close()
        if not sent:
            return  # an exchange begins with its first byte
        records = live.records_of(proxy, before, max(1, len(final)))
        extra = 1 if is_followed(case) else 0
        need(max(1, len(final)) <= len(records) <= max(1, len(final)) + extra, "%d records for %d answers",
             len(records), len(final))


def run_group(net, group):
    return live.run_each(net, group, check)
