"""Matches of a game of two teams: who sat where, in which role, and who won."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

from apportion.foundation.errors import InputError


@dataclass(frozen=True)
class Seat:
    """One seat of a match.

    ``number``: Its place, from 1. ``agent``: Who sat there, as logs call it. ``role``: As it was dealt. ``dealt_team``:
    The team of that role: who sits where is decided by it in a league of team against team. ``team``: The team at the
    end, by which it has won or lost. ``won``: None where the rules do not say. ``votes``: How often others voted
    against it; None where the game has no such votes. ``votes_by_people``: How many of these came from people; None
    where no other seat was a person's. ``person``: Whether a person sat there. ``silent``: How often nothing came of
    its agent, so that the game's default act stood in.
    """

    number: int
    agent: str
    role: str
    dealt_team: str
    team: str
    won: bool | None
    votes: int | None = None
    votes_by_people: int | None = None
    person: bool = False
    silent: int = 0


@dataclass(frozen=True)
class Match:
    """One match that has ended.

    ``name``: Its episode. ``deal``: What was dealt, under which rules; equal for all matches of one deal, whoever sits
    where. ``seats``: In their order. ``drawn``: Whether every seat was drawn from the pool; else each team was one
    agent's.
    """

    name: str
    deal: str
    seats: tuple[Seat, ...]
    drawn: bool = True

    def of_team(self, team: str) -> tuple[Seat, ...]:
        """The seats to which a team was dealt."""
        return tuple(seat for seat in self.seats if seat.dealt_team == team)

    def sole(self, team: str) -> str | None:
        """The one agent that has all the seats to which a team was dealt; None: several have, or nobody."""
        agents = {seat.agent for seat in self.of_team(team)}
        return agents.pop() if len(agents) == 1 else None


@dataclass(frozen=True)
class Matches:
    """The matches of one game.

    ``game``: As people call it. ``teams``: The larger one first. ``matches``: Those that have ended, in the order of
    play. ``unfinished``: Names of those that have not, or have no score. ``unusable``: Acts that were none, in words.
    """

    game: str
    teams: tuple[str, str]
    matches: tuple[Match, ...]
    unfinished: tuple[str, ...] = ()
    unusable: str = ""

    @property
    def pool(self) -> Matches:
        """Those whose seats were drawn from the pool."""
        return self.only(match for match in self.matches if match.drawn)

    @property
    def by_teams(self) -> Matches:
        """Those of team against team."""
        return self.only(match for match in self.matches if not match.drawn)

    @property
    def seats(self) -> Iterator[tuple[str, Seat]]:
        """Every seat with its match's deal."""
        return ((match.deal, seat) for match in self.matches for seat in match.seats)

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent once, by name."""
        return tuple(sorted({seat.agent for _, seat in self.seats}))

    @property
    def roles(self) -> tuple[str, ...]:
        """Every role that was dealt to a player, in the order in which it came."""
        return tuple(dict.fromkeys(seat.role for _, seat in self.seats))

    def only(self, matches: Iterable[Match]) -> Matches:
        """The same game, with some of its matches."""
        return Matches(self.game, self.teams, tuple(matches))


POOL, TEAMS = "pool", "teams"


@dataclass(frozen=True)
class SeatAssignment:
    """One match that is to be played.

    ``name``: Its episode. ``seed``: Of its deal and of everything else that is drawn; that of the match's number,
    whoever sits where. ``seats``: The agents by seat; or by team, where the deal says which seats these are.
    """

    name: str
    seed: str
    seats: tuple[str, ...] | Mapping[str, str]


def paired(agents: Collection[str], against: Collection[str]) -> list[tuple[str, ...]]:
    """Every ordered pair, one of each with itself among them; with ``against`` those in which one of these is."""
    return [pair for pair in product(agents, repeat=2) if not against or not set(pair).isdisjoint(against)]


def seated(
    mode: str,
    agents: Mapping[str, str],
    teams: Sequence[str],
    players: int,
    matches: int,
    seed: int,
    against: Collection[str] = (),
) -> Iterator[SeatAssignment]:
    """Every match, in the order of play.

    ``mode``: `POOL`: ``matches`` in all, every seat drawn from the agents with the same chance. `TEAMS`: ``matches`` of
    every ordered pair of agents, one with itself among them; the same deals for each. ``agents``: By name what logs
    call it. ``teams``: The two. ``players``: Seats. ``against``: Agents of which one is in every pair; none: all pairs.
    Raises InputError: Nothing to play.
    """
    if not agents or matches < 1:
        raise InputError(f"nothing to play: {len(agents)} agents, matches = {matches}; both are 1 at least")
    pairs = paired(agents, against)
    for number in range(matches):
        drawn = f"{seed}/{number}"
        if mode == POOL:
            draws = Random(f"{drawn}/seats")
            yield SeatAssignment(f"match-{number}", drawn, tuple(draws.choice(list(agents)) for _ in range(players)))
            continue
        for pair in pairs:
            who = "-".join(agents[agent] for agent in pair)
            yield SeatAssignment(f"match-{number}-{who}", drawn, dict(zip(teams, pair, strict=True)))
