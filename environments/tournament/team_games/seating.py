"""Who sits where in which match: every seat drawn from a pool (section 4.1), or one agent a team (section 4.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

from apportion.foundation.errors import InputError

POOL, TEAMS = "pool", "teams"
MODES = (POOL, TEAMS)


@dataclass(frozen=True)
class SeatAssignment:
    """One match that is to be played.

    Parameters
    ----------
    name : str
        Its episode.
    seed : str
        Of its deal and of everything else that is drawn; that of the match's number, whoever sits where.
    seats : tuple of str, or mapping of str to str
        The agents by seat; or by team, where the deal says which seats these are.
    """

    name: str
    seed: str
    seats: tuple[str, ...] | Mapping[str, str]


def seated(
    mode: str, agents: Mapping[str, str], teams: Sequence[str], players: int, matches: int, seed: int
) -> Iterator[SeatAssignment]:
    """Every match, in the order of play.

    Parameters
    ----------
    mode : str
        `POOL`: ``matches`` in all, every seat drawn from the agents with the same chance. `TEAMS`: ``matches`` of every
        ordered pair of agents, one with itself among them; the same deals for each.
    agents : mapping of str to str
        By name what logs call it.
    teams : sequence of str
        The two.
    players : int
        Seats.
    matches : int
    seed : int

    Raises
    ------
    InputError
        Nothing to play.
    """
    if not agents or matches < 1:
        raise InputError(f"nothing to play: {len(agents)} agents, matches = {matches}; both are 1 at least")
    pairs = list(product(agents, repeat=len(teams)))
    for number in range(matches):
        drawn = f"{seed}/{number}"
        if mode == POOL:
            draws = Random(f"{drawn}/seats")
            yield SeatAssignment(f"match-{number}", drawn, tuple(draws.choice(list(agents)) for _ in range(players)))
            continue
        for pair in pairs:
            who = "-".join(agents[agent] for agent in pair)
            yield SeatAssignment(f"match-{number}-{who}", drawn, dict(zip(teams, pair, strict=True)))
