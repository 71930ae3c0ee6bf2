"""What a run knows of itself: versions of what it was made with, what is in quarantine, who is filmed."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion.corpus.recordings.told import told_before
from apportion.corpus.session import Session
from apportion.foundation.files import digest
from apportion.foundation.truncate import some
from apportion.pipeline.engine.plan import REPORT

if TYPE_CHECKING:
    from apportion.pipeline.engine.engine import Engine

REPORTED_PACKAGES = (
    "apportion", "torch", "transformers", "peft", "trl", "numpy", "pyarrow", "praat-parselmouth", "librosa",
    "onnxruntime", "onnxruntime-gpu", "opencv-python-headless", "av", "openai", "vaderSentiment",
)  # fmt: skip
RECORDING_NOTES = "notes"
"""The document of a session's features that says what was chosen in its recordings; most sessions have none."""
SHORT = 12
"""Digits of a hash that a reader is shown."""
RECORDED_PEOPLE = "people"
"""The one that says in a line a person how much there is of them."""


def package_versions() -> dict[str, str]:
    """Versions of the packages that results can depend on."""
    versions = {}
    for name in REPORTED_PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


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


def lineage(engine: Engine) -> list[dict[str, Any]]:
    """What each thing that the report shows is, and what it was made from, by the first digits of sha256; one row an
    artifact, and one for all of a stage that works session by session."""
    rows = []
    for name in engine.plan.stages[REPORT].needs:
        stage, finished = engine.plan.stages[name], engine.finished(name)
        told = {"stage": name, "version": stage.version}
        if stage.per == "session" and finished:
            contents = [artifact.output_hash for artifact in finished.values()]
            rows.append({**told, "unit": f"{len(finished):,} sessions", "content": _short(contents), "from": {}})
            continue
        for unit, artifact in finished.items():
            of = engine.lineage(name, unit)
            parts = {part: _short(of[part]) for part in ("settings", "sessions")}
            parts |= {need: _short(units) for need, units in of["upstream"].items() if units}
            more = {} if "frozen" not in of["settings"] else {"frozen": of["settings"]["frozen"]["run"]}
            rows.append({**told, "unit": str(unit), "content": artifact.output_hash[:SHORT], "from": parts | more})
    return rows


def _short(content: Any) -> str:
    return digest(content)[:SHORT]


def recording_notes(engine: Engine) -> list[str]:
    """What had to be chosen in recordings that are measured or was when they were imported, a few sessions by name."""
    notes = [
        f"session {unit.session_id}: {note}"
        for unit, artifact in engine.finished("features").items()
        if artifact.has(f"{RECORDING_NOTES}.json")
        for note in artifact.document(RECORDING_NOTES)
    ]
    told = told_before(engine.corpus.root) if engine.corpus.media.num_rows else None
    return some("chosen in a recording", [*notes, *(told.chosen if told else ())])


def recorded_people(engine: Engine) -> list[str]:
    """A line a person who was measured, the first few."""
    lines = [
        line
        for _, artifact in engine.finished("features").items()
        if artifact.has(f"{RECORDED_PEOPLE}.json")
        for line in artifact.document(RECORDED_PEOPLE)
    ]
    return some("recorded", lines)


def unfinished_curves(engine: Engine) -> list[dict[str, Any]]:
    """What trainings that failed had measured until then: one row a step and metric, columns as in HISTORIES."""
    return [
        {
            "stage": outcome.stage,
            "method": outcome.unit.method,
            "seed": outcome.unit.seed,
            "step": step,
            "metric": metric,
            "value": value,
        }
        for outcome in engine.failures()
        for step, metric, value in outcome.measured
    ]


def has_video(sessions: Iterable[Session]) -> bool:
    """Whether any face can be seen in the sessions."""
    return any(media.kind == "video" for session in sessions for media in session.media)


def has_face(sessions: Iterable[Session]) -> bool:
    """Whether any face is filmed, or came measured with the corpus."""
    media = (media for session in sessions for media in session.media)
    return any(m.kind in ("video", "features") for m in media)


def has_sound(sessions: Iterable[Session]) -> bool:
    """Whether anybody can be heard; half a picture brings no sound."""
    media = (media for session in sessions for media in session.media)
    return any(m.kind == "audio" or (m.kind == "video" and m.channel not in ("left", "right")) for m in media)


def has_unmeasured_face(sessions: Iterable[Session], root: Path) -> bool:
    """Whether anybody is filmed whose emotions did not come with the corpus in ``root``."""
    from apportion.features.precomputed import unmeasured_faces

    return any(unmeasured_faces(session.media, root) for session in sessions)
