"""Reduced games are enumerated whole, and random play wins as often as arithmetic says."""

from __future__ import annotations

import pytest

from apportion.environments.deduction.avalon.role_assignments import all_deals
from apportion.environments.deduction.avalon.rules import EVIL_WINS, GOES, TABLETOP, Options
from tests.environments.deduction.avalon.exact import reckoned, reduced, walked

SMALL = [
    Options(reduced(players), sizes, last_team, proposals)
    for players, sizes, proposals in ((3, (1, 2, 2), 1), (3, (1, 2, 2), 3), (3, (2, 2, 1, 2, 2), 2), (4, (2, 3, 2), 2))
    for last_team in (GOES, EVIL_WINS)
]


@pytest.mark.parametrize("options", SMALL)
def test_reduced_games_have_as_many_courses_of_each_ending_as_arithmetic_says(options: Options) -> None:
    expected = reckoned(options)
    for number, deal in enumerate(all_deals(options.roles)):
        assert walked(options, deal, number % len(deal)) == expected


@pytest.mark.parametrize("options", [Options(), TABLETOP])
def test_the_whole_game_has_the_chances_that_arithmetic_says(options: Options) -> None:
    expected = reckoned(options)
    assert sum(expected[1].values()) == 1
    for deal, leader in ((all_deals(options.roles)[7], 2),):
        assert walked(options, deal, leader) == expected
