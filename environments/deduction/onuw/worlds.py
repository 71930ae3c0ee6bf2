"""Every deal, every night of it, and those that fit what a player has lived through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations, product
from typing import NamedTuple

from apportion.environments.deduction.onuw.rules import (
    CARDS,
    CHOOSING,
    PLAYERS,
    SEER,
    WEREWOLF,
    Choice,
    Deal,
    Night,
    at_night,
    choices_of,
)


class ClaimedHistory(NamedTuple):
    """What somebody lived through at night, or claims to have: the card at dusk, the choice, and what it was shown.

    The Seer's ``seen`` of the centre are in the order of their names: the cards there are looked at together.
    """

    role: str
    choice: Choice = ()
    seen: tuple[str, ...] = ()

    @property
    def last(self) -> str:
        """The card that it knows to have been its own last."""
        return self.seen[-1] if self.seen and self.role != SEER else self.role


class World(NamedTuple):
    """One way in which everything can have happened: the deal, and by role of `CHOOSING` what was chosen."""

    deal: Deal
    choices: tuple[Choice, ...]

    @property
    def night(self) -> Night:
        """What it came to."""
        return at_night(self.deal, dict(zip(CHOOSING, self.choices, strict=True)))

    @property
    def accounts(self) -> tuple[ClaimedHistory, ...]:
        """By seat what its player lived through."""
        chosen, seen = dict(zip(CHOOSING, self.choices, strict=True)), self.night.seen
        return tuple(account(self.deal[seat], chosen.get(self.deal[seat], ()), seen[seat]) for seat in range(PLAYERS))


def account(role: str, choice: Choice, seen: tuple[str, ...]) -> ClaimedHistory:
    """What was lived through, with two cards of the centre in the order of their names."""
    return ClaimedHistory(role, choice, tuple(sorted(seen)) if len(seen) > 1 else seen)


@lru_cache
def all_deals() -> tuple[Deal, ...]:
    """The 1,800 deals with the Werewolf among the players, in a fixed order.

    >>> len(all_deals())
    1800
    """
    return tuple(sorted({deal for deal in permutations(CARDS) if WEREWOLF in deal[:PLAYERS]}))


def nights_of(deal: Deal) -> Iterator[World]:
    """Every night of a deal: all that those who choose can choose, 210 where all three of them play."""
    yield from (World(deal, choices) for choices in product(*(_choices(deal, role) for role in CHOOSING)))


def all_worlds() -> Iterator[World]:
    """Every night of every deal."""
    for deal in all_deals():
        yield from nights_of(deal)


def fitting_deals(seat: int, lived: ClaimedHistory, shown: Sequence[tuple[int, str]] = ()) -> Iterator[Deal]:
    """The deals that a player cannot rule out, in the order of `all_deals`.

    Parameters
    ----------
    seat, lived : int and Account
        Who asks, and what it lived through.
    shown : sequence of (int, str)
        Seats whose cards at the end of the night are known to all, with these.
    """

    def fits(world: World) -> bool:
        return world.accounts[seat] == lived and all(world.night.cards[other] == card for other, card in shown)

    return (deal for deal in all_deals() if deal[seat] == lived.role and any(map(fits, _nights_with(deal, lived))))


def _nights_with(deal: Deal, lived: ClaimedHistory) -> Iterator[World]:
    """The nights of a deal in which the role of ``lived`` chose what it did."""
    own = [(lived.choice,) if role == lived.role else _choices(deal, role) for role in CHOOSING]
    yield from (World(deal, choices) for choices in product(*own))


def _choices(deal: Deal, role: str) -> tuple[Choice, ...]:
    place = deal.index(role)
    return choices_of(role, place) if place < PLAYERS else ((),)
