"""The stages `features` and `verbalize`: what people did while they talked, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion.corpus.schema import EVENTS
from apportion.corpus.session import Session
from apportion.features.emotion_model.choice import (
    content_identity,
    emotion_identity,
    load_emotions,
    resolve_emotion_model,
)
from apportion.features.face.choice import chosen_detector, named
from apportion.features.settings import MESH_DEFINITIONS, MESH_SETTINGS
from apportion.foundation.model_hub.mesh import mesh_files
from apportion.pipeline.config import Config
from apportion.pipeline.engine.provenance import RECORDED_PEOPLE, RECORDING_NOTES, has_unmeasured_face, has_video
from apportion.pipeline.engine.stage import BeforeRun, Inputs, Outputs, Stage, Unit, Work


def _is_timed(config: Config, unit: Unit, session: Session | None) -> bool:
    timed = session is not None and any(turn.start_s is not None for turn in session.turns)
    return session is not None and (timed or session.is_observed)


def _is_observed(config: Config, unit: Unit, session: Session | None) -> bool:
    return session is not None and session.is_observed


def _features(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session's recordings and times to frames, per-utterance features and events."""
    from apportion.features.extract import extract_session

    notes: list[str] = []
    people: list[str] = []
    frames, utterance_features, events = extract_session(
        inputs.session, inputs.root, config.features, notes.append, people.append
    )
    documents = {RECORDED_PEOPLE: people, **({RECORDING_NOTES: list(dict.fromkeys(notes))} if notes else {})}
    tables = {"frames": frames, "utterance_features": utterance_features, EVENTS.name: events}
    return Outputs(tables, documents)


def _features_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    """Model files enter by their content: another file at the same path is other work. The back-end enters by its
    name, whether it was named or taken."""
    settings = named(config.features)
    plain = settings.in_key()
    if settings.detector != "mesh":
        # What was measured before there was a mesh stays what it is.
        plain = {name: value for name, value in plain.items() if name not in MESH_SETTINGS}
    return {
        **plain,
        **(
            {"mesh": [*(file.sha256 for file in mesh_files()), MESH_DEFINITIONS]} if settings.detector == "mesh" else {}
        ),
        "emotion_model": emotion_identity(settings.emotion_model),
        "yunet_model": settings.detector == "yunet" and content_identity(settings.yunet_model),
        "landmarker_model": settings.detector == "mediapipe" and content_identity(settings.landmarker_model),
    }


def _check_models(before: BeforeRun) -> tuple[str, ...]:
    """Load what finds faces and reads emotions, where there are faces."""
    settings, sessions = before.config.features, before.sessions.values()
    if has_video(sessions):
        from apportion.features.face.backends.cascade import cascade
        from apportion.features.face.detector import open_detector

        open_detector(settings)
        if chosen_detector(settings) in ("haar", "yunet"):
            cascade("smile")
        model = resolve_emotion_model(settings.emotion_model)
        if model is not None and has_unmeasured_face(sessions, before.root):
            load_emotions(model)
    return ()


def _describe(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session's features to descriptors in words."""
    from apportion.features.verbalization.verbalize import describe_session

    measured = inputs.required("features", "utterance_features")
    faces = config.features
    descriptors = describe_session(
        inputs.session, measured, config.verbalize, chosen_detector(faces), faces.reply_max_s
    )
    return Outputs({"descriptors": descriptors})


def _describe_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    return {**config.verbalize.plain(), "detector": chosen_detector(config.features)}


FEATURES = Stage(
    "features",
    _features,
    needs=(),
    per="session",
    help="Measure voice, laughter, face, nods, gaze and smile in the recordings, pauses and overlaps in times.",
    version=8,
    reads=("turns", "media", "events", "language"),
    settings=_features_settings,
    applies=_is_timed,
    check=_check_models,
)
DESCRIBE = Stage(
    "verbalize",
    _describe,
    needs=("features",),
    per="session",
    help="Put the rater's behaviour into words, turn by turn.",
    version=6,
    reads=("turns", "ratings", "media", "events", "language"),
    settings=_describe_settings,
    applies=_is_observed,
)
