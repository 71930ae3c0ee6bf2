"""Who may have which role: all deals as arrays, and those that fit what a player knows, by rules of logic alone.

Nothing here asks the engine: a deal fits what was seen at night (`cast.SEES`), quests with so many fails, and a shot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from apportion.environments.deduction.avalon.cast import ASSASSIN, EVIL_ROLES, MERLIN, SEES, Deal
from apportion.environments.deduction.deals import Bools, Table


@dataclass(frozen=True)
class AssassinationResult:
    """The Assassin's: who named whom, and whether it was Merlin."""

    assassin: int
    target: int
    hit: bool


@dataclass(frozen=True)
class Evidence:
    """What a player knows for certain.

    ``seat``: The player's. ``role``: Their own. ``seen``: The seats that they see at night (`cast.seen_by`).
    ``quests``: Quests so far: who else went, and how many of their cards failed it. ``shot``: The last one.
    """

    seat: int
    role: str
    seen: frozenset[int] | None
    quests: tuple[tuple[tuple[int, ...], int], ...] = ()
    shot: AssassinationResult | None = None


class Deals(Table):
    """All deals as arrays; of ten players there are up to 151,200."""

    @cached_property
    def evil(self) -> Bools:
        """Which seats are evil [shape=(D, n)]."""
        return self.having(EVIL_ROLES)


@lru_cache(maxsize=16)
def table_of(roles: Deal) -> Deals:
    """The deals of these roles as arrays."""
    return Deals(roles)


@lru_cache(maxsize=256)
def numbers_of(roles: Deal, known: Evidence) -> NDArray[np.intp]:
    """The places in `all_deals` of those that fit what a player knows; each fail of a quest is an evil player's."""
    table = table_of(roles)
    fits: Bools = table.having((known.role,))[:, known.seat]
    if known.role in SEES:
        seen = [seat in (known.seen or ()) for seat in range(len(roles))]
        fits = fits & (table.having(SEES[known.role]) == seen).all(axis=1)
    for team, fails in known.quests:
        fits = fits & (table.evil[:, team].sum(axis=1) >= fails)
    if known.shot is not None:
        merlin = table.having((MERLIN,))[:, known.shot.target]
        fits = fits & table.having((ASSASSIN,))[:, known.shot.assassin] & (merlin == known.shot.hit)
    return np.flatnonzero(fits)


def fitting(roles: Deal, known: Evidence) -> tuple[Deal, ...]:
    """The deals that fit what a player knows, in the order of `all_deals`.

    >>> roles = ("merlin", "servant", "servant", "minion", "assassin")
    >>> [len(fitting(roles, Evidence(0, *night))) for night in (
    ...     ("servant", None), ("merlin", frozenset({1, 2})), ("minion", frozenset({0, 3})))]
    [24, 2, 3]
    """
    return tuple(table_of(roles).deals[one] for one in numbers_of(roles, known))


def suspicion(roles: Deal, known: Evidence) -> tuple[float, ...]:
    """By seat, the share of the deals that fit in which it is evil; no deal: all 0."""
    evil = table_of(roles).evil[numbers_of(roles, known)]
    return tuple((evil.sum(axis=0) / max(len(evil), 1)).tolist())
