"""The scripts of `apportion.environments.negotiation.scripts`, who want CaSiNo's points and say them in its words."""

from __future__ import annotations

from apportion.corpus.casino import MOST
from apportion.environments.core import Act, View
from apportion.environments.negotiation import scripts
from apportion.environments.negotiation.casino.words import in_issues
from apportion.environments.negotiation.codes import rest
from apportion.environments.negotiation.observation import Facts

LEAST = 14
"""Points below which nobody here concedes: fewer than people have on average, and more than walking away brings."""
STEP = 3
"""Points less after each own proposal."""


class Worded:
    """Says the sentences of items about issues."""

    def act(self, view: View) -> Act:
        """The next act, or what it takes."""
        act: Act = super().act(view)  # type: ignore[misc]
        return act._replace(text=in_issues(act.text))


class Random(Worded, scripts.Random):
    """Any allowed kind of act, and any split."""


class Greedy(Worded, scripts.Greedy):
    """Wants everything, from the first act to the last."""

    def wanted(self, facts: Facts) -> int:
        """All points."""
        return MOST


class Fair(Worded, scripts.Fair):
    """Wants half of the points."""

    def wanted(self, facts: Facts) -> int:
        """Half of them."""
        return MOST // 2


class Conceding(Worded, scripts.Conceding):
    """Wants everything first, and `STEP` points less after each of its proposals, down to `LEAST`."""

    def wanted(self, facts: Facts) -> int:
        """Less and less."""
        return max(MOST - STEP * len(scripts.own_proposals(facts)), LEAST)


class TitForTat(Worded, scripts.TitForTat):
    """Wants everything first, `STEP` points less once, and from then on gives as many points as the other has given."""

    def wanted(self, facts: Facts) -> int:
        """As the other does."""
        offers = [facts.worth(rest(facts.counts, split)) for split in scripts.proposals(facts, 1 - facts.seat)]
        given = max(offers) - offers[0] if offers else 0
        return max(MOST - STEP * bool(scripts.own_proposals(facts)) - given, LEAST)
