"""The behaviour in one media file, for people who want to look before they run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from apportion.corpus.recordings.channel import HALVES, parse_sound
from apportion.corpus.recordings.people import share
from apportion.corpus.recordings.presentation import present
from apportion.corpus.session import Media, Session
from apportion.features.emotion_model.choice import missing_emotion, resolve_emotion_model
from apportion.features.extract import SessionFeatures, observe
from apportion.features.face.choice import missing_mesh, named
from apportion.features.face.nods import HeadEvents
from apportion.features.media_io.channel import parse_channel
from apportion.features.presence import lacking, shares
from apportion.features.registry import FEATURES
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Series, Span
from apportion.foundation.errors import InputError, UnitError

PERSON = "person"
REMEDY = "Choose the channel track{0}, or another of them."
LATEST_S = 1.0
"""A header may promise this much less than there is."""
DENSE_S = 60.0
"""Up to this length of window the voice is given as it was measured, not at ``series_rate_hz``."""

Progress = Callable[[float, float | None], None]
"""Hears how many seconds were looked at, and of how many, None where the file does not say."""


@dataclass(frozen=True)
class Figure:
    """One feature over the window: ``mean`` in ``unit``, None where unobserved; ``coverage`` 0 to 1."""

    feature: str
    mean: float | None
    coverage: float
    unit: str


@dataclass(frozen=True)
class Probe:
    """What was measured of ``file`` from ``start_s`` to ``end_s``, seconds of its presentation time.

    ``series`` are the rows of the ``frames`` table within the window, ``events`` the nods and shakes whose middle lies
    in it; ``notes`` say what a reader should know of how the figures came about.
    """

    file: str
    holds: str
    start_s: float
    end_s: float
    figures: tuple[Figure, ...]
    series: Mapping[str, Series]
    events: HeadEvents
    settings: FeatureSettings
    emotion_model: str | None
    notes: tuple[str, ...]
    line: str = ""
    """``face 96 %, sound 100 %``: the shares of the file in which somebody is seen and heard."""

    @property
    def shown_name(self) -> str:
        """The file as it was named, without characters that could change a terminal or a page."""
        return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in self.file)

    @property
    def nods(self) -> dict[str, tuple[Span, ...]]:
        """Nods and shakes by the name of their feature, none without pictures."""
        known = any(figure.feature == "nod_yes" for figure in self.figures)
        return self.events.by_feature if known else {}

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``json.dumps``."""
        return {
            "file": self.file,
            "holds": self.holds,
            "start_s": round(self.start_s, 4),
            "end_s": round(self.end_s, 4),
            "features": {
                f.feature: {"mean": f.mean, "coverage": round(f.coverage, 4), "unit": f.unit} for f in self.figures
            },
            "events": {name: self._occasions(name, spans) for name, spans in self.nods.items()},
            "emotion_model": self.emotion_model,
            "notes": list(self.notes),
            "line": self.line,
            "settings": self.settings.model_dump(mode="json", exclude=set(self.settings.SET_BY_THE_RUN)),
        }

    def _occasions(self, name: str, spans: Sequence[Span]) -> dict[str, Any]:
        """How many, how many a minute of the time in which the face was seen, and when."""
        rate = next(figure.mean for figure in self.figures if figure.feature == f"{name}_per_min")
        at = [{"start_s": round(start_s, 3), "end_s": round(end_s, 3)} for start_s, end_s in spans]
        return {"count": len(spans), "per_minute": None if rate is None else round(rate, 3), "at": at}


@dataclass(frozen=True)
class Contents:
    """What a file ``holds`` in words: ``channels`` of sound (0: none), pictures, and when it ends."""

    holds: str
    channels: int
    pictures: bool
    end_s: float | None


