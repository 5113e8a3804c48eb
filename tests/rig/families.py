"""What each family of model APIs answers, as a document and as events.

Enough of each for clients that read all of it: their SDKs check identifiers, orders and
types.  everything() answers whoever asks, in the form that was asked for.
"""
import json
import os
import re

from .provider import chunk, cost_nano, event, head, price, whole

PLAIN, READ, WRITE, OUTPUT = 1201, 340, 57, 83
MADE = 1796000000  # when all of it was made
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
MODEL_PATH = re.compile(r"/models/([^:/?]+):(generateContent|streamGenerateContent)")


class Asked:
    """A model request, whatever its family."""

    def __init__(self, request, body):
        path = request.target.split("?")[0]
        named = MODEL_PATH.search(path)
        self.request, self.body = request, body or {}
        self.path = path
        if named:
            self.model, self.is_stream = named[1], named[2] == "streamGenerateContent"
        elif path.endswith("/language-model"):
            self.model = request.get("ai-language-model-id")
            self.is_stream = request.get("ai-language-model-streaming") == "true"
        else:
            self.model, self.is_stream = self.body.get("model"), bool(self.body.get("stream"))
        self.output, self.id = OUTPUT, os.urandom(6).hex()

    def limit(self):
        """Of output, as it came: the client's, or weir's, or else the model's own."""
        body = dict(self.body, **self.body.get("generationConfig", {}))
        said = [body[name] for name in LIMITS if name in body]
        return said[0] if said else int(price(self.model)["max_output_tokens"])

    def bill(self):
        return cost_nano(self.model, PLAIN, READ, WRITE if self.writes() else 0, self.output)

    def writes(self):
        """Who says what was written into a cache: the others' prompts have two parts."""
        return self.path.endswith(("/messages", "/language-model"))


