"""Which tasks are hard for a model, by the rule of section 7 of SOTOPIA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion.corpus.mean_std import mean, spread
from apportion.environments.sotopia.reports.episode_scores import TaskId

WIDE = 3.0
"""How many standard deviations beside the mean the highest and the lowest reward are estimated."""
Results = Mapping[TaskId, Mapping[str, Sequence[float]]]
"""By task and model, its rewards there."""


@dataclass(frozen=True)
class Difficulty:
    """How hard a task is for a model.

    Parameters
    ----------
    task : TaskId
    most : float
        The highest estimate of any model, ``best``: its mean plus three standard deviations, at most the range's end.
    least : float
        The lowest estimate of the model itself: its mean less three standard deviations, at least the range's end.
    best : str
        The model that ``most`` is of.
    mean : float
        The model's own mean.
    own : int
        How many rewards it has there.
    models : int
        How many models have played it.
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

    Parameters
    ----------
    results : mapping
        By task and model, its rewards there.
    target : str
        For whom the tasks are hard.
    scale : (float, float)
        The range of rewards, which bounds both estimates.
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
