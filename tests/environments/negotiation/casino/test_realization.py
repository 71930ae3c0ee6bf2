from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.casino.contexts import CONTEXTS, POOL
from apportion.environments.negotiation.casino.game import Casino
from apportion.environments.negotiation.casino.scripts import Conceding, Fair
from apportion.environments.negotiation.casino.scripts import Random as Drawn
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.text_rendering import NegotiationRenderer
from apportion.environments.terminal.console import LineError

TELLING = NegotiationRenderer(Casino.wording)
SCRIPTS = (Drawn(), Conceding(), Fair())


def begun(*acts: Action) -> Observation:
    """After some acts, as Bob sees it."""
    game = Casino(Context(POOL, ((5, 4, 3), (3, 4, 5))))
    game.reset(next(seed for seed in range(99) if not game.reset(seed) and game.starter == 0))
    for act in acts:
        game.do(act)
    return Observation(game, "Bob")


def test_packages_are_told_and_understood_by_their_names() -> None:
    view = begun(Action("propose", "", [3, 2, 0]))
    assert [one.text for one in TELLING.opening(view)][1] == (
        "a package of Food is worth 3 points, of Water 4, of Firewood 5."
    )
    (event,) = TELLING.events(view)
    assert event.label == "#1 Alice proposed to keep 3 Food and 2 Water (which leaves 1 Water and 3 Firewood to you). "
    assert TELLING.understood(view, Action("say", "I want all the firewood and 1 water")).data == [0, 1, 3]
    assert TELLING.understood(view, Action("say", "Deal.")) == Action("agree", "Deal.")
    assert TELLING.understood(view, Action("insist", "0 0 3")).data == [0, 0, 3]
    assert TELLING.commands(view)["propose"].words == "FOOD WATER FIREWOOD"


def test_plurals_are_read() -> None:
    words = "I need 3 foods, 3 waters and 1 firewood"
    assert TELLING.understood(begun(), Action("say", words)) == Action("propose", words, [3, 3, 1])
    assert TELLING.understood(begun(), Action("say", "Firewoods for me, you get the rest")).data == [0, 0, 3]


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("Foods: 3, waters: 0, firewood: 3", "3"),
        ("food 3 water 2", "2"),
        ("I need 3 food and 1 log", "1"),
        ("2 or 3 food", "2"),
        ("1.5 food", "1"),
        ("You get 2, I take the water", "2"),
        ("ok, 2 2 1 for me", "2"),
        ("half the water", "half"),
    ],
)
def test_words_that_were_read_in_part_bind_nobody(words: str, count: str) -> None:
    view = begun(Action("propose", "", [3, 2, 0]))
    told = rf"'{count}' was not read as a count: say what you keep, as /propose 3 3 1 \(food water firewood\)"
    with pytest.raises(LineError, match=told):
        TELLING.understood(view, Action("say", words))


@pytest.mark.parametrize(
    "words",
    ["3 packages of food and two of the waters", "All 3 food, 1 water", "2 each", "No, 2 is too little"],
)
def test_counts_that_were_read_are_no_hindrance(words: str) -> None:
    assert TELLING.understood(begun(), Action("say", words)).text == words


def test_what_is_no_split_is_told_in_the_game_s_words() -> None:
    view = begun(Action("propose", "", [3, 2, 0]))
    with pytest.raises(LineError, match="how many food, water, firewood are yours"):
        TELLING.understood(view, Action("propose", "1"))
    with pytest.raises(LineError, match="there are 3 Food, 3 Water and 3 Firewood"):
        TELLING.understood(view, Action("propose", "4 0 0"))
    ended = begun(Action("propose", "", [3, 2, 0]), Action("agree"), Action("end"))
    assert TELLING.prompt(ended) == "take your items (agreed for you: 1 Water and 3 Firewood)> "
    ended = begun(Action("propose", "", [3, 2, 0]), Action("disagree"), Action("end"))
    with pytest.raises(LineError, match=r"as /take 1 0 2 \(food water firewood\)"):
        TELLING.understood(ended, Action("select", ""))


def shown(game: Casino) -> list[Any]:
    view = Observation(game, "Alice")
    return [TELLING.opening(view), TELLING.events(view), TELLING.prompt(view), TELLING.commands(view)]


@given(st.sampled_from(CONTEXTS), st.integers(0, 10**6), st.integers(0, 10**6))
def test_what_the_other_wants_changes_nothing_on_the_screen(context: Context, seed: int, draw: int) -> None:
    draws = Random(draw)
    other = draws.choice([one for one in CONTEXTS if one.values[0] == context.values[0]])
    games = [Casino(context), Casino(other)]
    for game in games:
        game.reset(seed)
    while not games[0].over:
        assert shown(games[0]) == shown(games[1])
        acts = {name: draws.choice(SCRIPTS).act(Observation(games[0], name)) for name in games[0].acting()}
        for game in games:
            game.step(acts)
