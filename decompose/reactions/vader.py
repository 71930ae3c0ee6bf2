"""The tone of a text by VADER, read once in a process for everything that asks for it."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, NamedTuple

KEPT = 20_000
"""Texts whose tone a process keeps: the replies of 1,000 dialogues of USS SGD are 12,700."""


class Tone(NamedTuple):
    """VADER's four numbers: ``compound`` from -1 (bad) to 1 (good), and the shares of good, bad and neutral words."""

    compound: float
    pos: float
    neg: float
    neu: float


def tone(text: str) -> Tone:
    """The tone of a text, whatever the spaces and lines between its words.

    The cues of replies, the methods by sentiment in all their forms and the seeds of those that learn from them ask
    for the same texts again and again. Reading one (0.06 ms) is cheaper than an artifact of it would be to open, so
    that what is read stays in memory.

    >>> tone("Great, thank you!") == tone("Great,  thank you!")
    True
    """
    return _read(" ".join(text.split()))


@lru_cache(maxsize=KEPT)
def _read(text: str) -> Tone:
    numbers = _analyzer().polarity_scores(text)
    return Tone(*(float(numbers[name]) for name in Tone._fields))


@cache
def _analyzer() -> Any:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()
