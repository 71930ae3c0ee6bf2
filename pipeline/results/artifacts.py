"""What a file of a run was made from, and which artifacts of its store are no longer used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from apportion.foundation.errors import InputError
from apportion.pipeline.engine.engine import Engine
from apportion.pipeline.engine.progress import last_begun
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.results.publish import TABLES
from apportion.pipeline.results.run_folder import RUBRIC, SLICES, session_file_name

MADE_BY = {f"{name}.parquet": stage for name, stage, _ in TABLES} | {
    "evaluation.json": "evaluate", "report.html": "report", "policy": "align", "reward_models": "train-reward",
    "frames": "features", "projections": "rewards", "sources.parquet": "fit", "audit.parquet": "audit",
    "audit.json": "stability", "audit.md": "stability", RUBRIC: "rubric", SLICES: "slices",
    "histories.parquet": "train-reward",
}  # fmt: skip
"""The stage whose artifacts a file or folder of the run folder shows."""


def provenance_text(engine: Engine, made: Path) -> str:
    """All that a file of the run folder, or an artifact of the store, was made from, as JSON.

    Raises InputError: No such file; one that no stage has made as the configuration is now.
    """
    if not made.exists():
        raise InputError(f"{made}: no such file or folder. Name one of {engine.config.output}, or of its store/.")
    made, output, store = made.resolve(), engine.config.output.resolve(), engine.config.store.resolve()
    inside = made.relative_to(output).parts if made.is_relative_to(output) else ()
    top = inside[0] if inside else ""
    stage = inside[1] if made.is_relative_to(store) and len(inside) > 1 else MADE_BY.get(top, top)
    finished = engine.finished(stage) if stage in engine.plan.stages else {}
    if made.is_relative_to(store):
        finished = {unit: kept for unit, kept in finished.items() if made.is_relative_to(kept.folder.resolve())}
    elif len(inside) > 1:  # a file of one unit, which it is named after
        finished = {unit: kept for unit, kept in finished.items() if Path(inside[1]).stem in _files_of(unit)}
    found = [{"artifact": kept.folder.name, **engine.lineage(stage, unit)} for unit, kept in finished.items()]
    if not found:
        raise InputError(
            f"{made}: made by no stage of this configuration as it is now. What stages make are "
            f"{', '.join(sorted(MADE_BY))}, and what lies in store/."
        )
    return json.dumps({"made": str(made), "stage": stage, "from": found}, indent=1, ensure_ascii=False)


def _files_of(unit: Unit) -> tuple[str, ...]:
    """What files of a unit alone are called in the run folder, without their ending."""
    return session_file_name(unit.session_id or ""), f"{unit.method}-seed{unit.seed}"


@dataclass(frozen=True)
class Leftover:
    """An artifact that no unit of the configuration, as it is now, would use. ``size``: bytes."""

    stage: str
    key: str
    size: int


def leftovers(engine: Engine) -> Iterator[Leftover]:
    """Every artifact of the store that no unit would use, of the stages that rest on nothing unfinished.

    In a bucket, what the last runs into other folders use is of use. What is made anew may turn out as it was, so that
    all that rests on it is of use again. Raises InputError: the last run was by other settings (an option, another
    machine's files), or a session cannot be read now, so that it is not known what is of use; a run into another
    folder that shares the bucket has not ended.
    """
    begun = last_begun(engine.shared)
    if begun is None or begun[1] != engine.settings:
        raise InputError(
            f"{engine.config.output}: the last run into it had other settings than this configuration has here (an "
            "option, an edited file, a face mesh), whose work may be of use. Run `apportion run CONFIG` first."
        )
    if broken := [row["cause"] for row in engine.facts["quarantine"](engine) if row["stage"] == "check"]:
        raise InputError(f"{broken[0]} Until then --gc cannot know which finished work is still used.")
    kept = {name: engine.store.kept(name) for name in engine.plan.stages}
    failed = {(outcome.stage, outcome.unit) for outcome in engine.failures()}
    unsettled: set[str] = set()
    elsewhere = engine.store.used_elsewhere()
    for name, stage in engine.plan.stages.items():
        units = engine.plan.units[name]
        if units and unsettled.intersection(stage.needs):  # What has no units leaves nothing to wait for.
            unsettled.add(name)
            continue
        finished = engine.finished(name)
        if name not in engine.plan.left_out and any(
            unit not in finished and (name, unit) not in failed for unit in units
        ):
            unsettled.add(name)
        used = {artifact.folder.name for artifact in finished.values()} | elsewhere
        yield from (Leftover(name, key, size) for key, size in sorted(kept[name].items()) if key not in used)
