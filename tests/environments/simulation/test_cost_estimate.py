"""What simulating would take."""

import pytest

from apportion.environments.simulation.cost_estimate import preview, price
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec

CHOSEN = ModelSpec("gpt-4.1-mini")


def test_the_most_requests_are_counted_by_model() -> None:
    choice = SimulationChoice(
        ("base", "base@other", "conceding"), ("used_bicycle",), pairs=2, rules=Rules(most_acts=7), chosen=CHOSEN
    )
    mini, other = price(choice)
    # Nine seatings of two tasks; a model sits in the first seat (4 of 7 acts) in three of them, in the second in three.
    assert (mini.requests, other.requests) == (2 * (3 * 4 + 3 * 3),) * 2
    assert mini.usd is not None and mini.usd > 0 and other.usd is None
    assert "at most 42 requests" in mini.text() and "cost unknown" in other.text()
    assert mini.to_json()["input_tokens"] > 42 * 300


def test_a_draft_and_its_revision_are_two_requests() -> None:
    once, twice = (
        price(SimulationChoice((style,), ("used_bicycle",), chosen=CHOSEN))[0] for style in ("base", "refine")
    )
    assert twice.requests == 2 * once.requests


def test_scripts_cost_nothing_and_have_nothing_to_show() -> None:
    assert price(SimulationChoice()) == []
    with pytest.raises(InputError, match="nothing would be sent"):
        preview(SimulationChoice(), 3)


def test_what_would_be_sent_is_shown_word_for_word() -> None:
    shown = preview(SimulationChoice(("base",), ("used_bicycle",), pairs=1, chosen=CHOSEN, called="<{}>".format), 1)
    assert (shown.in_all, len(shown.requests)) == (2, 1)
    text = shown.text()
    assert "You play one person" in text and "<allow_host> api.openai.com" in text and "<preview>" in text
