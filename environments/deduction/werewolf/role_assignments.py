"""Who may have which role: the deals that fit what a player knows."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from apportion.environments.deduction.deals import Bools, Table
from apportion.environments.deduction.events import Deal
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.werewolf.cast import GUARDIAN, HUNTER, SEER, WEREWOLF
from apportion.environments.deduction.werewolf.rules import CHECKED, FELL, KILL, KILLED, OUT, PACK, ROLES, SHOOT

Floats = NDArray[np.float64]


class Deals(Table):
    """All deals as arrays: D deals of n seats."""

    @cached_property
    def wolf(self) -> Floats:
        """Whether a seat is a werewolf [shape=(D, n)]."""
        return self.having((WEREWOLF,)).astype(float)

    @cached_property
    def seer(self) -> Floats:
        """Whether a seat is the seer [shape=(D, n)]."""
        return self.having((SEER,)).astype(float)

    @cached_property
    def guardian(self) -> Floats:
        """Whether a seat is the guardian [shape=(D, n)]."""
        return self.having((GUARDIAN,)).astype(float)

    @cached_property
    def hunter(self) -> Bools:
        """Whether a seat is the hunter [shape=(D, n)]."""
        return self.having((HUNTER,))


@lru_cache(maxsize=16)
def deals_of(roles: tuple[str, ...]) -> Deals:
    """The deals of these roles: 420 of the paper's seven.

    >>> from apportion.environments.deduction.werewolf.rules import PAPER
    >>> len(deals_of(PAPER).deals)
    420
    """
    return Deals(roles)


def possible_deals(facts: PrivateInformation) -> list[Deal]:
    """The deals that a player's facts allow, as tuples."""
    deals = deals_of(facts.rules.roles).deals
    return [deals[number] for number in np.flatnonzero(fitting(facts))]


def fitting(facts: PrivateInformation) -> Bools:
    """The deals that a player's facts allow: what it certainly knows, whatever others say [shape=(D,)].

    That is its role; of a werewolf who the others are; what the seer saw; that werewolves do not kill their own; that
    a guardian lives where whom the werewolves chose was not killed; that the hunter shoots, and nobody else who dies;
    that the game went on after each death; and at the end everything.
    """
    table = deals_of(facts.rules.roles)
    alive = set(range(1, len(facts.rules.roles) + 1))
    wolves: dict[int, bool] = {}
    hunters: dict[int, bool] = {}
    living: list[list[int]] = []
    guarded: list[list[int]] = []
    chosen = 0
    for kind, data in ((event.kind, event.data) for event in facts.events):
        if kind == ROLES:
            return np.array([deal == data for deal in table.deals])
        if kind == PACK:
            wolves |= {seat: seat in data for seat in alive}
        elif kind == CHECKED:
            seat, wolves[seat] = data
        elif kind == KILL:
            chosen = data
        elif kind == KILLED and not data and chosen:
            guarded.append([one - 1 for one in alive])
        elif kind == FELL:
            hunters[data] = True
            living.pop()  # Nobody has won before the hunter shot.
        elif kind == SHOOT or (kind in (KILLED, OUT) and data):
            hunters |= {data: False} if data else {}
            alive.discard(data)
            living.append([one - 1 for one in alive])
        if kind == KILLED:
            chosen = 0  # A werewolf that is out does not know whom the other chooses.
            if data:
                wolves[data] = False
    fits: Bools = table.having((facts.role,))[:, facts.seat - 1]
    for seat, is_one in wolves.items():
        fits = fits & (table.wolf[:, seat - 1] == is_one)
    for seat, is_one in hunters.items():
        fits = fits & (table.hunter[:, seat - 1] == is_one)
    for seats in guarded:
        fits = fits & table.guardian[:, seats].any(axis=1)
    for seats in living:
        among = 2 * table.wolf[:, seats].sum(axis=1)
        fits = fits & (among > 0) & (among < len(seats))
    return fits
