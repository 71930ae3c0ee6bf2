"""What the target knew before the first turn, as the reward model reads it: lines before those of the dialogue."""

from __future__ import annotations

import re
from collections.abc import Sequence

from apportion.corpus.session import BACKGROUND_KINDS, Background, Episode

OWN = "own"
"""Stands before the kind of what the target alone knows."""
MARKS = tuple(f"{whose}{kind}" for whose in ("", f"{OWN} ") for kind in BACKGROUND_KINDS)
"""What stands before the text of a line: its kind, and whether the target alone knows it. No letter of a speaker."""

_HEAD = re.compile(rf"(?:(?:{'|'.join(MARKS)}): [^\n]*\n)*")


def known_lines(episode: Episode) -> list[tuple[str, str]]:
    """(mark, text) of what everybody knew, then of what the target alone did; of nobody else's private rows.

    >>> from apportion.corpus.session import Rating
    >>> known = (Background(None, "rules", "One offer."), Background("a", "goal", "8"), Background("b", "goal", "9"))
    >>> known_lines(Episode("s", (), Rating("a", "b", "deal", 1.0, 0.0, 1.0), known))
    [('rules', 'One offer.'), ('own goal', '9')]
    """
    return [(mark_of(known), known.text) for known in episode.known_to_target]


def mark_of(known: Background) -> str:
    """The mark of something that the target knows."""
    return known.kind if known.speaker is None else f"{OWN} {known.kind}"


def known_head(said: Sequence[tuple[str, str]]) -> int:
    """How many of the first lines, (mark or letter, text), are what was known."""
    return next((i for i, (mark, _) in enumerate(said) if mark not in MARKS), len(said))


def split_known(history: str) -> tuple[list[str], str]:
    """The lines of what was known at the head of a history, and the dialogue after them.

    A dialogue's own lines begin with a letter of their speaker, so that nothing said can pass for what was known.
    """
    found = _HEAD.match(history)
    end = found.end() if found else 0
    return history[:end].splitlines(keepends=True), history[end:]


def fair_shares(lengths: Sequence[int], room: int) -> list[int]:
    """How much of each line is kept where all may take ``room`` together: the shortest whole, the others alike.

    >>> fair_shares([3, 50, 40], 23)
    [3, 10, 10]
    """
    shares = [0] * len(lengths)
    left = room
    for count, place in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        shares[place] = min(lengths[place], left // (len(lengths) - count))
        left -= shares[place]
    return shares
