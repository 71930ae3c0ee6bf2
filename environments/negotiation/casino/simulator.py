"""The simulator of CaSiNo's game: a session of `simulate casino` finds its context, seed, acts and agents again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion.environments.negotiation.casino.agents import ROSTER
from apportion.environments.negotiation.casino.contexts import POOL
from apportion.environments.negotiation.casino.game import Casino
from apportion.environments.negotiation.contexts import Context
from apportion.environments.simulation.rule_scored import GameSimulator


def game_of(about: Mapping[str, Any]) -> Casino:
    """The game that a log's opening says.

    Raises
    ------
    InputError
        A context that this game is not about.
    KeyError, TypeError, ValueError
        It says none.
    """
    one, other = (tuple(int(value) for value in values) for values in about["values"])
    return Casino(Context(POOL, (one, other)), int(about["most_acts"]))


SIMULATOR = GameSimulator(Casino.kind, game_of, ROSTER)
