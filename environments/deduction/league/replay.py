"""The matches of a league from its log: each is played again by the rules, and said of every seat what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from apportion.environments.agents.agent import SILENT
from apportion.environments.deduction.events import SPEAK, VOTE
from apportion.environments.deduction.game import WIN, Deduction
from apportion.environments.deduction.games import GAMES, game_called
from apportion.environments.deduction.league.choice import SEATING
from apportion.environments.environment import InvalidActionError, Step
from apportion.environments.episode_log import LOG, LoggedEpisode, read_log
from apportion.environments.tournament.team_games.matches import Match, Matches, Seat
from apportion.environments.tournament.team_games.seating import TEAMS
from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json

IsPerson = Callable[[str], bool]
"""Whether an agent of a name is a person."""


def read_matches(folder: Path, is_person: IsPerson = lambda agent: False) -> list[Matches]:
    """The matches in a corpus folder with its log, a game each; those that have not ended are named.

    Parameters
    ----------
    folder : Path
        What `tournament`, `simulate` or `play` has written of games of hidden roles.
    is_person : callable

    Raises
    ------
    InputError
        No log, a damaged one, none of these games in it, or acts that the rules do not allow.
    """
    path = folder / LOG
    if not path.is_file():
        raise InputError(f"{folder}: no {LOG}, which says who sat where; give the folder of a league")
    games = GAMES.names()
    by_game: dict[str, dict[str, LoggedEpisode]] = {}
    for name, episode in read_log(path).items():
        by_game.setdefault(str(episode.opening["environment"]), {})[name] = episode
    found = [_matches(path, kind, logged, is_person) for kind, logged in by_game.items() if kind in games]
    if not found:
        raise InputError(f"{path}: holds {', '.join(by_game) or 'nothing'}; a league is of {', '.join(games)}")
    return found


def is_league(folder: Path) -> bool:
    """Whether a folder's log is of games of hidden roles; a folder without a log is not."""
    kinds = {str(episode.opening["environment"]) for episode in read_log(folder / LOG).values()}
    return bool(kinds) and kinds <= set(GAMES.names())


def _matches(path: Path, kind: str, logged: Mapping[str, LoggedEpisode], is_person: IsPerson) -> Matches:
    game = game_called(kind)
    ended: list[Match] = []
    for name, episode in logged.items():
        if episode.closing is None:
            continue
        about, seed = dict(episode.opening["about"]), episode.opening["seed"]
        try:
            played = game.of_log(about)
            assert isinstance(played, Deduction)
            played.replay(seed, episode.steps)
        except (InvalidActionError, InputError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: episode {name!r} cannot be played again ({error}); simulate it anew") from None
        drawn = about.pop(SEATING, None) != TEAMS
        seats = tuple(_seats(played, episode, is_person))
        ended.append(Match(name, canonical_json([kind, about, seed]), seats, drawn))
    unfinished = tuple(name for name, episode in logged.items() if episode.closing is None)
    return Matches(kind, larger_first(game.made.teams, ended), tuple(ended), unfinished)


def larger_first(teams: Mapping[str, str], matches: Sequence[Match]) -> tuple[str, str]:
    """Both teams, the one with more dealt seats first."""
    one, other = dict.fromkeys(teams.values())
    dealt = Counter(seat.dealt_team for match in matches for seat in match.seats)
    return (one, other) if dealt[one] >= dealt[other] else (other, one)


def _seats(game: Deduction, episode: LoggedEpisode, is_person: IsPerson) -> Iterator[Seat]:
    called = [str(agent) for _, agent in episode.opening["agents"]]
    people = {place + 1 for place, agent in enumerate(called) if is_person(agent)}
    votes = [(event.seat, event.data) for event in game.events if event.kind == VOTE]
    silent = _silent(episode.steps)
    outcome = game.outcome()
    for place, (name, agent) in enumerate(zip(game.agents, called, strict=True)):
        number, role, won = place + 1, game.deal[place], outcome[name][WIN]
        against = [voter for voter, aim in votes if aim == number]
        yield Seat(
            number,
            agent,
            role,
            game.teams[role],
            game.team_at_end(number),
            None if won is None else bool(won),
            len(against) if votes else None,
            sum(voter in people for voter in against) if votes and people - {number} else None,
            number in people,
            silent[name],
        )


def _silent(steps: Sequence[Step]) -> Counter[str]:
    """By player how often nothing came of it."""
    moves = (move for moves in steps for move in moves)
    return Counter(agent for agent, act in moves if act.kind == SILENT or (act.kind == SPEAK and not act.text.strip()))


def merged(found: Sequence[Matches]) -> list[Matches]:
    """The matches of several folders, a game each, in the order in which games came; names may be there twice."""
    games: dict[str, list[Matches]] = {}
    for one in found:
        games.setdefault(one.game, []).append(one)
    return [
        Matches(
            game,
            several[0].teams,
            tuple(match for one in several for match in one.matches),
            tuple(name for one in several for name in one.unfinished),
        )
        for game, several in games.items()
    ]
