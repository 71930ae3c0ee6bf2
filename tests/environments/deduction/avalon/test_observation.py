"""What a player of Avalon is told, and what scripts make of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.deduction.avalon.observation import evidence_of, night_in_words, rounds_of, rules_in_words
from apportion.environments.deduction.avalon.rules import TABLETOP, Options
from apportion.environments.environment import Action
from tests.environments.deduction.avalon.plays import begun, some_game, until


def test_the_rules_are_told_with_the_options_in_force() -> None:
    told = rules_in_words(Options())
    for part in (
        "5 players: 1 Merlin, 2 Servants of Arthur, 1 Minion of Mordred, 1 Assassin.",
        "up to 5 quests, for teams of 2, 3, 2, 3 and 3",
        "the fifth team of a quest goes however it is voted on",
        "Three failed: evil wins. Three passed: the Assassin names one player",
    ):
        assert part in told
    assert "the fifth team of a quest is the last: evil wins if it is rejected" in rules_in_words(TABLETOP)
    small = rules_in_words(Options(("merlin", "servant", "assassin"), (1,), proposals=2))
    assert "up to 1 quests, for teams of 1" in small and "the second team of a quest" in small and "One failed" in small


@pytest.mark.parametrize(
    ("seat", "role", "evil", "told"),
    [
        (1, "merlin", (3, 4), "You see that Player 3 and Player 4 are evil."),
        (1, "merlin", (3,), "You see that Player 3 is evil."),
        (3, "minion", (3, 4), "You see that Player 4 is evil, too."),
        (3, "assassin", (3,), "You see that nobody else is evil."),
    ],
)
def test_the_night_shows_who_is_evil(seat: int, role: str, evil: tuple[int, ...], told: str) -> None:
    assert night_in_words(seat, role, evil) == told


def test_servants_see_nothing_and_everybody_reads_the_same_of_what_is_public() -> None:
    game = until(begun(), "vote")
    told = [game.observe(name) for name in game.agents]
    assert ["You see that" in one for one in told] == [True, False, True, True, False]
    assert "You are Player 2. You are a Servant of Arthur" in told[1]
    assert 'said: "Let us go."' in told[1]
    assert "It is your turn (vote 1). You may:" in told[1]
    assert told[1].splitlines()[-1].endswith("voted against the team")


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), steps=st.integers(0, 80))
def test_rounds_and_evidence_are_those_of_the_game(seed: int, steps: int) -> None:
    game = some_game(seed, steps)
    for seat, name in enumerate(game.agents):
        facts = game.facts(name)
        rounds, known = rounds_of(facts), evidence_of(facts)
        votes = [moves for moves in game.steps if any(move.act.kind in ("approve", "reject") for move in moves)]
        assert (known.seat, known.role) == (seat, game.deal[seat])
        assert known.seen == (None if game.deal[seat] == "servant" else game.game.evil)
        assert len(known.quests) == game.game.passed + game.game.failed
        assert sum(fails > 0 for _, fails in known.quests) == game.game.failed
        assert [(one.team, one.fails) for one in rounds if one.fails is not None] == list(known.quests)
        assert sum(one.votes is not None for one in rounds) >= len(votes)
        for one in rounds:
            assert one.votes is None or len(one.votes) == 5


def test_votes_stand_by_seat() -> None:
    game = until(begun(), "vote")
    game.step({name: Action("approve" if name in ("Player 2", "Player 5") else "reject") for name in game.agents})
    assert rounds_of(game.facts("Player 1"))[0].votes == (False, True, False, False, True)