def halves(text):
    return text[:len(text) // 2], text[len(text) // 2:]


# -- Anthropic Messages


def messages_usage(output):
    return {"input_tokens": PLAIN, "cache_read_input_tokens": READ, "cache_creation_input_tokens": WRITE,
            "cache_creation": {"ephemeral_5m_input_tokens": WRITE, "ephemeral_1h_input_tokens": 0},
            "output_tokens": output, "service_tier": "standard"}


def messages(asked, text, tool):
    block = {"type": "tool_use", "id": "toolu_" + asked.id, "name": tool[0], "input": tool[1]} if tool else \
        {"type": "text", "text": text}
    stop = "tool_use" if tool else "end_turn"
    message = {"id": "msg_" + asked.id, "type": "message", "role": "assistant", "model": asked.model, "content": [block],
               "stop_reason": stop, "stop_sequence": None, "usage": messages_usage(asked.output)}
    if not asked.is_stream:
        return message

    def events():
        def one(kind, **more):
            return event(dict(more, type=kind), kind)
        yield one("message_start", message=dict(message, content=[], stop_reason=None, usage=messages_usage(1)))
        yield one("content_block_start", index=0, content_block=dict(block, **({"input": {}} if tool else {"text": ""})))
        yield one("ping")
        for part in halves(json.dumps(tool[1]) if tool else text):
            delta = {"type": "input_json_delta", "partial_json": part} if tool else {"type": "text_delta", "text": part}
            yield one("content_block_delta", index=0, delta=delta)
        yield one("content_block_stop", index=0)
        yield one("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=messages_usage(asked.output))
        yield one("message_stop")
    return events()


# -- OpenAI


def chat_usage(output):
    prompt = PLAIN + READ
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": READ, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0}}


def chat(asked, text, tool):
    base = {"id": "chatcmpl-" + asked.id, "created": MADE, "model": asked.model, "service_tier": "default"}
    call = [{"index": 0, "id": "call_" + asked.id, "type": "function",
             "function": {"name": tool[0], "arguments": json.dumps(tool[1])}}] if tool else None
    stop = "tool_calls" if tool else "stop"
    if not asked.is_stream:
        said = dict({"role": "assistant", "content": None if tool else text, "refusal": None},
                    **({"tool_calls": call} if tool else {}))
        return dict(base, object="chat.completion", usage=chat_usage(asked.output),
                    choices=[{"index": 0, "message": said, "logprobs": None, "finish_reason": stop}])

    def events():
        def one(delta, finish=None):
            return event(dict(base, object="chat.completion.chunk", choices=[
                {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]))
        yield one({"role": "assistant", "content": None if tool else ""})
        for delta in [{"tool_calls": call}] if tool else [{"content": part} for part in halves(text)]:
            yield one(delta)
        yield one({}, stop)
        if (asked.body.get("stream_options") or {}).get("include_usage"):
            yield event(dict(base, object="chat.completion.chunk", choices=[], usage=chat_usage(asked.output)))
        yield event("[DONE]")
    return events()


def responses(asked, text, tool):
    prompt = PLAIN + READ
    if tool:
        item = {"type": "function_call", "id": "fc_" + asked.id, "call_id": "call_" + asked.id, "name": tool[0],
                "arguments": json.dumps(tool[1]), "status": "completed"}
    else:
        item = {"type": "message", "id": "msg_" + asked.id, "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]}
    base = {"id": "resp_" + asked.id, "object": "response", "created_at": MADE, "error": None, "incomplete_details": None,
            "model": asked.model, "parallel_tool_calls": True, "tools": [], "store": False, "service_tier": "default"}
    done = dict(base, status="completed", output=[item], usage={
        "input_tokens": prompt, "input_tokens_details": {"cached_tokens": READ}, "output_tokens": asked.output,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": prompt + asked.output})
    if not asked.is_stream:
        return done

    def bodies():
        at = {"output_index": 0}
        of = dict(at, item_id=item["id"])
        yield "response.created", {"response": dict(base, status="in_progress", output=[])}
        if tool:
            yield "response.output_item.added", dict(at, item=dict(item, arguments="", status="in_progress"))
            for part in halves(item["arguments"]):
                yield "response.function_call_arguments.delta", dict(of, delta=part)
            yield "response.function_call_arguments.done", dict(of, arguments=item["arguments"])
        else:
            of["content_index"] = 0
            yield "response.output_item.added", dict(at, item=dict(item, content=[], status="in_progress"))
            yield "response.content_part.added", dict(of, part={"type": "output_text", "text": "", "annotations": []})
            for part in halves(text):
                yield "response.output_text.delta", dict(of, delta=part, logprobs=[])
            yield "response.output_text.done", dict(of, text=text, logprobs=[])
            yield "response.content_part.done", dict(of, part=item["content"][0])
        yield "response.output_item.done", dict(at, item=item)
        yield "response.completed", {"response": done}
    return (event(dict(body, type=kind, sequence_number=i), kind) for i, (kind, body) in enumerate(bodies()))


# -- Gemini


def gemini(asked, text, tool):
    def one(parts, finish):
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
        return {"candidates": [dict(candidate, **({"finishReason": finish} if finish else {}))],
                "usageMetadata": {"promptTokenCount": PLAIN + READ, "cachedContentTokenCount": READ,
                                  "candidatesTokenCount": asked.output, "totalTokenCount": PLAIN + READ + asked.output},
                "modelVersion": asked.model, "responseId": asked.id}
    parts = [{"functionCall": {"name": tool[0], "args": tool[1]}}] if tool else [{"text": part} for part in halves(text)]
    if not asked.is_stream:
        return one(parts, "STOP")
    return (event(one([part], "STOP" if i == len(parts) - 1 else None)) for i, part in enumerate(parts))


# -- the AI Gateway's own


def language_model(asked, text, tool):
    prompt = PLAIN + READ + WRITE
    usage = {"inputTokens": {"total": prompt, "noCache": PLAIN, "cacheRead": READ, "cacheWrite": WRITE},
             "outputTokens": {"total": asked.output, "text": asked.output, "reasoning": 0}}
    cost = "%d.%09d" % divmod(asked.bill(), 10 ** 9)
    end = {"finishReason": {"unified": "stop", "raw": "end_turn"}, "usage": usage,
           "providerMetadata": {"gateway": {"cost": cost, "generationId": "gen_" + asked.id,
                                            "routing": {"finalProvider": "anthropic"}}}}
    assert tool is None
    if not asked.is_stream:
        return dict(end, content=[{"type": "text", "text": text}], warnings=[], response={"modelId": asked.model})
    parts = [{"type": "stream-start", "warnings": []}, {"type": "text-start", "id": "0"}]
    parts += [{"type": "text-delta", "id": "0", "delta": part} for part in halves(text)]
    parts += [{"type": "text-end", "id": "0"}, dict(end, type="finish")]
    return (event(part) for part in parts)


# -- whoever asks

FAMILIES = [("/messages", messages), ("/chat/completions", chat), ("/responses", responses),
            ("generateContent", gemini), ("GenerateContent", gemini), ("/language-model", language_model)]
FREE = [("/count_tokens", {"input_tokens": PLAIN}), (":countTokens", {"totalTokens": PLAIN}),
        ("/input_tokens", {"object": "response.input_tokens", "input_tokens": PLAIN})]


def is_answered(body):
    """Has a tool's result come back already?  A body, or its text."""
    text = body if isinstance(body, str) else json.dumps(body)
    return any(mark in text for mark in ('"tool_result"', '"role": "tool"', 'call_output"', '"functionResponse"'))


def asked_for(request, body, text):
    """The answer of whichever family was asked: a document, or an iterator of events."""
    asked = Asked(request, body)
    return next(make for end, make in FAMILIES if asked.path.endswith(end))(asked, text, None)


def everything(text="hello", tool=None, more=(), is_greedy=False):
    """Streams where a stream is asked for.

    `tool`: (name, arguments), called once before there is an answer.  The greedy one
    calls it again and again, and uses all the output that it may.
    """
    def answer(provider, conn, request, body):
        asked = Asked(request, body)
        family = next((make for end, make in FAMILIES if asked.path.endswith(end)), None)
        if family is None:
            free = next((said for end, said in FREE if asked.path.endswith(end)), None)
            conn.send(whole({"data": [], "object": "list"} if free is None else free, more=more))
            return 0
        calls = "tools" in asked.body and (is_greedy or not is_answered(asked.body))
        if is_greedy:
            asked.output = asked.limit()
        said = family(asked, text, tool if calls else None)
        if isinstance(said, dict):
            conn.send(whole(said, more=more))
            return asked.bill()
        conn.send(head(200, "text/event-stream", more, chunked=True))
        for one in said:
            conn.send(chunk(one))
        conn.send(b"0\r\n\r\n")
        return asked.bill()
    return answer
