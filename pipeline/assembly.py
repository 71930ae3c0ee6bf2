"""The engine of a configuration: the checked corpus, the declared stages, the tools and facts of a run."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from features.emotion_model.choice import missing_emotion
from llm_client.asker import Asker
from pipeline.config import Config
from pipeline.engine.engine import Engine
from pipeline.engine.intake import take_in
from pipeline.engine.units import Plan
from pipeline.stages.declared import STAGES

REPORTED_PACKAGES = (
    "apportion", "torch", "transformers", "peft", "trl", "numpy", "pyarrow", "praat-parselmouth", "librosa",
    "onnxruntime", "onnxruntime-gpu", "opencv-python-headless", "av", "openai", "vaderSentiment",
)  # fmt: skip


def assemble(config: Config) -> Engine:
    """Check the corpus and build the engine; raises InputError where nothing can be done."""
    intake = take_in(config)
    chosen = config.model_copy(update={"rating": intake.rating})
    intake_rows = [
        {"stage": "check", "session_id": p.session_id, "unit": p.session_id, "status": "failed", "cause": str(p)}
        for p in intake.problems
    ]
    return Engine(
        config=chosen,
        corpus=intake.corpus,
        sessions=intake.sessions,
        plan=Plan(STAGES, chosen, intake.sessions),
        tools=Asker(
            chosen.decompose.llm,
            cache=chosen.llm_cache,
            recorded=chosen.run.recorded,
            record=chosen.run.record,
            prices=chosen.run.prices,
            budget_usd=chosen.run.budget_usd,
        ),
        facts={
            "versions": lambda engine: package_versions(),
            "quarantine": lambda engine: [*intake_rows, *quarantine_rows(engine)],
            "warnings": lambda engine: [*intake.warnings, *_emotion_warnings(engine)],
        },
    )


def has_video(engine: Engine) -> bool:
    """Whether any face can be seen in the sessions of the run."""
    return any(media.kind == "video" for session in engine.sessions.values() for media in session.media)


def has_face(engine: Engine) -> bool:
    """Whether any face is filmed, or came measured with the corpus."""
    media = (media for session in engine.sessions.values() for media in session.media)
    return any(m.kind in ("video", "features") for m in media)


def _emotion_warnings(engine: Engine) -> list[str]:
    missing = missing_emotion(engine.config.features.emotion_model)
    return [missing] if missing is not None and has_unmeasured_face(engine) else []


def has_unmeasured_face(engine: Engine) -> bool:
    """Whether anybody is filmed whose emotions did not come with the corpus: what an emotion model is for."""
    from features.precomputed import unmeasured_faces

    return any(unmeasured_faces(session.media, engine.corpus.root) for session in engine.sessions.values())


def package_versions() -> dict[str, str]:
    """Versions of the packages that results can depend on."""
    found = {}
    for name in REPORTED_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def quarantine_rows(engine: Engine) -> list[dict[str, Any]]:
    """One row a failed or blocked unit, with its cause."""
    return [
        {
            "stage": outcome.stage,
            "session_id": outcome.unit.session_id,
            "unit": str(outcome.unit),
            "status": outcome.status,
            "cause": outcome.cause,
            "evidence": outcome.evidence,
        }
        for outcome in engine.failures()
    ]
