"""Who may have which role: all deals as arrays, and those that fit what a player knows, by rules of logic alone.

Nothing here asks the engine: a deal fits what was seen at night (`cast.SEES`), quests with so many fails, and a shot.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from apportion.environments.deduction.avalon.cast import ASSASSIN, EVIL_ROLES, MERLIN, SEES, Deal
from apportion.environments.deduction.deals import all_deals

Bools = NDArray[np.bool_]


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


class Table:
    """All deals of some roles, D of n seats, in the order of `all_deals`."""

    def __init__(self, roles: Deal) -> None:
        self.deals, self.names = all_deals(roles), tuple(dict.fromkeys(roles))
        number = {role: at for at, role in enumerate(self.names)}
        # Of ten players there are up to 151,200 deals.
        self.numbers = np.array([[number[role] for role in deal] for deal in self.deals], np.int8)
        self.evil = self.having(EVIL_ROLES)

    def having(self, roles: Collection[str]) -> Bools:
        """Which seats have one of these roles [shape=(D, n)]."""
        return np.array([role in roles for role in self.names])[self.numbers]

    def fitting(self, known: Evidence) -> Bools:
        """The deals that can be true: good players fail no quest, so that each fail is an evil one's [shape=(D,)]."""
        fits: Bools = self.having((known.role,))[:, known.seat]
        if known.role in SEES:
            seen = [seat in (known.seen or ()) for seat in range(self.numbers.shape[1])]
            fits = fits & (self.having(SEES[known.role]) == seen).all(axis=1)
        for team, fails in known.quests:
            fits = fits & (self.evil[:, team].sum(axis=1) >= fails)
        if known.shot is not None:
            merlin = self.having((MERLIN,))[:, known.shot.target]
            fits = fits & self.having((ASSASSIN,))[:, known.shot.assassin] & (merlin == known.shot.hit)
        return fits


@lru_cache(maxsize=16)
def table_of(roles: Deal) -> Table:
    """The deals of these roles as arrays."""
    return Table(roles)


@lru_cache(maxsize=256)
def numbers_of(roles: Deal, known: Evidence) -> NDArray[np.intp]:
    """The places in `all_deals` of those that fit what a player knows."""
    return np.flatnonzero(table_of(roles).fitting(known))


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
