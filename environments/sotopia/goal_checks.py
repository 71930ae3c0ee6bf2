"""What rules can check of a scenario: an agreement that binds, and secrets that were given away.

Speech never binds. Where a scenario has terms of a deal, the *physical action* ``offer: 85`` (``offer: 18:30``,
``offer: 2 books, 1 hat`` for what the speaker keeps) makes an offer and ``accept`` of everybody else accepts the last
one; the first agreement stands. So no sentence, however it is worded, moves what rules score.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion.environments.actions import Action
from apportion.foundation.errors import InputError

PHYSICAL = "physical action"
_OFFER = re.compile(r"offer\s*:?\s+(?P<terms>.+)", re.IGNORECASE | re.DOTALL)
_AMOUNT = re.compile(r"\$?\s*(\d{1,9}(?:\.\d{1,2})?)\s*(?:dollars?|usd|\$)?\.?", re.IGNORECASE)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\.?")
_PART = re.compile(r"(\d{1,3})\s+(\S.*)")

Offer = float | tuple[int, ...]


class Deal(ABC):
    """Something to agree on: how an offer reads, and what it is worth to each seat."""

    money: bool
    """Whether it is a financial or material benefit (dimension FIN)."""

    @abstractmethod
    def read(self, words: str) -> Offer | None:
        """The offer that the words behind ``offer:`` make; None: none."""

    @abstractmethod
    def worth(self, offer: Offer, seat: int, by: int) -> float:
        """What an agreement on an offer of ``by`` brings to ``seat``: 0 the least that it accepts, 1 the most."""

    @abstractmethod
    def binds(self) -> str:
        """How one offers, in words, for everybody."""

    @abstractmethod
    def side(self, seat: int) -> Deal:
        """What one seat knows of it: itself as seat 0, and nothing of what it is worth to others."""


@dataclass(frozen=True)
class OneNumber(Deal):
    """A price in dollars, or a time of day in minutes: ``worst`` and ``best`` for each seat.

    >>> price = OneNumber(worst=(60.0, 100.0), best=(100.0, 60.0))
    >>> price.worth(price.read("$80"), 0, 1), price.worth(70.0, 1, 0)
    (0.5, 0.75)
    """

    worst: tuple[float, ...]
    best: tuple[float, ...]
    clock: bool = False

    def __post_init__(self) -> None:
        for seat, (worst, best) in enumerate(zip(self.worst, self.best, strict=True), 1):
            if worst == best:
                raise InputError(
                    f"terms: worst and best of agent {seat} are both {worst:g}; they say which way is better"
                )

    @property
    def money(self) -> bool:  # type: ignore[override]
        """A price is money, a time is not."""
        return not self.clock

    def read(self, words: str) -> float | None:
        """Dollars, or minutes after midnight."""
        if self.clock:
            time = _CLOCK.fullmatch(words.strip())
            return 60.0 * int(time[1]) + int(time[2]) if time else None
        amount = _AMOUNT.fullmatch(words.strip())
        return float(amount[1]) if amount else None

    def worth(self, offer: Offer, seat: int, by: int) -> float:
        """On the line from worst to best; below 0 and above 1 where it lies outside."""
        assert isinstance(offer, float)
        return (offer - self.worst[seat]) / (self.best[seat] - self.worst[seat])

    def binds(self) -> str:
        """How one offers."""
        return "offer: 18:30" if self.clock else "offer: 85"

    def side(self, seat: int) -> OneNumber:
        """The seat's own worst and best."""
        return OneNumber((self.worst[seat],), (self.best[seat],), self.clock)


