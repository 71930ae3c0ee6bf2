"""Scripted negotiators, for tests, baselines and corpora without a language model.

Each knows its own values alone. What it takes at the end is what was agreed on; where nothing was, what it proposed
last, or everything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from random import Random
from types import MappingProxyType
from typing import ClassVar

from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.action_encoding import (
    AGREE,
    END,
    INSIST,
    SPLIT_OF,
    SPLITS,
    act_of,
    rest,
    splits_of,
)
from apportion.environments.negotiation.contexts import WORTH, Counts
from apportion.environments.negotiation.observation import SELECT, PrivateInformation
from apportion.environments.negotiation.realization import sentence

LEAST = 4
"""Points of 10 below which nobody here concedes."""


class Script(ABC):
    """A negotiator that decides by numbers; `code` is what differs between scripts."""

    called: ClassVar[str]
    paid: ClassVar[bool] = False

    def act(self, view: Observation) -> Action:
        """The next act, or what it takes."""
        facts: PrivateInformation = view.facts
        if facts.over:
            return Action(SELECT, "", list(SPLIT_OF[selection(facts)]))
        return worded(self.code(facts, view.draws), facts)

    @abstractmethod
    def code(self, facts: PrivateInformation, draws: Random) -> int:
        """The act's number, one of ``facts.legal``."""


class RandomAgent(Script):
    """Any allowed kind of act with the same chance each, and any split of the pool."""

    called = "random"

    def code(self, facts: PrivateInformation, draws: Random) -> int:
        """An act at random."""
        kind = draws.choice(list(dict.fromkeys(act_of(code)[0] for code in facts.legal)))
        return draws.choice([code for code in facts.legal if act_of(code)[0] == kind])


class DemandingAgent(Script):
    """Wants so many points, asks for them, insists where it wants no less than before, agrees to as much, then ends."""

    most: ClassVar[int] = WORTH
    """Points of the whole pool."""
    step: ClassVar[int] = 1
    """Points less at a time."""
    least: ClassVar[int] = LEAST
    """Points below which nobody concedes."""

    @abstractmethod
    def wanted(self, facts: PrivateInformation) -> int:
        """How many points it would be content with now."""

    def code(self, facts: PrivateInformation, draws: Random) -> int:
        """The act's number."""
        if facts.settled:
            return END
        wanted = self.wanted(facts)
        if facts.by == 1 - facts.seat and facts.worth(facts.offered) >= wanted:
            return AGREE
        asked = asking_for(facts.counts, facts.values, wanted)
        own = own_proposals(facts)
        return INSIST + asked if own and own[-1] == asked else asked


class GreedyAgent(DemandingAgent):
    """Wants all points, from the first act to the last."""

    called = "greedy"

    def wanted(self, facts: PrivateInformation) -> int:
        """Everything."""
        return self.most


class FairAgent(DemandingAgent):
    """Wants half of the points."""

    called = "fair"

    def wanted(self, facts: PrivateInformation) -> int:
        """Half of them."""
        return self.most // 2


class ConcedingAgent(DemandingAgent):
    """Wants all points first, and a `step` less after each of its proposals, down to the `least`."""

    called = "conceding"

    def wanted(self, facts: PrivateInformation) -> int:
        """Less and less."""
        return max(self.most - self.step * len(own_proposals(facts)), self.least)


class TitForTatAgent(DemandingAgent):
    """Wants all points first, a `step` less once, and from then on gives as many points as the other has given.

    The other has given what its best offer is worth beyond its first: to this seat, which knows its own values alone.
    """

    called = "tit-for-tat"

    def wanted(self, facts: PrivateInformation) -> int:
        """As the other does."""
        own, others = own_proposals(facts), proposals(facts, 1 - facts.seat)
        offers = [facts.worth(rest(facts.counts, split)) for split in others]
        given = max(offers) - offers[0] if offers else 0
        return max(self.most - self.step * bool(own) - given, self.least)


SCRIPTS: Mapping[str, type[Script]] = MappingProxyType(
    {script.called: script for script in (GreedyAgent, FairAgent, ConcedingAgent, TitForTatAgent, RandomAgent)}
)
"""By name."""


def worded(code: int, facts: PrivateInformation) -> Action:
    """An act by its number, in the wording that the episode's seed draws for this step."""
    kind, kept = act_of(code)
    return Action(kind, sentence(code, facts.counts, facts.wording), None if kept is None else list(kept))


def selection(facts: PrivateInformation) -> int:
    """The split that was agreed on; where none was, what one proposed last, or everything."""
    return [splits_of(facts.counts)[-1], *own_proposals(facts)][-1] if facts.meant is None else facts.meant


def own_proposals(facts: PrivateInformation) -> list[int]:
    """What this seat has proposed and insisted on to keep, in order."""
    return proposals(facts, facts.seat)


def proposals(facts: PrivateInformation, seat: int) -> list[int]:
    """What a seat has proposed and insisted on to keep, in order."""
    return [act % SPLITS for act in facts.acts[seat != facts.starter :: 2] if act < AGREE]


@lru_cache(maxsize=4096)
def asking_for(counts: Counts, values: tuple[int, ...], wanted: int) -> int:
    """The split that is worth ``wanted`` points, or as little more as there is, with the fewest items.

    What is worth nothing to oneself is left to the other, who may want it.
    """
    worth = {split: sum(n * v for n, v in zip(SPLIT_OF[split], values, strict=True)) for split in splits_of(counts)}
    enough = [split for split in worth if worth[split] >= wanted]
    return min(enough, key=lambda split: (worth[split], sum(SPLIT_OF[split]), split))