def probe(
    path: Path,
    settings: FeatureSettings,
    start_s: float = 0.0,
    end_s: float | None = None,
    channels: Sequence[str] = (),
    progress: Progress | None = None,
) -> Probe:
    """Measure one audio or video file as the pipeline would, and report the window from ``start_s`` to ``end_s``.

    Without ``end_s`` to its end, and then all figures are those that `apportion run --only features` would give one
    utterance of
    that length. With it the sound is still analysed whole, but pictures only to a few seconds after it, so that the
    gaze is judged by them. ``channels`` holds at most one channel of the sound (``L``, ``R`` or a number from 0) and
    one half of the picture (``left``, ``right``).

    Raises ``InputError`` for a file that cannot be used, a window that is none or lies beyond the file's end, and a
    channel that the file does not have.
    """
    place = _found(path)
    _check_window(start_s, end_s)
    try:
        stand_in, settings = missing_mesh(settings), named(settings)
        contents = _contents(place, settings, channels)
        session = Session(PERSON, (), media=_media(place, contents, channels))
        if contents.end_s is not None and start_s >= contents.end_s + LATEST_S:
            raise _too_late(path, start_s, contents.end_s)
        until_s = math.inf if end_s is None else end_s + _needed_after_s(settings)
        watching = _Watching(until_s, contents.end_s, progress)
        chosen: list[str] = []
        behaviour = observe(session, place.parent, settings, watching.go_on, chosen.append).get(PERSON)
    except UnitError as error:
        raise InputError(str(error)) from error
    length_s = 0.0 if behaviour is None else _length_s(behaviour)
    if behaviour is None or length_s <= 0:
        raise InputError(f"{path}: nothing in it could be decoded. Copy the recording again or convert it.")
    if start_s >= length_s:
        raise _too_late(path, start_s, length_s)
    window = (start_s, length_s if end_s is None else min(end_s, length_s))
    notes = list(chosen)
    notes += [] if end_s is None or end_s <= window[1] else [f"the recording ends at {window[1]:.2f} s"]
    if watching.stopped:
        notes.append(f"gaze is judged by the pictures up to {until_s:.1f} s")
    if stand_in is not None and behaviour.face is not None:
        notes.append("no face mesh, so that haar reads the face: get it with `apportion models fetch mesh`")
    if contents.channels and behaviour.voice is None:
        notes.append(f"the sound beside half a picture ({channels[0]}) is everybody's: name its channel, too")
    return _reported(path, contents.holds, settings, window, behaviour, notes)


def _reported(
    path: Path, holds: str, settings: FeatureSettings, window: Span, behaviour: SessionFeatures, notes: list[str]
) -> Probe:
    measured = behaviour.measure(window, window[1] - window[0], None)
    names = [name for name in FEATURES if name in measured]
    found = shares(behaviour.face, behaviour.voice)
    face = behaviour.face
    model = resolve_emotion_model(settings.emotion_model) if face is not None else None
    lack = missing_emotion(settings.emotion_model) if face is not None else None
    if lack is not None:
        none = "no emotion model: get one with `apportion models fetch mesh` or `apportion models fetch emotion`"
        notes = [*notes, lack if model is not None else none]
    return Probe(
        file=str(path),
        holds=holds,
        start_s=window[0],
        end_s=window[1],
        figures=tuple(Figure(name, *measured[name], FEATURES[name].unit) for name in names),
        series={name: series.within(window) for name, series in _series(behaviour, settings, window).items()},
        events=HeadEvents((), ()) if face is None else _events(face.events, window),
        settings=settings,
        emotion_model=None if model is None else str(model),
        notes=(*notes, *lacking(found, dict.fromkeys(found, path.name))),
        line=", ".join(share(name, value) for name, value in found.items()),
    )


def _found(path: Path) -> Path:
    try:
        place = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        cause = "no such file" if isinstance(error, FileNotFoundError) else getattr(error, "strerror", None) or error
        raise InputError(f"{path}: {cause}. Name one audio or video file.") from None
    if place.is_dir():
        raise InputError(
            f"{path} is a folder. Name one audio or video file, or make a corpus of it with `apportion import media`."
        )
    if not place.is_file():
        raise InputError(f"{path}: not a regular file. Name one audio or video file.")
    return place


def _check_window(start_s: float, end_s: float | None) -> None:
    if not (math.isfinite(start_s) and start_s >= 0):
        raise InputError(f"start = {start_s:g} s: must be 0 or more seconds from the beginning of the file.")
    if end_s is not None and not (math.isfinite(end_s) and end_s > start_s):
        raise InputError(
            f"end = {end_s:g} s: must be later than start = {start_s:g} s. Leave it out for the file's end."
        )


def _too_late(path: Path, start_s: float, length_s: float) -> InputError:
    return InputError(f"start = {start_s:g} s: {path} ends at {length_s:.2f} s. Choose an earlier start.")


def _contents(place: Path, settings: FeatureSettings, channels: Sequence[str]) -> Contents:
    """Open the file once to see what is in it; the first sound, not the header, says how many channels there are."""
    from apportion.features.media_io.media import open_recording

    with open_recording(place.parent, place.name, settings.missing_tolerance_s) as recording:
        holds = recording.holds()
    presentation = present(place, place.name)
    asked = next(filter(None, map(parse_sound, channels)), None)
    # Half a picture alone brings no sound: it does not matter which track sounds.
    silent = bool(channels) and all(name in HALVES for name in channels)
    track = None if silent and presentation.videos else presentation.sound(asked and asked[0], REMEDY)
    if not presentation.sounds and not presentation.videos:
        raise UnitError(
            f"{place.name}: neither sound nor pictures in the file (it holds {holds}). Name an audio or video file."
        )
    sounds = len(presentation.sounds) if silent else track.channels if track else 0
    return Contents(holds, sounds, presentation.videos > 0, presentation.end_s)


