"""The run folder: finished artifacts laid out under names that a person looks for."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Set
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.schema import QUARANTINE
from apportion.foundation.files import file_digest, place_folder, remove_leftovers, waiting_for, write_atomically
from apportion.pipeline.config import shown_config
from apportion.pipeline.engine.engine import Engine
from apportion.pipeline.engine.provenance import package_versions, quarantine_rows
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.engine.store import Artifact
from apportion.pipeline.engine.training_curves import training_curves
from apportion.pipeline.results.model_agreement import card_section
from apportion.pipeline.results.models import models_of
from apportion.pipeline.results.run_folder import (
    CHOSEN,
    CHOSEN_SESSIONS,
    FITTED,
    HASHES,
    RUBRIC,
    SLICES,
    corpus_place,
    remember_corpus,
    session_file_name,
)
from apportion.reward_model.config import CARD

NOTHING: Mapping[str, bytes] = MappingProxyType({})
TABLES = (
    # file in the run folder, stage, table in its artifacts
    ("splits", "split", "splits"),
    ("utterance_features", "features", "utterance_features"),
    ("events", "features", "events"),
    ("descriptors", "verbalize", "descriptors"),
    ("rewards", "rewards", "rewards"),
    ("samples", "rewards", "samples"),
    ("scores", "train-reward", "scores"),
)
LEARNT = (
    *(f"{name}.parquet" for name in ("splits", "rewards", "scores", "histories", "sources")),
    HASHES, RUBRIC, f"{FITTED}/*", "projections/*", "reward_models/**/*",
)  # fmt: skip
"""What a frozen run reads, whose hashes are in `run.json`."""


def publish(engine: Engine) -> dict[str, int]:
    """Write the run folder from what the store holds; files whose content would not change are left alone.

    Returns: Finished units by stage, and ``quarantined``.
    """
    with waiting_for(engine.leases, "publish", "the run folder"):
        return _publish(engine)


def _hashes(engine: Engine, measured: Set[str | None]) -> pa.Table:
    """What each session says, and the recordings of those that were measured, as sha256."""
    rows = [
        (name, engine.session_hash(one), engine.session_hash(one, ("media",)) if name in measured else None)
        for name, one in engine.sessions.items()
    ]
    columns = zip(("session_id", "sha256", "recordings"), zip(*rows, strict=True), strict=True)
    return pa.table({name: pa.array(column, pa.string()) for name, column in columns})


def _publish(engine: Engine) -> dict[str, int]:
    output = engine.config.output
    for folder in (output, output / "frames", output / "projections", output / FITTED):
        remove_leftovers(folder)
    finished = {stage: engine.finished(stage) for stage in engine.plan.units}
    for name, stage, table in TABLES:
        _publish_table(output / f"{name}.parquet", _tables(finished[stage], table))
    _publish_table(output / "sources.parquet", _tables(finished["fit"], "sources"))
    curves = training_curves(finished)
    _publish_table(output / "histories.parquet", [] if curves is None else [curves])
    _publish_table(output / HASHES, [_hashes(engine, {unit.session_id for unit in finished["features"]})])
    learnt = {f"{unit.method}-seed{unit.seed}.json": (artifact, "learnt") for unit, artifact in finished["fit"].items()}
    chosen = {Path(CHOSEN_SESSIONS).name: (artifact, CHOSEN) for artifact in finished["select-sessions"].values()}
    _publish_documents(output / FITTED, learnt | chosen)
    for artifact in finished["rubric"].values():
        _publish_text(output / RUBRIC, artifact.text(RUBRIC))
    for unit, artifact in finished["features"].items():
        name = f"{session_file_name(unit.session_id or '')}.parquet"
        _publish_table(output / "frames" / name, [artifact.table("frames")])
    _withdraw(output / "frames", {f"{session_file_name(u.session_id or '')}.parquet" for u in finished["features"]})
    evaluation = next((artifact.document("evaluation") for artifact in finished["evaluate"].values()), None)
    for unit, artifact in finished["train-reward"].items():
        card = _completed_card(artifact, evaluation and card_section(evaluation, str(unit.method)))
        _publish_folder(output / "reward_models" / f"{unit.method}-seed{unit.seed}", artifact, "model/", card)
    projections = {f"{u.method}-seed{u.seed}.json": (a, "projection") for u, a in finished["rewards"].items()}
    _publish_documents(output / "projections", projections)
    for artifact in finished["align"].values():
        _publish_folder(output / "policy", artifact, "policy/")
    for artifact in finished["evaluate"].values():
        _publish_text(output / "evaluation.json", artifact.text("evaluation.json"))
    for artifact in finished["stability"].values():
        # Only where there is one: a run without the audit leaves the last one's files, which were paid for.
        _publish_table(output / "audit.parquet", _tables(finished["audit"], "audit"))
        _publish_text(output / "audit.json", artifact.text("audit.json"))
        _publish_text(output / "audit.md", artifact.text("audit.md"))
    for artifact in finished["slices"].values():
        _publish_folder(output / SLICES, artifact, f"{SLICES}/")
    for artifact in finished["report"].values():
        _publish_text(output / "report.html", artifact.text("report.html"))
    quarantine = engine.facts["quarantine"](engine)
    _publish_table(output / "quarantine.parquet", [pa.Table.from_pylist(quarantine, schema=QUARANTINE.arrow)])
    _publish_text(output / "run.json", json.dumps(_record(engine, finished), indent=1, sort_keys=True) + "\n")
    remember_corpus(engine.corpus.root, output)
    engine.store.note_use(artifact.folder.name for units in finished.values() for artifact in units.values())
    counts = {stage: len(units) for stage, units in finished.items()}
    return {**counts, "quarantined": len(quarantine)}


def _record(engine: Engine, finished: dict[str, dict[Unit, Artifact]]) -> dict[str, Any]:
    """What `run.json` holds: no clock, no machine name, no path but the corpus's, so that equal runs are equal."""
    output = engine.config.output
    return {
        "corpus": corpus_place(engine.corpus.root, engine.config.output),
        "config": shown_config(engine.config),
        "versions": package_versions(),
        "threads": engine.config.run.threads,
        "seeds": list(engine.config.seeds),
        "sessions": len(engine.sessions),
        "inputs": {path.name: file_digest(path) for path in sorted(engine.corpus.root.iterdir()) if path.is_file()},
        "stages": {
            stage: {
                "version": engine.plan.stages[stage].version,
                "units": len(engine.plan.units[stage]),
                "finished": len(units),
            }
            for stage, units in finished.items()
        },
        "sources": [row for table in _tables(finished["fit"], "sources") for row in table.to_pylist()],
        "files": {
            path.relative_to(output).as_posix(): file_digest(path)
            for pattern in LEARNT
            for path in sorted(output.glob(pattern))
            if path.is_file()
        },
        "models": models_of(
            engine.config,
            [stage for stage, units in finished.items() if units],
            "video" in engine.corpus.media.column("kind").to_pylist(),
        ),
        "left_out": dict(engine.plan.left_out),
        "warnings": [*engine.facts["warnings"](engine), *engine.facts["recordings"](engine)],
        "quarantine": dict(sorted(Counter(row["stage"] for row in quarantine_rows(engine)).items())),
    }


