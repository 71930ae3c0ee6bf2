import logging
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from apportion.llm_client.client import Client
from apportion.llm_client.errors import RequestError, ServerUnavailableError, SetupError
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.connection import Connection
from tests.llm_client.openai_server import Fault, OpenAIServer, completion, serving

CANARY = "sk-canary-0123456789abcdef"
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def request(text="hello", **options):
    return ChatRequest("m", (ChatMessage("system", "be"), ChatMessage("user", text)), subject="session s1", **options)


def ask(server, asked=None, **options):
    options = {"max_retries": 0, **options}
    with serving(server), Client(LLMSettings(base_url=server.url, model="m", **options)) as client:
        return client.complete(asked or request())


def test_a_reply_comes_with_its_tokens_and_what_is_asked_reaches_the_server():
    assert ask(OpenAIServer()) == ChatReply("reply to hello", "served-model", 11, 7, "stop")
    server = OpenAIServer()
    ask(server, request(schema=SCHEMA, temperature=0.5, max_tokens=9))
    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "be"}, {"role": "user", "content": "hello"}],
            "temperature": 0.5,
            "max_tokens": 9,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
            },
        }
    ]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(500, "the GPU is on fire"), "127.0.0.1 answered 500: the GPU is on fire"),
        (Fault(503, "slow down"), "answered 503: slow down"),
        (Fault(raw=b"<h1>Bad gateway</h1>", raw_status=502), "answered 502: <h1>Bad gateway</h1>"),
        (Fault(raw=b'{"error": "no memory"}', raw_status=500), "answered 500: no memory"),
        (Fault(raw=b'{"detail": "no memory"}', raw_status=500), "answered 500: {'detail': 'no memory'}"),
        (Fault(raw=b"", raw_status=500), "answered 500: Error code: 500"),
        (Fault(400, "too many tokens: context length 8192"), "refused the request: too many tokens"),
        (Fault(422, "no such role"), "refused the request: no such role"),
        (Fault(raw=b'{"choices": [{"message": {"content": {"text": "text"}}}]}'), "its text is no string"),
        (Fault(400, "the prompt was: " + "word " * 1000), r"the prompt was: [word ]{100,300}.{0,9}$"),
    ],
)
def test_a_failed_request_says_what_the_server_said(fault, words):
    with pytest.raises(RequestError, match=words):
        ask(OpenAIServer(faults=[fault]))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(401, "bad key"), "Check the key in the environment variable OPENAI_API_KEY"),
        (Fault(403, "not yours"), "Check the key"),
        (Fault(404, "no model m"), "Check model = 'm' and base_url"),
        (Fault(307, headers=(("Location", "https://elsewhere/v1"),)), "has moved to https://elsewhere/v1. Redirects"),
        (Fault(301), r"has moved to no place that it names\. .* Check base_url"),
        (Fault(429, "you exceeded your quota", "insufficient_quota"), "The account needs credit"),
    ],
)
def test_what_fails_every_request_is_told_apart(fault, words):
    with pytest.raises(SetupError, match=words):
        ask(OpenAIServer(faults=[fault]))


def test_what_a_server_says_cannot_write_on_a_terminal():
    with pytest.raises(RequestError, match=r"refused the request: a \[31mred \]0;title b$"):
        ask(OpenAIServer(faults=[Fault(400, "a\x1b[31mred\x1b]0;title\x07\u202eb")]))


def test_a_server_that_does_not_answer_is_given_up():
    with pytest.raises(RequestError, match=r"no answer within 0\.05 s, 1 times"):
        ask(OpenAIServer(latency_s=0.5), timeout_s=0.05)


@pytest.mark.parametrize(
    ("finish_reason", "refusal"), [("length", None), ("content_filter", None), ("stop", "I won't")]
)
def test_how_a_reply_ended_is_told(finish_reason, refusal):
    reply = ask(OpenAIServer(answer=lambda body: completion("text", finish_reason, refusal)))
    assert reply.finish_reason == ("refusal" if refusal else finish_reason)
    assert reply.text == (refusal or "text")


@pytest.mark.parametrize("formats", [{"json_object"}, set()])
def test_a_server_without_json_schema_is_asked_for_plain_json_from_then_on(formats, caplog):
    def refuse(body):
        kind = body.get("response_format", {}).get("type")
        return Fault(400, f"response_format {kind} is not supported") if kind and kind not in formats else None

    server = OpenAIServer(refuse=refuse)
    with serving(server), Client(LLMSettings(base_url=server.url, max_retries=0)) as client:
        for text in ("a", "b"):
            assert client.complete(request(text, schema=SCHEMA)).text == f"reply to {text}"
    kinds = [body.get("response_format", {}).get("type") for body in server.requests]
    tried = ["json_schema", "json_object", "json_object"] if formats else ["json_schema", "json_object", None, None]
    assert kinds == tried
    assert "does not take this response_format" in caplog.text


