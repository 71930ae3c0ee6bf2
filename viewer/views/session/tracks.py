"""Behaviour over the session's time, a row a feature: measured series, or the means of turns where there are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from apportion.corpus.session import TALK_KINDS
from apportion.features import registry
from apportion.features.events import LAUGHTER
from apportion.foundation.arrays import Floats
from apportion.foundation.html.text import number
from apportion.viewer.views.session.axis import Axis
from apportion.viewer.views.session.people import Person

WIDTH, HEIGHT, EDGE = 1000.0, 100.0, 8.0
"""Of the drawing that a row's lines are in; it is stretched to the place that there is."""
BINS = 800
"""Stretches of a row that a line is thinned to; of each the mean is drawn, of events whether there is one."""
HOLD_S = 1.5
"""A line goes on over stretches without a value that are shorter."""


@dataclass(frozen=True)
class Feature:
    """A row: what it is called, its unit, the ends that it always has, and whether it is events and no level."""

    name: str
    title: str
    unit: str = ""
    ends: tuple[float, float] | None = None
    events: bool = False


def _row(row: registry.Feature) -> Feature:
    if row.track == "voice":
        return Feature(row.name, row.title, row.unit)
    return Feature(row.name, row.title, "", (0.0, 1.0), events=isinstance(row.words, registry.Count))


MOMENTS = {kind: f"{kind.capitalize()}s" for kind in TALK_KINDS} | {LAUGHTER: "Laughter"}
"""Kinds of events that no series has, and what their rows are called."""
DRAWN = [row for row in registry.FEATURES.values() if row.drawn]
GROUPS: tuple[tuple[str, tuple[Feature, ...]], ...] = (
    ("Voice", tuple(_row(row) for row in DRAWN if row.track == "voice")),
    ("Face", tuple(_row(row) for row in DRAWN if row.track == "face" and row.name not in registry.EMOTIONS)),
    ("Talk", tuple(Feature(kind, title, "", (0.0, 1.0), events=True) for kind, title in MOMENTS.items())),
    ("Emotions", tuple(_row(row) for row in DRAWN if row.name in registry.EMOTIONS)),
)
COLUMNS = ("person", "feature", "time_s", "value")
"""Columns of ``frames`` that are read."""
FEATURES = tuple(feature for _, features in GROUPS for feature in features)


@dataclass(frozen=True)
class Line:
    """One person in a row: the path of a drawing `WIDTH` wide and `HEIGHT` high; ``said`` is its range in words."""

    person: Person
    path: str
    said: str


@dataclass(frozen=True)
class Track:
    """A row; ``low`` and ``high`` are written at its ends."""

    feature: Feature
    low: str
    high: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class TrackGroup:
    """Rows that belong together; ``folded`` where they are many."""

    title: str
    tracks: tuple[Track, ...]
    folded: bool


def tracks_of(
    frames: Iterable[pa.RecordBatch] | None,
    means: Sequence[Mapping[str, Any]],
    axis: Axis,
    people: Mapping[str, Person],
    events: Sequence[Mapping[str, Any]] = (),
) -> tuple[TrackGroup, ...]:
    """The rows of a session, without those of which nothing was measured; none where turns have no times.

    ``frames``: the session's ``frames``. ``means``: the session's ``utterance_features``, for features that ``frames``
    does not have. ``events``: the session's ``events``, of which those are drawn that no series has.
    """
    if not axis.timed:
        return ()
    series = _measured(frames) if frames is not None else {}
    told = {feature for feature, _ in series}
    series |= {key: values for key, values in _of_turns(means, axis).items() if key[0] not in told}
    series |= _moments(events)
    groups = []
    for title, features in GROUPS:
        tracks = [track for feature in features if (track := _track(feature, series, axis, people)) is not None]
        if tracks:
            groups.append(TrackGroup(title, tuple(tracks), folded=title == "Emotions"))
    return tuple(groups)


Samples = tuple[Floats, Floats]
"""Times in seconds and values, both [shape=(F,)]; NaN ends a line."""


def _measured(frames: Iterable[pa.RecordBatch]) -> dict[tuple[str, str], Samples]:
    """Series by feature and person. An hour of two films is a million rows: only what is drawn of a batch is kept."""
    told = {feature.name for feature in FEATURES}
    parts: dict[tuple[str, str], list[Samples]] = {}
    for batch in frames:
        (features, of_feature), (people, of_person) = (_codes(batch[name]) for name in ("feature", "person"))
        times, values = (batch[name].to_numpy(zero_copy_only=False) for name in ("time_s", "value"))
        usable = np.isfinite(times) & np.isfinite(values)
        for place, feature in enumerate(features):
            if feature not in told:
                continue
            of_this = np.flatnonzero(usable & (of_feature == place))
            for speaker, person in enumerate(people):
                own = of_this[of_person[of_this] == speaker]
                if len(own):
                    parts.setdefault((feature, person), []).append((times[own], values[own]))
    found = {}
    for key, own_parts in parts.items():
        times, values = (np.concatenate([part[which] for part in own_parts]) for which in (0, 1))
        order = np.argsort(times, kind="stable")
        found[key] = (times[order], values[order])
    return found


