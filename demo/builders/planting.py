"""What is planted in the demo corpus: turn qualities, and the score that follows from them."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion.corpus.session import Rating, Session

EVENT_KINDS = ("nod_yes", "nod_no", "smile", "pitch_up", "pitch_down")


@dataclass(frozen=True)
class Event:
    """One planted behaviour of ``person``, from ``start_s`` to ``end_s`` on the session clock."""

    person: str
    kind: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Planted:
    """A session, the planted quality (-2 to 2) of each rated turn by turn number, and the planted events."""

    session: Session
    topic: str
    qualities: Mapping[int, int]
    events: tuple[Event, ...] = ()


QUALITIES = (-2, -1, 0, 1, 2)
QUALITY_NAMES = dict(zip(QUALITIES, ("unhelpful", "curt", "neutral", "helpful", "delightful"), strict=True))
SCORE_NAME, SCORE_LOW, SCORE_HIGH = "satisfaction", 1.0, 5.0
SCORE_BASE, SCORE_PER_QUALITY, SCORE_NOISE_SD = 3.0, 0.15, 0.1
SCORE_FORMULA = "round(clip(3 + 0.15 * sum(qualities of the target's turns) + noise, 1, 5), 1), noise ~ N(0, 0.1)"
LABEL_NAME, LABEL_ANNOTATOR = "planted_quality", "planted"
MOOD_SD, TURN_SD = 1.0, 1.1


def draw_rating(rater: str, target: str, qualities: Sequence[int], rng: random.Random) -> Rating:
    """The rating as the rater gives it: the score is noisy, clipped to the scale and rounded to 0.1."""
    raw = SCORE_BASE + SCORE_PER_QUALITY * sum(qualities) + rng.gauss(0.0, SCORE_NOISE_SD)
    score = round(min(max(raw, SCORE_LOW), SCORE_HIGH), 1)
    return Rating(rater, target, SCORE_NAME, score, SCORE_LOW, SCORE_HIGH)


def draw_qualities(count: int, rng: random.Random) -> tuple[int, ...]:
    """Qualities of ``count`` turns round a session's own level; never all equal, so credit has something to find."""
    while True:
        mood = rng.gauss(0.0, MOOD_SD)
        drawn = tuple(_clip(math.floor(mood + rng.gauss(0.0, TURN_SD) + 0.5)) for _ in range(count))
        if len(set(drawn)) > 1:
            return drawn


def blur(quality: int, rng: random.Random) -> int:
    """The quality that a reply shows: mostly the true one, sometimes none, sometimes a step off."""
    chance = rng.random()
    if chance < 0.15:
        return 0
    if chance < 0.25:
        return _clip(quality + rng.choice((-1, 1)))
    return quality


def _clip(quality: int) -> int:
    return min(max(quality, QUALITIES[0]), QUALITIES[-1])
