"""Tables with a row a turn of an episode: where each stands in one, and one made of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa

from apportion.corpus.schema import EPISODE_KEY, REWARDS
from apportion.corpus.session import EpisodeKey
from apportion.foundation.arrays import ROWS_AT_ONCE

Places = Mapping[EpisodeKey, Mapping[int, int]]
"""Episode, turn, and the row of a table that is about it."""


def row_places(table: pa.Table) -> Places:
    """Where each turn of each episode stands in a table with those columns; the last row of several."""
    places: dict[EpisodeKey, dict[int, int]] = {}
    rows = count()
    for part in table.select([*EPISODE_KEY, "turn"]).to_batches(max_chunksize=ROWS_AT_ONCE):
        *keys, turns = (column.to_pylist() for column in part.columns)
        for key, turn, row in zip(zip(*keys, strict=True), turns, rows, strict=False):
            places.setdefault(key, {})[turn] = row
    return places


def turn_table(
    episodes: Sequence[EpisodeKey],
    lengths: Sequence[int],
    turns: Sequence[int],
    columns: Mapping[str, Any],
    method: str,
    seed: int,
) -> pa.Table:
    """Values of a method as a table of the REWARDS schema; columns that are not given are null.

    ``episodes`` (S) and how many turns each has; ``turns`` (N) are their numbers, ``columns`` values by name (N).
    """
    of = pa.array(np.repeat(np.arange(len(episodes)), np.asarray(lengths, np.int64)))
    first = pa.array(np.zeros(len(turns), np.int64))
    given = {name: pa.array([key[i] for key in episodes], pa.string()).take(of) for i, name in enumerate(EPISODE_KEY)}
    given |= {"turn": pa.array(turns, pa.int32()), "method": pa.array([method]).take(first)}
    given |= {"seed": pa.array([seed], pa.int32()).take(first)}
    given |= {name: pa.array(values, pa.float64()) for name, values in columns.items()}
    schema = REWARDS.arrow
    every = [given[f.name] if f.name in given else pa.nulls(len(turns), f.type) for f in schema]
    return pa.Table.from_arrays(every, schema=schema)
