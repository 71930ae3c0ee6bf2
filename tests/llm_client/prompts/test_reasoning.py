import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.llm_client.prompts.strict_json import ReplyMistakeError, answer_of, strict_json

marks = st.sampled_from(["<think>", "</think>", "<thinking>", "<|channel|>final<|message|>", "<|return|>", "```", "x"])
texts = st.lists(marks | st.text(max_size=5)).map("".join)


@given(st.dictionaries(texts, texts) | st.lists(texts))
def test_what_begins_as_json_is_taken_as_it_stands(value):
    text = json.dumps(value, ensure_ascii=False)
    assert answer_of(f"\n {text} ") == text
    assert strict_json(text) == value


@given(texts, st.dictionaries(texts, texts))
def test_reasoning_without_a_mark_in_it_is_left_out(reasoning, value):
    reasoning = reasoning.replace("<", "").replace("{", "")
    text = json.dumps(value)
    for tag in ("think", "thinking"):
        assert answer_of(f"<{tag}>{reasoning}</{tag}>{text}") == text


@given(texts)
def test_any_text_has_an_answer_or_none(text):
    assert answer_of(text) in text or answer_of(text) == ""


@pytest.mark.parametrize("text", ["<think>" * 1000, "<think></think>" * 100_000, "```" + " " * 200_000, "<|" * 500_000])
def test_marks_without_end_are_a_mistake(text):
    with pytest.raises(ReplyMistakeError):
        strict_json(text)
