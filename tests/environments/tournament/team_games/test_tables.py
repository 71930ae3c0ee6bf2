"""The tables of a league, on made-up ones."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.report_tables.table import AnnotatedCell, Value
from apportion.environments.tournament.team_games.matches import POOL, TEAMS, Match, Matches, Seat, seated
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
from apportion.environments.tournament.team_games.tables import (
    league_json,
    league_report,
    pairings,
    votes,
    write_league,
)
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.proportion import clustered_share
from apportion.foundation.intervals.resampling import Sampling
from tests.environments.tournament.team_games.made import VILLAGE, WOLVES, league, match

SAMPLING = Sampling(resamples=200)


def tables_of(matches):
    return {table.key: table for table in league_report(matches, SAMPLING, "A made-up league").tables}


def test_a_pool_league_has_rates_by_team_role_and_seat() -> None:
    tables = tables_of(league(200))
    assert tables["by_team"].columns == ("Agent", "Team village", "Team werewolves", "Overall")
    assert [row[0] for row in tables["by_team"].rows] == ["middle", "strong", "weak"]
    assert isinstance(tables["by_team"].rows[1][3], AnnotatedCell)  # The strong one, overall.
    assert set(tables["by_role"].columns) == {"Agent", "Seer", "Guardian", "Villager", "Werewolf"}
    assert tables["by_seat"].columns == ("Agent", *map(str, range(1, 8)))
    assert sum(cell.items for row in tables["by_seat"].rows for cell in row[1:]) == 200 * 7
    assert len(tables["differences"].rows) == 3 and "silence" not in tables
    assert "not there, because every seat was drawn from the pool" in tables["pairings"].text()


def test_team_against_team_says_who_met_whom() -> None:
    made = league(30, teams=True)
    rows = {row[:2]: row for row in pairings(made).rows}
    assert len(rows) == 9 and all(row[2] == 30 for row in rows.values())
    village, wolves = rows["strong", "weak"][3:]
    assert village.value + wolves.value == pytest.approx(100) and village.value > 60
    # Five seats that always win together are one trial: 30 of them.
    assert village.episodes == 30 and village.items == 150 and village.high - village.low > 15


def test_votes_by_people_are_of_seats_beside_which_a_person_sat() -> None:
    two = (match("a", "hxxxxxx", True, votes=[0, 3, 1, 1, 1, 0, 0], people=(1,)), match("b", "xxxxxxx", False))
    table = votes(Matches("g", (VILLAGE, WOLVES), two), SAMPLING)
    by_agent = {row[0]: row for row in table.rows}
    assert by_agent["x"][1].value == 1 and by_agent["x"][1].items == 6 and by_agent["x"][2].items == 6
    assert by_agent["h"][1].value == 0 and "no person sat beside it" in table.text()
    none = Matches("g", (VILLAGE, WOLVES), (match("b", "xxxxxxx", False),))
    assert votes(none, SAMPLING).absent == "the game has no votes against players"


def test_silence_and_unfinished_matches_are_told() -> None:
    seats = tuple(Seat(n, "quiet", "Villager", VILLAGE, VILLAGE, True, silent=n) for n in (1, 2))
    report = league_report(Matches("g", (VILLAGE, WOLVES), (Match("m", "d", seats),), ("lost",)), SAMPLING, "t")
    text = report.text()
    assert "1 matches have not ended" in text and report.tables[-1].rows == (("quiet", 3),)
    assert "not there, because there is one agent alone" in text


def test_files_hold_everything_and_names_do_no_harm(tmp_path) -> None:
    made = Matches("g", (VILLAGE, WOLVES), (match("m", ["<b>\n# x|y", *"aaaaaa"], True),))
    report = league_report(made, SAMPLING, "t")
    document, text = write_league(tmp_path, report)
    assert json.loads(document.read_text()) == json.loads(league_json(report))
    assert "<b>" not in text.read_text() and "\n# x" not in text.read_text()
    before = document.read_bytes(), text.read_bytes()
    write_league(tmp_path, report)
    assert (document.read_bytes(), text.read_bytes()) == before
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_league(tmp_path / "file", report)


SIDES = ("village", "werewolves")
AGENTS = {"a": "a", "b": "b@m", "c": "c"}


@given(st.integers(1, 20), st.integers(0, 5))
def test_deals_are_those_of_the_number_whoever_plays(matches: int, seed: int) -> None:
    pool = list(seated(POOL, AGENTS, SIDES, 5, matches, seed))
    other = list(seated(POOL, {"z": "z"}, SIDES, 5, matches, seed))
    teams = list(seated(TEAMS, AGENTS, SIDES, 5, matches, seed))
    assert [one.seed for one in pool] == [one.seed for one in other]
    assert len(teams) == 9 * matches and len({one.name for one in teams}) == len(teams)
    for number, one in enumerate(pool):
        same = [two for two in teams if two.seed == one.seed]
        assert len(same) == 9 and {tuple(two.seats.values()) for two in same} == {(x, y) for x in "abc" for y in "abc"}
        assert one.name == f"match-{number}"
    assert list(seated(POOL, AGENTS, SIDES, 5, matches, seed)) == pool


def test_nothing_to_play_is_refused() -> None:
    for agents, matches in (({}, 3), (AGENTS, 0)):
        with pytest.raises(InputError, match="nothing to play"):
            list(seated(POOL, agents, SIDES, 5, matches, 0))


RATE_SAMPLING = Sampling(resamples=400)


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
    alike = difference(village[0], village[0], RATE_SAMPLING)
    assert (alike.value, alike.low, alike.high) == (0, 0, 0) and not distinct(alike)
    easier = difference(village[1], village[0], RATE_SAMPLING)
    apart = [[(f"{place} {deal}", won) for deal, won in one] for place, one in enumerate(village)]
    unpaired = difference(apart[1], apart[0], RATE_SAMPLING)
    assert easier.value == pytest.approx(unpaired.value) and easier.value > 0
    assert easier.high - easier.low < 0.95 * (unpaired.high - unpaired.low)


def test_the_middle_of_two_teams_is_no_mean_of_seats() -> None:
    """`Avg.` of Table 2: 52 and 88 percent are 70, however many seats each team has."""
    made = league(60, agents=("strong", "weak"), teams=True)
    ours = tuple(ends_against(made, "strong", team, "weak") for team in (VILLAGE, WOLVES))
    theirs = tuple(ends_against(made, "weak", team, "weak") for team in (VILLAGE, WOLVES))
    rates = [win_rate(one).value for one in ours]
    mean = middle(*ours, RATE_SAMPLING)
    assert mean.value == pytest.approx(sum(rates) / 2) and mean.items == 60 * 7
    change = change_of_middle(ours, theirs, RATE_SAMPLING)
    assert change.value == pytest.approx(mean.value - middle(*theirs, RATE_SAMPLING).value) and distinct(change)
    assert (
        change_of_middle(ours, (theirs[0], []), RATE_SAMPLING) is NEVER and middle(ours[0], [], RATE_SAMPLING) is NEVER
    )


@pytest.mark.parametrize(("leagues", "least"), [(60, 0.87), pytest.param(300, 0.91, marks=pytest.mark.slow)])
def test_differences_cover_the_true_one(leagues: int, least: float) -> None:
    """Leagues of two agents that are alike, 60 matches each: 0 lies in about 95 % of the intervals."""
    covered = 0
    for seed in range(leagues):
        draws = np.random.default_rng(seed)
        matches = tuple(
            match(str(number), [("a", "b")[pick] for pick in draws.integers(0, 2, 7)], bool(draws.random() < 0.4))
            for number in range(60)
        )
        made = Matches("g", (VILLAGE, WOLVES), matches)
        covered += not distinct(difference(*(ends(made, of_agent(agent)) for agent in "ab"), RATE_SAMPLING))
    assert least <= covered / leagues <= 0.98 or leagues < 300


def test_who_never_sat_there_has_no_rate_and_no_difference() -> None:
    made = Matches("g", (VILLAGE, WOLVES), (match("m", "aaaaaab", True),))
    all_of = {name: ends(made, of_agent(name)) for name in "abc"}
    assert win_rate(ends(made, of_agent("b", WOLVES))) is NEVER and win_rate(all_of["c"]) is NEVER
    assert difference(all_of["a"], all_of["c"], RATE_SAMPLING) is NEVER
    alone = difference(all_of["a"], all_of["b"], RATE_SAMPLING)
    assert isinstance(alone, Value) and alone.low is None and not distinct(alone)
