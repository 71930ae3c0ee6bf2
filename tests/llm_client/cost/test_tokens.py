import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.llm_client.cost import tokens
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest


def request(text, **options):
    return ChatRequest("m", (ChatMessage("system", ""), ChatMessage("user", text)), **options)


@pytest.fixture(autouse=True)
def fresh_encodings():
    tokens._encoding.cache_clear()
    yield
    tokens._encoding.cache_clear()


@pytest.fixture
def without_tiktoken(monkeypatch):
    monkeypatch.setattr(tokens, "find_spec", lambda name: None)


def test_four_characters_are_a_token_and_the_longest_reply_counts(without_tiktoken):
    none = tokens.estimated_input_tokens(request(""))
    assert tokens.estimated_input_tokens(request("x" * 400)) == none + 100
    assert tokens.estimated_input_tokens(request("", schema={"type": "object"})) > none
    assert tokens.estimated_input_tokens(request("", extra_body={"guided_grammar": "x" * 400})) >= none + 100
    assert tokens.way_of_counting("m") == "estimated at 4 characters a token"
    assert tokens.estimated_tokens(request("", max_tokens=70)) == tokens.estimated_input_tokens(request("")) + 70
    assert tokens.estimated_tokens(request("")) == tokens.estimated_input_tokens(request("")) + 500


def test_tiktoken_counts_where_it_is_installed(monkeypatch):
    def encoding_for_model(model):
        if model != "m":
            raise KeyError(model)
        return SimpleNamespace(encode=lambda text, disallowed_special: text.split())

    monkeypatch.setattr(tokens, "find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "tiktoken", SimpleNamespace(encoding_for_model=encoding_for_model))
    none = tokens.estimated_input_tokens(request(""))
    assert tokens.estimated_input_tokens(request("a b c")) == none + 3
    assert tokens.way_of_counting("m") == "counted with tiktoken"
    assert tokens.way_of_counting("other") == "estimated at 4 characters a token"


@given(st.text())
def test_the_bound_is_at_least_the_bytes(text):
    assert tokens.most_input_tokens(request(text)) >= len(text.encode("utf-8", "replace"))


def test_used_tokens_are_unknown_where_the_server_does_not_say():
    assert tokens.used_tokens(ChatReply("x", "m", 3, 4)) == 7
    assert tokens.used_tokens(ChatReply("x", "m", 3, None)) is None