def _tables(units: dict[Unit, Artifact], name: str) -> list[pa.Table]:
    return [artifact.table(name) for artifact in units.values() if artifact.has(f"{name}.parquet")]


def _publish_table(path: Path, tables: list[pa.Table]) -> None:
    if not tables:
        path.unlink(missing_ok=True)
        return
    buffer = io.BytesIO()
    pq.write_table(pa.concat_tables(tables).combine_chunks(), buffer, compression="zstd")
    _publish_text(path, buffer.getvalue())


def _publish_text(path: Path, content: str | bytes) -> None:
    raw = content.encode() if isinstance(content, str) else content
    if not (path.is_file() and path.stat().st_size == len(raw) and path.read_bytes() == raw):
        write_atomically(path, raw)


def _withdraw(folder: Path, current: set[str]) -> None:
    """Remove tables of sessions that this run did not measure: a failed one's old figures are no result of it."""
    for path in folder.glob("*.parquet"):
        if path.name not in current:
            path.unlink()


def _publish_documents(folder: Path, found: Mapping[str, tuple[Artifact, str]]) -> None:
    """Documents of artifacts as files of these names; no others stay."""
    current = {name: of for name, of in found.items() if of[0].has(f"{of[1]}.json")}
    for name, (artifact, document) in current.items():
        _publish_text(folder / name, artifact.text(f"{document}.json"))
    for path in folder.glob("*.json"):
        if path.name not in current:
            path.unlink()


def _completed_card(artifact: Artifact, section: str | None) -> dict[str, bytes]:
    """The card of a reward model with what the evaluation, which came later, says of it."""
    if not section or f"model/{CARD}" not in artifact.files:
        return {}
    before, use, after = artifact.text(f"model/{CARD}").partition("## Use\n")
    return {CARD: f"{before}{section}{use}{after}".encode()}


def _publish_folder(target: Path, artifact: Artifact, prefix: str, completed: Mapping[str, bytes] = NOTHING) -> None:
    """Copy an artifact's files below ``prefix`` into ``target``, whole or not at all; some as ``completed``."""
    files = {name.removeprefix(prefix): sha for name, sha in artifact.files.items() if name.startswith(prefix)}
    files |= {name: hashlib.sha256(content).hexdigest() for name, content in completed.items()}
    if not files:  # A reward model that reads whole dialogues is scored and not kept.
        shutil.rmtree(target, ignore_errors=True)
        return
    if target.is_dir():
        present = {p.relative_to(target).as_posix(): p for p in target.rglob("*") if p.is_file()}
        if present.keys() == files.keys() and all(file_digest(p) == files[name] for name, p in present.items()):
            return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    for name in files:
        (temporary / name).parent.mkdir(parents=True, exist_ok=True)
        if name in completed:
            (temporary / name).write_bytes(completed[name])
        else:
            shutil.copyfile(artifact.folder / prefix / name, temporary / name)
    place_folder(temporary, target)
