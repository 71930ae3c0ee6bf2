import pytest

from apportion.llm_client.client import Client
from apportion.llm_client.errors import RequestError, SetupError
from apportion.llm_client.preview import Preview
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.prompt_logprobs import read_probabilities, told_of
from tests.llm_client.openai_server import OpenAIServer, completion, serving

CHAT = {
    **completion("x"),
    "prompt_logprobs": [None, {"7": {"logprob": -0.5}, "9": {"logprob": -2.0}}, {"4": {"logprob": -9999.0}}],
}
ECHO = {
    "model": "m",
    "choices": [{"text": "ab x", "logprobs": {"tokens": ["a", "b", " x"], "token_logprobs": [None, -1.5, -3.0]}}],
    "usage": {"prompt_tokens": 2, "completion_tokens": 1},
}

LACKING = {
    "choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": [None, -1.0]}}],
    "usage": {"completion_tokens": -1},
}


def request(way, *messages):
    return ChatRequest("m", messages or (ChatMessage("user", "tea"),), max_tokens=1, measures=way, subject="s1")


def test_what_is_told_is_of_the_prompt_s_own_tokens():
    reply = read_probabilities(CHAT, request("chat"), "host")
    told = told_of(reply)
    assert told.logs == (None, -0.5, -9999.0) and len(set(told.tokens)) == 3
    assert (reply.prompt_tokens, reply.completion_tokens) == (11, 7)
    told = told_of(read_probabilities(ECHO, request("completions"), "host"))
    assert told.logs == (None, -1.5) and len(told.tokens) == 2


def test_what_is_kept_is_compared_without_a_word_of_what_was_asked():
    with_reply = request("chat", ChatMessage("user", "tea"), ChatMessage("assistant", "or"))
    other = request("chat", ChatMessage("user", "milk"))
    first, second, third = (read_probabilities(CHAT, one, "host") for one in (request("chat"), with_reply, other))
    assert told_of(first).tokens == told_of(second).tokens
    assert not set(told_of(first).tokens) & set(told_of(third).tokens)
    repeated = {**CHAT, "prompt_logprobs": [None, {"7": {"logprob": -0.5}}, {"7": {"logprob": -0.5}}]}
    assert len(set(told_of(read_probabilities(repeated, other, "host")).tokens)) == 3
    assert "tea" not in read_probabilities(ECHO, request("completions"), "host").text


@pytest.mark.parametrize("way", ["chat", "completions"])
@pytest.mark.parametrize("document", [completion("x"), {"model": "m", "choices": [{"text": "x", "logprobs": None}]}])
def test_none_at_all_is_for_a_person_to_change(way, document):
    with pytest.raises(SetupError, match=f"host answered without the probabilities .* the way '{way}' asks for"):
        read_probabilities(document, request(way), "host")


@pytest.mark.parametrize(
    ("document", "way", "words"),
    [
        ({"choices": []}, "chat", "no usable choice"),
        ("text", "chat", "no usable choice"),
        ({**CHAT, "prompt_logprobs": [None, {"7": {"logprob": 0.5}}]}, "chat", "0.5 is no log-probability"),
        ({**CHAT, "prompt_logprobs": [None, {"7": {"logprob": float("nan")}}]}, "chat", "nan is no log-probability"),
        ({**CHAT, "prompt_logprobs": [None, {"7": "x"}]}, "chat", "cannot be read"),
        (LACKING, "completions", "1 tokens with 2 probabilities"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_failed_try(document, way, words):
    with pytest.raises(ValueError, match=words):
        read_probabilities(document, request(way), "host")


def test_a_chat_is_gone_on_with_where_the_one_ends_it_who_is_measured():
    server = OpenAIServer(answer=lambda body: CHAT)
    messages = (ChatMessage("user", "tea"), ChatMessage("assistant", "or"))
    with serving(server), Client(LLMSettings(base_url=server.url, model="m")) as client:
        client.complete(request("chat"))
        client.complete(request("chat", *messages))
        client.complete(request("user", *messages))
        client.complete(request("user", *messages[:1]))
    told = [
        (body["prompt_logprobs"], body["add_generation_prompt"], body["continue_final_message"])
        for body in server.requests
    ]
    assert told == [(0, True, False), (0, False, True), (0, True, False), (0, False, True)]


def test_a_try_that_told_nothing_usable_is_tried_again_and_then_a_failed_request():
    server = OpenAIServer(answer=lambda body: {**CHAT, "prompt_logprobs": [None, {"7": "x"}]})
    settings = {"model": "m", "max_retries": 1}
    with (
        serving(server),
        Client(LLMSettings(base_url=server.url, **settings)) as client,
        pytest.raises(RequestError, match="its probabilities cannot be read"),
    ):
        client.complete(request("chat"))
    assert len(server.requests) == 2


def test_only_a_request_that_measures_has_another_key_and_a_place_of_its_own():
    plain = ChatRequest("m", (ChatMessage("user", "tea"),), max_tokens=1)
    assert "measures" not in plain.document()
    assert len({plain.key(), request("chat").key(), request("completions").key()}) == 3
    settings = LLMSettings(base_url="http://localhost:1/v1", model="m")
    bare = Preview(settings, (request("completions"),), 1, "", "")
    assert "http://localhost:1/v1/completions (stays" in bare.text() and "[prompt]\ntea" in bare.text()
    assert bare.to_json()["url"] == "http://localhost:1/v1/completions"
    assert Preview(settings, (plain,), 1, "", "").to_json()["url"] == "http://localhost:1/v1/chat/completions"
