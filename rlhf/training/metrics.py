"""What a training run measured, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from apportion.corpus.schema import HISTORY


class Metrics:
    """Grows by one group of metrics a step and ends as one table."""

    def __init__(self, rows: Iterable[tuple[int, str, float]] = ()) -> None:
        self._rows = [(int(step), str(name), float(value)) for step, name, value in rows]

    @property
    def rows(self) -> tuple[tuple[int, str, float], ...]:
        """(step, metric, value) of all that was noted, in order."""
        return tuple(self._rows)

    def restore(self, rows: Iterable[tuple[int, str, float]]) -> None:
        """Replace all that was noted by what a checkpoint holds."""
        self._rows = Metrics(rows)._rows

    def add(self, step: int, metrics: Mapping[str, float]) -> None:
        """Note the metrics of one step."""
        self._rows.extend((step, name, float(value)) for name, value in metrics.items())

    def at(self, step: int) -> dict[str, float]:
        """The metrics of one step, by name."""
        return {name: value for number, name, value in self._rows if number == step}

    def table(self) -> pa.Table:
        """One row a step and metric: ``step`` (int32, from 1), ``metric``, ``value`` (float64)."""
        columns = zip(*self._rows, strict=True) if self._rows else ((), (), ())
        schema = HISTORY.arrow
        return pa.table(
            [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
        )
