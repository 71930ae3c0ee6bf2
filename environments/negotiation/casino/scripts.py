"""The scripts of `apportion.environments.negotiation.scripts`, who want CaSiNo's points and say them in its words."""

from __future__ import annotations

from typing import ClassVar

from apportion.corpus.casino_points import MOST
from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation import scripts
from apportion.environments.negotiation.casino.realization import in_issues


class Packages:
    """Says the sentences of items about issues; concedes to fewer points than people have on average."""

    most: ClassVar[int] = MOST
    step: ClassVar[int] = 3
    least: ClassVar[int] = 14

    def act(self, view: Observation) -> Action:
        """The next act, or what it takes."""
        act: Action = super().act(view)  # type: ignore[misc]
        return act._replace(text=in_issues(act.text))


class Random(Packages, scripts.RandomAgent):
    """Any allowed kind of act, and any split."""


class Greedy(Packages, scripts.GreedyAgent):
    """Wants everything, from the first act to the last."""


class Fair(Packages, scripts.FairAgent):
    """Wants half of the points."""


class Conceding(Packages, scripts.ConcedingAgent):
    """Wants everything first, and 3 points less after each of its proposals, down to 14."""


class TitForTat(Packages, scripts.TitForTatAgent):
    """Wants everything first, 3 points less once, and from then on gives as many points as the other has given."""
