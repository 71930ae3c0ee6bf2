from __future__ import annotations

import pytest

from llm_client.request import ChatReply
from rlhf.compare.judge import read_reply


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
