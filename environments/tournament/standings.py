"""The table of a tournament: by seating, by agent in each seat, and every two agents against each other.

A task counts once, whatever the number of its episodes: scores are averaged within a task first, over repeats, then
over partners, then over seats. Intervals and tests are over tasks, because episodes of one task are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from apportion.environments.tournament.results import Result, Results, seats_of
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.estimate import IntervalEstimate
from apportion.foundation.intervals.resampling import Sampling, interval
from apportion.foundation.tables.numbers import NOISE

SAMPLING = Sampling()


@dataclass(frozen=True)
class Mean(IntervalEstimate):
    """A mean over ``tasks`` with its interval, None where one task cannot tell."""

    tasks: int


@dataclass(frozen=True)
class PairedTest:
    """Student's t-test of differences within ``tasks``; ``t`` and ``p`` are None for one task, or equal differences."""

    difference: Mean
    t: float | None
    p: float | None
    tasks: int


def mean_over_tasks(values: Sequence[float]) -> Mean:
    """The mean of a value a task, with a percentile bootstrap interval by `SAMPLING` over tasks.

    ``values``: One at least; the same number of values is resampled alike.

    >>> mean_over_tasks([2.0, 4.0]).value, mean_over_tasks([3.0])
    (3.0, Mean(value=3.0, low=None, high=None, tasks=1))
    """
    data = np.array(values, np.float64)
    low, high = interval(data, lambda sums: sums / len(data), SAMPLING)
    return Mean(float(data.mean()), low, high, len(data))


def paired_test(one: Sequence[float], other: Sequence[float]) -> PairedTest:
    """Whether ``one`` is another mean than ``other`` over the same tasks, in the same order (two-sided)."""
    from scipy import stats

    differences: Floats = np.array(one, np.float64) - np.array(other, np.float64)
    difference = mean_over_tasks(differences.tolist())
    if len(differences) < 2 or np.ptp(differences) < NOISE:
        return PairedTest(difference, None, None, len(differences))
    found = stats.ttest_rel(one, other)
    t, p = float(found.statistic), float(found.pvalue)
    return PairedTest(difference, t, p, len(differences))


@dataclass(frozen=True)
class SeatingRow:
    """What each seat reached when these agents sat there; None where no score is known."""

    seating: tuple[str, ...]
    seats: tuple[Mean | None, ...]
    episodes: int


@dataclass(frozen=True)
class AgentRow:
    """What an agent reached in each seat, and over all seats, whoever the others were."""

    agent: str
    seats: tuple[Mean | None, ...]
    all_seats: Mean | None


@dataclass(frozen=True)
class PairRow:
    """``one`` less ``other`` in the same tasks, in the same seats, beside the same partners."""

    one: str
    other: str
    test: PairedTest


@dataclass(frozen=True)
class Standing:
    """The table of one dimension."""

    dimension: str
    agents: tuple[AgentRow, ...]
    seatings: tuple[SeatingRow, ...]
    pairs: tuple[PairRow, ...]


@dataclass(frozen=True)
class Standings:
    """The whole table: one a dimension, in the order of the ranges.

    ``unscored`` counts episodes that are in none; ``unusable`` tells acts that were none.
    """

    judge: str
    agents: tuple[str, ...]
    episodes: int
    tasks: int
    unscored: int
    unusable: str
    dimensions: tuple[Standing, ...]

    def to_json(self) -> dict[str, Any]:
        """The same for other programs; what is not known is null."""
        made = f"percentile bootstrap over tasks, {SAMPLING.resamples} resamples, {SAMPLING.confidence:.0%}"
        return {**asdict(self), "interval": made, "test": "paired t-test over tasks, two-sided, not corrected"}


def standings(results: Results) -> Standings:
    """The table of a tournament's results."""
    return Standings(
        results.judge,
        results.agents,
        len(results.results),
        len(results.tasks),
        len(results.unscored),
        results.unusable,
        tuple(_standing(results, dimension) for dimension in results.dimensions),
    )


def _standing(results: Results, dimension: str) -> Standing:
    table = _Table(results.results, dimension)
    agents = tuple(
        AgentRow(
            agent,
            tuple(_mean(table.of_agent(agent, seats=(seat,))) for seat in range(table.seats)),
            _mean(table.of_agent(agent)),
        )
        for agent in results.agents
    )
    return Standing(dimension, agents, tuple(table.seatings()), tuple(table.pairs(results.agents)))


_Key = tuple[str, int, str, tuple[str, ...]]
"""Task, seat, who sits there, and the partners in the order of the other seats."""


class _Table:
    """One dimension's scores, averaged over repeats."""

    def __init__(self, results: Sequence[Result], dimension: str) -> None:
        self.seats = seats_of(results)
        self._results, self._dimension = results, dimension
        found: dict[_Key, list[float]] = {}
        for result in results:
            for seat, scores in enumerate(result.scores):
                if dimension in scores:
                    partners = result.seating[:seat] + result.seating[seat + 1 :]
                    found.setdefault((result.task, seat, result.seating[seat], partners), []).append(scores[dimension])
        self._cells = {key: sum(values) / len(values) for key, values in found.items()}

    def of_agent(self, agent: str, *, seats: Sequence[int] | None = None) -> dict[str, float]:
        """By task, what an agent reached in these seats (None: all), over partners and then seats."""
        chosen = (key for key in self._cells if key[2] == agent and (seats is None or key[1] in seats))
        return self._by_task(chosen)

    def seatings(self) -> Iterable[SeatingRow]:
        for seating in dict.fromkeys(result.seating for result in self._results):
            means = []
            for seat in range(len(seating)):
                rest = seating[:seat] + seating[seat + 1 :]
                chosen = (key for key in self._cells if key[1:] == (seat, seating[seat], rest))
                means.append(_mean(self._by_task(chosen)))
            episodes = sum(result.seating == seating for result in self._results)
            yield SeatingRow(seating, tuple(means), episodes)

    def pairs(self, agents: Sequence[str]) -> Iterable[PairRow]:
        for one, other in combinations(agents, 2):
            both = [key for key in self._cells if key[2] == one and (*key[:2], other, key[3]) in self._cells]
            mine = self._by_task(both)
            theirs = self._by_task([(task, seat, other, partners) for task, seat, _, partners in both])
            if mine:
                yield PairRow(one, other, paired_test([mine[t] for t in mine], [theirs[t] for t in mine]))

    def _by_task(self, keys: Iterable[_Key]) -> dict[str, float]:
        """By task the mean over seats of the mean over partners."""
        seats = _grouped(keys, lambda key: key[:2], lambda key: self._cells[key])
        return _grouped(seats, lambda key: key[0], lambda key: seats[key])


def _grouped(keys: Iterable[Any], group: Callable[[Any], Any], value: Callable[[Any], float]) -> dict[Any, float]:
    found: dict[Any, list[float]] = {}
    for key in keys:
        found.setdefault(group(key), []).append(value(key))
    return {name: sum(values) / len(values) for name, values in found.items()}


def _mean(by_task: Mapping[str, float]) -> Mean | None:
    return mean_over_tasks(list(by_task.values())) if by_task else None
