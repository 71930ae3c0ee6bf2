"""The held-out episodes and every method's values on their turns, as aligned arrays.

Letters: E episodes, N target turns of all of them one after the other, K seeds, S sessions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import Episode
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError

Bools = NDArray[np.bool_]
TURN_KEY = (*EPISODE_KEY, "turn")


@dataclass(frozen=True, eq=False)
class TestSet:
    """E test episodes in the order of their keys, each with at least one target turn."""

    episodes: tuple[Episode, ...]

    @classmethod
    def of(cls, episodes: Sequence[Episode]) -> TestSet:
        """Those of ``episodes`` that have target turns, sorted by key."""
        return cls(tuple(sorted((e for e in episodes if e.target_turns), key=lambda episode: episode.key)))

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """T, the target turns of each episode [shape=(E,)]."""
        return np.array([len(episode.target_turns) for episode in self.episodes], dtype=np.int64)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each episode's turns begin among the N [shape=(E,)]."""
        return np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)[: len(self.episodes)]

    @cached_property
    def session_ids(self) -> tuple[str, ...]:
        """The S sessions, sorted."""
        return tuple(sorted({episode.session_id for episode in self.episodes}))

    @cached_property
    def session_of_episode(self) -> NDArray[np.int64]:
        """Each episode's session, as a position in ``session_ids`` [shape=(E,)]."""
        position = {session_id: i for i, session_id in enumerate(self.session_ids)}
        return np.array([position[episode.session_id] for episode in self.episodes], dtype=np.int64)

    @cached_property
    def session_of_turn(self) -> NDArray[np.int64]:
        """Each turn's session [shape=(N,)]."""
        return np.repeat(self.session_of_episode, self.lengths)

    @cached_property
    def scores(self) -> Floats:
        """R_GE of each episode [shape=(E,)]."""
        return np.array([episode.score for episode in self.episodes], dtype=np.float64)

    @property
    def turns(self) -> int:
        """N, the target turns of all episodes."""
        return int(self.lengths.sum())

    @cached_property
    def keys(self) -> pa.Table:
        """The episode key, turn and ``at``, the position among the N turns: what other tables are joined with."""
        rows = [(*episode.key, turn) for episode in self.episodes for turn in episode.target_turns]
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(TURN_KEY)
        types = [pa.string()] * len(EPISODE_KEY) + [pa.int32(), pa.int64()]
        arrays = [pa.array(c, t) for c, t in zip([*columns, range(len(rows))], types, strict=True)]
        return pa.table(arrays, names=[*TURN_KEY, "at"])

    def totals(self, values: Floats) -> Floats:
        """Sums over each episode's turns [shape=(K, N) -> (K, E)]."""
        if not self.episodes:
            return np.zeros((len(values), 0))
        sums: Floats = np.add.reduceat(values, self.starts, axis=1)
        return sums

    def by_session(self, values: Floats) -> Floats:
        """Sums over each session's turns [shape=(K, N) -> (K, S)]."""
        sessions = len(self.session_ids)
        return np.stack([np.bincount(self.session_of_turn, row, minlength=sessions) for row in values])

    def episodes_by_session(self, per_episode: Floats) -> Floats:
        """Sums over each session's episodes [shape=(K, E) -> (K, S)]."""
        sessions = len(self.session_ids)
        return np.stack([np.bincount(self.session_of_episode, row, minlength=sessions) for row in per_episode])

    def select(self, keep: Bools) -> tuple[TestSet, Bools]:
        """The episodes where ``keep`` [shape=(E,)], and which of the N turns are theirs [shape=(N,)]."""
        episodes = tuple(episode for episode, kept in zip(self.episodes, keep, strict=True) if kept)
        return TestSet(episodes), np.repeat(keep, self.lengths)


@dataclass(frozen=True, eq=False)
class AlignedValues:
    """The values of all methods on the held-out episodes that every one of them has values for.

    ``held``: The E common episodes. ``values`` float64 [K, N]: Method to its values, one row a seed, all finite.
    ``incomplete``: Method to how many held-out episodes it has no or not all values for (0 is not listed). ``empty``:
    Methods without a single complete episode; they are left out so that the others can be compared.
    """

    held: TestSet
    values: Mapping[str, Floats]
    incomplete: Mapping[str, int]
    empty: tuple[str, ...]

    @classmethod
    def of(cls, table: pa.Table, held: TestSet) -> AlignedValues:
        """Align the ``reward`` column of a REWARDS table. Raises InputError: two rows for the same turn, method and
        seed.
        """
        values = align(table, held, "reward")
        complete = {name: _complete(rows, held) for name, rows in values.items()}
        empty = tuple(name for name, rows in complete.items() if not rows.any())
        common = np.ones(len(held.episodes), dtype=np.bool_)
        for name in complete.keys() - set(empty):
            common &= complete[name]
        common_episodes, turns = held.select(common)
        return cls(
            common_episodes,
            {name: rows[:, turns] for name, rows in values.items() if name not in empty},
            {name: int((~rows).sum()) for name, rows in complete.items() if not rows.all()},
            empty,
        )


def align(table: pa.Table, held: TestSet, column: str) -> dict[str, Floats]:
    """One column of a REWARDS table on the held-out turns.

    Returns float64 [shape=(K, N)]: method (sorted) to its values, one row a seed (sorted); NaN where there is none. A
    method that has no row for any held-out turn is there with NaN alone. Raises InputError: two rows for the same turn,
    method and seed.
    """
    seeds: dict[str, list[int]] = {}
    for row in table.select(["method", "seed"]).group_by(["method", "seed"]).aggregate([]).to_pylist():
        seeds.setdefault(row["method"], []).append(row["seed"])
    here = table.filter(pc.is_in(table["session_id"], pa.array(held.session_ids, pa.string())))
    joined = here.select([*TURN_KEY, "method", "seed", column]).join(held.keys, list(TURN_KEY), join_type="inner")
    at, value = joined["at"].to_numpy(), joined[column].cast(pa.float64()).to_numpy(zero_copy_only=False)
    method, seed = joined["method"].to_numpy(zero_copy_only=False), joined["seed"].to_numpy()
    result = {}
    for name in sorted(seeds):
        rows = np.full((len(seeds[name]), held.turns), np.nan)
        for i, number in enumerate(sorted(seeds[name])):
            mine = (method == name) & (seed == number)
            if len(np.unique(at[mine])) != int(mine.sum()):
                raise InputError(_repeated(held, at[mine], name, number))
            rows[i, at[mine]] = value[mine]
        result[name] = rows
    return result


def _complete(rows: Floats, held: TestSet) -> Bools:
    """Which episodes have finite values for all their turns and seeds [shape=(K, N) -> (E,)]."""
    unknown: Floats = (~np.isfinite(rows)).astype(np.float64)
    complete: Bools = (held.totals(unknown) == 0).all(axis=0)
    return complete


def _repeated(held: TestSet, at: NDArray[np.int64], method: str, seed: int) -> str:
    numbers, counts = np.unique(at, return_counts=True)
    row = held.keys.slice(int(numbers[counts > 1][0]), 1).to_pylist()[0]
    return (
        f"session {row['session_id']!r}, turn {row['turn']}: {counts.max()} rewards of method {method!r}, seed {seed}. "
        "A turn has one reward a method and seed; make the table again."
    )
