"""Scripted characters, for tests, baselines and corpora without a language model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.game import Facts
from apportion.environments.sotopia.goal_checks import PHYSICAL, Deal, Offers, OneNumber, Split, offered
from apportion.environments.sotopia.observation import LEAVE, SPEAK

GREETINGS = ("Good to see you.", "Hello! Do you have a moment?", "So, shall we talk about it?")
CHAT = (
    "I see what you mean.",
    "Tell me more about that.",
    "Let me think about it.",
    "That is fair.",
    "How was your day?",
)


@dataclass(frozen=True)
class Conceding:
    """Greets, asks for the best it can think of, and concedes in equal steps; leaves after an agreement.

    ``patience`` is how many of its own offers it takes until it asks for no more than ``least`` (0: what is just
    acceptable, 1: all). Where there is nothing to agree on it chats.
    """

    patience: int = 6
    least: float = 0.2
    called: str = "conceding"
    paid: bool = False

    def act(self, view: Observation) -> Action:
        """The next act."""
        facts: Facts = view.facts
        seat, terms = facts.part.seat, facts.part.terms
        deal = None if terms is None else terms.deal
        own = [act for other, act in facts.acts if other == seat]
        if not own:
            return Action(SPEAK, view.draws.choice(GREETINGS))
        if deal is None:
            return Action(SPEAK, view.draws.choice(CHAT)) if len(own) < self.patience else Action(LEAVE)
        offers = Offers(deal, len(facts.part.profiles))
        for by, act in facts.acts:
            offers.take(by, act)
        if offers.agreed:
            return Action(LEAVE)
        standing = offers.standing
        made = sum(offered(deal, act) is not None for act in own)
        wanted = max(1.0 - (1.0 - self.least) * made / self.patience, self.least)
        if standing is not None and standing.by != seat and deal.worth(standing.offer, 0, 1) >= wanted - 1e-9:
            return Action(PHYSICAL, "accept")
        return Action(PHYSICAL, f"offer: {worded(deal, wanted)}")


def worded(deal: Deal, wanted: float) -> str:
    """The offer that is worth ``wanted`` to its speaker, or as little more as there is; ``deal`` is its side alone.

    >>> worded(OneNumber((60.0,), (110.0,)), 0.5)
    '85'
    """
    if isinstance(deal, OneNumber):
        value = deal.worst[0] + wanted * (deal.best[0] - deal.worst[0])
        return f"{int(value) // 60:02d}:{int(value) % 60:02d}" if deal.clock else f"{round(value, 2):g}"
    assert isinstance(deal, Split)
    kept = [offer for offer in product(*(range(n + 1) for n in deal.counts.values())) if any(offer)]
    enough = [offer for offer in kept if deal.worth(offer, 0, 0) >= wanted - 1e-9]
    best = min(enough, key=lambda offer: (deal.worth(offer, 0, 0), offer))
    return ", ".join(f"{n} {thing}" for thing, n in zip(deal.counts, best, strict=True) if n)
