"""All training curves of a run as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from apportion.corpus.schema import HISTORIES, HISTORY
from apportion.pipeline.engine.stage import AGAINST, Unit
from apportion.pipeline.engine.store import Artifact


def training_curves(
    finished: Mapping[str, Mapping[Unit, Artifact]], unfinished: Sequence[Mapping[str, Any]] = ()
) -> pa.Table | None:
    """The ``history`` tables (step, metric, value) of all trained units, in the order of ``finished``, or None.

    ``unfinished`` rows (columns of HISTORIES) of trainings that failed come last.
    """
    tables = [
        _with_unit(artifact.table("history"), stage, unit, _taught_by(artifact, unit))
        for stage, artifacts in finished.items()
        for unit, artifact in artifacts.items()
        if artifact.has("history.parquet")
    ]
    if unfinished:
        tables.append(pa.Table.from_pylist([dict(row) for row in unfinished], schema=HISTORIES.arrow))
    return pa.concat_tables(tables) if tables else None


def _taught_by(artifact: Artifact, unit: Unit) -> str | None:
    """The method whose rewards were learned from; of another run's reward model its name."""
    return str(artifact.document(AGAINST)["reward"]) if artifact.has(f"{AGAINST}.json") else unit.method


def _with_unit(history: pa.Table, stage: str, unit: Unit, method: str | None) -> pa.Table:
    rows = len(history)
    columns = [
        pa.array([stage] * rows, pa.string()),
        pa.array([method] * rows, pa.string()),
        pa.array([unit.seed] * rows, pa.int32()),
        *(history.column(field.name).combine_chunks().cast(field.type) for field in HISTORY.arrow),
    ]
    return pa.table(columns, schema=HISTORIES.arrow)
