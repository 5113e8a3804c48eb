"""A DNS server that says what a test tells it to, over UDP and TCP, and remembers the questions.

zone: name -> entry; an entry has A, AAAA (lists), CNAME, rcode (a name), ttl,
drop (no answer), A_drop, AAAA_drop, delay (seconds), hold (an Event that the
answer waits for, HELD_MAX at most), servfail by rcode,
sequence (one entry for each A question, the last for ever) and before (bytes
sent ahead of the answer).  A name without an entry gets `default`, or NXDOMAIN.
"""
import ipaddress
import socket
import struct
import threading
import time

A, CNAME, AAAA = 1, 5, 28
QTYPES = {A: "A", CNAME: "CNAME", AAAA: "AAAA", 16: "TXT", 65: "HTTPS"}
RCODES = {"NOERROR": 0, "FORMERR": 1, "SERVFAIL": 2, "NXDOMAIN": 3, "NOTIMP": 4, "REFUSED": 5}
CHAIN_MAX = 16
HELD_MAX = 60


def encode_name(name):
    out = b""
    for label in name.rstrip(".").split("."):
        raw = label.encode("latin1")
        out += bytes([len(raw)]) + raw
    return out + b"\0"


def read_question(query):
    """(name in lower case, qtype, offset after the question)"""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("latin1"))
        at += 1 + query[at]
    qtype, _qclass = struct.unpack("!HH", query[at + 1:at + 5])
    return ".".join(labels).lower(), qtype, at + 5


def addresses(value):
    return [value] if isinstance(value, str) else list(value or [])


class Dns:
    def __init__(self, address="127.0.0.1", port=53):
        self.zone, self.default, self.queries = {}, None, []
        self._turn, self._lock = {}, threading.Lock()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((address, port))
        self.port = self.udp.getsockname()[1]
        self.tcp = socket.create_server((address, self.port), backlog=64)
        self.server = "%s:%d" % (address, self.port)
        for serve in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=serve, daemon=True).start()

    def set(self, zone, default=None):
        """A new script; what was asked before is forgotten."""
        with self._lock:
            self.zone, self.default, self.queries, self._turn = dict(zone), default, [], {}

    def asked(self, name=None, qtype=None):
        with self._lock:
            return [q for q in self.queries
                    if (name is None or q[0] == name) and (qtype is None or q[1] == qtype)]

    def close(self):
        for one in (self.udp, self.tcp):
            try:
                one.shutdown(socket.SHUT_RDWR)  # who waits in it would keep the port
            except OSError:
                pass
            one.close()

    # -- what to say

    def _entry(self, name, qtype):
        entry = self.zone.get(name, self.default)
        if entry is None or "sequence" not in entry:
            return entry
        turns = entry["sequence"]
        n = self._turn.get(name, 0)
        if qtype == A:
            self._turn[name] = n + 1
        elif n:
            n -= 1  # the AAAA question that goes with the last A question
        return dict({"ttl": entry.get("ttl", 0)}, **turns[min(n, len(turns) - 1)])

    def _records(self, name, qtype):
        """[(owner, type, rdata, ttl)], rcode, entry that decides about silence and delay"""
        records, entry, owner = [], None, name
        for _ in range(CHAIN_MAX):
            entry = self._entry(owner, qtype)
            if entry is None:
                return records, RCODES["NXDOMAIN"], {}
            if "rcode" in entry:
                return records, RCODES[entry["rcode"].upper()], entry
            ttl = entry.get("ttl", 0)
            if "CNAME" not in entry:
                break
            records.append((owner, CNAME, encode_name(entry["CNAME"]), ttl))
            owner = entry["CNAME"].lower().rstrip(".")
        for text in addresses(entry.get(QTYPES.get(qtype, ""))):
            records.append((owner, qtype, ipaddress.ip_address(text).packed, ttl))
        return records, 0, entry

    def _answer(self, query, transport):
        """(entry, reply bytes or None)"""
        name, qtype, end = read_question(query)
        with self._lock:
            self.queries.append((name, QTYPES.get(qtype, str(qtype)), transport))
            records, rcode, entry = self._records(name, qtype)
        silent = entry.get("drop") or entry.get(QTYPES.get(qtype, "") + "_drop")
        if silent:
            return entry, None
        body = b""
        for owner, rtype, rdata, ttl in records:
            body += encode_name(owner) + struct.pack("!HHIH", rtype, 1, ttl, len(rdata)) + rdata
        question = query[12:end]
        flags, count = 0x8580 | rcode, len(records)
        if transport == "udp" and 12 + len(question) + len(body) > 512:
            flags, count, body = flags | 0x0200, 0, b""
        return entry, query[:2] + struct.pack("!HHHHH", flags, 1, count, 0, 0) + question + body

    # -- saying it

    def _reply_udp(self, query, peer):
        try:
            entry, reply = self._answer(query, "udp")
        except (IndexError, struct.error):
            return
        if "hold" in entry:
            entry["hold"].wait(HELD_MAX)
        if entry.get("delay"):
            time.sleep(entry["delay"])  # the script's: how long this server thinks
        try:
            for early in entry.get("before", []):
                self.udp.sendto(early, peer)
            if reply is not None:
                self.udp.sendto(reply, peer)
        except OSError:
            pass

    def _serve_udp(self):
        while True:
            try:
                query, peer = self.udp.recvfrom(65535)
            except OSError:
                return
            if not peer:
                return  # shut
            threading.Thread(target=self._reply_udp, args=(query, peer), daemon=True).start()

    def _talk_tcp(self, sock):
        with sock:
            data = b""
            while True:
                while len(data) < 2 or len(data) < 2 + struct.unpack("!H", data[:2])[0]:
                    try:
                        piece = sock.recv(65535)
                    except OSError:
                        return
                    if not piece:
                        return
                    data += piece
                size = struct.unpack("!H", data[:2])[0]
                query, data = data[2:2 + size], data[2 + size:]
                _entry, reply = self._answer(query, "tcp")
                if reply is not None:
                    sock.sendall(struct.pack("!H", len(reply)) + reply)

    def _serve_tcp(self):
        while True:
            try:
                sock, _ = self.tcp.accept()
            except OSError:
                return
            threading.Thread(target=self._talk_tcp, args=(sock,), daemon=True).start()
