"""From a choice of tasks and agents to a corpus of SOTOPIA episodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from corpus.placing import ImportReport, check_free, place
from environments.simulate import EpisodePlan, simulate
from environments.sotopia import bundled_tasks
from environments.sotopia.agents import agents_of
from environments.sotopia.game import Rules, Sotopia
from environments.sotopia.tasks import PAIRS_A_SCENARIO, Task, seatings
from environments.to_corpus import to_corpus
from foundation.errors import InputError
from foundation.nearest import did_you_mean

KIND = "simulate sotopia"
LOG = "episodes.jsonl"
"""The log's name in the corpus folder."""


@dataclass(frozen=True)
class Choice:
    """What is played.

    Parameters
    ----------
    agents : tuple of str
        Names of agents; every ordered choice of them for the seats is played, one with itself among them.
    scenarios : tuple of str
        Names of bundled scenarios; none: all.
    pairs : int
        Pairs of characters a scenario, at most.
    repeats : int
        Episodes of every task and seating, each with a seed of its own.
    seed : int
        Of everything that is drawn.
    rules : Rules
        Visibility, and when an episode ends.
    """

    agents: tuple[str, ...] = ("conceding",)
    scenarios: tuple[str, ...] = ()
    pairs: int = PAIRS_A_SCENARIO
    repeats: int = 1
    seed: int = 0
    rules: Rules = field(default_factory=Rules)

    def record(self) -> dict[str, Any]:
        """As JSON."""
        record: dict[str, Any] = json.loads(json.dumps({"kind": KIND, **asdict(self)}))
        return record


def plans_of(choice: Choice) -> list[EpisodePlan]:
    """The episodes of a choice, in the order of scenarios, tasks, seatings and repeats.

    Raises
    ------
    InputError
        An agent or a scenario of a name that there is not, or nothing to play.
    """
    agents = agents_of(list(choice.agents))
    plans = []
    for number, task in enumerate(_tasks(choice)):
        for seating in seatings(choice.agents, len(task.characters)):
            for repeat in range(choice.repeats):
                name = f"{task.scenario.name}-{number}-{'-'.join(seating)}-{repeat}"
                seats = {one.name: agents[agent] for one, agent in zip(task.characters, seating, strict=True)}
                about = {"scenario": task.scenario.name, "rules": asdict(choice.rules)}
                make = partial(Sotopia, task, choice.rules)
                plans.append(EpisodePlan(name, make, seats, f"{choice.seed}/{name}", about))
    if not plans:
        raise InputError(f"nothing to play: pairs = {choice.pairs}, repeats = {choice.repeats}; both are 1 at least")
    return plans


def simulate_sotopia(
    choice: Choice,
    out: Path,
    *,
    overwrite: bool = False,
    concurrency: int = 1,
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Play, and write the corpus with its log.

    Raises
    ------
    InputError
        The folder holds something else, an unknown name, a damaged log, nothing to play.
    """
    plans = plans_of(choice)
    record = choice.record()
    if not overwrite:
        check_free(out, record)
    out.mkdir(parents=True, exist_ok=True)
    if overwrite:
        (out / LOG).unlink(missing_ok=True)
    simulated = simulate(plans, out / LOG, concurrency=concurrency, progress=progress)
    made = to_corpus(simulated)
    return place(KIND, out, replace(made, notes=("simulated, not recorded: no person spoke", *made.notes)), record)


def _tasks(choice: Choice) -> list[Task]:
    known = {scenario.name: scenario for scenario in bundled_tasks.scenarios()}
    for name in choice.scenarios:
        if name not in known:
            listed = f"there are {', '.join(known)}"
            raise InputError(f"no scenario {name!r}: {did_you_mean(name, known, listed)}")
    only = [known[name] for name in choice.scenarios] if choice.scenarios else None
    return bundled_tasks.tasks(seed=choice.seed, pairs=choice.pairs, only=only)
