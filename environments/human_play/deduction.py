"""A person plays a game of hidden roles with agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from apportion.environments.agents.agent import Agent
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.deduction.events import called as name_of
from apportion.environments.deduction.games import GameKind
from apportion.environments.deduction.simulation import seated
from apportion.environments.deduction.text_rendering import DeductionRenderer
from apportion.environments.environment import Environment
from apportion.environments.episode_log import LoggedEpisode
from apportion.environments.human_play.episode import HumanPlay
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest


@dataclass(frozen=True)
class PersonPlays(HumanPlay):
    """A game of hidden roles.

    ``game``: One of `apportion.environments.deduction.games.GAMES`. ``seat``: The person's, from 1. ``partners``: The
    agents from which the other seats are drawn. ``rules``: The game's options; None: their defaults.
    """

    game: GameKind
    seat: int = 1
    partners: tuple[str, ...] = ("claims",)
    rules: Any = None
    note: ClassVar[str] = "a person took part in every session; the other players and the rules are simulated"

    @property
    def kind(self) -> str:
        """What makes the corpus."""
        return f"play {self.game.kind}"

    @property
    def agents(self) -> AgentRegistry:
        """Those of the game."""
        return self.game.roster

    @property
    def renderer(self) -> DeductionRenderer:
        """That of the game."""
        return DeductionRenderer(self.game.made)

    @property
    def seat_name(self) -> str:
        """As the game calls the seat."""
        return name_of(self.seat)

    @property
    def options(self) -> Any:
        """The game's options."""
        return self.game.options() if self.rules is None else self.rules

    def check(self) -> None:
        """Raise InputError where there is no such seat, nobody in the others, or the person's name cannot be used."""
        seats = self.game.make(self.options, None).agents
        if not 1 <= self.seat <= len(seats):
            raise InputError(f"{self.called('seat')} {self.seat}: no such seat; there are 1 to {len(seats)}")
        if not self.partners:
            raise InputError(f"{self.called('partners')}: nobody plays the other seats; name an agent")
        self.check_person()

    def plan(self, person: HumanAgent, agents: Mapping[str, Agent]) -> EpisodePlan:
        """The game, with everybody in their seats."""
        options = self.options
        seats = self.game.make(options, None).agents
        drawn = iter(seated(self.partners, len(seats) - 1, Random(f"{self.seed}/seats")))
        sitting = {name: person if name == self.seat_name else agents[next(drawn)] for name in seats}
        about = {**self.game.about(options), "person": self.seat}
        who = [[name, agent.called] for name, agent in sitting.items()]
        name = f"{self.game.kind}-{self.seed}-{digest([about, who])[:6]}"
        return EpisodePlan(name, lambda: self.game.make(options, None), sitting, f"{self.seed}/{self.person}", about)

    def environment_of(self, logged: LoggedEpisode) -> Environment:
        """The game that the log's opening says."""
        return self.game.of_log(logged.opening["about"])
