"""The clients, and how each is told to use weir: what weir-gateway(7) says, and no more.

In `environment`, `files` (below HOME) and `command` these are put in: $url, the
gateway's; $token, the session's; $prompt; $home; and $here, this directory.
"""
import json


class Client:
    def __init__(self, name, package, command, environment, files=None, at_once=1, tool=None):
        self.name, self.package, self.command = name, package, command
        self.environment, self.files = environment, files or {}
        self.at_once = at_once  # requests that it makes for one prompt without waiting for an answer
        self.tool = tool  # (name, arguments) of a tool of its own that it runs unasked


def sdk(name, package, **environment):
    return Client(name, package, ["node", "$here/sdk.mjs", name, "$prompt"], environment)


CODEX = """model = "gpt-5.5"
model_provider = "weir"
check_for_update_on_startup = false

[model_providers.weir]
name = "weir"
base_url = "$url/openai/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"

[analytics]
enabled = false
"""

OPENCODE = {"provider": {name: {"options": {"baseURL": "$url/%s/v1" % name}} for name in ("anthropic", "openai")}}
GEMINI = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
          "general": {"enableAutoUpdate": False}}
PI = {"providers": {"anthropic": {"baseUrl": "$url/anthropic"}, "openai": {"baseUrl": "$url/openai/v1"}}}

CLIENTS = [
    sdk("anthropic-sdk", "@anthropic-ai/sdk", ANTHROPIC_BASE_URL="$url/anthropic", ANTHROPIC_API_KEY="$token"),
    sdk("openai-sdk-responses", "openai", OPENAI_BASE_URL="$url/openai/v1", OPENAI_API_KEY="$token"),
    sdk("openai-sdk-chat", "openai", OPENAI_BASE_URL="$url/openai/v1", OPENAI_API_KEY="$token"),
    sdk("ai-anthropic", "@ai-sdk/anthropic", BASE_URL="$url/anthropic/v1", ANTHROPIC_API_KEY="$token"),
    sdk("ai-openai", "@ai-sdk/openai", BASE_URL="$url/openai/v1", OPENAI_API_KEY="$token"),
    sdk("ai-google", "@ai-sdk/google", BASE_URL="$url/gemini/v1beta", GOOGLE_GENERATIVE_AI_API_KEY="$token"),
    sdk("ai-gateway", "@ai-sdk/gateway", BASE_URL="$url/vercel/v3/ai", AI_GATEWAY_API_KEY="$token"),
    Client("claude", "@anthropic-ai/claude-code", ["claude", "-p", "$prompt"],
           {"ANTHROPIC_BASE_URL": "$url/anthropic", "ANTHROPIC_API_KEY": "$token",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}, tool=("Bash", {"command": "echo 4711"})),
    Client("codex", "@openai/codex", ["codex", "exec", "--skip-git-repo-check", "-s", "read-only", "$prompt"],
           {"CODEX_HOME": "$home/.codex", "OPENAI_API_KEY": "$token"}, {".codex/config.toml": CODEX},
           tool=("exec_command", {"cmd": "echo 4711"})),
    Client("gemini", "@google/gemini-cli", ["gemini", "-m", "gemini-2.5-flash", "-p", "$prompt"],
           {"GOOGLE_GEMINI_BASE_URL": "$url/gemini", "GEMINI_API_KEY": "$token", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
           {".gemini/settings.json": json.dumps(GEMINI)}, tool=("list_directory", {"dir_path": "."})),
    Client("opencode", "opencode-ai", ["opencode", "run", "-m", "anthropic/claude-sonnet-4-5", "$prompt"],
           {"ANTHROPIC_API_KEY": "$token", "OPENAI_API_KEY": "$token", "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1"},
           {".config/opencode/opencode.json": json.dumps(OPENCODE)}, at_once=2,
           tool=("glob", {"pattern": "*"})),
    Client("pi", "@mariozechner/pi-coding-agent",
           ["pi", "-p", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "$prompt"],
           {"ANTHROPIC_API_KEY": "$token", "OPENAI_API_KEY": "$token", "PI_OFFLINE": "1"},
           {".pi/agent/models.json": json.dumps(PI)}, tool=("bash", {"command": "echo 4711"})),
]
