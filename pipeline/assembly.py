"""The engine of a configuration: the checked corpus, the declared stages, the tools and facts of a run."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from apportion.decompose.language_models import asker_of
from apportion.features.emotion_model.choice import missing_emotion
from apportion.features.face.choice import decided as detector_decided
from apportion.features.face.choice import missing_mesh
from apportion.foundation.errors import InputError
from apportion.pipeline.config import Config
from apportion.pipeline.engine.engine import Engine
from apportion.pipeline.engine.load_corpus import take_in
from apportion.pipeline.engine.provenance import (
    has_unmeasured_face,
    has_video,
    package_versions,
    quarantine_rows,
    recording_notes,
    unfinished_curves,
)
from apportion.pipeline.engine.stage_selection import left_out
from apportion.pipeline.engine.units import Plan
from apportion.pipeline.stages.registry import STAGES


def decided(config: Config) -> Config:
    """A copy in which everything is settled that depends on the machine's files, so that all processes of a run agree.

    Whoever hands work on to others hands on this.
    """
    return config.model_copy(update={"features": detector_decided(config.features)})


def open_engine(config: Config) -> Engine:
    """The engine of a configuration, kept for the next call of this process while the corpus stays as it is."""
    return _engine(decided(config).model_dump_json(), _stamp(config.corpus))


@lru_cache(maxsize=1)
def _engine(config_json: str, _stamp: tuple[tuple[str, int, int], ...]) -> Engine:
    return assemble(Config.model_validate_json(config_json))


def _stamp(corpus: Path) -> tuple[tuple[str, int, int], ...]:
    if not corpus.is_dir():
        raise InputError(f"{corpus}: no such corpus folder. Make one with `apportion import`.")
    statuses = ((path.name, path.stat()) for path in sorted(corpus.iterdir()) if path.is_file())
    return tuple((name, status.st_size, status.st_mtime_ns) for name, status in statuses)


def assemble(config: Config) -> Engine:
    """Check the corpus and build the engine; raises InputError where nothing can be done."""
    intake = take_in(config)
    rated = config.model_copy(update={"rating": intake.rating})
    intake_rows = [
        {"stage": "check", "session_id": p.session_id, "unit": p.session_id, "status": "failed", "cause": str(p)}
        for p in intake.problems
    ]
    return Engine(
        config=rated,
        corpus=intake.corpus,
        sessions=intake.sessions,
        plan=Plan(STAGES, rated, intake.sessions, left_out(STAGES, rated, intake.sessions)),
        tools=asker_of(
            rated.decompose,
            cache=rated.llm_cache,
            recorded=rated.run.recorded,
            record=rated.run.record,
            prices=rated.run.prices,
            budget_usd=rated.run.budget_usd,
        ),
        facts={
            "versions": lambda engine: package_versions(),
            "quarantine": lambda engine: [*intake_rows, *quarantine_rows(engine)],
            "warnings": lambda engine: [*intake.warnings, *_face_warnings(engine)],
            "recordings": recording_notes,
            "left_out": lambda engine: dict(engine.plan.left_out),
            "unfinished": unfinished_curves,
        },
    )


def _face_warnings(engine: Engine) -> list[str]:
    settings, sessions = engine.config.features, engine.sessions.values()
    mesh, emotion = missing_mesh(settings), missing_emotion(settings.emotion_model)
    told = [mesh] if mesh is not None and has_video(sessions) else []
    return [*told, emotion] if emotion is not None and has_unmeasured_face(sessions, engine.corpus.root) else told
