"""Who may have which role: every deal, and those that fit what a player knows."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

from apportion.environments.deduction.events import Deal
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.werewolf.rules import CHECKED, GUARDIAN, KILL, KILLED, OUT, PACK, ROLES, WEREWOLF


@lru_cache(maxsize=16)
def all_deals(roles: tuple[str, ...]) -> tuple[Deal, ...]:
    """Every deal of these roles, each once, in a fixed order: 420 of the paper's seven.

    >>> from apportion.environments.deduction.werewolf.rules import PAPER
    >>> len(all_deals(PAPER))
    420
    """
    return tuple(sorted(set(permutations(roles))))


def possible_deals(facts: PrivateInformation) -> list[Deal]:
    """The deals that a player's facts allow: what it certainly knows, whatever others say.

    That is its role; of a werewolf who the others are; what the seer saw; that werewolves do not kill their own; that
    a guardian lives where whom the werewolves chose was not killed; that the game went on after each death; and at the
    end everything.
    """
    alive = set(range(1, len(facts.rules.roles) + 1))
    wolves: dict[int, bool] = {}
    living, guarded, chosen = [], [], 0
    for kind, data in ((event.kind, event.data) for event in facts.events):
        if kind == ROLES:
            return [data]
        if kind == PACK:
            wolves |= {seat: seat in data for seat in alive}
        elif kind == CHECKED:
            seat, wolves[seat] = data
        elif kind == KILL:
            chosen = data
        elif kind == KILLED and not data and chosen:
            guarded.append(frozenset(alive))
        elif kind in (KILLED, OUT) and data:
            alive.discard(data)
            living.append(frozenset(alive))
        if kind == KILLED:
            chosen = 0  # A werewolf that is out does not know whom the other chooses.
            if data:
                wolves[data] = False
    return [
        deal
        for deal in all_deals(facts.rules.roles)
        if deal[facts.seat - 1] == facts.role
        and all((deal[seat - 1] == WEREWOLF) == is_one for seat, is_one in wolves.items())
        and all(any(deal[seat - 1] == GUARDIAN for seat in seats) for seats in guarded)
        and all(0 < 2 * sum(deal[seat - 1] == WEREWOLF for seat in seats) < len(seats) for seats in living)
    ]
