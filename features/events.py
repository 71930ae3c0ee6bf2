"""What people did at a moment, one row an event: what faces showed, voices sounded like, and talk tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from apportion.corpus.session import Event, Session
from apportion.features.talk import talk_events
from apportion.features.time_series import Series, Span

if TYPE_CHECKING:
    from apportion.features.face.face_features import FaceMeasures

SMILE, BLINK, LAUGHTER = "smile", "blink", "laughter"
MOVED = {"nod_yes": "head_y", "nod_single": "head_y", "nod_no": "head_x"}
"""Kinds of head events, and the path that tells how far the head went."""


def session_events(
    session: Session, faces: Mapping[str, FaceMeasures | None], laughter: Mapping[str, Sequence[Span]]
) -> list[Event]:
    """All events of a session, by person, kind and start; ``faces`` and ``laughter`` by person."""
    seen = [event for person, face in faces.items() if face is not None for event in _of_face(person, face)]
    heard = [Event(person, LAUGHTER, *span) for person, spans in laughter.items() for span in spans]
    return sorted([*talk_events(session), *seen, *heard], key=lambda event: (event.person, event.kind, event.start_s))


def _of_face(person: str, face: FaceMeasures) -> Iterator[Event]:
    """Nods and shakes (strength: range of the head, face heights), smiles (highest score, where told), blinks."""
    for kind, spans in face.head_events.items():
        for span in spans:
            yield Event(person, kind, *span, _range(face.traces[MOVED[kind]], span))
    for span in face.smiles:
        yield Event(person, SMILE, *span, _highest(face.traces.get("smile_score"), span))
    for span in face.blinks:
        yield Event(person, BLINK, *span)


def _range(series: Series, span: Span) -> float | None:
    values = _inside(series, span)
    return float(np.ptp(values)) if len(values) else None


def _highest(series: Series | None, span: Span) -> float | None:
    values = _inside(series, span) if series is not None else np.zeros(0)
    return float(values.max()) if len(values) else None


def _inside(series: Series, span: Span) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = series.within((span[0], np.nextafter(span[1], np.inf))).values
    return values[np.isfinite(values)]
