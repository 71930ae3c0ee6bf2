"""Reduced games are enumerated whole, and random play wins as often as arithmetic says."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from random import Random

import pytest

from apportion.environments.deduction.avalon.role_assignments import all_deals
from apportion.environments.deduction.avalon.rules import EVIL_WINS, GOES, TABLETOP, Game, Options
from tests.environments.deduction.avalon.exact import after, random_game, reckoned, reduced, walked

SMALL = [
    Options(reduced(players), sizes, last_team, proposals)
    for players, sizes, proposals in ((3, (1, 2, 2), 1), (3, (1, 2, 2), 3), (3, (2, 2, 1, 2, 2), 2), (4, (2, 3, 2), 2))
    for last_team in (GOES, EVIL_WINS)
]


@pytest.mark.parametrize("options", SMALL)
def test_reduced_games_have_as_many_courses_of_each_ending_as_arithmetic_says(options: Options) -> None:
    expected = reckoned(options)
    for deal in all_deals(options.roles):
        for leader in range(len(deal) if len(deal) == 3 else 1):
            assert walked(options, deal, leader) == expected


def test_the_smallest_game_is_walked_through_course_by_course() -> None:
    options = SMALL[0]

    def courses(game: Game) -> Counter[str]:
        if game.ending is not None:
            assert game.winner == ("good" if game.ending == "merlin hidden" else "evil")
            assert not game.acting()
            return Counter({game.ending: 1})
        assert game.acting()
        return sum((courses(one) for one in after(game)), Counter())

    # Three teams by eight votes. The first quest (one goes) can pass in 24 ways and fail in 8, the others in 24 and 16.
    won, lost = 24 * 24 + 24 * 16 * 24 + 8 * 24 * 24, 8 * 16 + 24 * 16 * 16 + 8 * 24 * 16
    by_hand = Counter({"merlin hidden": won, "merlin found": won, "quests failed": lost})
    assert courses(Game(options, options.roles, 0)) == by_hand == reckoned(options)[0]


@pytest.mark.parametrize("options", [Options(), TABLETOP])
def test_the_whole_game_has_the_chances_that_arithmetic_says(options: Options) -> None:
    expected = reckoned(options)
    assert sum(expected[1].values()) == 1
    for deal, leader in ((all_deals(options.roles)[7], 2),):
        assert walked(options, deal, leader) == expected


def _within_three_errors(options: Options, games: int, seed: int) -> None:
    draws = Random(seed)
    played = Counter(random_game(options, draws).ending for _ in range(games))
    _, probable = reckoned(options)
    assert set(played) == set(probable)
    for ending, chance in probable.items():
        error = sqrt(float(chance * (1 - chance)) / games)
        assert abs(played[ending] / games - float(chance)) <= 3 * error, (ending, played[ending])


@pytest.mark.parametrize("options", [Options(), TABLETOP, SMALL[6]])
def test_random_play_wins_as_often_as_it_should(options: Options) -> None:
    _within_three_errors(options, 10_000, 5)


@pytest.mark.slow
@pytest.mark.parametrize("options", [Options(), TABLETOP, SMALL[3], SMALL[6]])
def test_random_play_wins_as_often_as_it_should_in_200_000_games(options: Options) -> None:
    _within_three_errors(options, 200_000, 11)
