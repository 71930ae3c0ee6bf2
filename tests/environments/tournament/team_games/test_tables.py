"""The tables of a league, on made-up ones."""

import json

import pytest

from apportion.environments.report_tables.table import AnnotatedCell
from apportion.environments.tournament.team_games.matches import Match, Matches, Seat
from apportion.environments.tournament.team_games.tables import (
    league_json,
    league_report,
    pairings,
    votes,
    write_league,
)
from apportion.foundation.errors import InputError
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
