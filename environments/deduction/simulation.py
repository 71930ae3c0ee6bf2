"""From a choice of a game and agents to a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from random import Random
from typing import Any

from apportion.environments.agents.agent import Agent, TimeLimitedAgent
from apportion.environments.agents.language_model import TEMPERATURE
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.deduction.base_game import Deduction
from apportion.environments.deduction.games import GameKind
from apportion.environments.environment import Environment
from apportion.environments.simulation import Players, Simulation
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import Called, ModelSpec


@dataclass(frozen=True)
class DeductionChoice(Simulation):
    """What is played, and by whom.

    ``game``: One of `apportion.environments.deduction.games.GAMES`. ``agents``: Names of agents; the seats of every
    game are drawn from them, each as often as another in all. ``games``: Games, each with a deal of its own. ``seed``:
    Of everything that is drawn. ``rules``: The game's options; None: their defaults. ``limit_s``: Seconds for an act,
    after which the silent one stands in its place; None: no limit. ``chosen``: The model, its server and limits, for
    agents that are language models. ``temperature``: Of language models. ``called``: What a caller calls the fields of
    ``chosen``, for errors.
    """

    game: GameKind
    agents: tuple[str, ...] = ("random",)
    games: int = 100
    seed: int = 0
    rules: Any = None
    limit_s: float | None = None
    chosen: ModelSpec = field(default_factory=ModelSpec)
    temperature: float = TEMPERATURE
    called: Called = str

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What makes the corpus."""
        return f"simulate {self.game.kind}"

    @cached_property
    def options(self) -> Any:
        """The game's options."""
        return self.game.options() if self.rules is None else self.rules

    @cached_property
    def players(self) -> Players:
        """Who plays."""
        return Players(self.game.roster, self.agents, self.chosen, self.temperature, self.called)

    @property
    def total(self) -> int:
        """Games in all. Raises InputError: nothing to play, or no time for an act."""
        if min(len(self.agents), self.games) < 1 or (self.limit_s is not None and not self.limit_s > 0):
            raise InputError(
                f"nothing to play: {len(self.agents)} agents, games = {self.games}, limit_s = {self.limit_s}; one at "
                "least, and more than 0 seconds"
            )
        return self.games

    def record(self) -> dict[str, Any]:
        """What decides the corpus, as JSON; models by their names."""
        record: dict[str, Any] = {
            "kind": self.kind,
            "agents": list(self.players.called_as.values()),
            **{name: getattr(self, name) for name in ("games", "seed")},
            **self.game.about(self.options),
        }
        if self.players.asks:
            record["temperature"] = self.temperature
        if self.limit_s is not None:
            record["limit_s"] = self.limit_s
        return record

    def plans(self, agents: Mapping[str, Agent]) -> list[EpisodePlan]:
        """The games, in the order of play."""
        make = partial(self.game.make, self.options, None)
        seats, about = make().agents, self.game.about(self.options)
        plans = []
        for number in range(self.total):
            names = seated(self.agents, len(seats), Random(f"{self.seed}/seats/{number}"))
            sitting = {seat: in_time(agents[name], self.limit_s) for seat, name in zip(seats, names, strict=True)}
            plans.append(EpisodePlan(f"{self.game.kind}-{number}", make, sitting, f"{self.seed}/{number}", about))
        return plans

    def acts_of(self, environment: Environment, seat: int) -> int:
        """By the game's rules."""
        assert isinstance(environment, Deduction)
        return environment.most_acts(seat + 1)


def seated(names: Sequence[str], seats: int, draws: Random) -> tuple[str, ...]:
    """Who sits where: everybody as often as another, or once more or less, in an order that is drawn.

    >>> sorted(seated(("a", "b"), 5, Random(1)))[1:4]
    ['a', 'b', 'b']
    """
    rounds = -(-seats // len(names))
    sitting = [name for _ in range(rounds) for name in draws.sample(list(names), len(names))][:seats]
    draws.shuffle(sitting)
    return tuple(sitting)


def in_time(agent: Agent, limit_s: float | None) -> Agent:
    """An agent, with a limit where there is one."""
    return agent if limit_s is None else TimeLimitedAgent(agent, limit_s)
