"""From a choice of agents to a corpus of CaSiNo's game."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

from apportion.environments.environment import Environment
from apportion.environments.negotiation.casino.agents import ROSTER
from apportion.environments.negotiation.casino.contexts import CONTEXTS, POOL, drawn
from apportion.environments.negotiation.casino.game import Casino
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.simulation import NegotiationChoice
from apportion.environments.simulation.rule_scored import GameSimulator
from apportion.foundation.errors import InputError


@dataclass(frozen=True)
class CasinoChoice(NegotiationChoice):
    """What is played, and by whom; ``games`` may be more than the 36 contexts there are, which then come again."""

    kind: ClassVar[str] = "simulate casino"
    roster = ROSTER

    @cached_property
    def pool(self) -> Sequence[Context]:
        """All 36 contexts."""
        return CONTEXTS

    @cached_property
    def played(self) -> tuple[Context, ...]:
        """The contexts, in the order of play.

        Raises InputError: Nothing to play, or a file of contexts, of which this game has none.
        """
        self.check_some()
        if self.contexts is not None:
            raise InputError(f"contexts = {self.contexts}: no file has contexts of this game; leave it out")
        return drawn(self.games, self.seed)

    def task(self, one: Context) -> tuple[dict[str, Any], Callable[[], Environment]]:
        """A game about a context."""
        about = {"values": list(map(list, one.values)), "most_acts": self.most_acts}
        return about, partial(Casino, one, self.most_acts)


def game_of(about: Mapping[str, Any]) -> Casino:
    """The game that a log's opening says.

    Raises InputError: A context that this game is not about. Raises KeyError, TypeError, ValueError: It says none.
    """
    one, other = (tuple(int(value) for value in values) for values in about["values"])
    return Casino(Context(POOL, (one, other)), int(about["most_acts"]))


SIMULATOR = GameSimulator(Casino.kind, game_of, ROSTER)
