"""What people have rated: JSON Lines in the folder of the new corpus, on the disk before the next is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS, CharacterScores, DimensionScore, off_range
from apportion.foundation.errors import InputError
from apportion.foundation.files import append_lines, take_lines
from apportion.llm_client.request import json_line

KEPT = "by_people.jsonl"
"""The file's name, in the folder of the new corpus."""
SKIPPED = "left out by the rater"
NOT_RATED = "not rated yet"
MODELS_ONLY = ("rules",)
"""Annotators that are no people."""


class RatedKey(NamedTuple):
    """What tells a person's rating from every other."""

    annotator: str
    session_id: str
    target: str
    dimension: str


@dataclass(frozen=True)
class RatingLog:
    """The ratings in a folder; a later one of the same replaces an earlier one.

    ``path``: The file. ``given``: What it holds, as long as only this process writes to it.
    """

    path: Path
    given: dict[RatedKey, DimensionScore]

    @classmethod
    def open(cls, folder: Path) -> RatingLog:
        """Read the file of a folder, without a last line that a kill has cut off; there may be none.

        Raises InputError: a line that is damaged, by number.
        """
        return cls(folder / KEPT, _given_in(folder / KEPT, mend=True))

    @staticmethod
    def read(folder: Path) -> dict[RatedKey, DimensionScore]:
        """What the file of a folder holds, which is not changed; raises as `open`."""
        return _given_in(folder / KEPT)

    def add(self, ratings: Mapping[RatedKey, DimensionScore]) -> int:
        """Write ratings down; they are on the disk when this returns. How many replace another one.

        Raises OSError: the file cannot be written.
        """
        new = {key: given for key, given in ratings.items() if self.given.get(key) != given}
        if new:
            append_lines(self.path, (json_line(_line(key, given)) for key, given in new.items()))
        replaced = sum(key in self.given for key in new)
        self.given.update(new)
        return replaced

    def verdicts(self) -> list[CharacterScores]:
        """The verdicts of all people, a dimension that was not rated without a score."""
        people: dict[tuple[str, str, str], dict[str, DimensionScore]] = {}
        for key, given in self.given.items():
            people.setdefault((key.session_id, key.annotator, key.target), {})[key.dimension] = given
        empty = dict.fromkeys(DIMENSIONS, DimensionScore(None, cause=NOT_RATED))
        return [CharacterScores(*key, {**empty, **given}) for key, given in sorted(people.items())]


def raters_in(folder: Path) -> list[str]:
    """The people whose ratings are kept in a folder, sorted; nothing in it is changed.

    Raises InputError as `RatingLog.open`.
    """
    return sorted({key.annotator for key in RatingLog.read(folder)})


def check_annotator(name: str) -> str:
    """The name of a person who rates.

    Raises InputError: it is empty, cannot be shown, or is a judge's that is no person.
    """
    if not name.strip() or not name.isprintable() or name != name.strip() or "@" in name or name in MODELS_ONLY:
        raise InputError(
            f"annotator {name!r:.80}: a person's name is needed, or a sign for it such as rater_1; "
            f"no @, which models have, and none of {', '.join(MODELS_ONLY)}"
        )
    return name


def left(ratings: RatingLog, annotator: str, keys: Iterable[tuple[str, str]]) -> int:
    """How many dimensions of these (session, person) an annotator has not rated."""
    return sum(
        RatedKey(annotator, session_id, target, dimension) not in ratings.given
        for session_id, target in keys
        for dimension in DIMENSIONS
    )


def _given_in(path: Path, *, mend: bool = False) -> dict[RatedKey, DimensionScore]:
    given: dict[RatedKey, DimensionScore] = {}
    take_lines(path, lambda line: given.update([_read(line)]), mend=mend, what="a rating")
    return given


def _line(key: RatedKey, given: DimensionScore) -> dict[str, Any]:
    return {**key._asdict(), "score": given.score, "reasoning": given.reasoning, "cause": given.cause}


def _read(line: dict[str, Any]) -> tuple[RatedKey, DimensionScore]:
    key = RatedKey(*(str(line[name]) for name in RatedKey._fields))
    if key.dimension not in RANGES:
        raise ValueError(f"dimension {key.dimension!r:.40}; there are {', '.join(DIMENSIONS)}")
    score = line["score"]
    problem = None if score is None else off_range(key.dimension, score)
    if problem is not None:
        raise ValueError(f"score {score!r:.40}: {problem}")
    cause = None if score is not None else str(line["cause"])
    return key, DimensionScore(None if score is None else int(score), str(line["reasoning"]), cause)