def _media(place: Path, contents: Contents, channels: Sequence[str]) -> tuple[Media, ...]:
    """The rows of the media table that the file would have."""
    halves = [name for name in channels if name in HALVES]
    sounds = [name for name in channels if name not in HALVES]
    if len(halves) > 1 or len(sounds) > 1:
        raise InputError(
            f"channel = {', '.join(channels)}: give at most one channel of the sound and one half of the picture."
        )
    if halves and not contents.pictures:
        raise InputError(f"channel = {halves[0]}: {place.name} has no picture to halve. Use L, R or a number.")
    if sounds:
        _check_sound(place, contents, sounds[0])
    sound = sounds[0] if sounds else None
    if not contents.pictures:
        return (Media(PERSON, "audio", place.name, channel=sound),)
    if not halves:
        return (Media(PERSON, "video", place.name, channel=sound),)
    seen = Media(PERSON, "video", place.name, channel=halves[0])
    return (seen,) if sound is None else (seen, Media(PERSON, "audio", place.name, channel=sound))


def _check_sound(place: Path, contents: Contents, name: str) -> None:
    try:
        index = parse_channel(Media(PERSON, "audio", place.name, channel=name)).audio or 0
    except UnitError:
        raise InputError(
            f"channel = {name!r}: allowed are L, R or a number from 0 (sound), track0, track1:L (one of several sound "
            "tracks), left or right (half of the picture)."
        ) from None
    if index >= contents.channels:
        allowed = ", ".join(str(number) for number in range(contents.channels)) or "none: it has no sound"
        raise InputError(
            f"channel = {name}: {place.name} does not have it. Channels of its sound: {allowed} (L is 0, R is 1)."
        )


def _needed_after_s(settings: FeatureSettings) -> float:
    """Seconds of pictures after a moment that can still change what is said about it."""
    return settings.nod_window_s + settings.face_patience / settings.detector_rate_hz + 1.0


class _Watching:
    """Tells how far the pictures are looked at, and ends the looking at ``until_s``."""

    def __init__(self, until_s: float, end_s: float | None, progress: Progress | None) -> None:
        self.stopped = False
        self._until_s, self._progress = until_s, progress
        self._total_s = min(until_s, math.inf if end_s is None else end_s)

    def go_on(self, time_s: float) -> bool:
        if self._progress is not None:
            self._progress(time_s, self._total_s if math.isfinite(self._total_s) else None)
        self.stopped = time_s > self._until_s
        return not self.stopped


def _length_s(behaviour: SessionFeatures) -> float:
    series = [] if behaviour.voice is None else list(behaviour.voice.series.values())
    series += [] if behaviour.face is None else [behaviour.face.seen]
    return max((float(s.ends_s[-1]) for s in series if len(s.ends_s)), default=0.0)


def _series(behaviour: SessionFeatures, settings: FeatureSettings, window: Span) -> dict[str, Series]:
    series = behaviour.series(settings)
    if behaviour.voice is not None and window[1] - window[0] <= DENSE_S:
        series |= behaviour.voice.series
    return series


def _events(events: HeadEvents, window: Span) -> HeadEvents:
    def inside(spans: Sequence[Span]) -> tuple[Span, ...]:
        return tuple(span for span in spans if window[0] <= sum(span) / 2 < window[1])

    return replace(events, yes=inside(events.yes), no=inside(events.no))


DIGITS = {"Hz": 2, "dB": 2, "fraction": 5, "%": 3, "nods": 0, "shakes": 0}
"""Digits behind the point, by unit; 3 for others."""


def render(probe: Probe) -> str:
    """A line a feature, when there were nods and shakes, and what a reader should know."""
    lines = [
        f"{probe.shown_name}: {probe.holds}, from {probe.start_s:.2f} to {probe.end_s:.2f} s",
        "",
        f"{'feature':<17}{'mean':>10}  {'unit':<13}coverage",
    ]
    observed = [f for f in probe.figures if f.unit != "probability" or probe.emotion_model is not None]
    lines += [f"{f.feature:<17}{_mean(f):>10}  {f.unit:<13}{f.coverage:>7.1%}" for f in observed]
    lines += [f"{feature} at {_times(spans)}" for feature, spans in probe.nods.items() if spans]
    return "\n".join([*lines, "", *(f"note: {note}" for note in probe.notes), probe.line])


def _mean(figure: Figure) -> str:
    if figure.mean is None:
        return "-"
    return f"{figure.mean:.{DIGITS.get(figure.unit, 3)}f}"


def _times(spans: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{start_s:.2f} to {end_s:.2f} s" for start_s, end_s in spans)
