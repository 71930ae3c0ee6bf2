from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest

REQUEST = ChatRequest(
    "m", (ChatMessage("system", "s"), ChatMessage("user", "u")), {"type": "object"}, 0.5, 10, 1, "about"
)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"messages": (ChatMessage("system", "s"),)},
        {"messages": (ChatMessage("user", "s"), ChatMessage("user", "u"))},
        {"schema": None},
        {"temperature": 0.6},
        {"max_tokens": None},
        {"sample": 2},
        {"reasoning_effort": "low"},
        {"extra_body": {"top_k": 1}},
    ],
)
def test_everything_that_decides_the_reply_is_in_the_key(change):
    assert replace(REQUEST, **change).key() != REQUEST.key()


def test_the_key_of_a_request_stays_and_neither_subject_nor_place_is_in_it():
    assert replace(REQUEST, subject="other").key() == REQUEST.key()
    assert replace(REQUEST, subject="other") == REQUEST
    assert replace(REQUEST, temperature=1).key() == replace(REQUEST, temperature=1.0).key()
    one = replace(REQUEST, schema={"properties": {"a": 1, "b": 2}})
    assert one.key() != replace(REQUEST, schema={"properties": {"b": 2, "a": 1}}).key()
    # Recordings and caches that people paid for depend on this value.
    assert ChatRequest("m", (ChatMessage("user", "é"),)).key() == (
        "f87f611c087307edec70946b0a5318a2eee32d09994a2fe2a96130490b6f9269"
    )


def test_no_prompt_and_no_half_character_is_shown():
    assert "a long secret prompt" not in repr(ChatRequest("m", (ChatMessage("user", "a long secret prompt"),)))
    reply = ChatReply("x\ud800y", "m")
    assert reply.text == "x\ufffdy"
    assert ChatReply.from_json(reply.to_json()) == reply
    assert ChatReply("👍", "m").text == "👍"


@given(st.text(), st.text(), st.none() | st.integers(0, 10**9), st.sampled_from(["stop", "length"]))
def test_a_reply_survives_json(text, model, tokens, reason):
    text, model = (part.encode("utf-8", "replace").decode() for part in (text, model))
    reply = ChatReply(text, model, tokens, tokens, reason)
    assert ChatReply.from_json(reply.to_json()) == reply