def test_a_reasoning_model_gets_its_own_options():
    def refuse(body):
        if "max_tokens" in body:
            return Fault(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return Fault(400, "Unsupported value: 'temperature'") if "temperature" in body else None

    server = OpenAIServer(refuse=refuse)
    assert ask(server, request(max_tokens=9)).text == "reply to hello"
    assert server.requests[-1] == {
        "model": "m",
        "messages": [{"role": "system", "content": "be"}, {"role": "user", "content": "hello"}],
        "max_completion_tokens": 9,
    }


def test_consent_is_for_one_host(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    with pytest.raises(
        SetupError, match=r"would leave this machine for api\.openai\.com.*allow_host = 'api\.openai\.com'"
    ):
        Client(LLMSettings())
    with pytest.raises(SetupError, match=r"consent was given for 'api\.openai\.com' only"):
        Client(LLMSettings(base_url="https://other.example.com/v1", allow_host="api.openai.com"))
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    settings = LLMSettings(allow_host="API.OpenAI.com")
    assert settings.host == "api.openai.com"
    Client(settings).close()
    with pytest.raises(SetupError, match=r"would leave this machine|consent was given"):
        Client(LLMSettings(allow_host="api.openai.com.example.com"))


def test_an_unset_key_is_named(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(SetupError, match="environment variable MY_KEY is not set"):
        Client(LLMSettings(allow_host="api.openai.com", api_key_env="MY_KEY"))


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "OPENAI_ORG_ID"])
@pytest.mark.parametrize("value", [f"{CANARY}\nsecond", f"{CANARY}é", f"{CANARY}\x01x"])
def test_a_key_that_no_header_takes_is_named_and_not_shown(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    server = OpenAIServer()
    with pytest.raises(SetupError, match=f"the environment variable {variable} cannot be sent") as caught:
        ask(server)
    assert CANARY not in str(caught.value) and not server.requests
    with pytest.raises(SetupError, match=f"the environment variable {variable} cannot be sent"):
        Connection(LLMSettings(base_url="http://127.0.0.1:9/v1")).blocking()


def test_an_address_from_the_environment_is_not_followed_and_a_server_on_this_machine_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert ask(OpenAIServer()).text == "reply to hello"


def test_the_key_reaches_the_server_and_nothing_else(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    caplog.set_level(logging.DEBUG)
    faults = [Fault(500, f"your key {CANARY}"), Fault(400, f"key {CANARY}"), Fault(401, f"Incorrect key: {CANARY}")]
    server = OpenAIServer(faults=faults, answer=lambda body: completion("fine"))
    errors = []
    with serving(server):
        settings = LLMSettings(base_url=server.url, max_retries=0)
        with Client(settings, cache=tmp_path / "c.sqlite", record=tmp_path / "r.jsonl") as client:
            for _ in faults:
                with pytest.raises((RequestError, SetupError)) as caught:
                    client.complete(request())
                errors.append(str(caught.value))
            client.complete(request())
            shown = repr(client) + repr(settings) + str(vars(settings))
    assert server.headers[0]["authorization"] == f"Bearer {CANARY}"
    assert all("[key]" in error for error in errors)
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert CANARY not in "".join(errors) + shown + caplog.text
    assert CANARY.encode() not in written
    assert b"hello" not in written


def test_a_long_pause_that_the_server_asks_for_stops_everything_with_its_words():
    server = OpenAIServer(faults=[Fault(429, "daily limit", headers=(("Retry-After", "86000"),))])
    with pytest.raises(
        ServerUnavailableError, match=r"come back in 86000 s: daily limit.*run the same command again then"
    ):
        ask(server, max_retries=5)
    assert len(server.requests) == 1


def test_one_429_holds_the_whole_client():
    server = OpenAIServer(faults=[Fault(429, headers=(("Retry-After-Ms", "400"),))])
    with serving(server):
        options = LLMSettings(base_url=server.url, model="m", max_retries=1)
        with Client(options) as client, ThreadPoolExecutor(4) as pool:
            first = pool.submit(client.complete, request("first"))
            while not server.requests:
                time.sleep(0.001)
            time.sleep(0.1)
            others = [pool.submit(client.complete, request(str(n))) for n in range(3)]
            assert all(future.result() for future in (first, *others))
    assert server.arrivals_s[1] - server.arrivals_s[0] >= 0.4


def test_requests_a_minute_hold_under_concurrency_with_retries_among_them():
    server = OpenAIServer(faults=[Fault(500, headers=(("Retry-After-Ms", "1"),))] * 3)
    with serving(server):
        options = LLMSettings(base_url=server.url, model="m", max_retries=3, requests_per_minute=600, concurrency=32)
        # From before the first: its own way to the server may take long on a busy machine.
        started_s = time.monotonic()
        with Client(options) as client, ThreadPoolExecutor(32) as pool:
            list(pool.map(lambda n: client.complete(request(str(n))), range(18)))
    # 21 sent; 10 may go at once, the others at (600 - 10)/60 a second.
    assert len(server.requests) == 21
    assert server.arrivals_s[-1] - started_s >= 10 / (590 / 60)


@pytest.mark.parametrize(("max_tokens", "count"), [(5, 11), (160, 3)])
def test_tokens_a_minute_hold_and_an_estimate_too_high_is_given_back(max_tokens, count):
    server = OpenAIServer()
    with serving(server):
        options = LLMSettings(base_url=server.url, model="m", tokens_per_minute=1800, concurrency=12)
        started_s = time.monotonic()
        with Client(options) as client, ThreadPoolExecutor(12) as pool:
            list(pool.map(lambda n: client.complete(request(str(n), max_tokens=max_tokens)), range(count)))
    # 18 tokens each by the server's count; 180 may go at once, the others at (1800 - 180)/60 a second.
    assert len(server.requests) == count
    assert server.arrivals_s[-1] - started_s >= (count * 18 - 180) / 27 - 0.1
