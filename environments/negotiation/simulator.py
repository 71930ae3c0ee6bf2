"""The simulator of negotiations: a session of `simulate negotiation` finds its context, seed, acts and agents again.

A worded script plays on as ``fair~@MODEL``. The players of a decomposition are what is said; in a history without some
of it, both select anew (`Negotiation.unheard_acts_stay`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion.environments.negotiation.agents import ROSTER
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.simulation.rule_scored import GameSimulator


def game_of(about: Mapping[str, Any]) -> Negotiation:
    """The game that a log's opening says.

    Raises
    ------
    InputError
        A context that breaks a constraint.
    KeyError, TypeError, ValueError
        It says none.
    """
    counts, one, other = (tuple(int(n) for n in half) for half in about["context"])
    a, b, c = counts
    return Negotiation(Context((a, b, c), (one, other)), int(about["most_acts"]))


SIMULATOR = GameSimulator(Negotiation.kind, game_of, ROSTER)
