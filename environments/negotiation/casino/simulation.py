"""From a choice of agents to a corpus of CaSiNo's game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

from environments.agents.agent import Agent
from environments.negotiation.casino.agents import ROSTER
from environments.negotiation.casino.contexts import drawn
from environments.negotiation.casino.game import Casino
from environments.negotiation.contexts import Context
from environments.negotiation.game import NAMES
from environments.negotiation.simulation import NegotiationChoice, pair_plans
from environments.simulate import EpisodePlan
from environments.simulation import Players
from foundation.errors import InputError


@dataclass(frozen=True)
class CasinoChoice(NegotiationChoice):
    """What is played, and by whom; ``games`` may be more than the 36 contexts there are, which then come again."""

    kind: ClassVar[str] = "simulate casino"

    @cached_property
    def players(self) -> Players:
        """Who plays."""
        return Players(ROSTER, self.agents, self.chosen, self.temperature, self.called)

    @cached_property
    def played(self) -> tuple[Context, ...]:
        """The contexts, in the order of play.

        Raises
        ------
        InputError
            Nothing to play, or a file of contexts, of which this game has none.
        """
        if min(len(self.agents), self.games, self.repeats) < 1 or self.contexts is not None:
            raise InputError(
                f"nothing to play: {len(self.agents)} agents, games = {self.games}, repeats = {self.repeats}, contexts "
                f"= {self.contexts}; all are 1 at least, and no file has contexts of this game"
            )
        return drawn(self.games, self.seed)

    def plans(self, agents: Mapping[str, Agent]) -> list[EpisodePlan]:
        """The games, by context, pair and repeat."""
        games = (
            (
                {"values": list(map(list, context.values)), "most_acts": self.most_acts},
                partial(Casino, context, self.most_acts),
            )
            for context in self.played
        )
        return list(pair_plans(self, NAMES, games, agents))