@dataclass(frozen=True)
class Split(Deal):
    """Things to share out between two seats; an offer says what its speaker keeps.

    ``counts`` by thing; ``values`` by seat, what each single thing is worth to it.

    >>> split = Split({"books": 2, "hats": 1}, ((2.0, 6.0), (4.0, 2.0)))
    >>> split.worth(split.read("1 hats"), 0, 0), split.worth((0, 1), 1, 0)
    (0.6, 0.8)
    """

    counts: Mapping[str, int]
    values: tuple[tuple[float, ...], ...]
    money: bool = True

    def __post_init__(self) -> None:
        for seat, values in enumerate(self.values, 1):
            if len(values) != len(self.counts) or self._all(seat - 1) <= 0:
                raise InputError(
                    f"terms: agent {seat} has values {values}; one for each of {', '.join(self.counts)}, not all 0"
                )

    def read(self, words: str) -> tuple[int, ...] | None:
        """Counts by thing that the speaker keeps; a thing that is not named is left to the other."""
        kept = dict.fromkeys(self.counts, 0)
        for part in re.split(r",|\band\b", words.strip().rstrip(".")):
            piece = _PART.fullmatch(part.strip())
            thing = piece and next(
                (t for t in kept if piece[2].casefold().rstrip("s") == t.casefold().rstrip("s")), None
            )
            if piece is None or thing is None or int(piece[1]) > self.counts[thing]:
                return None
            kept[thing] = int(piece[1])
        return tuple(kept.values())

    def worth(self, offer: Offer, seat: int, by: int) -> float:
        """Of the value of all things, the share that the seat has."""
        assert isinstance(offer, tuple)
        mine = offer if seat == by else tuple(n - o for n, o in zip(self.counts.values(), offer, strict=True))
        return sum(n * value for n, value in zip(mine, self.values[seat], strict=True)) / self._all(seat)

    def binds(self) -> str:
        """How one offers."""
        return f"offer: {', '.join(f'{n} {thing}' for thing, n in self.counts.items())} (what you keep)"

    def side(self, seat: int) -> Split:
        """The seat's own values."""
        return Split(self.counts, (self.values[seat],), self.money)

    def _all(self, seat: int) -> float:
        return sum(n * value for n, value in zip(self.counts.values(), self.values[seat], strict=True))


@dataclass(frozen=True)
class Terms:
    """What rules can check of a scenario.

    ``deal`` is what is agreed on; ``keep`` by seat the phrases that its agent must not say (a secret that its goal is
    to keep), and whoever has none wants to hear them.

    Raises InputError: a phrase without words, which every act would hold.
    """

    deal: Deal | None = None
    keep: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        for seat, phrases in enumerate(self.keep, 1):
            if not all(phrase.strip() for phrase in phrases):
                raise InputError(f"keep: a phrase of agent {seat} is empty; write words, or take it out")

    def side(self, seat: int) -> Terms:
        """What one seat knows of them: itself as seat 0."""
        return Terms(self.deal and self.deal.side(seat), (self.keep[seat] if self.keep else (),))


@dataclass(frozen=True)
class Agreement:
    """What was agreed: the offer, and the seat that made it."""

    offer: Offer
    by: int


SeatAct = tuple[int, Action]
"""An act and the seat that did it: scripts and rules need no names."""


def offered(deal: Deal, act: Action) -> Offer | None:
    """The offer that an act makes; None: it makes none.

    >>> offered(OneNumber((60.0,), (100.0,)), Action(PHYSICAL, "Offer: $85"))
    85.0
    """
    words = _OFFER.fullmatch(act.text.strip()) if act.kind == PHYSICAL else None
    return deal.read(words["terms"]) if words else None


def accepted(act: Action) -> bool:
    """Whether an act accepts the offer that stands."""
    return act.kind == PHYSICAL and act.text.strip().rstrip(".!").casefold() == "accept"


class Offers:
    """What stands on the table: the last offer, and who has not accepted it yet."""

    def __init__(self, deal: Deal, seats: int) -> None:
        self.deal, self._seats = deal, seats
        self._missing: set[int] = set()
        self.standing: Agreement | None = None
        self.agreed = False
        """Whether everybody else has accepted ``standing``; nothing changes after that."""

    def take(self, seat: int, act: Action) -> None:
        """Go on by one act."""
        if self.agreed:
            return
        offer = offered(self.deal, act)
        if offer is not None:
            self.standing, self._missing = Agreement(offer, seat), set(range(self._seats)) - {seat}
        elif self.standing is not None and accepted(act):
            self._missing.discard(seat)
            self.agreed = not self._missing


def agreement(deal: Deal, seats: int, acts: Iterable[SeatAct]) -> Agreement | None:
    """The first agreement: an offer that everybody else has accepted before another offer was made."""
    offers = Offers(deal, seats)
    for seat, act in acts:
        offers.take(seat, act)
    return offers.standing if offers.agreed else None


def gave_away(phrases: Iterable[str], seat: int, acts: Iterable[SeatAct]) -> bool:
    """Whether an agent has used one of the phrases, in whatever act; letters' case and spaces do not count."""
    said = " \n ".join(_plain(act.text) for own, act in acts if own == seat)
    return any(_plain(phrase) in said for phrase in phrases)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
