"""Random play's win rates beside exact ones, which are counted over all votes and all nights."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest

from apportion.environments.deduction.onuw.rules import (
    PLAYERS,
    Options,
)
from apportion.environments.deduction.scripts import Random as Drawn
from tests.environments.deduction.onuw import oracle
from tests.environments.deduction.onuw.playing import played


def standard_errors(wins: int, games: int, rate: Fraction) -> float:
    """How far a count lies from its expectation, in standard errors."""
    return abs(float(wins - games * rate)) / math.sqrt(games * rate * (1 - rate))


def exact(role: str, single_votes_kill: bool) -> Fraction:
    """How often who is dealt a card wins: votes know nothing, so that the team at dawn and the vote do not depend."""
    village, ends = oracle.random_village_rate(single_votes_kill), oracle.ends_as_werewolf()[role]
    return ends * (1 - village) + (1 - ends) * village


def test_the_exact_rates() -> None:
    assert oracle.random_village_rate(True) == Fraction(1_057, 3_125)


def through_the_core(games: int, *, by_role: bool) -> list[float]:
    """The same of games that are played through the core."""
    village, wins, dealt = 0, Counter[str](), Counter[str]()
    for number in range(games):
        game = played((Drawn(),), number, Options(rounds=1))
        won = [one["win"] for one in game.outcome().values()]
        village += won.count(1.0) == 4
        dealt[game.deal[number % PLAYERS]] += 1
        wins[game.deal[number % PLAYERS]] += won[number % PLAYERS] == 1.0
    return [
        standard_errors(village, games, oracle.random_village_rate(True)),
        *[standard_errors(wins[role], dealt[role], exact(role, True)) for role in wins if by_role],
    ]


@pytest.mark.parametrize("games", [500, pytest.param(60_000, marks=pytest.mark.slow)])
def test_random_agents_through_the_core(games: int) -> None:
    assert max(through_the_core(games, by_role=games > 500)) < 3
