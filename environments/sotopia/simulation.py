"""From a choice of tasks and agents to a corpus of SOTOPIA episodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from corpus.placing import ImportReport, check_free, claim, folder_for, place
from environments import episode_log
from environments.agents.agent import Agent
from environments.agents.language_model import TEMPERATURE
from environments.simulate import EpisodePlan, simulate
from environments.sotopia.agents import agents_of, asked_by, called_as
from environments.sotopia.game import Rules, Sotopia
from environments.sotopia.sources.record import is_bundled, task_record
from environments.sotopia.sources.sets import chosen_space
from environments.sotopia.sources.space import TaskSpace
from environments.sotopia.tasks import PAIRS_A_SCENARIO, Task, seatings
from environments.to_corpus import to_corpus
from foundation.errors import InputError
from llm_client.chosen import Called, ChosenModel

KIND = "simulate sotopia"
LOG = episode_log.LOG
"""The log's name in the corpus folder."""
MADE_BEFORE = "made"
"""In the record of a corpus that was made from a simulated one, the record of that."""


@dataclass(frozen=True)
class SimulationChoice:
    """What is played.

    Parameters
    ----------
    agents : tuple of str
        Names of agents; every ordered choice of them for the seats is played, one with itself among them.
    scenarios : tuple of str
        Names of scenarios; none: all.
    pairs : int
        Pairs of characters a scenario, at most.
    repeats : int
        Episodes of every task and seating, each with a seed of its own.
    seed : int
        Of everything that is drawn.
    rules : Rules
        Visibility, and when an episode ends.
    chosen : ChosenModel
        The model, its server and limits, for agents that are language models.
    temperature : float
        Of language models.
    called : callable
        What a caller calls the fields of ``chosen``, for errors.
    tasks : Path, optional
        A file of tasks or a folder of published profiles; None: what comes with the project.
    task_set : str, optional
        A named set out of these (`environments.sotopia.sources.sets.SETS`).
    paired : bool
        Whether all seatings of a task have the same seeds, so that what is drawn makes no difference between them.
    """

    agents: tuple[str, ...] = ("conceding",)
    scenarios: tuple[str, ...] = ()
    pairs: int = PAIRS_A_SCENARIO
    repeats: int = 1
    seed: int = 0
    rules: Rules = field(default_factory=Rules)
    chosen: ChosenModel = field(default_factory=ChosenModel)
    temperature: float = TEMPERATURE
    called: Called = str
    tasks: Path | None = None
    task_set: str | None = None
    paired: bool = False

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
        if self.asks:
            record["temperature"] = self.temperature
        if self.tasks is not None:
            # By what it holds, wherever it lies: another corpus comes of other tasks.
            record["tasks"] = self.space.digest()
        if self.task_set is not None:
            record["set"] = self.task_set
        if self.paired:
            record["paired"] = True
        plain: dict[str, Any] = json.loads(json.dumps(record))
        return plain

    @cached_property
    def names(self) -> Mapping[str, str]:
        """By agent its name with its model, as `named` says; raises InputError where two have the same."""
        names: dict[str, str] = {}
        for agent in self.agents:
            name = self.named(agent)
            if agent in names or name in names.values():
                raise InputError(f"agents {', '.join(self.agents)}: {name!r} is there twice; name each agent once")
            names[agent] = name
        return names

    def named(self, agent: str) -> str:
        """An agent's name with its model, or with the episode that it plays again."""
        return called_as(agent, self.chosen, self.called, self.temperature)

    @property
    def asks(self) -> bool:
        """Whether a language model plays."""
        return any(asked_by(agent, self.chosen, self.called, self.temperature) for agent in self.agents)


def seated(choice: SimulationChoice) -> Iterator[tuple[str, Task, tuple[str, ...]]]:
    """Every episode of a choice: its name, its task, and which agent sits where; by scenario, task, seating, repeat.

    Raises
    ------
    InputError
        A scenario or set of a name that there is not, tasks that cannot be read, or nothing to play.
    """
    nothing = True
    for number, task in enumerate(choice.space.draw(pairs=choice.pairs, seed=choice.seed)):
        for seating in seatings(choice.agents, len(task.characters)):
            for repeat in range(choice.repeats):
                nothing = False
                agents = "-".join(choice.names[agent] for agent in seating)
                yield f"{task.scenario.name}-{number}-{agents}-{repeat}", task, seating
    if nothing:
        raise InputError(
            f"nothing to play: {len(choice.agents)} agents, pairs = {choice.pairs}, repeats = {choice.repeats}; "
            "all are 1 at least"
        )


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


def simulate_sotopia(
    choice: SimulationChoice,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Play, and write the corpus with its log.

    Raises
    ------
    InputError
        The folder holds something else, an unknown name, a damaged log, nothing to play, a model that cannot be asked.
    StoppedError
        The budget is spent; the log keeps what was played, and the same call goes on.
    """
    record = choice.record()
    total = len(list(seated(choice)))
    if not overwrite:
        check_free(out, record)
    cache = choice.chosen.cache_in(out)
    asked = agents_of(choice.agents, choice.chosen, cache, choice.called, choice.temperature)
    with folder_for(out), asked as agents:
        if overwrite:
            (out / LOG).unlink(missing_ok=True)
        claim(out, record)
        concurrency = min(choice.chosen.concurrency, total) if choice.asks else 1
        plans = plans_of(choice, agents)
        simulated = simulate(plans, out / LOG, concurrency=concurrency, progress=progress)
    made = to_corpus(simulated)
    notes = ("simulated, not recorded: no person spoke", *(choice.space.notes if choice.tasks else ()), *made.notes)
    return place(KIND, out, replace(made, notes=notes), record)
