"""A fake model provider over TLS, which keeps its own bill to the nano-dollar.

`answer` says what the next calls get; what was asked stays in `requests`.  The bill is
counted from what the provider itself put into its answers, by the price table, with
exact fractions: the ledger must say the same.
"""
import json
import math
import pathlib
import threading
from fractions import Fraction

from . import http1, tls
from .origin import Upstream

PRICES = pathlib.Path(__file__).resolve().parents[2] / "policies" / "prices.json"
# Built from parts: no text here may look like somebody's key.
KEY = "-".join(["sk", "provider", "0123456789abcdef" * 2])
NANO = 10 ** 9


def price(model):
    """Its entry in the table."""
    with open(PRICES, encoding="utf-8") as f:
        table = json.load(f, parse_float=str)
    return table[table["weir_aliases"].get(model, model)]


def rate(model, name):
    return Fraction(price(model).get(name, "0"))


def limit(model):
    """Of its output, in tokens."""
    with open(PRICES, encoding="utf-8") as f:
        return json.load(f)[model]["max_output_tokens"]


def cost_nano(model, plain=0, read=0, write=0, output=0):
    """What a call costs, rounded up once."""
    usd = plain * rate(model, "input_cost_per_token") + read * rate(model, "cache_read_input_token_cost") + \
        write * rate(model, "cache_creation_input_token_cost") + output * rate(model, "output_cost_per_token")
    return math.ceil(usd * NANO)


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def head(status, kind, more=(), chunked=False, length=0):
    lines = ["HTTP/1.1 %d OK" % status, "Content-Type: " + kind, *more]
    lines.append("Transfer-Encoding: chunked" if chunked else "Content-Length: %d" % length)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def whole(body, status=200, kind="application/json", more=()):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head(status, kind, more, length=len(data)) + data


def event(data, name=None):
    text = data if isinstance(data, str) else json.dumps(data)
    return (("event: %s\n" % name if name else "") + "data: %s\n\n" % text).encode()


class Provider(Upstream):
    """answer(provider, conn, request, body) sends what it likes and returns what it bills."""

    def __init__(self, authority, name="llm.example.test"):
        super().__init__(serve=tls.tls_serve(authority.context(name), self._serve))
        self.name, self.answer, self.billed = name, messages(), []
        self.bodies, self.go = [], threading.Event()
        self.port = self.listen()

    @property
    def url(self):
        return "https://%s:%d" % (self.name, self.port)

    @property
    def bill(self):
        """All that was asked for, once every answer to it is out."""
        if not self.wait(lambda: len(self.billed) == len(self.requests)):
            raise AssertionError("the provider still answers")
        return sum(self.billed)

    def _serve(self, conn):
        taken = 0
        while conn.recv():
            try:
                message, used = http1.read_request(conn.data[taken:])
            except http1.Incomplete:
                continue
            if not message.is_complete:
                continue
            taken += used
            body = json.loads(message.body) if message.body else None
            with self.changed:
                self.requests.append(message)
                self.bodies.append(body)
                self.changed.notify_all()
            billed = self.answer(self, conn, message, body)
            with self.changed:
                self.billed.append(billed or 0)
                self.changed.notify_all()
        conn.close()


def messages(text="hello", plain=12, read=0, write=0, output=5, more=()):
    """Anthropic Messages, as one document."""
    def answer(provider, conn, request, body):
        conn.send(whole({"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
                         "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
                         "usage": {"input_tokens": plain, "cache_read_input_tokens": read,
                                   "cache_creation_input_tokens": write, "output_tokens": output}}, more=more))
        return cost_nano(body["model"], plain, read, write, output)
    return answer


COUNTERS = {"/count_tokens": "input_tokens", "/input_tokens": "input_tokens", ":countTokens": "totalTokens"}


def counting(answer, said):
    """Its free counter says so many tokens, or does as it is told with the connection; what else is asked gets `answer`."""
    def either(provider, conn, request, body):
        path = request.target.partition("?")[0]
        name = next((name for end, name in COUNTERS.items() if path.endswith(end)), None)
        if name is None:
            return answer(provider, conn, request, body)
        if callable(said):
            said(conn)
        else:
            conn.send(whole({name: said}))
        return 0
    return either


