"""What a judge says of one person in one episode: a score a dimension, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion.corpus.sotopia_eval import OVERALL, OVERALL_RANGE, RANGES

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

        >>> PersonVerdict("s", "m", "ann", dict.fromkeys(DIMENSIONS, Given(0)) | {"GOAL": Given(7)}).overall
        1.0
        >>> PersonVerdict("s", "m", "ann", dict.fromkeys(DIMENSIONS, Given(None, cause="no reply"))).overall is None
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
