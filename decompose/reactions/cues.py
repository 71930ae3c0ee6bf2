"""What a reply tells about the turn before it, as numbers that need no learning: tone, thanks, refusal, repetition."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache

from apportion.decompose.reactions.vader import Tone, tone

WORD = re.compile(r"[\w']+")
_COMMON = "the a an i is it to of in and for you me my on at that this what do can be with are please"
COMMON = frozenset(_COMMON.split(" "))
PATTERNS: dict[str, re.Pattern[str]] = {
    "thanks": re.compile(r"\b(thank|thanks|thx|appreciate)"),
    "no": re.compile(r"^(no|nope|nah|not)\b"),
    "yes": re.compile(r"^(yes|yeah|yep|ok|okay|sure|alright)\b"),
    "good": re.compile(r"\b(great|good|perfect|nice|awesome|cool|love|wonderful|fine)\b"),
    "not": re.compile(r"(n't|\bnot)\b"),
    "other": re.compile(r"\b(instead|other|another|else|different|actually)\b"),
}
"""English."""
SORRY = re.compile(r"\b(sorry|unfortunately|cannot|can't|couldn't|unable)\b|n't\b")
CUES = (
    *Tone._fields, "silent", "length", "question", "exclamation", *PATTERNS, "asked before", "words before",
    "words of the turn", "length of the turn", "turn asks", "turn regrets",
)  # fmt: skip
"""Names of the C cues, in the order of ``cues``."""


def cues(
    said: Sequence[str], turn: str, before: Sequence[str], asked_before: float, english: bool = True
) -> list[float]:
    """The C numbers of one target turn.

    - ``said`` (sequence of str): The utterances of the rater's reply; empty where nobody replied.
    - ``turn``: The target turn itself.
    - ``before`` (sequence of str): What the rater said before the turn.
    - ``asked_before`` (float): Largest cosine of the reply's embedding with one of ``before``: a person who was not
      understood repeats.
    - ``english`` (bool): In another language what rests on English words is 0: a cue that never varies weighs nothing.
    """
    reply = " ".join(said)
    lower = reply.lower()
    mine = _words(lower)
    return [
        *tones(said if english else ()),
        float(not reply),
        math.log1p(len(reply)),
        float("?" in reply),
        float("!" in reply),
        *(float(english and pattern.search(lower) is not None) for pattern in PATTERNS.values()),
        asked_before,
        max((_shared(mine, _words(text.lower())) for text in before), default=0.0),
        len(mine & _words(turn.lower())) / max(1, len(mine)),
        math.log1p(len(turn)),
        float("?" in turn),
        float(english and SORRY.search(turn.lower()) is not None),
    ]


def tones(said: Sequence[str]) -> list[float]:
    """VADER's four numbers, their mean over the utterances; zeros where nothing was said."""
    read = [tone(text) for text in said if text]
    return [math.fsum(one[i] for one in read) / max(1, len(read)) for i in range(len(Tone._fields))]


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    """Words in both, as a share of the words in either (Jaccard)."""
    return len(one & other) / max(1, len(one | other))


@lru_cache(maxsize=10_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text)) - COMMON
