"""Win rates and their differences, on made-up leagues."""

import numpy as np
import pytest

from apportion.environments.report_tables.table import Value
from apportion.environments.tournament.team_games.matches import Matches
from apportion.environments.tournament.team_games.rates import (
    NEVER,
    change_of_middle,
    difference,
    distinct,
    ends,
    ends_against,
    middle,
    of_agent,
    win_rate,
)
from apportion.foundation.intervals.proportion import clustered_share
from apportion.foundation.intervals.resampling import Sampling
from tests.environments.tournament.team_games.made import VILLAGE, WOLVES, league, match

SAMPLING = Sampling(resamples=400)


def test_a_rate_is_that_of_its_seats_by_deal() -> None:
    made = league(60)
    rate = win_rate(ends(made, of_agent("strong", VILLAGE)))
    wins, seats = [], []
    for one in made.matches:
        mine = [seat for seat in one.seats if seat.agent == "strong" and seat.team == VILLAGE]
        wins.append(sum(seat.won for seat in mine))
        seats.append(len(mine))
    share = clustered_share(wins, seats)
    assert isinstance(rate, Value) and share is not None
    assert (rate.value, rate.low, rate.high) == pytest.approx((100 * share.value, 100 * share.low, 100 * share.high))
    assert rate.items == sum(seats) and rate.episodes == sum(n > 0 for n in seats)


def test_overall_is_the_teams_by_their_seats() -> None:
    made = league(80)
    village, wolves, overall = (win_rate(ends(made, of_agent("weak", team))) for team in (VILLAGE, WOLVES, None))
    parts = (village.value * village.items + wolves.value * wolves.items) / (village.items + wolves.items)
    assert overall.value == pytest.approx(parts) and overall.items == village.items + wolves.items


def test_matches_of_one_deal_are_one_unit() -> None:
    """Four matches of each deal that end alike tell as much as one."""
    one = league(40, seed=3)
    four = Matches(one.game, one.teams, one.matches * 4)
    few, many = (win_rate(ends(made, of_agent("middle", VILLAGE))) for made in (one, four))
    assert (few.low, few.high, few.episodes) == (pytest.approx(many.low), pytest.approx(many.high), many.episodes)


def test_what_both_had_in_common_counts_in_neither() -> None:
    """Team against team: two agents that are alike have the same end on each deal, and the difference is exactly 0."""
    made = league(80, agents=("middle", "weak"), teams=True)
    village = [ends_against(made, "middle", VILLAGE, one) for one in ("middle", "weak")]
    assert all(len(one) == 80 * 5 for one in village)
    alike = difference(village[0], village[0], SAMPLING)
    assert (alike.value, alike.low, alike.high) == (0, 0, 0) and not distinct(alike)
    easier = difference(village[1], village[0], SAMPLING)
    apart = [[(f"{place} {deal}", won) for deal, won in one] for place, one in enumerate(village)]
    unpaired = difference(apart[1], apart[0], SAMPLING)
    assert easier.value == pytest.approx(unpaired.value) and easier.value > 0
    assert easier.high - easier.low < 0.95 * (unpaired.high - unpaired.low)


def test_the_middle_of_two_teams_is_no_mean_of_seats() -> None:
    """`Avg.` of Table 2: 52 and 88 percent are 70, however many seats each team has."""
    made = league(60, agents=("strong", "weak"), teams=True)
    ours = tuple(ends_against(made, "strong", team, "weak") for team in (VILLAGE, WOLVES))
    theirs = tuple(ends_against(made, "weak", team, "weak") for team in (VILLAGE, WOLVES))
    rates = [win_rate(one).value for one in ours]
    mean = middle(*ours, SAMPLING)
    assert mean.value == pytest.approx(sum(rates) / 2) and mean.items == 60 * 7
    change = change_of_middle(ours, theirs, SAMPLING)
    assert change.value == pytest.approx(mean.value - middle(*theirs, SAMPLING).value) and distinct(change)
    assert change_of_middle(ours, (theirs[0], []), SAMPLING) is NEVER and middle(ours[0], [], SAMPLING) is NEVER


def test_differences_cover_the_true_one() -> None:
    """300 leagues of two agents that are alike, 60 matches each: 0 lies in about 95 % of the intervals."""
    covered = 0
    for seed in range(300):
        draws = np.random.default_rng(seed)
        matches = tuple(
            match(str(number), [("a", "b")[pick] for pick in draws.integers(0, 2, 7)], bool(draws.random() < 0.4))
            for number in range(60)
        )
        made = Matches("g", (VILLAGE, WOLVES), matches)
        covered += not distinct(difference(*(ends(made, of_agent(agent)) for agent in "ab"), SAMPLING))
    assert 0.91 <= covered / 300 <= 0.98


def test_who_never_sat_there_has_no_rate_and_no_difference() -> None:
    made = Matches("g", (VILLAGE, WOLVES), (match("m", "aaaaaab", True),))
    all_of = {name: ends(made, of_agent(name)) for name in "abc"}
    assert win_rate(ends(made, of_agent("b", WOLVES))) is NEVER and win_rate(all_of["c"]) is NEVER
    assert difference(all_of["a"], all_of["c"], SAMPLING) is NEVER
    alone = difference(all_of["a"], all_of["b"], SAMPLING)
    assert isinstance(alone, Value) and alone.low is None and not distinct(alone)
