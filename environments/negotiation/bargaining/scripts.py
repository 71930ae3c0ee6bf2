"""Scripted buyers and sellers; each knows its own limit and the list price alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.bargaining.realization import ACCEPT, LEAVE, OFFER, Facts, sentence
from apportion.environments.negotiation.bargaining.scenario import BUYER

PATIENCE = 8
"""Own offers after which a conceding script offers its limit."""


class Script(ABC):
    """Accepts what is at least as good as what it would offer now; leaves where the last acts cannot help."""

    called: ClassVar[str]
    paid: ClassVar[bool] = False

    def act(self, view: Observation) -> Action:
        """The next act, in words that the episode's seed draws."""
        facts: Facts = view.facts
        act = self.chosen(facts, view)
        return act._replace(text=sentence(facts.seat, act, facts.wording))

    def chosen(self, facts: Facts, view: Observation) -> Action:
        """Accept, leave after the second offer at one's limit, or offer."""
        price = self.price(facts)
        if facts.standing is not None and facts.profit(facts.standing) >= max(facts.profit(price), 0):
            return Action(ACCEPT)
        if facts.own[-2:] == [price, price] and price == within(facts, facts.limit):
            return Action(LEAVE)
        return Action(OFFER, "", price)

    @abstractmethod
    def price(self, facts: Facts) -> int:
        """What it would offer now."""


class Conceding(Script):
    """Opens at half or at all of the list price and goes to its limit in equal steps."""

    called = "conceding"

    def price(self, facts: Facts) -> int:
        """A step further for each own offer."""
        return toward(facts, opening(facts), min(len(facts.own) / PATIENCE, 1.0))


class Greedy(Script):
    """Stays at its opening price."""

    called = "greedy"

    def price(self, facts: Facts) -> int:
        """The same each time."""
        return opening(facts)


class Fair(Script):
    """Asks for a quarter of the list price beyond its limit, and no more."""

    called = "fair"

    def price(self, facts: Facts) -> int:
        """The same each time, within the list price."""
        step = facts.list_price // 4
        return within(facts, facts.limit - step if facts.seat == BUYER else facts.limit + step)


class TitForTat(Script):
    """Goes as far from its opening as the other has come from the other's, once by a twentieth of the list price."""

    called = "tit-for-tat"

    def price(self, facts: Facts) -> int:
        """As the other does, never beyond the limit."""
        others = [act.data for seat, act in facts.acts if seat != facts.seat and act.kind == OFFER]
        given = abs(others[-1] - others[0]) if others else 0
        first = facts.list_price // 20 if facts.own else 0
        begun, room = opening(facts), abs(facts.limit - opening(facts))
        return toward(facts, begun, min((given + first) / room, 1.0)) if room else begun


class AnyAct(Script):
    """Any allowed kind of act with the same chance each, and any price."""

    called = "random"

    def price(self, facts: Facts) -> int:
        """Its limit; `chosen` draws."""
        return within(facts, facts.limit)

    def chosen(self, facts: Facts, view: Observation) -> Action:
        """An act at random."""
        draws = view.draws
        kind = draws.choice(view.legal)
        return Action(kind, "", draws.randint(1, facts.list_price) if kind == OFFER else None)


def opening(facts: Facts) -> int:
    """Half of the list price, or less with a smaller budget; the seller's is the list price."""
    return within(facts, min(facts.list_price // 2, facts.limit) if facts.seat == BUYER else facts.list_price)


def toward(facts: Facts, begun: int, part: float) -> int:
    """The price that lies so far from where one has begun to one's limit."""
    return within(facts, round(begun + part * (facts.limit - begun)))


def within(facts: Facts, price: int) -> int:
    """The nearest price that may be offered."""
    return min(max(price, 1), facts.list_price)
