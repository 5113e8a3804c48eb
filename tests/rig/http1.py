"""A strict reader of HTTP/1.1 messages.

It is the tests' own judge of what weir sent, both ways, so it takes nothing
that RFC 9112 does not: anything else is a Malformed, which fails the test.
"""
import re

TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*\Z")


class Malformed(Exception):
    pass


class Incomplete(Exception):
    pass


class Message:
    def __init__(self, start, headers):
        self.start, self.headers = start, headers
        self.body, self.is_complete, self.framing, self.trailers = b"", False, "none", []

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    # of a response
    @property
    def status(self):
        return int(self.start[1])

    @property
    def phrase(self):
        return self.start[2]

    # of a request
    @property
    def method(self):
        return self.start[0]

    @property
    def target(self):
        return self.start[1]

    def __repr__(self):
        return "<%s %r %s%s>" % (" ".join(self.start), self.headers, self.body[:80],
                                 "" if self.is_complete else " (incomplete)")


def _line(data, at):
    end = data.find(b"\r\n", at)
    if end < 0:
        raise Incomplete
    line = data[at:end]
    if b"\n" in line or b"\r" in line or b"\0" in line:
        raise Malformed("bare CR, LF or NUL in %r" % line)
    return line, end + 2


def _fields(data, at):
    fields = []
    while True:
        line, at = _line(data, at)
        if not line:
            return fields, at
        name, colon, value = line.partition(b":")
        value = value.strip(b" \t")
        if not colon or not TOKEN.match(name) or not VALUE.match(value):
            raise Malformed("field line %r" % line)
        fields.append((name.decode("latin1"), value.decode("latin1")))


def _chunked(data, at):
    body = b""
    while True:
        line, at = _line(data, at)
        if not re.match(rb"[0-9A-Fa-f]{1,16}\Z", line):
            raise Malformed("chunk line %r" % line)
        size = int(line, 16)
        if size == 0:
            trailers, at = _fields(data, at)
            return body, trailers, at
        if len(data) < at + size + 2:
            raise Incomplete(body + data[at:at + size])
        if data[at + size:at + size + 2] != b"\r\n":
            raise Malformed("chunk end %r" % data[at + size:at + size + 2])
        body, at = body + data[at:at + size], at + size + 2


def _length(message):
    values = message.all("content-length")
    coding = message.all("transfer-encoding")
    if len(values) > 1 or len(coding) > 1 or (values and coding):
        raise Malformed("framing %r %r" % (values, coding))
    if coding:
        if coding[0].lower() != "chunked":
            raise Malformed("coding %r" % coding)
        return "chunked", None
    if values:
        if not re.match(r"(0|[1-9][0-9]*)\Z", values[0]):
            raise Malformed("length %r" % values)
        return "length", int(values[0])
    return "none", None


def _body(message, data, at, eof, bare):
    """Reads what the head announced; returns the offset after it."""
    kind, size = _length(message)
    message.framing = kind
    if bare:
        message.is_complete = True
        return at
    if kind == "chunked":
        try:
            message.body, message.trailers, at = _chunked(data, at)
            message.is_complete = True
        except Incomplete as short:
            message.body, at = (short.args[0] if short.args else b""), len(data)
        return at
    if kind == "length":
        message.body = data[at:at + size]
        message.is_complete = len(message.body) == size
        return at + len(message.body)
    return None


def read_request(data):
    """(message, bytes used); raises Incomplete while the head is not whole."""
    line, at = _line(data, 0)
    parts = line.split(b" ")
    if len(parts) != 3 or parts[2] not in (b"HTTP/1.1", b"HTTP/1.0") or not TOKEN.match(parts[0]):
        raise Malformed("request line %r" % line)
    fields, at = _fields(data, at)
    message = Message([p.decode("latin1") for p in parts], fields)
    end = _body(message, data, at, False, False)
    if end is None:
        message.is_complete, end = True, at
    return message, end


def read_response(data, eof=False, method="GET"):
    """(message, bytes used); raises Incomplete while the head is not whole."""
    line, at = _line(data, 0)
    parts = line.split(b" ", 2)
    if len(parts) != 3 or parts[0] not in (b"HTTP/1.1", b"HTTP/1.0") or \
            not re.match(rb"[1-9][0-9][0-9]\Z", parts[1]):
        raise Malformed("status line %r" % line)
    fields, at = _fields(data, at)
    message = Message([p.decode("latin1") for p in parts], fields)
    bare = method == "HEAD" or message.status < 200 or message.status in (204, 304) or \
        (method == "CONNECT" and 200 <= message.status < 300)
    end = _body(message, data, at, eof, bare)
    if end is None:  # until close
        message.framing, message.body, end = "close", data[at:], len(data)
        message.is_complete = eof
    return message, end


def read_requests(data):
    """(complete requests, what is left): what an origin was asked."""
    done = []
    while data:
        try:
            message, used = read_request(data)
        except Incomplete:
            break
        if not message.is_complete:
            break
        done.append(message)
        data = data[used:]
    return done, data


def read_responses(data, eof, methods):
    """(interim, final, what is left): all a client got; the last may be incomplete."""
    interim, final = [], []
    while data:
        method = methods[len(final)] if len(final) < len(methods) else "GET"
        try:
            message, used = read_response(data, eof, method)
        except Incomplete:
            break
        data = data[used:]
        if message.status < 200 and message.status != 101:
            interim.append(message)
            continue
        final.append(message)
        if not message.is_complete or message.status == 101 or \
                (method == "CONNECT" and message.status < 300):
            break
    return interim, final, data
