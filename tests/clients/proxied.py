"""The clients that are told of weir by proxy variables, and what each makes of a refusal.

In `command` and `environment` these are put in: $url, what is fetched; $home; $modules;
and $here, this directory.  All have the variables of variables() too.  What is said here
is what was seen: doc/CLIENTS.md says the same to people, and tests/clients/through.py
holds both against what the clients do.
"""

ANSWER = "The-answer-is-4711"
CONTENT = "%040d\trefs/heads/%s\n" % (4711, ANSWER)  # of every URL: git takes it for its refs
ALLOWED, REFUSED = "origin.test", "other.test"
# What they show of a refusal: all of it, its id, or its number only.
SENTENCE, REASON, NUMBER, NOTHING = "its sentence", "its reason", "its status", "nothing"
TUNNEL, CLEAR, NO_TOKEN = "a refused CONNECT", "a refused http:// URL", "a CONNECT without a token"  # what is tried


def variables(proxy, authority):
    """What a sandbox sets, so that clients use weir and trust the tests' authority."""
    said = {name: proxy for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    said.update({name: authority for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO",
                                              "NODE_EXTRA_CA_CERTS", "CODEX_CA_CERTIFICATE")})
    return said


class Program:
    """One that fetches a URL, and shows what it gets, or why not.

    `shows`: the most of a refused CONNECT, which looks like `words`; `clear`: what it asks
    an http:// URL with, http (in absolute form) or connect; `shows_clear`: of a refused
    http:// URL.  `content`: the refusals that it takes for the answer, without an error.
    """

    def __init__(self, name, command, shows, words, clear="http", shows_clear=SENTENCE, content=(), is_asked=False,
                 tries=1, environment=None, needs="debian"):
        self.name, self.command, self.environment = name, command, environment or {}
        self.shows, self.words, self.clear, self.shows_clear, self.content = shows, words, clear, shows_clear, content
        self.is_asked = is_asked  # its credential comes after a 407, and so it asks once more
        self.tries = tries  # how often it asks, whatever it is told
        self.needs = needs  # debian: its packages in script/install test; else see README


def python(name, words):
    return Program(name, ["/usr/bin/python3", "$here/fetch.py", name, "$url"], REASON, words, content=(CLEAR,))


def node(name, shows, words, runs="node", **how):
    return Program(name, [runs, "$here/fetch.mjs", name, "$url"], shows, words, needs="npm", **how)


UNDICI = "Proxy response (403) !== 200 when HTTP Tunneling"  # its fetch() has that in error.cause only
NODE = {"runs": "$node", "environment": {"NODE_USE_ENV_PROXY": "1"}}
JAVA = ["java", "-Djdk.http.auth.tunneling.disabledSchemes=", "-Djavax.net.ssl.trustStore=$store",
        "-Djavax.net.ssl.trustStorePassword=$password", "$here/Fetch.java", "$url"]

PROGRAMS = [
    Program("curl", ["curl", "-sS", "$url"], NUMBER, "CONNECT tunnel failed, response 403", content=(CLEAR,)),
    Program("wget", ["wget", "--tries=1", "--ca-certificate=$authority", "-nv", "-O", "-", "$url"], REASON,
            "Proxy tunneling failed: weir: host_not_allowed", shows_clear=REASON),
    Program("git", ["git", "ls-remote", "$url"], NUMBER, "CONNECT tunnel failed, response 403", shows_clear=NUMBER,
            is_asked=True),
    python("requests", "Tunnel connection failed: 403 weir: host_not_allowed"),
    python("httpx", "403 weir: host_not_allowed"),
    python("aiohttp", "403, message='weir: host_not_allowed'"),
    node("undici", NUMBER, UNDICI, clear="connect"),
    node("undici-env", NUMBER, UNDICI, clear="connect"),
    node("axios", SENTENCE, "Request failed with status code 403"),
    node("https-proxy-agent", SENTENCE, '403 {"error":', clear="connect", content=(CLEAR, TUNNEL, NO_TOKEN)),
    node("node-fetch", NUMBER, UNDICI, clear="connect", **NODE),
    node("node-https", REASON, "HTTP/1.1 403 weir: host_not_allowed", content=(CLEAR,), **NODE),
    # it asks for its own version too
    Program("npm", ["npm", "view", "--registry=$url", "weir-probe", "version"], REASON, "403 weir: host_not_allowed",
            shows_clear=REASON, tries=2, environment={"npm_config_cafile": "$authority"}, needs="npm"),
    Program("java", JAVA, NUMBER, "Tunnel failed, got: 403", content=(CLEAR, NO_TOKEN), is_asked=True, needs="java"),
]


class Agent:
    """One of table.py's, with a tool and a model of its own, which is told of weir by these variables too.

    Of a metered host it shows `shows`, in `words`; it asks for it at most `asks` times.
    One that never ends is watched for `patience` seconds: why, is in doc/CLIENTS.md.
    """

    def __init__(self, name, shows, words, asks, ends=True, patience=300):
        self.name, self.shows, self.words, self.asks, self.ends, self.patience = name, shows, words, asks, ends, patience


AGENTS = [
    Agent("claude", SENTENCE, "API Error: 403", 1),
    Agent("codex", NOTHING, "Reconnecting... waiting for network", 20, ends=False, patience=60),
    Agent("gemini", NOTHING, "fetch failed", 10, patience=500),
    Agent("opencode", REASON, "Error: weir: metered_host", 2),
    Agent("pi", NOTHING, "Connection error.", 12),
]
