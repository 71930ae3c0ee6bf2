"""From one session to its `frames`, `utterance_features` and `events` tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from apportion.corpus.schema import EVENTS, FRAMES, UTTERANCE_FEATURES
from apportion.corpus.session import Media, Session
from apportion.features.events import session_events
from apportion.features.precomputed import precomputed_behaviour, unmeasured_faces
from apportion.features.presence import measured_line, shares
from apportion.features.registry import FEATURES, Measured, is_voice, measure_track
from apportion.features.settings import FeatureSettings
from apportion.features.talk import Talk
from apportion.features.time_series import Series, Span
from apportion.features.turn_windows import floor_spans, intersect, turn_spans
from apportion.foundation.errors import UnitError

if TYPE_CHECKING:
    from apportion.features.emotion_model.expression_pair import ExpressionPair
    from apportion.features.emotion_model.network import EmotionModel
    from apportion.features.face.face_features import FaceMeasures
    from apportion.features.voice.voice_features import Voice

    Emotions = Mapping[str, EmotionModel | ExpressionPair]


Tell = Callable[[str], None]
KINDS = ("audio", "video", "features")
"""What a row of the media table can name; ``features`` are measurements that came with the corpus."""


def unheard(text: str) -> None:
    """For callers who do not want to hear what was chosen."""


def extract_session(
    session: Session, root: Path, settings: FeatureSettings, tell: Tell = unheard, sum_up: Tell = unheard
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Measure the behaviour of every person with media in ``session``; ``root`` is the corpus folder.

    ``tell`` hears, once a recording, what had to be chosen in it (one of several videos, the voice's channel of many),
    and what makes figures doubtful: hardly any face or sound, words outside. ``sum_up`` hears a line a person.

    Returns the tables ``frames`` (sampled series, seconds on the session clock), ``utterance_features`` (mean and
    coverage for every timed turn, person, window and feature that the person's media can show) and ``events``. A mean
    is null where coverage is 0; the emotions are so without a model. What came measured with the corpus (``features``
    rows of the media table, its events) stands in place of what would be measured here. Without media, ``events`` holds
    what times of turns tell, and ``utterance_features`` how many of them each turn has where events came with the
    corpus. Nothing here reads a score.

    Raises ``UnitError`` naming session, file and cause when a recording cannot be used, or holds no moment of any turn.
    """
    try:
        people = observe(session, root, settings, tell=tell)
        measured = _measured(session, people)
        check_overlap(session, measured)
    except UnitError as error:
        raise UnitError(f"session {session.session_id}: {error}") from error
    frames: list[tuple[str, str, float, float]] = []
    means: list[tuple[int, str, str, str, float | None, float]] = []
    for person, behaviour in people.items():
        if behaviour.voice is not None or behaviour.face is not None:
            line = measured_line(session, person, shares(behaviour.face, behaviour.voice), measured)
            sum_up(str(line))
            for fault in line.faults:
                tell(f"{person}: {fault}.")
        frames += _frame_rows(person, behaviour, settings)
        floor = floor_spans(session, person) if _is_shared(session, person) else None
        means += _mean_rows(session, person, behaviour, floor, settings)
    # By turn first, so that a reader of the table meets a turn's people together.
    means.sort(key=lambda row: row[0])
    laughter = {
        person: behaviour.voice.laughter
        for person, behaviour in people.items()
        if behaviour.voice is not None and not _is_shared(session, person)
    }
    events = session_events(session, {person: behaviour.face for person, behaviour in people.items()}, laughter)
    return (
        _table(FRAMES.arrow, session.session_id, frames),
        _table(UTTERANCE_FEATURES.arrow, session.session_id, means),
        _table(EVENTS.arrow, session.session_id, [tuple(vars(event).values()) for event in events]),
    )


def observe(
    session: Session,
    root: Path,
    settings: FeatureSettings,
    go_on: Callable[[float], bool] | None = None,
    tell: Tell = unheard,
) -> dict[str, SessionFeatures]:
    """All that is known of every person with media or given events in ``session``, by name; ``root``: corpus folder.

    ``tell`` hears what had to be chosen in a recording. ``go_on`` is asked at every picture, with its time in seconds
    on its recording's clock, whether to look further.

    Raises ``UnitError`` naming file and cause when a recording cannot be used.
    """
    given = precomputed_behaviour(session.media, root)
    voices = _listen(session, root, settings, tell)
    faces = _measure_faces(session, root, settings, _emotions(session, root, settings), go_on, tell)
    heard = {turn.speaker for turn in session.turns if session.events}
    people = sorted(voices.keys() | faces.keys() | given.keys() | heard)
    talk = {name: Talk(name, session) for name in people if session.turns}
    faces = {name: replace(face, speech=talk[name].speech) if name in talk else face for name, face in faces.items()}
    return {
        name: SessionFeatures(voices.get(name), faces.get(name), given.get(name, {}), talk.get(name)) for name in people
    }


