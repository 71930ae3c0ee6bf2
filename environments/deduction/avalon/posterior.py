"""The exact posterior over the deals, for a player who holds others to have certain habits.

Logic alone leaves of five players' 24 deals to a Servant, 2 to Merlin and 3 to an evil player (`role_assignments`), and
a failed quest takes some away. How likely each of the rest is follows from what was proposed and voted and from how
often quests failed, by the rule of Bayes, summed over every deal: nothing is sampled. What the player has done itself
says nothing to it. Who knows nobody to be evil, as a Servant or Percival, has no habits.

The habits are assumptions of ours, not measurements; they say who tends to what and by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from apportion.environments.deduction.avalon.cast import HOLD_EVIL, MERLIN, Deal
from apportion.environments.deduction.avalon.role_assignments import Evidence, numbers_of, table_of
from apportion.environments.deduction.deals import Bools

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OpponentModel:
    """How others are held to play; each is a probability.

    ``fails``: An evil member fails the quest. ``merlin``, ``evil``: Merlin votes for a team of good players and against
    any other; an evil player the other way round. ``proposes``: Merlin proposes good players alone, an evil leader a
    team with an evil one in it, where there are such teams. Everybody holds for evil whom they know to be.
    """

    fails: float = 0.8
    merlin: float = 0.7
    evil: float = 0.7
    proposes: float = 0.7


@dataclass(frozen=True)
class Round:
    """A proposal and what came of it, on seats from 0.

    ``leader``: Who proposed. ``team``: Who was to go. ``votes``: By seat; None: not yet. ``fails``: Cards that failed
    the quest; None: it was not played. ``own``: How many of them were the card of the player who asks.
    """

    leader: int
    team: tuple[int, ...]
    votes: tuple[bool, ...] | None = None
    fails: int | None = None
    own: int = 0

    def others_fails(self, seat: int) -> tuple[tuple[int, ...], int]:
        """Who else than a seat went, and how many of their cards failed the quest that was played."""
        return tuple(one for one in self.team if one != seat), (self.fails or 0) - self.own


HABITS = OpponentModel()


def posterior(roles: Deal, known: Evidence, rounds: tuple[Round, ...], habits: OpponentModel = HABITS) -> Floats:
    """How probable each deal is to a player.

    ``roles``: That are dealt. ``known``: What the player knows for certain; the deals that fit it were equally likely
    before anything was done. ``rounds``: Everything public so far; the player's own proposals, votes and cards say
    nothing to it. ``habits``: Of the others. Returns: In the order of `all_deals`, 0 where a deal does not fit
    [shape=(D,)].
    """
    numbers, chances = numbers_of(roles, known), np.zeros(len(table_of(roles).deals))
    weights = _weights(roles, rounds, known.seat, habits)[numbers]
    # Sums go in the order of the deals, so that players who are alike have chances that are.
    chances[numbers] = weights / np.cumsum(weights)[-1]
    return chances


def evil_chances(roles: Deal, probabilities: Floats) -> tuple[float, ...]:
    """By seat, how probable it is that its player is evil."""
    return _chances(probabilities, table_of(roles).evil)


def merlin_chances(roles: Deal, probabilities: Floats) -> tuple[float, ...]:
    """By seat, how probable it is that its player is Merlin."""
    return _chances(probabilities, table_of(roles).having((MERLIN,)))


def clean_chances(roles: Deal, probabilities: Floats, teams: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    """By team, how probable it is that nobody of it is evil."""
    bits = 1 << np.arange(len(roles))
    evil = np.bincount(table_of(roles).evil @ bits, probabilities, 1 << len(roles))
    sets = np.arange(len(evil))
    return {team: float(evil[sets & bits[list(team)].sum() == 0].sum()) for team in teams}


def _chances(probabilities: Floats, seats: Bools) -> tuple[float, ...]:
    return tuple((probabilities[:, None] * seats).sum(axis=0).tolist())


@lru_cache(maxsize=64)
def _weights(roles: Deal, rounds: tuple[Round, ...], seat: int, habits: OpponentModel) -> Floats:
    """How likely every deal makes what others than a seat did; rounds before the last are looked up [shape=(D,)]."""
    if not rounds:
        return np.ones(len(table_of(roles).deals))
    *before, last = rounds
    own = (seat + 1, *([0] if last.leader == seat else []))
    chances: Floats = np.delete(_likelihood(roles, replace(last, fails=None, own=0), habits), own, axis=1).prod(axis=1)
    if last.fails is not None:
        others, fails = last.others_fails(seat)
        worth = [
            comb(of, fails) * habits.fails**fails * (1 - habits.fails) ** (of - fails) for of in range(len(others) + 1)
        ]
        chances = chances * np.array(worth)[table_of(roles).evil[:, others].sum(axis=1)]
    return _weights(roles, tuple(before), seat, habits) * chances


@lru_cache(maxsize=4)
def _likelihood(roles: Deal, one: Round, habits: OpponentModel) -> Floats:
    """How likely every deal makes the proposal and each seat's vote [shape=(D, 1 + n)]."""
    table, players, every = table_of(roles), len(roles), comb(len(roles), len(one.team))
    chances = np.ones((len(table.deals), players + 1))
    chances[:, 0] = 1 / every
    for role in HOLD_EVIL.keys() & set(roles):
        # Merlin is for clean teams, evil players are for the others, as far as they know.
        has, known = table.having((role,)), table.having(HOLD_EVIL[role])
        tainted = known[:, one.team].any(axis=1)
        wanted = tainted != (role == MERLIN)
        clean = comb(players - int(known[0].sum()), len(one.team))
        if clean:
            share = np.where(wanted, habits.proposes, 1 - habits.proposes) / np.where(tainted, every - clean, clean)
            chances[:, 0] = np.where(has[:, one.leader], share, chances[:, 0])
        if one.votes is not None:
            likely = habits.merlin if role == MERLIN else habits.evil
            voted = np.where(wanted[:, None] == one.votes, likely, 1 - likely)
            chances[:, 1:] = np.where(has, voted, chances[:, 1:])
    return chances
