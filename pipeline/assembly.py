"""The engine of a configuration: the checked corpus, the declared stages, the tools and facts of a run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.corpus.files.tablefile import find_table
from apportion.corpus.schema import MEDIA
from apportion.features.emotion_model.choice import missing_emotion
from apportion.features.face.choice import decided as detector_decided
from apportion.features.face.choice import missing_mesh
from apportion.foundation.errors import InputError
from apportion.pipeline.config import Config
from apportion.pipeline.engine.engine import Engine
from apportion.pipeline.engine.load_corpus import take_in
from apportion.pipeline.engine.plan import LeftOut, Plan
from apportion.pipeline.engine.provenance import (
    has_unmeasured_face,
    has_video,
    lineage,
    package_versions,
    quarantine_rows,
    recording_notes,
    unfinished_curves,
)
from apportion.pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from apportion.llm_client.session import LLMSession

_kept: dict[tuple[str, tuple[tuple[str, int, int], ...]], Engine] = {}
"""The engine of the last call, by its configuration and the state of its corpus."""


def decided(config: Config) -> Config:
    """A copy in which everything is settled that depends on the machine's files, so that all processes of a run agree.

    Whoever hands work on to others hands on this. Where nothing is recorded, nothing is to be settled.
    """
    if find_table(config.corpus, MEDIA.name) is None:
        return config
    return config.model_copy(update={"features": detector_decided(config.features)})


def open_engine(config: Config) -> Engine:
    """The engine of a configuration, kept for the next call of this process while the corpus stays as it is."""
    config = decided(config)
    key = (config.fingerprint, _stamp(config.corpus))
    if key not in _kept:
        _kept.clear()
        _kept[key] = assemble(config)
    return _kept[key]


def _stamp(corpus: Path) -> tuple[tuple[str, int, int], ...]:
    if not corpus.is_dir():
        raise InputError(f"{corpus}: no such corpus folder. Make one with `apportion import`.")
    statuses = ((path.name, path.stat()) for path in sorted(corpus.iterdir()) if path.is_file())
    return tuple((name, status.st_size, status.st_mtime_ns) for name, status in statuses)


def assemble(config: Config) -> Engine:
    """Check the corpus and build the engine; raises InputError where nothing can be done."""
    intake = take_in(config)
    rated = config.model_copy(update={"rating": intake.rating})
    stages, frozen = STAGES, None
    if config.frozen is not None:
        from apportion.pipeline.frozen import FrozenRun, frozen_stages

        frozen = FrozenRun.open(rated, config.frozen)
        stages = frozen_stages(STAGES, frozen)
        rated = rated.model_copy(update={"notes": (frozen.note(intake.sessions), *rated.notes)})
    intake_rows = [
        {"stage": "check", "session_id": p.session_id, "unit": p.session_id, "status": "failed", "cause": str(p)}
        for p in intake.problems
    ]
    return Engine(
        config=rated,
        corpus=intake.corpus,
        sessions=intake.sessions,
        plan=Plan(stages, rated, intake.sessions, LeftOut(stages, rated, intake.sessions)),
        make_tools=partial(_asker, rated),
        beside=None if frozen is None else frozen.folder / "store",
        facts={
            "versions": lambda engine: package_versions(),
            "quarantine": lambda engine: [*intake_rows, *quarantine_rows(engine)],
            "warnings": lambda engine: [*intake.warnings, *_face_warnings(engine)],
            "recordings": recording_notes,
            "left_out": lambda engine: dict(engine.plan.left_out),
            "unfinished": unfinished_curves,
            "lineage": lineage,
        },
    )


def _asker(config: Config) -> LLMSession:
    from apportion.decompose.language_models import asker_of

    return asker_of(
        config.decompose,
        cache=config.llm_cache,
        recorded=config.run.recorded,
        record=config.run.record,
        prices=config.run.prices,
        budget_usd=config.run.budget_usd,
    )


def _face_warnings(engine: Engine) -> list[str]:
    settings, sessions = engine.config.features, engine.sessions.values()
    mesh, emotion = missing_mesh(settings), missing_emotion(settings.emotion_model)
    told = [mesh] if mesh is not None and has_video(sessions) else []
    return [*told, emotion] if emotion is not None and has_unmeasured_face(sessions, engine.corpus.root) else told