def _codes(column: pa.Array) -> tuple[list[str], NDArray[np.int32]]:
    """The different names of a column, and which of them each row has."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)


def _of_turns(means: Iterable[Mapping[str, Any]], axis: Axis) -> dict[tuple[str, str], Samples]:
    """The mean over each turn as a level from its start to its end."""
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in means:
        span = axis.spans.get(row["turn"])
        if row["window"] == "during" and row["mean"] is not None and span is not None:
            own = points.setdefault((row["feature"], row["person"]), [])
            own += [(span[0], row["mean"]), (span[1], row["mean"]), (span[1], np.nan)]
    return {
        key: (np.array([time for time, _ in own]), np.array([value for _, value in own])) for key, own in points.items()
    }


def _moments(events: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Samples]:
    """Events that no series has, by kind and person, on from their start to their end."""
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in events:
        if row["kind"] in MOMENTS:
            points.setdefault((row["kind"], row["person"]), []).extend([(row["start_s"], 1.0), (row["end_s"], 0.0)])
    return {key: (np.array([t for t, _ in own]), np.array([value for _, value in own])) for key, own in points.items()}


def _track(
    feature: Feature, series: Mapping[tuple[str, str], Samples], axis: Axis, people: Mapping[str, Person]
) -> Track | None:
    own = {speaker: series[feature.name, speaker] for speaker in people if (feature.name, speaker) in series}
    if not own:
        return None
    everything = np.concatenate([values for _, values in own.values()])
    low, high = feature.ends or (float(np.nanmin(everything)), float(np.nanmax(everything)))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    lines = []
    for speaker, (times, values) in own.items():
        xs = (
            WIDTH * np.clip((times - axis.start) / (axis.end - axis.start), 0.0, 1.0) + 0.0
        )  # + 0.0 turns -0.0 into 0.0
        draw = _events if feature.events else _level
        gap = WIDTH * HOLD_S / (axis.end - axis.start)
        path = draw(xs, (values - low) / (high - low), gap)
        said = f"{number(float(np.nanmin(values)))} to {number(float(np.nanmax(values)))} {feature.unit}".rstrip()
        lines.append(Line(people[speaker], path, said))
    ends = ("", "") if feature.events else (f"{number(low)}", f"{number(high)} {feature.unit}".rstrip())
    return Track(feature, *ends, tuple(lines))


def _level(xs: Floats, heights: Floats, gap: float) -> str:
    """A line through the means of stretches; it breaks where nothing was seen for longer than ``gap``."""
    xs, heights = _thinned(xs, heights)
    parts, last = [], -np.inf
    for x, height in zip(xs.tolist(), heights.tolist(), strict=True):
        if np.isnan(height):
            last = -np.inf
            continue
        y = EDGE + (HEIGHT - 2 * EDGE) * (1.0 - min(1.0, max(0.0, height)))
        # A lone point is drawn as a short stroke: its line would have no length.
        parts.append(f"L{x:.1f} {y:.1f}" if x - last <= max(gap, 2 * WIDTH / BINS) else f"M{x:.1f} {y:.1f}h.8")
        last = x
    return "".join(parts)


def _events(xs: Floats, heights: Floats, gap: float) -> str:
    """A bar for each stretch in which something happens."""
    parts = []
    on = heights > 0.5
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        left, right = float(xs[first]), float(xs[min(stop, len(xs) - 1)])
        parts.append(f"M{left:.1f} {EDGE * 2:g}H{max(right, left + 1.5):.1f}V{HEIGHT - EDGE * 2:g}H{left:.1f}z")
    return "".join(parts)


def _thinned(xs: Floats, heights: Floats) -> Samples:
    if len(xs) <= BINS:
        return xs, heights
    bins = np.minimum((xs / WIDTH * BINS).astype(np.int64), BINS - 1)
    seen = np.isfinite(heights)
    counts = np.bincount(bins[seen], minlength=BINS)
    with np.errstate(invalid="ignore"):
        means = np.bincount(bins[seen], heights[seen], minlength=BINS) / counts
    kept = counts > 0
    return (np.arange(BINS)[kept] + 0.5) * WIDTH / BINS, means[kept]
