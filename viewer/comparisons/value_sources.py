"""Whose values of turns can be compared: each method and reward model of the run, and of another run beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from apportion.corpus.schema import EPISODE_KEY
from apportion.foundation.errors import InputError
from apportion.viewer.data.run_location import CompanionFiles, RunPlace

TABLES = ("rewards", "scores")
"""Decompositions, and the reward models that they taught."""
COLUMNS = (*EPISODE_KEY, "turn", "method", "reward")
Stamp = tuple[str, int, int]
"""What tells a file's state: its path, size and time of change."""


@dataclass(frozen=True)
class ValueSource:
    """One opinion on every turn.

    ``run``: empty for the run that is served, else the other's name. ``table``: one of `TABLES`. ``file``: where its
    values are.
    """

    run: str
    table: str
    method: str
    file: Path

    @property
    def key(self) -> str:
        """How an address names it."""
        return f"{'other' if self.run else 'own'}.{self.table}.{self.method}"

    @property
    def title(self) -> str:
        """How a person knows it."""
        model = " (reward model)" if self.table == "scores" else ""
        return f"{self.method}{model}" + (f" of {self.run}" if self.run else "")


def voices(place: RunPlace, around: CompanionFiles) -> tuple[ValueSource, ...]:
    """All that can be compared, the run's own first. Raises InputError: a table of a run cannot be read."""
    runs = [("", place.folder)] + ([(around.other.title, around.other.folder)] if around.other else [])
    return tuple(
        ValueSource(run, table, method, file)
        for run, folder in runs
        for table in TABLES
        if (file := folder / f"{table}.parquet").is_file()
        for method in _methods(stamp(file))
    )


def values_of(voice: ValueSource) -> pa.Table:
    """A voice's finite values, the mean over seeds: columns of `EPISODE_KEY`, ``turn`` and ``value``."""
    return _values(stamp(voice.file), voice.method)


def stamp(file: Path) -> Stamp:
    """The state of a file; raises InputError where it is gone."""
    try:
        status = file.stat()
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}).") from None
    return (str(file), status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=8)
def _methods(file: Stamp) -> tuple[str, ...]:
    return tuple(sorted(set(_read(file[0], ["method"])["method"].unique().to_pylist())))


@lru_cache(maxsize=2)
def _values(file: Stamp, method: str) -> pa.Table:
    rows = _read(file[0], list(COLUMNS), [("method", "==", method)])
    rows = rows.filter(pc.is_finite(pc.fill_null(rows["reward"], float("nan"))))
    keys = [*EPISODE_KEY, "turn"]
    mean = rows.group_by(keys, use_threads=False).aggregate([("reward", "mean")]).rename_columns([*keys, "value"])
    texts = [mean.schema.get_field_index(name) for name in EPISODE_KEY]
    for place in texts:  # Two tables are joined by texts, since each has a dictionary of its own.
        mean = mean.set_column(place, mean.column_names[place], mean.column(place).cast(pa.string()))
    del rows
    pa.default_memory_pool().release_unused()
    return mean


def _read(path: str, columns: list[str], filters: list[tuple[str, str, str]] | None = None) -> pa.Table:
    try:
        # One thread, names as a dictionary, and what Arrow does not need any more given back: the server stays small.
        names = [name for name in columns if name not in ("turn", "reward")]
        return pq.read_table(
            path, columns=columns, filters=filters, partitioning=None, use_threads=False, read_dictionary=names
        )
    except (OSError, pa.ArrowException, KeyError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{path}: not a readable table ({first}). Run `apportion run` again to write it anew."
        ) from None
