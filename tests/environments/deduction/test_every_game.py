"""What holds in every game of hidden roles: copies and replays, and words that the rules never read."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.collect_episodes import play
from apportion.environments.deduction.events import SPEAK
from apportion.environments.deduction.game import Deduction
from apportion.environments.deduction.games import GAMES, game_called
from apportion.environments.deduction.scripts import Random as Drawn
from tests.environments.deduction.test_injection import PLEAS

every_game = pytest.mark.parametrize("kind", [*GAMES.ours])


def begun(kind: str, seed: int) -> Deduction:
    game = game_called(kind)
    made = game.make(game.options(), None)
    made.reset(seed)
    return made


def played(kind: str, seed: int) -> Deduction:
    """A game of scripts and of one that draws, to its end."""
    game, roster = begun(kind, seed), game_called(kind).roster
    agents = (roster.scripted("claims"), Drawn(), roster.scripted("bayes"))
    play(game, {name: agents[seat % 3] for seat, name in enumerate(game.agents)})
    return game


@every_game
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60))
def test_a_copy_and_a_replay_go_on_by_themselves(kind: str, seed: int, until: int) -> None:
    whole, game = played(kind, seed), begun(kind, seed)
    for moves in whole.steps[:until]:
        game.step(dict(moves))
    before = (list(game.events), game.outcome(), game.acting(), [game.observe(name) for name in game.agents])
    copied = game.clone()
    for moves in whole.steps[until:]:
        copied.step(dict(moves))
    assert copied.events == whole.events and copied.outcome() == whole.outcome()
    assert before == (game.events, game.outcome(), game.acting(), [game.observe(name) for name in game.agents])
    again = begun(kind, 0)
    again.replay(seed, whole.steps)
    assert again.events == whole.events and again.outcome() == whole.outcome()


@every_game
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_words_are_heard_and_never_read_by_the_rules(kind: str, seed: int) -> None:
    """The same acts with other words end in the same way, whatever the words pretend to be."""
    whole, other, draws = played(kind, seed), begun(kind, seed), Random(seed)
    for moves in whole.steps:
        other.step({name: act._replace(text=draws.choice(("", "x" * 6_000, *PLEAS))) for name, act in moves})
    assert other.deal == whole.deal and other.outcome() == whole.outcome()
    ours, theirs = (
        [event for event in game.events if event.kind != SPEAK and event.text != "said nothing"]
        for game in (whole, other)
    )
    assert ours == theirs