@dataclass(frozen=True)
class SessionFeatures:
    """What is known of one person: voice, face, what was ``given`` with the corpus (series by feature), ``talk``."""

    voice: Voice | None
    face: FaceMeasures | None
    given: Mapping[str, Series]
    talk: Talk | None = None

    def series(self, settings: FeatureSettings) -> dict[str, Series]:
        """Every series of the ``frames`` table; voice at ``series_rate_hz``."""
        by_name: dict[str, Series] = {}
        if self.voice is not None:
            by_name |= {name: s.resampled(settings.series_rate_hz) for name, s in self.voice.series.items()}
        if self.face is not None:
            by_name |= self.face.stored()
        return by_name | {name: _coarse(name, series, settings) for name, series in self.given.items()}

    def measure(self, span: Span, length_s: float, floor: list[Span] | None) -> dict[str, Measured]:
        """Mean and coverage of every feature over ``span``; ``floor`` is where a shared track is this person's."""
        measured: dict[str, Measured] = {}
        if self.voice is not None:
            measured |= self.voice.measure([span] if floor is None else intersect(span, floor), length_s)
            # Who of several people at one microphone laughs is not known.
            measured |= measure_track("laughter", self.voice, [span] if floor is None else [], length_s)
        if self.face is not None:
            measured |= self.face.measure([span], length_s)
        if self.talk is not None:
            measured |= measure_track("talk", self.talk, [span], length_s)
        return measured | {name: series.mean([span], length_s) for name, series in self.given.items()}


def _coarse(name: str, series: Series, settings: FeatureSettings) -> Series:
    """A voice that came measured, at ``series_rate_hz`` where it is finer."""
    step_s = float(np.median(series.ends_s - series.starts_s))
    return (
        series.resampled(settings.series_rate_hz) if is_voice(name) and step_s * settings.series_rate_hz < 1 else series
    )


def _measured(session: Session, people: Mapping[str, SessionFeatures]) -> list[tuple[Media, list[Series]]]:
    """Every row of the media table that something was measured in, and that."""
    measured: list[tuple[Media, list[Series]]] = []
    sounds = _sound_sources(session)
    for person, behaviour in people.items():
        if behaviour.voice is not None:
            measured.append((sounds[person], list(behaviour.voice.series.values())))
        for media in session.media:
            if media.speaker == person and media.kind == "video" and behaviour.face is not None:
                measured.append((media, [behaviour.face.seen]))
            if media.speaker == person and media.kind == "features":
                measured.append((media, list(behaviour.given.values())))
    return measured


def _emotions(session: Session, root: Path, settings: FeatureSettings) -> Emotions:
    """The emotion model of each person who needs one."""
    from apportion.features.emotion_model.choice import load_emotions, resolve_emotion_model

    needing = unmeasured_faces(session.media, root)
    path = resolve_emotion_model(settings.emotion_model) if needing else None
    return {} if path is None else dict.fromkeys(needing, load_emotions(path))


def _listen(session: Session, root: Path, settings: FeatureSettings, tell: Tell) -> dict[str, Voice]:
    """Every person's voice, from their audio row, else from the sound of their whole-picture video."""
    from apportion.features.voice.load_voice import listen

    heard = {
        person: listen(root, media, settings, tell, floor_spans(session, person))
        for person, media in _sound_sources(session).items()
    }
    return {person: voice for person, voice in heard.items() if voice is not None}


def _sound_sources(session: Session) -> dict[str, Media]:
    """The media row that carries each person's sound. Half a picture is no source: its sound is everybody's."""
    _check_kinds(session.media)
    sources = {m.speaker: m for m in session.media if m.kind == "video" and m.channel not in ("left", "right")}
    sources.update({m.speaker: m for m in session.media if m.kind == "audio"})
    return dict(sorted(sources.items()))


def _is_shared(session: Session, person: str) -> bool:
    """Whether the person's sound also carries other people, so that only their own turns are their voice."""
    from apportion.features.media_io.channel import parse_channel

    sources = _sound_sources(session)
    if person not in sources:
        return False
    path, mine = sources[person].path, parse_channel(sources[person])
    others = [parse_channel(m) for m in sources.values() if m.speaker != person and m.path == path]
    return any(_meet_in(mine.track, other.track) and _meet_in(mine.audio, other.audio) for other in others)


def _meet_in(one: int | None, other: int | None) -> bool:
    """Whether two tracks or channels are the same, or one of them is not said."""
    return None in (one, other) or one == other


