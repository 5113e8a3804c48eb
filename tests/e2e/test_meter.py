"""weir meter: what a recorded model call cost, from its bodies and a price table."""
import json
import subprocess

import pytest
from rig import weir

pytestmark = pytest.mark.command

PRICES = {"m": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 1000, "max_output_tokens": 1000,
                "input_cost_per_token": 2e-06, "output_cost_per_token": 1e-05},
          "v/m": {"litellm_provider": "vercel", "mode": "chat", "max_input_tokens": 1000,
                  "max_output_tokens": 1000, "input_cost_per_token": 2e-06, "output_cost_per_token": 1e-05}}
REQUEST = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "x"}]}
ANSWER = {"model": "m", "choices": [{"finish_reason": "stop"}], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
STREAM = "".join("data: %s\n\n" % text for text in (
    json.dumps({"model": "m", "choices": [{"finish_reason": "stop"}]}),
    json.dumps({"model": "m", "choices": [], "usage": ANSWER["usage"]}), "[DONE]"))


@pytest.fixture
def meter(tmp_path):
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps(PRICES))

    def run(*options, request=REQUEST, answer=ANSWER, provider="openai"):
        files = tmp_path / "request", tmp_path / "answer"
        for path, body in zip(files, (request, answer)):
            path.write_text(body if isinstance(body, str) else json.dumps(body))
        return subprocess.run([weir.binary(), "meter", "--prices", str(prices), "--provider", provider,
                               *options, *map(str, files)], capture_output=True, text=True, check=False)
    return run


def test_cost_is_printed_in_dollars(meter):
    done = meter()
    assert done.returncode == 0
    assert "cost    0.000044 USD\n" in done.stdout
    assert "basis   table\n" in done.stdout


@pytest.mark.parametrize("answer", [ANSWER, STREAM])
def test_json_has_the_keys_of_a_batch(meter, answer):
    said = json.loads(meter("--json", answer=answer).stdout)
    assert (said["action"], said["cost_nano"], said["basis"]) == ("settle", 44000, "table")
    assert said["tokens"] == {"input_total": 7, "input_uncached": 7, "cache_read": 0, "cache_write": 0,
                              "output_total": 3, "reasoning": 0}


def test_an_answer_without_usage_costs_at_most_the_ceiling(meter):
    done = meter(answer={"model": "m", "choices": [{"message": {"content": "hello"}}]})
    assert "USD, at most\n" in done.stdout
    assert "basis   estimate\n" in done.stdout


def test_what_a_gateway_reports_counts_only_when_told_so(meter):
    options = ["--header", "x-litellm-response-cost: 1e-3", "--json"]
    assert json.loads(meter(*options, provider="litellm").stdout)["cost_nano"] == 44000
    assert json.loads(meter(*options, "--settle", "reported", provider="litellm").stdout)["cost_nano"] == 1000000


def test_a_model_in_a_field_is_found(meter):
    done = meter("--path", "/v4/ai/language-model", "--request-header", "ai-language-model-id: v/m", "--json",
                 provider="vercel", request={"prompt": []},
                 answer={"finishReason": "stop", "usage": {"inputTokens": {"total": 7}, "outputTokens": {"total": 3}}})
    assert json.loads(done.stdout)["cost_nano"] == 44000


def test_an_error_of_the_provider_costs_nothing(meter):
    assert json.loads(meter("--status", "529", "--json").stdout)["cost_nano"] == 0


def test_a_request_that_would_be_refused_says_why(meter):
    done = meter(request='{"model":"m","model":"n"}')
    assert done.returncode == 1
    assert "request_malformed" in done.stdout and "stand in one object, at byte 13" in done.stdout


def test_wrong_calls_say_how_to_call(meter):
    assert meter("--status", "9").returncode == 64
    assert meter("--date", "2031-13-01").returncode == 64
    assert meter("--provider", "nobody").returncode == 64
    assert subprocess.run([weir.binary(), "meter", "a", "b"], capture_output=True, check=False).returncode == 64


def test_a_missing_file_is_said(meter, tmp_path):
    done = subprocess.run([weir.binary(), "meter", "--prices", str(tmp_path / "prices.json"), "--provider", "openai",
                           "/nonexistent/request", "/nonexistent/answer"], capture_output=True, text=True, check=False)
    assert done.returncode == 66
    assert "/nonexistent/request" in done.stderr


def batch(*lines):
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    return subprocess.run([weir.binary(), "meter", "--batch"], input=text, capture_output=True, text=True, check=False)


def test_every_line_of_a_batch_is_answered():
    call = {"id": 1, "family": "openai_chat", "prices": PRICES, "response": None,
            "request": {"method": "POST", "path": "/v1/chat/completions", "headers": {}, "body": REQUEST},
            "state": {"session_budget_nano": 10**9, "session_spent_nano": 0, "parallel_requests": 3}}
    done = batch(call, "no json\n", dict(call, id=2, family="nobody"), dict(call, id=3, prices=None))
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 78
    assert [line["id"] for line in said] == [1, None, 2, 3]
    assert said[0]["action"] == "mixed" and said[0]["admitted"] == 3
    assert all("error" in line for line in said[1:])


def test_a_limit_above_the_tables_is_lowered_though_the_budget_would_do():
    call = {"id": 1, "family": "openai_chat", "prices": PRICES, "response": None,
            "request": {"method": "POST", "path": "/v1/chat/completions", "headers": {},
                        "body": dict(REQUEST, max_tokens=5000)},
            "state": {"session_budget_nano": 10**9, "session_spent_nano": 0}}
    said = json.loads(batch(call).stdout)
    assert (said["action"], said["clamp"]) == ("allow", {"field": "max_tokens", "asked": 5000, "value": 1000})
