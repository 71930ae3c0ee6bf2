"""A voice against people: the mean label of each turn beside its value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from apportion.corpus.annotators import is_computed
from apportion.corpus.files.tablefile import find_table, read_table
from apportion.corpus.schema import TURN_LABELS
from apportion.corpus.session import EpisodeKey
from apportion.evaluation.figures.agreement import spearman
from apportion.evaluation.settings import EvaluationSettings
from apportion.viewer.data.comparisons.contrast import ranks
from apportion.viewer.data.comparisons.value_sources import Stamp, ValueSource, stamp, values_of
from apportion.viewer.data.index import Index
from apportion.viewer.data.session_ref import is_of_words, named
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
