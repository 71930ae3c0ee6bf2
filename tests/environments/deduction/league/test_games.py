"""Leagues of our own games: what is read of their logs beside what their rules say."""

from pathlib import Path

import pytest

from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.league import LeagueChoice, read_matches
from apportion.environments.simulation import write_corpus
from apportion.environments.tournament.team_games.matches import TEAMS


def played(kind: str, out: Path, **more):
    write_corpus(LeagueChoice(game_called(kind), ("random",), 60, **more), out)
    (matches,) = read_matches(out)
    return matches


@pytest.mark.parametrize("kind", ["werewolf", "avalon", "onuw"])
def test_one_team_wins_each_match(kind: str, tmp_path: Path) -> None:
    for match in played(kind, tmp_path).matches:
        assert len({seat.team for seat in match.seats if seat.won}) == 1
        assert all(seat.won for seat in match.seats if seat.team in {one.team for one in match.seats if one.won})


def test_in_onuw_who_takes_the_werewolfs_card_is_of_its_team(tmp_path: Path) -> None:
    """The dealt team says who sits where, the one at the end who has won."""
    matches = played("onuw", tmp_path, mode=TEAMS)
    assert matches.teams == ("village", "werewolf")
    turned = [match for match in matches.matches if any(seat.team != seat.dealt_team for seat in match.seats)]
    assert turned and all(sum(seat.team == "werewolf" for seat in match.seats) == 1 for match in matches.matches)
    assert all(sum(seat.votes for seat in match.seats) <= 5 for match in matches.matches)
