"""All training curves of a run as one table."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from corpus.schema import HISTORIES, HISTORY
from pipeline.engine.stage import Unit
from pipeline.engine.store import Artifact

TRAINED_STAGES = ("fit", "train-reward", "align")


def training_curves(finished: Mapping[str, Mapping[Unit, Artifact]]) -> pa.Table | None:
    """The ``history`` tables (step, metric, value) of all trained units, one below the other, or None."""
    tables = [
        _with_unit(artifact.table("history"), stage, unit)
        for stage in TRAINED_STAGES
        for unit, artifact in finished.get(stage, {}).items()
    ]
    return pa.concat_tables(tables) if tables else None


def _with_unit(history: pa.Table, stage: str, unit: Unit) -> pa.Table:
    rows = len(history)
    columns = [
        pa.array([stage] * rows, pa.string()),
        pa.array([unit.method] * rows, pa.string()),
        pa.array([unit.seed] * rows, pa.int32()),
        *(history.column(field.name).combine_chunks().cast(field.type) for field in HISTORY.arrow),
    ]
    return pa.table(columns, schema=HISTORIES.arrow)
