"""A prompt with its model, by one name."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.prompt_style import StyledModel, style_and_model

CHOSEN = ModelSpec("small", max_tokens=7)


@pytest.mark.parametrize(
    ("name", "style", "model", "called"),
    [
        ("base", "base", "small", "base@small"),
        ("base@large", "base", "large", "base@large"),
        ("base@org/large@2", "base", "org/large@2", "base@org/large@2"),
        ("my/own.txt", "my/own.txt", "small", "own@small"),
        ("own.txt@large", "own.txt", "large", "own@large"),
    ],
)
def test_a_name_is_a_prompt_with_the_chosen_or_another_model(name: str, style: str, model: str, called: str) -> None:
    found = StyledModel.of("agent", name, CHOSEN, str, 0.5)
    assert (found.style, found.settings.model, found.called) == (style, model, called)
    assert (found.settings.temperature, found.settings.max_tokens) == (0.5, 7)


def test_recorded_replies_are_a_model() -> None:
    assert StyledModel.of("judge", "paper", ModelSpec(recorded=Path("r.jsonl")), str, 0.0).called == "paper@recorded"


@pytest.mark.parametrize(
    ("name", "chosen", "message"),
    [
        ("base@", CHOSEN, r"^agent 'base@': no model behind the @; write base@MODEL, or base alone$"),
        ("base@ ", ModelSpec(), "no model behind the @"),
        ("base", ModelSpec(), r"^agent 'base': no language model is chosen: give <model>, or write base@MODEL$"),
        ("base", ModelSpec("m", max_tokens=0), "<max_tokens>"),
    ],
)
def test_a_model_that_is_not_there_is_told(name: str, chosen: ModelSpec, message: str) -> None:
    with pytest.raises(InputError, match=message):
        StyledModel.of("agent", name, chosen, "<{}>".format, 1.0)


@given(st.text(st.characters(exclude_characters="@")), st.none() | st.text())
def test_the_first_at_parts_prompt_and_model(style: str, model: str | None) -> None:
    assert style_and_model(style if model is None else f"{style}@{model}") == (style, model)