def _check_kinds(media: Sequence[Media]) -> None:
    for row in media:
        if row.kind not in KINDS:
            raise UnitError(
                f"{row.path}: kind {row.kind!r} of {row.speaker}'s recording is not known. "
                f"Allowed in the media table: {', '.join(KINDS)}."
            )


def _measure_faces(
    session: Session,
    root: Path,
    settings: FeatureSettings,
    emotions: Emotions,
    go_on: Callable[[float], bool] | None,
    tell: Tell,
) -> dict[str, FaceMeasures]:
    """Every person's visible behaviour; a file that shows several people is decoded once."""
    from apportion.features.face.video_analysis import watch

    rows = sorted((m for m in session.media if m.kind == "video"), key=lambda m: (m.path, m.speaker))
    faces: dict[str, FaceMeasures] = {}
    for path in dict.fromkeys(m.path for m in rows):
        faces |= watch(root, [m for m in rows if m.path == path], settings, emotions, go_on, tell)
    return dict(sorted(faces.items()))


def _frame_rows(
    person: str, behaviour: SessionFeatures, settings: FeatureSettings
) -> Iterator[tuple[str, str, float, float]]:
    """(person, feature, time_s, value) of every observed sample."""
    series = behaviour.series(settings)
    for name in sorted(series):
        for time_s, value in zip(series[name].times_s.tolist(), series[name].values.tolist(), strict=True):
            if value == value:  # NaN is not observed
                yield person, name, round(time_s, 4), value


def _mean_rows(
    session: Session, person: str, behaviour: SessionFeatures, floor: list[Span] | None, settings: FeatureSettings
) -> Iterator[tuple[int, str, str, str, float | None, float]]:
    """(turn, person, window, feature, mean, coverage); ``floor`` is where a shared track is this person's voice."""
    for turn_span in turn_spans(session, person, settings.reply_max_s):
        measured = behaviour.measure(turn_span.span, turn_span.length_s, floor)
        for feature in FEATURES:
            if feature in measured:
                yield turn_span.turn, person, turn_span.window, feature, *measured[feature]


def _table(schema: pa.Schema, session_id: str, rows: Sequence[tuple[object, ...]]) -> pa.Table:
    columns = [[session_id] * len(rows), *(list(column) for column in zip(*rows, strict=True))]
    if not rows:
        return schema.empty_table()
    return pa.table([pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)], schema=schema)


Recorded = Sequence[tuple[Media, Sequence[Series]]]
"""Rows of the media table, each with the series that were measured in its recording."""


def check_overlap(session: Session, measured: Recorded) -> None:
    """Refuse a session of which a recording holds no moment of any turn, so that nothing in it could be measured.

    A recording is all that was measured in one file at one ``offset_s``: its sound may begin after its picture. Turns
    without times, and recordings in which there is nothing, are not judged.

    Raises ``UnitError``: names every such recording and its people, when it runs by the session's clock, and when the
    transcript does.
    """
    turns = [(t.start_s, t.end_s) for t in session.turns if t.start_s is not None and t.end_s is not None]
    rows: dict[tuple[str, float], list[Media]] = {}
    spans: dict[tuple[str, float], list[Span]] = {}
    for media, series in measured:
        key = (media.path, media.offset_s)
        rows.setdefault(key, []).append(media)
        spans.setdefault(key, []).extend((float(s.starts_s[0]), float(s.ends_s[-1])) for s in series if len(s.values))
    apart = {
        key: (min(start_s for start_s, _ in found), max(end_s for _, end_s in found))
        for key, found in spans.items()
        if turns and found and not any(_meet(span, turn) for span in found for turn in turns)
    }
    if apart:
        first_s, last_s = min(start_s for start_s, _ in turns), max(end_s for _, end_s in turns)
        told = "; ".join(_told(rows[key], span) for key, span in apart.items())
        raise UnitError(
            f"{told}; the transcript's turns lie from {first_s:.1f} to {last_s:.1f} s, and at none of them. Nothing in "
            "these recordings can be measured. Correct offset_s in the media table (session time of a recording's "
            "presentation time 0), or the transcript's times."
        )


def _meet(span: Span, turn: Span) -> bool:
    return span[0] < turn[1] and turn[0] < span[1]


def _told(rows: Sequence[Media], span: Span) -> str:
    whose: Mapping[str, None] = dict.fromkeys(f"{media.speaker}'s {media.kind}" for media in rows)
    return (
        f"{rows[0].path} ({', '.join(whose)}) runs from {span[0]:.1f} to {span[1]:.1f} s of the session "
        f"(offset_s = {rows[0].offset_s:g})"
    )
