"""Many tries at one weir: what each came to, and that none of it came through."""
import json

SEARCH = {"type": "web_search_20250305", "name": "web_search"}
MINE = {"name": "mine", "input_schema": {"type": "object"}}
CHAT_MODEL, GEMINI_MODEL = "gpt-6.1-terra", "gemini-3.8-flash"


def said(answer):
    return (answer.status, answer.get("x-weir-reason")) if answer is not None else (0, "closed")


def all_refused(g, provider, tries, reasons):
    """tries: (what, call()); every one has one of the reasons, none reached the provider, none cost."""
    through = []
    for what, call in tries:
        before = len(provider.requests)
        try:
            answer = call()
        except TimeoutError:
            answer = None
        if said(answer)[1] not in reasons or len(provider.requests) != before:
            through.append((what, said(answer)))
    assert not through, "\n".join("%s: %s" % pair for pair in through)
    assert provider.requests == [] and provider.billed == []


def chat(**more):
    return dict({"model": CHAT_MODEL, "messages": [{"role": "user", "content": "x"}]}, **more)


def responses(**more):
    return dict({"model": CHAT_MODEL, "input": "x"}, **more)


def gemini(**more):
    return dict({"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"maxOutputTokens": 9}}, **more)


def twice(body, key, other):
    """The same key again, with another value: JSON says nothing of which one counts."""
    return (json.dumps(body)[:-1] + ", %s: %s}" % (json.dumps(key), json.dumps(other))).encode()


def escaped(body, word):
    """The word written in \\u escapes: it is the same word."""
    return json.dumps(body).replace(word, "".join("\\u%04x" % ord(c) for c in word)).encode()
