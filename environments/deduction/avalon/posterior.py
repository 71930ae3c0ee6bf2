"""The exact posterior over the deals, for a player who holds others to have certain habits.

Logic alone leaves 24 deals to a Servant, 2 to Merlin and 3 to an evil player (`deals`), and a failed quest takes some
away. How likely each of the rest is follows from what was proposed and voted and from how often quests failed, by the
rule of Bayes, summed over every deal: nothing is sampled. What the player has done itself says nothing to it.

The habits are assumptions of ours, not measurements; they say who tends to what and by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

from apportion.environments.deduction.avalon.rules import EVIL_ROLES, MERLIN, SERVANT, Deal


@dataclass(frozen=True)
class OpponentModel:
    """How others are held to play; each is a probability.

    ``fails``: An evil member fails the quest. ``merlin``, ``evil``: Merlin votes for a team of good players and against
    any other; an evil player the other way round. ``proposes``: Merlin proposes good players alone, an evil leader a
    team with an evil one in it, where there are such teams.
    """

    fails: float = 0.8
    merlin: float = 0.7
    evil: float = 0.7
    proposes: float = 0.7


@dataclass(frozen=True)
class Round:
    """A proposal and what came of it, on seats from 0.

    ``leader``: Who proposed. ``team``: Who was to go. ``votes``: By seat; None: not yet. ``fails``: Cards that failed
    the quest; None: it was not played.
    """

    leader: int
    team: tuple[int, ...]
    votes: tuple[bool, ...] | None = None
    fails: int | None = None


HABITS = OpponentModel()


def posterior(
    deals: Sequence[Deal], rounds: Sequence[Round], seat: int, habits: OpponentModel = HABITS
) -> tuple[float, ...]:
    """How probable each deal is to a player.

    ``deals``: Those that fit what the player knows for certain, equally likely before anything was done. ``rounds``:
    Everything public so far. ``seat``: The player's, from 0; its own proposals and votes say nothing to it. ``habits``:
    Of the others. Returns: In the order of the deals; they add up to 1.
    """
    weights = []
    for deal in deals:
        weight = 1.0
        for one in rounds:
            weight *= _likelihood(deal, one, seat, habits)
        weights.append(weight)
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def evil_chances(deals: Sequence[Deal], probabilities: Sequence[float]) -> tuple[float, ...]:
    """By seat, how probable it is that its player is evil."""
    return _chances(deals, probabilities, EVIL_ROLES)


def merlin_chances(deals: Sequence[Deal], probabilities: Sequence[float]) -> tuple[float, ...]:
    """By seat, how probable it is that its player is Merlin."""
    return _chances(deals, probabilities, frozenset((MERLIN,)))


def clean_chance(deals: Sequence[Deal], probabilities: Sequence[float], team: Sequence[int]) -> float:
    """How probable it is that nobody of a team is evil."""
    return sum(one for deal, one in zip(deals, probabilities, strict=True) if _evil_in(deal, team) == 0)


def _chances(deals: Sequence[Deal], probabilities: Sequence[float], roles: frozenset[str]) -> tuple[float, ...]:
    chances = [0.0] * len(deals[0])
    for deal, one in zip(deals, probabilities, strict=True):
        for seat, role in enumerate(deal):
            if role in roles:
                chances[seat] += one
    return tuple(chances)


def _evil_in(deal: Deal, team: Sequence[int]) -> int:
    return sum(deal[seat] in EVIL_ROLES for seat in team)


@lru_cache(maxsize=1 << 16)
def _likelihood(deal: Deal, one: Round, seat: int, habits: OpponentModel) -> float:
    evil = _evil_in(deal, one.team)
    chance = 1.0 if one.leader == seat else _of_proposal(deal, one, evil > 0, habits)
    for voter, approves in enumerate(one.votes or ()):
        if voter != seat and deal[voter] != SERVANT:
            # Merlin is for clean teams, evil players are for the others.
            for_it = (deal[voter] == MERLIN) == (evil == 0)
            likely = habits.merlin if deal[voter] == MERLIN else habits.evil
            chance *= likely if approves == for_it else 1 - likely
    if one.fails is not None:
        chance *= comb(evil, one.fails) * habits.fails**one.fails * (1 - habits.fails) ** (evil - one.fails)
    return chance


def _of_proposal(deal: Deal, one: Round, tainted: bool, habits: OpponentModel) -> float:
    """That the leader proposes this very team."""
    players, size = len(deal), len(one.team)
    every = comb(players, size)
    clean = comb(players - _evil_in(deal, range(players)), size)
    role = deal[one.leader]
    if role == SERVANT or clean in (0, every):
        return 1 / every
    wanted = tainted == (role != MERLIN)
    return (habits.proposes if wanted else 1 - habits.proposes) / (every - clean if tainted else clean)
