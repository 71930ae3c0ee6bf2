"""The tasks that were hardest for a model in rated episodes, as a file that can be played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from apportion.corpus.mean_std import mean, spread
from apportion.environments.episode_log import LOG, read_log
from apportion.environments.report_tables.table import Table
from apportion.environments.sotopia.reports.episode_scores import TaskId
from apportion.environments.sotopia.reports.models import SCALES, models_only
from apportion.environments.sotopia.reports.raters import RatedEpisodes, titled
from apportion.environments.sotopia.simulator import task_in
from apportion.environments.sotopia.sources.space import TaskSpace, used_by
from apportion.environments.sotopia.sources.task_sets import SETS
from apportion.environments.sotopia.tasks import Character, Scenario, Task
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import first_few, listed, shortened

WIDE = 3.0
"""How many standard deviations beside the mean the highest and the lowest reward are estimated."""
Results = Mapping[TaskId, Mapping[str, Sequence[float]]]
"""By task and model, its rewards there."""


@dataclass(frozen=True)
class Difficulty:
    """How hard a task is for a model.

    ``most``: The highest estimate of any model, ``best``: its mean plus three standard deviations, at most the range's
    end. ``least``: The lowest estimate of the model itself: its mean less three standard deviations, at least the
    range's end. ``best``: The model that ``most`` is of. ``mean``: The model's own mean. ``own``: How many rewards it
    has there. ``models``: How many models have played it.
    """

    task: TaskId
    most: float
    least: float
    best: str
    mean: float
    own: int
    models: int

    @property
    def gap(self) -> float:
        """Section 7's difficulty."""
        return self.most - self.least


def difficulties(results: Results, target: str, scale: tuple[float, float]) -> list[Difficulty]:
    """All tasks that ``target`` has played, the hardest first; of equal ones where ``target`` got least.

    Bounds make many gaps equal, for which the paper has no order. The standard deviation is that of the
    population: a single reward has none.

    ``results``: By task and model, its rewards there. ``target``: For whom the tasks are hard. ``scale``: The range of
    rewards, which bounds both estimates.
    """
    low, high = scale
    found = []
    for task, by_model in results.items():
        rewards = by_model.get(target)
        if not rewards:
            continue
        most = {model: min(mean(its) + WIDE * spread(its), high) for model, its in by_model.items() if its}
        best = min(most, key=lambda model: (-most[model], model))
        own = mean(rewards)
        least = max(own - WIDE * spread(rewards), low)
        found.append(Difficulty(task, most[best], least, best, own, len(rewards), len(most)))
    return sorted(found, key=lambda one: (-one.gap, one.mean, one.task.scenario, one.task.people))


_Named = TypeVar("_Named", Character, Scenario)


@dataclass(frozen=True)
class Hard:
    """The hardest tasks of a model.

    ``target``: The model. ``dimension``: What its rewards are. ``judge``: Whose scores. ``chosen``: The hardest first.
    ``played``: How many tasks it was chosen from. ``tied``: How many of the others are as hard as the last one that was
    chosen.
    """

    target: str
    dimension: str
    judge: str
    chosen: tuple[Difficulty, ...]
    played: int
    tied: int

    def table(self) -> Table:
        """As a table."""
        rows = tuple(
            (
                place, shortened(one.task.scenario), " and ".join(name for name, _ in one.task.people),
                one.gap, one.most, one.best, one.least, one.mean, one.own, one.models,
            )
            for place, one in enumerate(self.chosen, 1)
        )  # fmt: skip
        columns = (
            "",
            "Scenario",
            "Characters",
            "Gap",
            "Highest",
            "Of",
            "Lowest",
            "Mean",
            f"Scores of {self.target}",
            "Models",
        )
        notes = (
            "highest: the largest mean + 3 SD of any model; lowest: mean - 3 SD of this one; both bounded by the range",
            f"of {self.played:,} tasks that {self.target} played and that are rated; {self.tied:,} others have the gap "
            f"of the last: of equal ones those with the lower mean of {self.target} are taken",
            "this choice is no paper's set of hard tasks",
        )
        judge = titled(self.judge)
        title = f"Tasks that are hard for {self.target} (section 7) in {self.dimension}, by judge {judge}"
        return Table("hard_tasks", title, columns, rows, notes)


