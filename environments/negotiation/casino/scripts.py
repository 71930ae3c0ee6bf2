"""The scripts of `apportion.environments.negotiation.scripts`, who want CaSiNo's points and say them in its words."""

from __future__ import annotations

from apportion.corpus.casino_points import MOST
from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation import scripts
from apportion.environments.negotiation.action_encoding import rest
from apportion.environments.negotiation.casino.realization import in_issues
from apportion.environments.negotiation.observation import PrivateInformation

LEAST = 14
"""Points below which nobody here concedes: fewer than people have on average, and more than walking away brings."""
STEP = 3
"""Points less after each own proposal."""


class Worded:
    """Says the sentences of items about issues."""

    def act(self, view: Observation) -> Action:
        """The next act, or what it takes."""
        act: Action = super().act(view)  # type: ignore[misc]
        return act._replace(text=in_issues(act.text))


class Random(Worded, scripts.RandomAgent):
    """Any allowed kind of act, and any split."""


class Greedy(Worded, scripts.GreedyAgent):
    """Wants everything, from the first act to the last."""

    def wanted(self, facts: PrivateInformation) -> int:
        """All points."""
        return MOST


class Fair(Worded, scripts.FairAgent):
    """Wants half of the points."""

    def wanted(self, facts: PrivateInformation) -> int:
        """Half of them."""
        return MOST // 2


class Conceding(Worded, scripts.ConcedingAgent):
    """Wants everything first, and `STEP` points less after each of its proposals, down to `LEAST`."""

    def wanted(self, facts: PrivateInformation) -> int:
        """Less and less."""
        return max(MOST - STEP * len(scripts.own_proposals(facts)), LEAST)


class TitForTat(Worded, scripts.TitForTatAgent):
    """Wants everything first, `STEP` points less once, and from then on gives as many points as the other has given."""

    def wanted(self, facts: PrivateInformation) -> int:
        """As the other does."""
        offers = [facts.worth(rest(facts.counts, split)) for split in scripts.proposals(facts, 1 - facts.seat)]
        given = max(offers) - offers[0] if offers else 0
        return max(MOST - STEP * bool(scripts.own_proposals(facts)) - given, LEAST)