def message_events(model, plain, output, texts):
    usage = {"input_tokens": plain, "output_tokens": 1}
    yield event({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
                                                      "model": model, "content": [], "usage": usage}}, "message_start")
    yield event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                "content_block_start")
    for text in texts:
        yield event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
                    "content_block_delta")
    yield event({"type": "content_block_stop", "index": 0}, "content_block_stop")
    yield event({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                 "usage": {"output_tokens": output}}, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")


def message_stream(plain=20, output=9, texts=("one ", "two"), pause_after=None, cut_after=None):
    """Anthropic Messages as events; waits for provider.go after so many, or breaks off."""
    def answer(provider, conn, request, body):
        conn.send(head(200, "text/event-stream", chunked=True))
        for i, one in enumerate(message_events(body["model"], plain, output, texts)):
            if i == cut_after:
                conn.reset()
                return None
            if i == pause_after:
                provider.go.wait(10)
            if not conn.send(chunk(one)):
                return None
        conn.send(b"0\r\n\r\n")
        return cost_nano(body["model"], plain, output=output)
    return answer


def chat_stream(prompt=30, output=7, texts=("a", "b")):
    """Chat Completions as events; usage only when it is asked for."""
    def answer(provider, conn, request, body):
        base = {"id": "c1", "object": "chat.completion.chunk", "model": body["model"]}
        conn.send(head(200, "text/event-stream", chunked=True))
        for text in texts:
            conn.send(chunk(event(dict(base, choices=[{"index": 0, "delta": {"content": text}}]))))
        if body.get("stream_options", {}).get("include_usage"):
            conn.send(chunk(event(dict(base, choices=[], usage={
                "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}))))
        conn.send(chunk(event("[DONE]")) + b"0\r\n\r\n")
        return cost_nano(body["model"], prompt, output=output)
    return answer


def generated(prompt=11, output=4, thoughts=3):
    """Gemini generateContent."""
    def answer(provider, conn, request, body):
        model = request.target.split("/models/")[1].split(":")[0]
        conn.send(whole({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}],
                         "usageMetadata": {"promptTokenCount": prompt, "candidatesTokenCount": output,
                                           "thoughtsTokenCount": thoughts,
                                           "totalTokenCount": prompt + output + thoughts}, "modelVersion": model}))
        return cost_nano(model, prompt, output=output + thoughts)
    return answer


def refused(status, body, more=()):
    """An error of the provider's; it bills nothing."""
    def answer(provider, conn, request, _):
        conn.send(whole(body, status, more=more))
        return 0
    return answer


def response_of(model, name, status="completed", prompt=40, output=6, more=()):
    """An OpenAI response as a GET or a POST shows it."""
    usage = None if status in ("queued", "in_progress") else {
        "input_tokens": prompt, "output_tokens": output, "total_tokens": prompt + output}
    items = [] if usage is None else [{"type": "message", "id": "msg_of_" + name, "role": "assistant",
                                       "content": [{"type": "output_text", "text": "done"}]}]
    return {"id": name, "object": "response", "status": status, "model": model, "output": items, "usage": usage, **dict(more)}


class Responses:
    """Responses that are kept: made by POST, shown by GET, ended by cancel, gone by DELETE."""

    def __init__(self, prompt=40, output=6):
        self.model, self.status, self.n = None, {}, 0
        self.prompt, self.output = prompt, output
        self.more, self.waits = {}, False  # also in each; a stream waits for provider.go before its end

    def finish(self, name, status="completed"):
        self.status[name] = status

    def shown(self, name, status=None):
        return response_of(self.model, name, status or self.status[name], self.prompt, self.output, self.more)

    def cost(self):
        return cost_nano(self.model, self.prompt, output=self.output)

    def __call__(self, provider, conn, request, body):
        parts = request.target.split("?")[0].split("/responses/")
        if request.method == "POST" and len(parts) == 1:
            return self.create(provider, conn, body)
        name = parts[1].split("/")[0] if len(parts) > 1 else ""
        if parts[-1].endswith("input_tokens"):
            conn.send(whole({"object": "response.input_tokens", "input_tokens": self.prompt}))
        elif request.method == "DELETE":
            conn.send(whole({"id": name, "object": "response", "deleted": True}))
        elif parts[-1].endswith("/input_items"):
            conn.send(whole({"object": "list", "data": []}))
        else:
            conn.send(whole(self.shown(name)))
        return 0

    def create(self, provider, conn, body):
        self.n, self.model = self.n + 1, body["model"]
        name = "resp_%d" % self.n
        self.status[name] = "queued" if body.get("background") else "completed"
        if not body.get("stream"):
            conn.send(whole(self.shown(name)))
        else:
            conn.send(head(200, "text/event-stream", chunked=True))
            for kind, status in (("created", "in_progress"), ("completed", "completed")):
                if self.waits and kind == "completed":
                    provider.go.wait(30)
                conn.send(chunk(event({"type": "response." + kind, "response": self.shown(name, status)}, "response." + kind)))
            conn.send(b"0\r\n\r\n")
        return self.cost()