def hard_tasks(rated: RatedEpisodes, target: str, dimension: str, count: int) -> Hard:
    """Choose by section 7's rule.

    ``rated``: Episodes with their ratings; those with people are left out. ``target``: The model for which they are to
    be hard. ``dimension``: One of the seven, or `apportion.environments.sotopia.reports.episode_scores.OVERALL`.
    ``count``: How many. Raises InputError: No such model, or it has fewer rated tasks.
    """
    found = models_only(rated)
    if target not in found:
        known = f"there are {first_few(list(found), 10)}" if found else "no episode tells which models played it"
        raise InputError(f"no model {target!r} in these episodes: {did_you_mean(target, found, known)}")
    results: dict[TaskId, dict[str, list[float]]] = {}
    for model, seats in found.items():
        for seat in seats:
            score = seat.score(rated.judge, dimension)
            if score is not None:
                results.setdefault(seat.task, {}).setdefault(model, []).append(score)
    ordered = difficulties(results, target, SCALES[dimension])
    if len(ordered) < count:
        raise InputError(
            f"{count:,} tasks are asked for, and judge {rated.judge!r} rated {target!r} in {dimension} in "
            f"{len(ordered):,}; ask for fewer, or for another dimension or judge"
        )
    tied = sum(one.gap == ordered[count - 1].gap for one in ordered[count:])
    return Hard(target, dimension, rated.judge, tuple(ordered[:count]), len(ordered), tied)


def played_space(hard: Hard, corpora: Sequence[Path], space: TaskSpace, named: str) -> TaskSpace:
    """The chosen tasks, found again in the logs of corpora or else in a task space.

    ``hard``: The choice. ``corpora``: Their folders. ``space``: Where tasks are that no log holds: by scenario, goals
    and names. ``named``: What the set is called. Raises InputError: A task is in neither, two of them have different
    scenarios or characters of one name, or ``named`` is the name of a published set.
    """
    if named in SETS:
        raise InputError(f"{named!r} is the name of a set that is something else; give this choice a name of its own")
    logged = {TaskId.of(task): task for path in corpora for task in _logged(path)}
    tasks, lost = [], []
    for one in hard.chosen:
        task = logged.get(one.task) or _in_space(one.task, space)
        if task is None:
            lost.append(repr(shortened(one.task.scenario)))
        else:
            tasks.append(task)
    if lost:
        raise InputError(
            f"{len(lost)} of the {len(hard.chosen)} tasks are neither in a log beside the tables nor in {space.place}, "
            f"so that they cannot be written to be played: {listed(lost)}. Name the task space that they come from"
        )
    return _space_of(tasks, space, named)


def _logged(folder: Path) -> Iterator[Task]:
    for logged in read_log(folder / LOG).values():
        yield task_in(logged)


def _in_space(wanted: TaskId, space: TaskSpace) -> Task | None:
    names = [name for name, _ in wanted.people]
    goals = tuple(goal for _, goal in wanted.people)
    people = {one.name: one for one in space.characters}
    scenario = next((one for one in space.scenarios if (one.context, one.goals) == (wanted.scenario, goals)), None)
    if scenario is None or any(name not in people for name in names):
        return None
    return Task(scenario, tuple(people[name] for name in names))


def _space_of(tasks: Sequence[Task], space: TaskSpace, named: str) -> TaskSpace:
    characters: dict[str, Character] = {}
    scenarios: dict[str, Scenario] = {}
    for task in tasks:
        task.check()
        for one in task.characters:
            _same(characters, one.name, one, "characters")
        _same(scenarios, task.scenario.name, task.scenario, "scenarios")
    known = tuple(pair for pair in space.relationships if set(pair.between) <= set(characters))
    people, places = tuple(characters.values()), tuple(scenarios.values())
    whole = replace(space, characters=people, relationships=known, scenarios=places, tasks=(), notes=())
    return replace(used_by(whole, tasks), named=named)


def _same(there: dict[str, _Named], name: str, one: _Named, what: str) -> None:
    if there.setdefault(name, one) != one:
        raise InputError(f"two {what} are called {name!r} and differ; choose from corpora that were played alike")
