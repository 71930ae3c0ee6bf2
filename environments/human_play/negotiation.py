"""A person negotiates with an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import ClassVar

from apportion.environments.agents.agent import Agent
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.environment import Environment
from apportion.environments.episode_log import LoggedEpisode
from apportion.environments.human_play.episode import HumanPlay
from apportion.environments.negotiation.agents import ROSTER
from apportion.environments.negotiation.contexts import SEATS, Context, all_contexts, read_contexts
from apportion.environments.negotiation.game import NAMES, Negotiation
from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.environments.negotiation.simulation import about_game, game_of
from apportion.environments.negotiation.text_rendering import NegotiationRenderer
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest


@dataclass(frozen=True)
class PersonNegotiates(HumanPlay):
    """A negotiation.

    ``seat``: The person's, from 1. ``partner``: The agent in the other seat. ``most_acts``, ``contexts``: As
    `apportion.environments.negotiation.simulation.NegotiationChoice` has them; of ``contexts`` one is drawn.
    """

    seat: int = 1
    partner: str = "conceding"
    most_acts: int = MOST_ACTS
    contexts: Path | None = None
    kind: ClassVar[str] = "play negotiation"
    note: ClassVar[str] = "a person took part in every session; what is shared out and what rules score are simulated"
    agents: ClassVar[AgentRegistry] = ROSTER

    @property
    def partners(self) -> tuple[str, ...]:
        """The one partner."""
        return (self.partner,)

    @property
    def renderer(self) -> NegotiationRenderer:
        """That of negotiations."""
        return NegotiationRenderer()

    @property
    def seat_name(self) -> str:
        """As the environment calls the seat."""
        return NAMES[self.seat - 1]

    @cached_property
    def context(self) -> Context:
        """What is shared out; raises InputError where the file of contexts cannot be read."""
        found = all_contexts() if self.contexts is None else read_contexts(self.contexts)
        return Random(f"{self.seed}/context").choice(found)

    def check(self) -> None:
        """Raise InputError where there is no such seat, or the person's name cannot be used."""
        if self.seat not in range(1, SEATS + 1):
            there = " and ".join(f"{seat} ({name})" for seat, name in enumerate(NAMES, 1))
            raise InputError(f"{self.called('seat')} {self.seat}: no such seat; there are {there}")
        self.check_person()

    def plan(self, person: HumanAgent, agents: Mapping[str, Agent]) -> EpisodePlan:
        """The game, with both in their seats."""
        mine = self.seat - 1
        seats = {name: person if seat == mine else agents[self.partner] for seat, name in enumerate(NAMES)}
        about = {**about_game(self.context, self.most_acts), "person": mine}
        # The seed holds nothing of the context: what it draws would tell of the other's values.
        seed = f"{'-'.join(agent.called for agent in seats.values())}-{self.seed}"
        make = partial(Negotiation, self.context, self.most_acts)
        return EpisodePlan(f"{seed}-{digest(about)[:6]}", make, seats, seed, about)

    def environment_of(self, logged: LoggedEpisode) -> Environment:
        """The game that the log's opening says."""
        return game_of(logged.opening["about"])
