"""A league of a toy game: who plays which matches, and what is read of its log."""

from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.deduction.games import GAMES, game_called
from apportion.environments.deduction.league import LeagueChoice, is_league, merged, read_matches
from apportion.environments.deduction.simulation import DeductionChoice
from apportion.environments.episode_log import LOG, EpisodeLog, read_log
from apportion.environments.simulation import write_corpus
from apportion.environments.tournament.team_games.matches import TEAMS
from apportion.foundation.errors import InputError
from apportion.foundation.registry import Registry
from tests.environments.deduction.toy import MOLE, Mole


@pytest.fixture(autouse=True)
def moles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy is a game like any other."""
    ours = {**GAMES.ours, "mole": "tests.environments.deduction.toy:MOLE"}
    games = Registry(GAMES.what, GAMES.group, GAMES.must_be, GAMES.fits, ours)
    for place in ("apportion.environments.deduction.games", "apportion.environments.deduction.league"):
        monkeypatch.setattr(f"{place}.GAMES", games)


class Named:
    """Says and does nothing, by a name of its own."""

    paid = False

    def __init__(self, called: str) -> None:
        self.called = called

    def act(self, view):
        from apportion.environments.actions import Action

        return Action("none")


def league(agents=("random",), games=20, **more) -> LeagueChoice:
    return LeagueChoice(MOLE, agents, games, **more)


def test_a_team_is_one_agents() -> None:
    choice = league(("random", "base@m"), 5, mode=TEAMS)
    for plan in choice.plans({name: Named(name) for name in choice.agents}):
        game = plan.make()
        game.reset(plan.seed)
        by_team = {}
        for seat, role in zip(game.agents, game.deal, strict=True):
            by_team.setdefault(Mole.teams[role], set()).add(plan.agents[seat].called)
        assert all(len(agents) == 1 for agents in by_team.values())


def test_a_league_is_its_own_corpus_and_reads_back(tmp_path: Path) -> None:
    choice = LeagueChoice.of(DeductionChoice(MOLE, ("random",), 30, seed=4), "pool")
    assert choice.kind == "tournament mole" and choice.record()["seating"] == "pool"
    write_corpus(choice, tmp_path)
    assert len(Corpus.open(tmp_path).session_ids()) == 30 and is_league(tmp_path) and not is_league(tmp_path / "no")
    (matches,) = read_matches(tmp_path, lambda agent: False)
    assert matches.game == "mole" and matches.teams == ("others", "mole") and matches.pool.matches == matches.matches
    ratings = {(row["session_id"], row["target"]): row["score"] for row in Corpus.open(tmp_path).ratings.to_pylist()}
    for match in matches.matches:
        for seat in match.seats:
            assert ratings[match.name, f"Player {seat.number}"] == seat.won
            assert seat.team == seat.dealt_team == Mole.teams[seat.role] and seat.votes_by_people is None
        logged = read_log(tmp_path / LOG)[match.name]
        votes = [move.act.data for moves in logged.steps for move in moves if move.act.kind == "vote"]
        assert [seat.votes for seat in match.seats] == [votes.count(seat.number) for seat in match.seats]
        silent = sum(move.act.kind == "none" for moves in logged.steps for move in moves)
        assert sum(seat.silent for seat in match.seats) >= silent


def test_people_are_told_from_agents(tmp_path: Path) -> None:
    write_corpus(league(), tmp_path)
    (matches,) = read_matches(tmp_path, lambda agent: agent == "random")
    assert all(seat.person and seat.votes_by_people == seat.votes for _, seat in matches.seats)


def test_what_has_not_ended_is_named_and_what_cannot_be_is_refused(tmp_path: Path) -> None:
    write_corpus(league(games=2), tmp_path)
    with EpisodeLog(tmp_path / LOG) as log:
        opening = read_log(tmp_path / LOG)["match-0"].opening
        log.begin("begun", opening)
    (matches,) = read_matches(tmp_path)
    assert matches.unfinished == ("begun",) and len(matches.matches) == 2
    (both,) = merged([matches, matches])
    assert len(both.matches) == 4 and both.unfinished == ("begun", "begun")
    with EpisodeLog(tmp_path / LOG) as log:
        log.begin("odd", {**opening, "about": {"rules": {"tie": "nobody"}}})
        log.end("odd", {"outcome": {}})
    with pytest.raises(InputError, match="episode 'odd' cannot be played again"):
        read_matches(tmp_path)
    with pytest.raises(InputError, match=r"no episodes\.jsonl"):
        read_matches(tmp_path / "none")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / LOG).write_text("")
    with pytest.raises(InputError, match="holds nothing; a league is of"):
        read_matches(tmp_path / "other")


def test_nothing_to_play() -> None:
    for agents, games in (((), 3), (("random",), 0)):
        with pytest.raises(InputError, match="nothing to play"):
            _ = league(agents, games).total


def played(kind: str, out: Path, games: int, **more):
    write_corpus(LeagueChoice(game_called(kind), ("random",), games, **more), out)
    (matches,) = read_matches(out)
    return matches


@pytest.mark.parametrize("kind", ["werewolf", "avalon", "onuw"])
def test_one_team_wins_each_match(kind: str, tmp_path: Path) -> None:
    for match in played(kind, tmp_path, 10).matches:
        assert len({seat.team for seat in match.seats if seat.won}) == 1
        assert all(seat.won for seat in match.seats if seat.team in {one.team for one in match.seats if one.won})


def test_in_onuw_who_takes_the_werewolfs_card_is_of_its_team(tmp_path: Path) -> None:
    """The dealt team says who sits where, the one at the end who has won."""
    matches = played("onuw", tmp_path, 60, mode=TEAMS)
    assert matches.teams == ("village", "werewolf")
    turned = [match for match in matches.matches if any(seat.team != seat.dealt_team for seat in match.seats)]
    assert turned and all(sum(seat.team == "werewolf" for seat in match.seats) == 1 for match in matches.matches)
    assert all(sum(seat.votes for seat in match.seats) <= 5 for match in matches.matches)
