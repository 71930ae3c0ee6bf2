"""The simulator of bargaining: a session of `simulate bargaining` finds its bargain, seed, acts and agents again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion.environments.negotiation.bargaining.agents import ROSTER
from apportion.environments.negotiation.bargaining.game import Bargaining
from apportion.environments.negotiation.bargaining.scenario import Bargain
from apportion.environments.simulation.rule_scored import GameSimulator


def game_of(about: Mapping[str, Any]) -> Bargaining:
    """The game that a log's opening says.

    Raises
    ------
    InputError
        A bargain that cannot be.
    KeyError, TypeError, ValueError
        It says none.
    """
    thing, list_price, budget, cost = about["bargain"]
    return Bargaining(Bargain(str(thing), int(list_price), int(budget), int(cost)), int(about["most_acts"]))


SIMULATOR = GameSimulator(Bargaining.kind, game_of, ROSTER)
