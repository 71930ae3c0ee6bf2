"""What a judge says of one person in one episode: a score a dimension, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus.sotopia_eval import OVERALL, OVERALL_RANGE, RANGES
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.llm_client.request import json_line

DIMENSIONS = ("BEL", "REL", "KNO", "SEC", "SOC", "FIN", "GOAL")
"""The seven in the order of Appendix D, in which judges are asked for them; ranges are `corpus.sotopia_eval.RANGES`."""


@dataclass(frozen=True)
class DimensionScore:
    """One score with its reasoning; ``score`` is None where there is none, and ``cause`` says why."""

    score: int | None
    reasoning: str = ""
    cause: str | None = None


@dataclass(frozen=True)
class CharacterScores:
    """What ``judge`` says of ``target`` in a session: all seven `DIMENSIONS`."""

    session_id: str
    judge: str
    target: str
    given: Mapping[str, DimensionScore]

    @property
    def overall(self) -> float | None:
        """The mean of the seven (section 6); None as soon as one of them is, never 0.

        >>> scores = dict.fromkeys(DIMENSIONS, DimensionScore(0)) | {"GOAL": DimensionScore(7)}
        >>> CharacterScores("s", "m", "ann", scores).overall
        1.0
        >>> failed = dict.fromkeys(DIMENSIONS, DimensionScore(None, cause="no reply"))
        >>> CharacterScores("s", "m", "ann", failed).overall is None
        True
        """
        scores = [self.given[dimension].score for dimension in DIMENSIONS]
        known = [score for score in scores if score is not None]
        return sum(known) / len(known) if len(known) == len(DIMENSIONS) else None

    @property
    def missing(self) -> tuple[str, ...]:
        """The dimensions without a score."""
        return tuple(dimension for dimension in DIMENSIONS if self.given[dimension].score is None)

    def scores(self) -> dict[str, tuple[float, tuple[float, float]]]:
        """By name of a rating its score and range: the dimensions that have one, and ``overall`` where all have."""
        scores = {
            dimension: (float(score), RANGES[dimension])
            for dimension in DIMENSIONS
            if (score := self.given[dimension].score) is not None
        }
        overall = self.overall
        return scores if overall is None else {**scores, OVERALL: (overall, OVERALL_RANGE)}


def off_range(dimension: str, score: object) -> str | None:
    """What is wrong with a score, None where it is a whole number of the dimension's range.

    >>> off_range("REL", -5), off_range("GOAL", 7.5), off_range("SEC", 1)
    (None, 'a whole number from 0 to 10 is needed', 'a whole number from -10 to 0 is needed')
    """
    low, high = RANGES[dimension]
    if isinstance(score, int | float) and not isinstance(score, bool) and low <= score <= high and score % 1 == 0:
        return None
    return f"a whole number from {low:g} to {high:g} is needed"


VERDICTS = "verdicts.jsonl"
"""The file's name, in the folder of the corpus."""


def write_verdicts(folder: Path, verdicts: Iterable[CharacterScores]) -> None:
    """Write the file; by session, judge and person, dimensions in the order of Appendix D.

    Raises OSError: the folder cannot be written to.
    """
    ordered = sorted(verdicts, key=lambda verdict: (verdict.session_id, verdict.judge, verdict.target))
    lines = [json_line(row) + "\n" for verdict in ordered for row in _rows(verdict)]
    write_atomically(folder / VERDICTS, "".join(lines))


def read_verdicts(folder: Path) -> list[CharacterScores]:
    """What `write_verdicts` wrote; nothing where there is no such file.

    Raises InputError: a line that is damaged, by number; or a person without all dimensions.
    """
    path = folder / VERDICTS
    if not path.exists():
        return []
    found: dict[tuple[str, str, str], dict[str, DimensionScore]] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            row = json.loads(line)
            key = (str(row["session_id"]), str(row["judge"]), str(row["target"]))
            dimension = _dimension(row)
            if dimension in found.setdefault(key, {}):
                raise ValueError(f"{dimension} of {row['target']!r:.40} by {row['judge']!r:.40} is there twice")
            found[key][dimension] = _given(row)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{path}: line {number}: no line of a verdict ({error}): {line[:120]!r}") from None
    for (session_id, judge, target), given in found.items():
        if set(given) != set(DIMENSIONS):
            missing = ", ".join(dimension for dimension in DIMENSIONS if dimension not in given)
            raise InputError(f"{path}: session {session_id}, {judge!r} of {target!r}: no line of {missing}")
    return [CharacterScores(*key, given) for key, given in found.items()]


def _rows(verdict: CharacterScores) -> Iterator[dict[str, Any]]:
    for dimension in DIMENSIONS:
        given, (low, high) = verdict.given[dimension], RANGES[dimension]
        yield {
            "session_id": verdict.session_id, "judge": verdict.judge, "target": verdict.target,
            "dimension": dimension, "score": given.score, "low": low, "high": high,
            "reasoning": given.reasoning, "cause": given.cause,
        }  # fmt: skip


def _dimension(row: dict[str, Any]) -> str:
    if row["dimension"] not in DIMENSIONS:
        raise ValueError(f"dimension {row['dimension']!r:.40}; there are {', '.join(DIMENSIONS)}")
    return str(row["dimension"])


def _given(row: dict[str, Any]) -> DimensionScore:
    score = row["score"]
    problem = None if score is None else off_range(row["dimension"], score)
    if problem is not None:
        raise ValueError(f"score {score!r:.40}: {problem}")
    cause = row["cause"]
    return DimensionScore(
        None if score is None else int(score), str(row["reasoning"]), None if cause is None else str(cause)
    )
