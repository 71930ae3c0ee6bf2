"""Every order in which some roles can be dealt."""

from __future__ import annotations

from functools import lru_cache

from apportion.environments.deduction.events import Deal


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
