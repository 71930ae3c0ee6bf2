"""Every order in which some roles can be dealt, as tuples and as arrays."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from apportion.environments.deduction.events import Deal

Bools = NDArray[np.bool_]


@lru_cache(maxsize=16)
def all_deals(roles: Deal) -> tuple[Deal, ...]:
    """Every deal of these roles once, in order.

    >>> len(all_deals(("merlin", "servant", "servant", "minion", "assassin")))  # 5! / 2!
    60
    """
    known: dict[Deal, list[Deal]] = {(): [()]}

    def orders(left: Deal) -> list[Deal]:
        if left not in known:
            firsts = (left.index(one) for one in dict.fromkeys(left))
            known[left] = [(left[at], *rest) for at in firsts for rest in orders(left[:at] + left[at + 1 :])]
        return known[left]

    return tuple(orders(tuple(sorted(roles))))


class Table:
    """All deals of some roles, D of n seats, in the order of `all_deals`."""

    def __init__(self, roles: Deal) -> None:
        self.deals, self._roles = all_deals(roles), tuple(dict.fromkeys(roles))
        number = {role: at for at, role in enumerate(self._roles)}
        self._numbers = np.array([[number[role] for role in deal] for deal in self.deals], np.int8)

    def having(self, roles: Collection[str]) -> Bools:
        """Which seats have one of these roles [shape=(D, n)]."""
        return np.array([role in roles for role in self._roles])[self._numbers]
