"""What the games of two seats share: every ordered pair of agents plays every task, by draws of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import TEMPERATURE
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.environment import Environment
from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.environments.simulation import Players, Simulation
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import Called, ModelSpec


@dataclass(frozen=True)
class PairChoice(Simulation):
    """What is played, and by whom.

    ``agents``: Names of agents; every ordered pair of them plays every task, one with itself among them. ``games``: How
    many tasks are played. ``repeats``: Games of every task and pair, each with a seed of its own. ``seed``: Of
    everything that is drawn. ``most_acts``: Of a game. ``chosen``: The model, its server and limits, for agents that
    are language models. ``temperature``: Of language models. ``called``: What a caller calls the fields of ``chosen``,
    for errors. ``paired``: Whether all pairs of agents have the same seeds in a task, so that what is drawn makes no
    difference.
    """

    roster: ClassVar[AgentRegistry]
    """The agents that there are."""
    seats: ClassVar[Sequence[str]]
    """Names of the two."""
    at_end: ClassVar[int] = 0
    """Acts of each when all others are done."""

    agents: tuple[str, ...] = ("conceding",)
    games: int = 100
    repeats: int = 1
    seed: int = 0
    most_acts: int = MOST_ACTS
    chosen: ModelSpec = field(default_factory=ModelSpec)
    temperature: float = TEMPERATURE
    called: Called = str
    paired: bool = False

    @cached_property
    def players(self) -> Players:
        """Who plays."""
        return Players(self.roster, self.agents, self.chosen, self.temperature, self.called)

    @property
    @abstractmethod
    def pool(self) -> Sequence[Any]:
        """All that can be played: contexts, or bargains. Raises InputError: a file that cannot be used."""

    @property
    @abstractmethod
    def played(self) -> tuple[Any, ...]:
        """What of it is played, in order. Raises InputError: as ``pool``, nothing to play, or too little."""

    @abstractmethod
    def task(self, one: Any) -> tuple[dict[str, Any], Callable[[], Environment]]:
        """What the log says of one of the pool besides seed and agents, and what makes its game."""

    def tasks(self) -> Iterable[tuple[Mapping[str, Any], Callable[[], Environment]]]:
        """The tasks in the order of play. Raises InputError: as ``played``."""
        return map(self.task, self.played)

    @property
    @abstractmethod
    def given(self) -> Mapping[str, Any]:
        """What of a record stands for a file of tasks; empty without one."""

    def acts_of(self, environment: Environment, seat: int) -> int:
        """Half of the acts, one more for whoever starts, and those at the end."""
        starter: int = environment.starter  # type: ignore[attr-defined]
        return len(range(seat != starter, self.most_acts, 2)) + self.at_end

    def check_some(self) -> None:
        """Refuse a choice of nothing.

        Raises InputError: No agent, no game or no repeat.
        """
        if min(len(self.agents), self.games, self.repeats) < 1:
            raise InputError(
                f"nothing to play: {len(self.agents)} agents, games = {self.games}, repeats = {self.repeats}; all are "
                "1 at least"
            )

    def first(self, found: Sequence[Any], where: Path | None, called: str) -> tuple[Any, ...]:
        """As many tasks as are played, of those ``found``.

        Raises InputError: There are fewer.
        """
        if len(found) < self.games:
            raise InputError(
                f"{where or 'allowed'}: {len(found):,} {called}, and games = {self.games:,}; play at most as many, and "
                "each of them several times (repeats)"
            )
        return tuple(found[: self.games])

    @property
    def total(self) -> int:
        """Games in all."""
        return len(list(self.tasks())) * len(self.agents) ** 2 * self.repeats

    def record(self) -> dict[str, Any]:
        """What decides the corpus, as JSON; models by their names, files by what they hold."""
        record = {
            "kind": self.kind,
            "agents": list(self.players.called_as.values()),
            **{name: getattr(self, name) for name in ("games", "repeats", "seed", "most_acts")},
        }
        if self.players.asks:
            record["temperature"] = self.temperature
        record |= self.given
        if self.paired:
            record["paired"] = True
        return record

    def plans(self, agents: Mapping[str, Agent]) -> list[EpisodePlan]:
        """The games, by task, pair and repeat."""
        called, plans = self.players.called_as, []
        for number, (about, make) in enumerate(self.tasks()):
            for pair in product(self.agents, repeat=len(self.seats)):
                seats = {name: agents[agent] for name, agent in zip(self.seats, pair, strict=True)}
                who = "-".join(called[agent] for agent in pair)
                for repeat in range(self.repeats):
                    own = f"{number}-{repeat}" if self.paired else f"{number}-{who}-{repeat}"
                    plans.append(EpisodePlan(f"{number}-{who}-{repeat}", make, seats, f"{self.seed}/{own}", about))
        return plans
