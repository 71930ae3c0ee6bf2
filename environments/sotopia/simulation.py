"""From a choice of tasks and agents to a corpus of SOTOPIA episodes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from apportion.environments import episode_log
from apportion.environments.agents.agent import Agent
from apportion.environments.agents.language_model import TEMPERATURE
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.environment import Environment
from apportion.environments.simulation import Players, Simulation
from apportion.environments.sotopia.agents import ROSTER
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.sources.serialization import is_bundled, task_record
from apportion.environments.sotopia.sources.space import TaskSpace
from apportion.environments.sotopia.sources.task_sets import chosen_space
from apportion.environments.sotopia.tasks import PAIRS_A_SCENARIO, Task, seatings
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import Called, ModelSpec

KIND = "simulate sotopia"
LOG = episode_log.LOG
"""The log's name in the corpus folder."""


@dataclass(frozen=True)
class SimulationChoice(Simulation):
    """What is played.

    ``agents``: Names of agents; every ordered choice of them for the seats is played, one with itself among them.
    ``scenarios``: Names of scenarios; none: all. ``pairs``: Pairs of characters a scenario, at most. ``repeats``:
    Episodes of every task and seating, each with a seed of its own. ``seed``: Of everything that is drawn. ``rules``:
    Visibility, and when an episode ends. ``chosen``: The model, its server and limits, for agents that are language
    models. ``temperature``: Of language models. ``called``: What a caller calls the fields of ``chosen``, for errors.
    ``tasks``: A file of tasks or a folder of published profiles; None: what comes with the project. ``task_set``: A
    named set out of these (`apportion.environments.sotopia.sources.task_sets.SETS`). ``paired``: Whether all seatings
    of a task have the same seeds, so that what is drawn makes no difference between them. ``matches``: As many episodes
    in all, the tasks by turns, every seat drawn from the agents; None: every task is played by every ordered choice of
    them. ``partner``: One of the agents: of these choices those in which it sits, or one agent alone; None: all.
    """

    kind: ClassVar[str] = KIND

    agents: tuple[str, ...] = ("conceding",)
    scenarios: tuple[str, ...] = ()
    pairs: int = PAIRS_A_SCENARIO
    repeats: int = 1
    seed: int = 0
    rules: Rules = field(default_factory=Rules)
    chosen: ModelSpec = field(default_factory=ModelSpec)
    temperature: float = TEMPERATURE
    called: Called = str
    tasks: Path | None = None
    task_set: str | None = None
    paired: bool = False
    matches: int | None = None
    partner: str | None = None

    @cached_property
    def space(self) -> TaskSpace:
        """What there is to be played; raises InputError where it cannot be read, or has no such set or scenario."""
        return chosen_space(self.tasks, self.task_set).only(self.scenarios)

    def record(self) -> dict[str, Any]:
        """What decides the corpus, as JSON; models by their names."""
        record = {
            "kind": KIND,
            "agents": [self.names[agent] for agent in self.agents],
            **{name: getattr(self, name) for name in ("scenarios", "pairs", "repeats", "seed")},
            "rules": asdict(self.rules),
        }
        if self.players.asks:
            record["temperature"] = self.temperature
        if self.tasks is not None:
            # By what it holds, wherever it lies: another corpus comes of other tasks.
            record["tasks"] = self.space.digest()
        if self.task_set is not None:
            record["set"] = self.task_set
        if self.paired:
            record["paired"] = True
        if self.matches is not None:
            record["matches"] = self.matches
        if self.partner is not None:
            record["partner"] = self.names.get(self.partner, self.partner)
        plain: dict[str, Any] = json.loads(json.dumps(record))
        return plain

    @cached_property
    def players(self) -> Players:
        """Who plays."""
        return Players(ROSTER, self.agents, self.chosen, self.temperature, self.called)

    @property
    def names(self) -> Mapping[str, str]:
        """By agent its name with its model, as in logs; raises InputError where two have the same."""
        return self.players.called_as

    @property
    def total(self) -> int:
        """Episodes in all."""
        return sum(1 for _ in seated(self))

    def plans(self, agents: Mapping[str, Agent]) -> list[EpisodePlan]:
        """As `plans_of`."""
        return plans_of(self, agents)

    def acts_of(self, environment: Environment, seat: int) -> int:
        """By turns, in the order of the seats."""
        return len(range(seat, self.rules.most_acts, len(environment.agents)))

    @property
    def notes(self) -> Sequence[str]:
        """What is to be known of tasks from elsewhere."""
        return self.space.notes if self.tasks else ()


