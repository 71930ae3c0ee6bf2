"""Random play's win rates beside exact ones, which are counted over all votes and all nights."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from random import Random

import pytest

from apportion.environments.deduction.onuw.rules import (
    CHOOSING,
    PLAYERS,
    VILLAGE,
    WEREWOLF,
    Options,
    all_deals,
    at_night,
    choices_of,
    dead,
    winner,
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


@pytest.mark.slow
def test_where_the_werewolf_s_card_ends() -> None:
    ends = oracle.ends_as_werewolf()
    assert sum(ends[role] * oracle.SEVEN.count(role) for role in ends) > 0
    assert ends["werewolf"] > Fraction(1, 2) > ends["robber"] > ends["villager"] > 0


def by_the_rules_alone(games: int, single_votes_kill: bool, *, by_role: bool) -> list[float]:
    """By how many standard errors the village, and each card, win otherwise than exactly."""
    rules, draws = Options(single_votes_kill=single_votes_kill), Random(19)
    deals = all_deals()
    ballots = [(None, *[other for other in range(PLAYERS) if other != seat]) for seat in range(PLAYERS)]
    wins: Counter[str] = Counter()
    dealt: Counter[str] = Counter()
    village = 0
    for _ in range(games):
        deal = draws.choice(deals)
        choices = {
            role: draws.choice(choices_of(role, deal.index(role))) for role in CHOOSING if deal.index(role) < PLAYERS
        }
        night = at_night(deal, choices)
        won = winner(night.cards, dead([draws.choice(ballot) for ballot in ballots], rules)) == VILLAGE
        village += won
        seat = draws.randrange(PLAYERS)  # one player a game: those of one game do not win independently
        dealt[deal[seat]] += 1
        wins[deal[seat]] += won == (night.cards[seat] != WEREWOLF)
    return [
        standard_errors(village, games, oracle.random_village_rate(single_votes_kill)),
        *[standard_errors(wins[role], dealt[role], exact(role, single_votes_kill)) for role in wins if by_role],
    ]


@pytest.mark.parametrize("single_votes_kill", [True, False])
def test_random_nights_and_votes_by_the_rules_alone(single_votes_kill: bool) -> None:
    assert max(by_the_rules_alone(10_000, single_votes_kill, by_role=False)) < 3


@pytest.mark.slow
@pytest.mark.parametrize("single_votes_kill", [True, False])
def test_random_nights_and_votes_by_the_rules_alone_on_200_000_games(single_votes_kill: bool) -> None:
    assert max(by_the_rules_alone(200_000, single_votes_kill, by_role=True)) < 3


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


def test_random_agents_through_the_core() -> None:
    assert max(through_the_core(1_000, by_role=False)) < 3


@pytest.mark.slow
def test_random_agents_through_the_core_on_60_000_games() -> None:
    assert max(through_the_core(60_000, by_role=True)) < 3
