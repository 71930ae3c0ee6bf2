"""Two scripted characters between whom words matter: what one says decides what the other will offer.

Their episodes have acts whose worth can be computed and that are not worth the same, for whoever asks which method
finds the credit: `docs/evidence/savoir.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import exp
from typing import ClassVar

from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.game import Facts
from apportion.environments.sotopia.goal_checks import PHYSICAL, Deal, Offers, OneNumber, SeatAct, Split, offered
from apportion.environments.sotopia.observation import LEAVE, SPEAK
from apportion.foundation.errors import InputError, UnitError

GREETINGS = ("Good to see you.", "Hello! Do you have a moment?", "So, shall we talk about it?")
SMALL_TALK = (
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
            return Action(SPEAK, view.draws.choice(SMALL_TALK)) if len(own) < self.patience else Action(LEAVE)
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


WARM = ("I like how you think.", "It is a pleasure to talk to you.", "You have been more than fair to me.")
COLD = ("You waste my time.", "Frankly, that is nonsense.", "I have met nicer people at the tax office.")
CHAT = ("I see.", "Well, let me think.", "So it goes.")
ASKED, PULL, COOLING, SPITE = 0.95, 0.5, 0.8, 0.5
"""What ``talking`` asks for; how much a step of mood moves ``moody``; what a further warm word counts of the last one;
how much more a cold word counts for each warm one before it."""


def standing(facts: Facts) -> Offers:
    """The offers of an episode so far, for one who has terms.

    Raises UnitError: its scenario has nothing to agree on, so that nobody can offer anything.
    """
    terms = facts.part.terms
    if terms is None or terms.deal is None:
        raise UnitError("'talking' and 'moody' offer, and this scenario has nothing to agree on; choose another")
    offers = Offers(terms.deal, len(facts.part.profiles))
    for by, act in facts.acts:
        offers.take(by, act)
    return offers


@dataclass(frozen=True)
class TalkingAgent:
    """Draws warm, cold and empty words; from step ``closing`` on it asks for much and takes what it is offered."""

    closing: int
    paid: bool = False
    example: ClassVar[str] = "talking@12"

    @property
    def called(self) -> str:
        """``talking@CLOSING``."""
        return f"talking@{self.closing}"

    @classmethod
    def of(cls, closing: str) -> TalkingAgent:
        """The agent that closes at this step. Raises InputError: it is no whole number."""
        if not closing.isascii() or not closing.isdecimal():
            raise InputError(f"agent 'talking@{closing}': it closes at a step, a whole number, as {cls.example}")
        return cls(int(closing))

    def act(self, view: Observation) -> Action:
        """The next act; raises UnitError as `standing`."""
        facts: Facts = view.facts
        offers, seat = standing(facts), facts.part.seat
        if offers.agreed:
            return Action(LEAVE)
        if offers.standing is not None and offers.standing.by != seat:
            return Action(PHYSICAL, "accept")
        if view.step >= self.closing:
            return Action(PHYSICAL, f"offer: {worded(offers.deal, ASKED)}")
        words = view.draws.choice((WARM, WARM, COLD, CHAT))
        return Action(SPEAK, words[view.step // 2 % len(words)])


@dataclass(frozen=True)
class WordSensitiveAgent:
    """Answers an offer by one that is the better the kinder the words were: see `mood`."""

    called: str = "moody"
    paid: bool = False

    def act(self, view: Observation) -> Action:
        """The next act; raises UnitError as `standing`."""
        facts: Facts = view.facts
        offers, seat = standing(facts), facts.part.seat
        if offers.agreed:
            return Action(LEAVE)
        if offers.standing is None:
            return Action(SPEAK, CHAT[0])
        heard = [said for said in facts.acts if said[0] != seat]
        return Action(PHYSICAL, f"offer: {worded(offers.deal, 1 / (1 + exp(PULL * mood(heard))))}")


def mood(heard: list[SeatAct]) -> float:
    """What words have come to: each warm one counts less than the last, a cold one more after warm ones.

    >>> said = ((), (WARM, WARM), (WARM, COLD), (COLD, CHAT))
    >>> [mood([(0, Action(SPEAK, words[0])) for words in one]) for one in said]
    [0.0, 1.8, 0.25, -0.5]
    """
    total, warm = 0.0, 0
    for _, act in heard:
        if act.text in WARM:
            total += COOLING**warm
            warm += 1
        elif act.text in COLD:
            total -= SPITE * (1 + SPITE * warm)
    return total
