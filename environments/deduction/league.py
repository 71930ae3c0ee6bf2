"""From a choice of a game and agents to the matches of a league, the same deals whoever plays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from apportion.environments.actions import SILENT
from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.deduction.base_game import WIN, Deduction
from apportion.environments.deduction.events import SPEAK, VOTE
from apportion.environments.deduction.games import GAMES, game_called
from apportion.environments.deduction.simulation import DeductionChoice, in_time
from apportion.environments.environment import InvalidActionError, Step
from apportion.environments.episode_log import LOG, LoggedEpisode, read_log, unusable_told
from apportion.environments.tournament.team_games.matches import (
    POOL,
    TEAMS,
    Match,
    Matches,
    Seat,
    SeatAssignment,
    paired,
    seated,
)
from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json

SEATING = "seating"
"""The field of a log's opening that says how seats were given away."""


@dataclass(frozen=True)
class LeagueChoice(DeductionChoice):
    """What is played, and by whom; ``games`` are the matches, of every ordered pair of agents in a league of teams.

    ``mode``: `POOL`: every seat is drawn from the agents with the same chance (Stackelberg Speaker, section 4.1).
    `TEAMS`: each agent has a team to itself, against each agent in the other one (section 4.3). Which seats a team has
    is said by the dealt roles. ``against``: Of `TEAMS`: agents of which one is in every pair; none: all pairs.
    """

    mode: str = POOL
    against: tuple[str, ...] = ()

    @classmethod
    def of(cls, choice: DeductionChoice, mode: str, against: tuple[str, ...] = ()) -> LeagueChoice:
        """A league of what was chosen to be played.

        Raises InputError: a league of a pool has no ``against``, or who is named there does not play.
        """
        if against and (mode == POOL or not set(against) <= set(choice.agents)):
            raise InputError(
                f"{choice.called('against')} {', '.join(against)}: of a league of teams ({choice.called('teams')}), "
                f"and one of those that play: {', '.join(choice.agents)}"
            )
        chosen = {one.name: getattr(choice, one.name) for one in fields(DeductionChoice)}
        return cls(**chosen, mode=mode, against=against)

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What makes the corpus."""
        return f"tournament {self.game.kind}"

    @property
    def total(self) -> int:
        """Matches in all; raises InputError: nothing to play."""
        return super().total * (1 if self.mode == POOL else len(paired(self.agents, self.against)))

    def record(self) -> dict[str, Any]:
        """What decides the corpus, as JSON; models by their names."""
        against = {"against": [self.players.called_as[name] for name in self.against]} if self.against else {}
        return {**super().record(), SEATING: self.mode, **against}

    def plans(self, agents: Mapping[str, Agent]) -> list[EpisodePlan]:
        """The matches, in the order of play."""
        make = partial(self.game.make, self.options, None)
        game, about = make(), {**self.game.about(self.options), SEATING: self.mode}
        teams = tuple(dict.fromkeys(game.teams.values()))
        named = self.players.called_as
        plans = []
        for one in seated(self.mode, named, teams, len(game.agents), super().total, self.seed, self.against):
            names = _sitting(game, one)
            sitting = {seat: in_time(agents[name], self.limit_s) for seat, name in zip(game.agents, names, strict=True)}
            plans.append(EpisodePlan(one.name, make, sitting, one.seed, about))
        return plans


def _sitting(game: Deduction, match: SeatAssignment) -> tuple[str, ...]:
    """By seat who sits there; a team's seats are those to whose roles it belongs when they are dealt."""
    if not isinstance(match.seats, Mapping):
        return match.seats
    game.reset(match.seed)
    return tuple(match.seats[game.teams[role]] for role in game.deal[: len(game.agents)])


IsPerson = Callable[[str], bool]
"""Whether an agent of a name is a person."""


def read_matches(folder: Path, is_person: IsPerson = lambda agent: False) -> list[Matches]:
    """The matches in a corpus folder with its log, a game each; those that have not ended are named.

    ``folder``: What `tournament`, `simulate` or `play` has written of games of hidden roles. Raises InputError: No log,
    a damaged one, none of these games in it, or acts that the rules do not allow.
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
        if not episode.rated:
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
    unfinished = tuple(name for name, episode in logged.items() if not episode.rated)
    teams, unusable = larger_first(game.made.teams, ended), unusable_told(logged.values())
    return Matches(kind, teams, tuple(ended), unfinished, unusable)


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
            " ".join(filter(None, (one.unusable for one in several))),
        )
        for game, several in games.items()
    ]
