"""A voice against people: the mean label of each turn beside its value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from apportion.corpus.annotators import is_computed
from apportion.corpus.files.tablefile import find_table, read_table
from apportion.corpus.schema import TURN_LABELS
from apportion.corpus.session import EpisodeKey
from apportion.evaluation.figures.agreement import spearman
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.files import digest
from apportion.foundation.html.text import clean, plain, signed
from apportion.foundation.svg import ticks
from apportion.viewer.comparisons.methods import ranks
from apportion.viewer.comparisons.value_sources import Stamp, ValueSource, stamp, values_of
from apportion.viewer.data.index import Index
from apportion.viewer.data.session_ref import Named, is_of_words, named
from apportion.viewer.labels.label_store import Labels

ENOUGH = EvaluationSettings().labelled_turns
Place = tuple[str, int]
"""(session_id, turn)."""


@dataclass(frozen=True)
class Point:
    """A turn of the episode ``key``: its value by a voice, people's mean label, how many gave one, and how far their
    ranks are apart (0 to 1, within the episode)."""

    key: EpisodeKey
    turn: int
    value: float
    label: float
    people: int
    apart: float

    @property
    def session_id(self) -> str:
        """The session that it is of."""
        return self.key[0]


@dataclass(frozen=True)
class Against:
    """A voice against the labels of one name.

    ``correlation`` is the mean over ``sessions`` of Spearman's within the session
    (`apportion.evaluation.figures.agreement`); the ``left_out`` sessions have fewer than `ENOUGH` labelled turns or one
    label throughout.
    """

    points: tuple[Point, ...]
    correlation: float | None
    sessions: int
    left_out: int


def label_means(corpus: Path, labels: Labels, index: Index) -> dict[str, dict[Place, tuple[float, int]]]:
    """By name of the labels, people's mean of each turn and how many gave one: the corpus's own and the overlay's.

    Where an annotator has said something in both, the overlay counts. A label of other words than ``index`` has there
    is left out.
    """
    found: dict[str, dict[Place, dict[str | None, float]]] = defaultdict(lambda: defaultdict(dict))
    path = find_table(corpus, TURN_LABELS.name)
    if path is not None:
        for session_id, turn, annotator, name, value in _corpus_labels(stamp(path)):
            found[name][session_id, turn][annotator] = value
    there = named(index, (session_id for session_id, *_ in labels.standing))
    for (session_id, turn, who, name), label in labels.standing.items():
        if label.value is not None and is_of_words(label, there.get(session_id)):
            found[name][session_id, turn][who] = label.value
    return {
        name: {place: (float(np.mean(list(given.values()))), len(given)) for place, given in places.items()}
        for name, places in sorted(found.items())
    }


def against(
    voice: ValueSource, means: Mapping[Place, tuple[float, int]], sessions: Sequence[str] | None = None
) -> Against:
    """The turns that have both a value and a label; of all sessions, or of those given."""
    rows = values_of(voice)
    wanted = None if sessions is None else set(sessions)
    by_episode: dict[EpisodeKey, list[tuple[int, float]]] = defaultdict(list)
    columns = (rows[name].to_pylist() for name in ("session_id", "rater", "target", "name", "turn", "value"))
    for session_id, rater, target, name, turn, value in zip(*columns, strict=True):
        if (session_id, turn) in means and (wanted is None or session_id in wanted):
            by_episode[session_id, rater, target, name].append((turn, value))
    points: list[Point] = []
    correlations: list[float] = []
    for key, turns in sorted(by_episode.items()):
        values = np.array([value for _, value in turns])
        given = np.array([means[key[0], turn][0] for turn, _ in turns])
        if len(turns) >= ENOUGH and np.ptp(given) > 0:
            correlations.append(float(spearman(values[None], given)[0]))
        gaps = np.abs(ranks(values) - ranks(given))
        points += [
            Point(key, turn, value, means[key[0], turn][0], means[key[0], turn][1], float(gap))
            for (turn, value), gap in zip(turns, gaps, strict=True)
        ]
    mean = float(np.mean(correlations)) if correlations else None
    return Against(tuple(points), mean, len(correlations), len(by_episode) - len(correlations))


@lru_cache(maxsize=2)
def _corpus_labels(file: Stamp) -> tuple[tuple[str, int, str | None, str, float], ...]:
    table = read_table(Path(file[0]), TURN_LABELS)
    columns = (table[name].to_pylist() for name in ("session_id", "turn", "annotator", "name", "value"))
    return tuple(row for row in zip(*columns, strict=True) if not is_computed(row[2]) and row[4] is not None)


MOST_POINTS = 2000
WIDTH, HEIGHT, LEFT, BOTTOM, EDGE = 720, 436, 46, 56, 14
TICKS = 5
APART = 12
"""Turns that are listed below the picture."""


def people_view(
    found: Against, sessions: Container[str], address: Callable[[Point], str], colour: str, axes: tuple[str, str]
) -> dict[str, Any]:
    """The scatter of those of ``sessions``; ``address`` gives a point's link, ``axes`` name values and labels."""
    points = [point for point in found.points if point.session_id in sessions]
    step = max(1, -(-len(points) // MOST_POINTS))
    drawn = points[::step]
    return {
        "picture": _scatter(drawn, address, colour, axes),
        "drawn": len(drawn),
        "turns": len(points),
        "sessions": found.sessions,
        "left_out": found.left_out,
        "correlation": "–" if found.correlation is None else f"{found.correlation:.2f}".replace("-", "−"),
    }


def most_apart(found: Against) -> Sequence[Point]:
    """The turns whose ranks are furthest apart."""
    return sorted(found.points, key=lambda point: (-point.apart, point.session_id, point.turn))[:APART]


def apart_row(point: Point, named: Named) -> dict[str, Any]:
    """A turn of `most_apart` as it is shown."""
    return {
        "session_id": clean(point.session_id, 120),
        "slug": named.slug,
        "place": named.places.get(point.key[1:], 0),
        "turn": point.turn,
        "said": clean(" ".join(named.texts.get(point.turn, "").split()), 160),
        "value": signed(point.value),
        "label": plain(point.label),
    }


def _scatter(points: Sequence[Point], address: Callable[[Point], str], colour: str, axes: tuple[str, str]) -> Markup:
    across, up = ([point.value for point in points], [point.label for point in points])
    x, y = _Scale(across, LEFT, WIDTH - EDGE), _Scale(up, HEIGHT - BOTTOM, EDGE)
    parts = [
        Markup('<svg class="scatter {}" viewBox="0 0 {} {}" role="group" aria-label="{} against {}">').format(
            colour, WIDTH, HEIGHT, axes[0], axes[1]
        )
    ]
    floor = HEIGHT - BOTTOM
    parts += [_line(f"M{x.at(value)} {EDGE}V{floor}", x.at(value), floor + 20, "middle", value) for value in x.ticks]
    parts += [
        _line(f"M{LEFT} {y.at(value)}H{WIDTH - EDGE}", LEFT - 7, y.at(value) + 4, "end", value) for value in y.ticks
    ]
    named = Markup('<text class="axis" x="{}" y="{}" text-anchor="{}">{}</text>')
    parts.append(named.format(WIDTH - EDGE, HEIGHT - 6, "end", f"{axes[0]} →"))
    parts.append(named.format(LEFT + 4, EDGE + 10, "start", f"↑ {axes[1]}"))
    parts += [_dot(point, x, y, address(point)) for point in points]
    return Markup("").join(parts) + Markup("</svg>")


def _line(path: str, x: float, y: float, anchor: str, value: float) -> Markup:
    """A line across the picture and the number that it stands for."""
    return Markup('<path class="grid" d="{}"/><text x="{}" y="{}" text-anchor="{}">{}</text>').format(
        path, x, y, anchor, plain(value)
    )


def _dot(point: Point, x: _Scale, y: _Scale, address: str) -> Markup:
    says = f"{clean(point.session_id, 120)}, turn {point.turn}: {signed(point.value)}, people {plain(point.label)}"
    across, up = _shift(point)
    return Markup('<a href="{}" aria-label="{}"><circle cx="{}" cy="{}" r="4"><title>{}</title></circle></a>').format(
        address, says, round(x.at(point.value) + across, 1), round(y.at(point.label) + up, 1), says
    )


class _Scale:
    """Values onto pixels, with a margin; a single value stands in the middle."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        wide = (high - low) or abs(high) or 1.0
        self.low, self.high = low - 0.05 * wide, high + 0.05 * wide
        self.start, self.end = start, end
        inside = (value for value in ticks(low, high, TICKS) if low <= value <= high) if high > low else (low,)
        self.ticks = [float(round(value, 12)) for value in inside]

    def at(self, value: float) -> float:
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)


def _shift(point: Point) -> tuple[float, float]:
    """Up to 5 pixels, always the same for a turn: labels are few numbers, and points on each other are one."""
    noise = int(digest([point.session_id, point.turn])[:8], 16)
    return ((noise & 0xFF) / 255 * 4 - 2, (noise >> 8 & 0xFF) / 255 * 10 - 5)
