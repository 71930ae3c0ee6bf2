"""A person negotiates with an agent: about things or packages, or about a price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any, ClassVar

from apportion.environments.agents.agent import Agent
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.environment import Environment
from apportion.environments.episode_log import LoggedEpisode
from apportion.environments.human_play.episode import HumanPlay
from apportion.environments.negotiation.bargaining.game import Bargaining
from apportion.environments.negotiation.bargaining.text_rendering import BargainingRenderer
from apportion.environments.negotiation.casino.game import Casino
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.pairing import PairChoice
from apportion.environments.negotiation.simulation import NegotiationChoice
from apportion.environments.negotiation.text_rendering import NegotiationRenderer, PairRenderer
from apportion.environments.registry import SIMULATORS
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest

RENDERERS: Mapping[str, PairRenderer] = {
    Negotiation.kind: NegotiationRenderer(),
    Casino.kind: NegotiationRenderer(Casino.wording),
    Bargaining.kind: BargainingRenderer(),
}
"""By world, how it is told to a person."""


@dataclass(frozen=True)
class PersonNegotiates(HumanPlay):
    """A game of two.

    ``choice``: What can be played, of which one is drawn, and acts at most; its agents and seed do not count.
    ``seat``: The person's, from 1. ``partner``: The agent in the other seat.
    """

    choice: PairChoice = field(default_factory=NegotiationChoice)
    seat: int = 1
    partner: str = "conceding"
    note: ClassVar[str] = "a person took part in every session; what it is about and what rules score are simulated"

    @property
    def world(self) -> str:
        """What is played, as the environment is called."""
        return self.choice.kind.removeprefix("simulate ")

    @property
    def kind(self) -> str:
        """What makes the corpus."""
        return f"play {self.world}"

    @property
    def agents(self) -> AgentRegistry:
        """Those of the game."""
        return self.choice.roster

    @property
    def partners(self) -> tuple[str, ...]:
        """The one partner."""
        return (self.partner,)

    @property
    def renderer(self) -> PairRenderer:
        """That of the game."""
        return RENDERERS[self.world]

    @property
    def seat_name(self) -> str:
        """As the environment calls the seat."""
        return self.choice.seats[self.seat - 1]

    @cached_property
    def drawn(self) -> Any:
        """The context, or the bargain; raises InputError where a file of them cannot be read."""
        return Random(f"{self.seed}/context").choice(replace(self.choice, games=1, seed=self.seed).pool)

    def check(self) -> None:
        """Raise InputError where there is no such seat, or the person's name cannot be used."""
        names = self.choice.seats
        if self.seat not in range(1, len(names) + 1):
            there = " and ".join(f"{seat} ({name})" for seat, name in enumerate(names, 1))
            raise InputError(f"{self.called('seat')} {self.seat}: no such seat; there are {there}")
        self.check_person()

    def plan(self, person: HumanAgent, agents: Mapping[str, Agent]) -> EpisodePlan:
        """The game, with both in their seats."""
        mine = self.seat - 1
        seats = {n: person if seat == mine else agents[self.partner] for seat, n in enumerate(self.choice.seats)}
        told, make = self.choice.task(self.drawn)
        about = {**told, "person": mine}
        # The seed holds nothing of what was drawn: what the seed draws would tell of the other's values.
        seed = f"{'-'.join(agent.called for agent in seats.values())}-{self.seed}"
        return EpisodePlan(f"{seed}-{digest(about)[:6]}", make, seats, seed, about)

    def environment_of(self, logged: LoggedEpisode) -> Environment:
        """The game that the log's opening says."""
        game: Environment = SIMULATORS.find(self.world).game(logged.opening["about"])
        return game
