"""A player who weighs all 420 deals by all that it knows, and acts on that."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import ClassVar

import numpy as np

from apportion.environments.deduction.events import SPEAK
from apportion.environments.deduction.private_information import PrivateInformation
from apportion.environments.deduction.scripts import SMALL_TALK, aimed
from apportion.environments.deduction.werewolf.claims import Talk
from apportion.environments.deduction.werewolf.heuristic_agent import pack_of, seen_by, speech
from apportion.environments.deduction.werewolf.posterior import (
    HABITS,
    Floats,
    deals_of,
    posterior,
    public_of,
    watched,
    weighted,
)
from apportion.environments.deduction.werewolf.rules import CHECK, GUARD, KILL, PROPOSE, VOTE, WEREWOLF
from apportion.environments.environment import Action, Observation

SURE = 0.5
"""Probability of being a werewolf from which somebody is named."""


class BayesianAgent:
    """Votes for whoever is most probably a werewolf, looks where that is least sure, protects the most probable seer.

    A werewolf does not ask who is one: it asks whom the others must suspect by what everybody knows, has that one voted
    out, and kills whom the others must take for the seer.
    """

    called: ClassVar[str] = "bayes"
    paid: ClassVar[bool] = False

    def act(self, view: Observation) -> Action:
        """The next act."""
        facts: PrivateInformation = view.facts
        if SPEAK in facts.choices:
            suspect, chance = self.suspect(facts, view.draws)
            said = speech(facts, Talk.of(facts), suspect if chance >= SURE else 0)
            return Action(SPEAK, said.sentence() or view.draws.choice(SMALL_TALK))
        ((kind, aims),) = facts.choices.items()
        return aimed(kind, self.aim(kind, aims, facts, view.draws))

    def aim(self, kind: str, aims: Sequence[int], facts: PrivateInformation, draws: Random) -> int:
        """At whom an act is aimed."""
        if kind == VOTE:
            return self.suspect(facts, draws)[0]
        table = deals_of(facts.rules.roles)
        if kind in (PROPOSE, KILL):
            return _most(aims, _of_all(facts) @ (table.seer + 0.5 * table.guardian), draws)
        chances = posterior(facts)
        if kind == GUARD:
            return _most(aims, chances @ table.seer, draws)
        assert kind == CHECK
        wolf = chances @ table.wolf
        unseen = [seat for seat in aims if seat not in seen_by(facts)]
        return _most(unseen or aims, wolf * (1 - wolf), draws)

    def suspect(self, facts: PrivateInformation, draws: Random) -> tuple[int, float]:
        """Whom it would vote for, and how probably the others must take that one for a werewolf."""
        own = (*pack_of(facts), facts.seat)
        others = [seat for seat in facts.alive if seat not in own]
        chances = (_of_all(facts) if facts.role == WEREWOLF else posterior(facts)) @ deals_of(facts.rules.roles).wolf
        at = _most(others, chances, draws)
        return at, float(chances[at - 1])


def _of_all(facts: PrivateInformation) -> Floats:
    """What everybody knows, whoever one is."""
    roles = facts.rules.roles
    table = deals_of(roles)
    return weighted(table, table.deals, watched(roles, public_of(facts), HABITS).log)


def _most(seats: Sequence[int], values: Floats, draws: Random) -> int:
    best = np.max(values[[seat - 1 for seat in seats]])
    return draws.choice([seat for seat in seats if values[seat - 1] >= best - 1e-12])
