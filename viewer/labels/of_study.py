"""Ratings of turns that a study's annotators gave, as labels beside a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from apportion.corpus.corpus import Corpus
from apportion.foundation.errors import InputError
from apportion.study.all_answers import gathered
from apportion.study.design.criteria import Criterion
from apportion.study.design.folder import StudyFolder
from apportion.study.import_export.turn_labels import TurnRating, turn_ratings
from apportion.viewer.labels.label import Label, said_digest
from apportion.viewer.labels.label_store import Overlay
from apportion.viewer.labels.question import MOST_NAME, MOST_TEXT, Question


def export_labels(study: Path, corpus: Path, out: Path, database: str | None = None) -> int:
    """Write a study's ratings of turns as labels into a new file; how many there are.

    Raises
    ------
    InputError
        As `turn_ratings`; the file is there, or cannot be written.
    """
    folder = StudyFolder.open(study)
    ratings = turn_ratings(folder, gathered(folder, database).people, Corpus.open(corpus))
    if out.exists():
        # Appended to, it would have every label twice.
        raise InputError(f"{out} is there. Name a file that is not; `apportion label merge` takes several.")
    return _keep(ratings, out)


def _keep(ratings: Iterable[TurnRating], path: Path) -> int:
    ratings = tuple(ratings)
    overlay = Overlay(path)
    for criterion in {rating.criterion.name: rating.criterion for rating in ratings}.values():
        overlay.ask(_question(criterion))
    overlay.add(*map(_label, ratings))
    return len(ratings)


def _question(criterion: Criterion) -> Question:
    low, high = criterion.scale
    means = [criterion.anchors.get(end, "")[:MOST_NAME] for end in ((high, low) if criterion.reversed else (low, high))]
    return Question(criterion.name, criterion.question[:MOST_TEXT], float(low), float(high), 1.0, *means)


def _label(rating: TurnRating) -> Label:
    low, high = rating.criterion.scale
    return Label(
        rating.session_id,
        rating.turn,
        said_digest(rating.speaker, rating.text),
        rating.annotator,
        rating.criterion.name,
        rating.value,
        float(low),
        float(high),
        blind=True,
        at=rating.at,
    )
