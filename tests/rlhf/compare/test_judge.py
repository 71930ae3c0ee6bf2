from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatReply
from apportion.rlhf.compare.judge import read_reply


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (ChatReply("{", "m", finish_reason="length"), "cut off"),
        (ChatReply("no", "m", finish_reason="refusal"), "declined"),
        (ChatReply("[" * 100_000, "m"), "nested too deeply"),
        (ChatReply('{"better": "first", "reason": NaN}', "m"), "NaN is not allowed"),
        (ChatReply('{"better": "first", "reason": ' + "9" * 5000 + "}", "m"), "a number that cannot be used"),
        (ChatReply('{"better": ' + "[" * 950 + "]" * 950 + "}", "m"), "not an object|nested too deeply"),
        (ChatReply('["first"]', "m"), "not an object"),
        (ChatReply('{"better": "first", "better": "second"}', "m"), 'the key "better" stands twice'),
        (ChatReply('{"better": ["first"]}', "m"), "not an object"),
    ],
)
def test_replies_that_cannot_be_used(reply, problem) -> None:
    with pytest.raises(ValueError, match=problem):
        read_reply(reply)
    assert read_reply(ChatReply('```json\n{"better": "tie", "reason": 3}\n```', "m")) == ("tie", "")
    assert read_reply(ChatReply('<think>Hm.</think>{"better": "tie"}', "m")) == ("tie", "")


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-(10**400), 10**400) | st.text() | st.just("first"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.text() | values.map(json.dumps), values, values)
def test_any_reply_is_a_verdict_or_a_mistake(text, better, reason) -> None:
    for given_text in (text, json.dumps({"better": better, "reason": reason}), f"<think>{text}</think>{text}"):
        try:
            answer, why = read_reply(ChatReply(given_text, "m"))
        except ReplyMistakeError as mistake:
            assert len(str(mistake)) < 300
        else:
            assert answer in ("first", "second", "tie") and isinstance(why, str)