def seated(choice: SimulationChoice) -> Iterator[tuple[str, Task, tuple[str, ...]]]:
    """Every episode of a choice: its name, its task, and which agent sits where; by scenario, task, seating, repeat.

    Raises InputError: a scenario or set of a name that there is not, tasks that cannot be read, nothing to play, or a
    partner who does not play, or beside ``matches``.
    """
    nothing, partner = True, choice.partner
    if partner is not None and (partner not in choice.agents or choice.matches is not None):
        known = ", ".join(choice.agents)
        raise InputError(f"{choice.called('partner')} {partner!r}: one of {known}, without {choice.called('matches')}")
    tasks = choice.space.draw(pairs=choice.pairs, seed=choice.seed)
    if choice.matches is not None:
        yield from _drawn(choice, list(tasks), choice.matches)
        return
    for number, task in enumerate(tasks):
        for seating in seatings(choice.agents, len(task.characters)):
            if partner is not None and partner not in seating and len(set(seating)) > 1:
                continue
            for repeat in range(choice.repeats):
                nothing = False
                agents = "-".join(choice.names[agent] for agent in seating)
                yield f"{task.scenario.name}-{number}-{agents}-{repeat}", task, seating
    if nothing:
        raise InputError(
            f"nothing to play: {len(choice.agents)} agents, pairs = {choice.pairs}, repeats = {choice.repeats}; "
            "all are 1 at least"
        )


def _drawn(choice: SimulationChoice, tasks: list[Task], matches: int) -> Iterator[tuple[str, Task, tuple[str, ...]]]:
    if not tasks or not choice.agents or matches < 1 or choice.repeats != 1:
        raise InputError(
            f"nothing to play: {len(tasks)} tasks, {len(choice.agents)} agents, matches = {matches}, repeats = "
            f"{choice.repeats}; with matches, repeats is 1, and the others are 1 at least"
        )
    for match in range(matches):
        number = match % len(tasks)
        draws = Random(f"{choice.seed}/{match}/seats")
        seating = tuple(draws.choice(choice.agents) for _ in tasks[number].characters)
        agents = "-".join(choice.names[agent] for agent in seating)
        yield f"{tasks[number].scenario.name}-{number}-{agents}-{match}", tasks[number], seating


def seed_of(choice: SimulationChoice, name: str, seating: tuple[str, ...]) -> str:
    """The seed of an episode that `seated` names."""
    if not choice.paired:
        return f"{choice.seed}/{name}"
    task, _, repeat = name.rpartition(f"-{'-'.join(choice.names[agent] for agent in seating)}-")
    return f"{choice.seed}/{task}-{repeat}"


def plans_of(choice: SimulationChoice, agents: Mapping[str, Agent]) -> list[EpisodePlan]:
    """The episodes of a choice, played by ``agents`` (by the names of the choice); raises as `seated`."""
    plans = []
    for name, task, seating in seated(choice):
        seats = {one.name: agents[agent] for one, agent in zip(task.characters, seating, strict=True)}
        about = {"scenario": task.scenario.name, "rules": asdict(choice.rules)}
        if not is_bundled(task):
            about["task"] = task_record(task)  # So that the session can be played on when its file has changed.
        make = partial(Sotopia, task, choice.rules)
        plans.append(EpisodePlan(name, make, seats, seed_of(choice, name, seating), about))
    return plans
