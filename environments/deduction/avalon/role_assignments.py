"""Who may have which role: all deals, and those that fit what a player knows, by rules of logic alone.

Nothing here asks the engine: a deal fits what was seen at night (`seen_by`), quests with so many fails, and a shot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

from apportion.environments.deduction.avalon.rules import ASSASSIN, EVIL_ROLES, MERLIN, Deal, evil_seats


@lru_cache(maxsize=64)
def all_deals(roles: Deal) -> tuple[Deal, ...]:
    """Every deal of these roles once, in order; 60 of the five players' (5! / 2!).

    >>> len(all_deals(("merlin", "servant", "servant", "minion", "assassin")))
    60
    """
    return tuple(sorted(set(permutations(roles))))


def seen_by(deal: Deal, seat: int) -> frozenset[int] | None:
    """The evil seats, as a player sees them at night: Merlin and evil players do; None: the player sees nothing."""
    return evil_seats(deal) if deal[seat] == MERLIN or deal[seat] in EVIL_ROLES else None


@dataclass(frozen=True)
class AssassinationResult:
    """The Assassin's: who named whom, and whether it was Merlin."""

    assassin: int
    target: int
    hit: bool


@dataclass(frozen=True)
class Evidence:
    """What a player knows for certain.

    ``seat``: The player's. ``role``: Their own. ``seen``: The evil seats, where they see them at night. ``quests``:
    Quests so far: who went, and how many cards failed it. ``shot``: The last one.
    """

    seat: int
    role: str
    seen: frozenset[int] | None
    quests: tuple[tuple[tuple[int, ...], int], ...] = ()
    shot: AssassinationResult | None = None

    def fits(self, deal: Deal) -> bool:
        """Whether a deal can be the true one: good players fail no quest, so that each fail is an evil member's."""
        return (
            deal[self.seat] == self.role
            and seen_by(deal, self.seat) == self.seen
            and all(fails <= sum(deal[one] in EVIL_ROLES for one in team) for team, fails in self.quests)
            and (self.shot is None or _fits_shot(deal, self.shot))
        )


def fitting(roles: Deal, evidence: Evidence) -> tuple[Deal, ...]:
    """The deals that fit what a player knows, in the order of `all_deals`.

    >>> roles = ("merlin", "servant", "servant", "minion", "assassin")
    >>> [len(fitting(roles, Evidence(0, *night))) for night in (
    ...     ("servant", None), ("merlin", frozenset({1, 2})), ("minion", frozenset({0, 3})))]
    [24, 2, 3]
    """
    return _fitting(roles, evidence)


@lru_cache(maxsize=4096)
def _fitting(roles: Deal, evidence: Evidence) -> tuple[Deal, ...]:
    return tuple(deal for deal in all_deals(roles) if evidence.fits(deal))


def suspicion(deals: Iterable[Deal], players: int) -> tuple[float, ...]:
    """By seat, the share of the deals in which it is evil; no deal: all 0."""
    counted = [0] * players
    total = 0
    for deal in deals:
        total += 1
        for seat in evil_seats(deal):
            counted[seat] += 1
    return tuple(count / max(total, 1) for count in counted)


def _fits_shot(deal: Deal, shot: AssassinationResult) -> bool:
    return deal[shot.assassin] == ASSASSIN and (deal[shot.target] == MERLIN) == shot.hit
