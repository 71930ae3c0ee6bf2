"""The name that somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, allowed: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The one of ``allowed`` that the fewest slips lead to ``name`` from; None where none comes near.

    ``cutoff``: 1 asks for the same word, 0 takes any (`difflib.SequenceMatcher.ratio`).

    >>> nearest("sentimant", ["rrd", "sentiment"]), nearest("rdd", ["rudder", "rrd"])
    ('sentiment', 'rrd')
    """
    words = list(allowed)
    near = difflib.get_close_matches(name, words, n=max(1, len(words)), cutoff=cutoff)
    return min(near, key=lambda word: slips(name, word), default=None)


def slips(one: str, other: str) -> int:
    """Letters to add, leave out, replace or swap with their neighbours on the way from ``one`` text to the ``other``.

    >>> slips("rdd", "rrd"), slips("metohds", "methods")
    (1, 1)
    """
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, wanted in enumerate(other, start=1):
            fewest = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                fewest = min(fewest, before[j - 2] + 1)
            row.append(fewest)
        before, last = last, row
    return last[-1]


def did_you_mean(name: str, allowed: Iterable[str], otherwise: str = "", *, after: str = "") -> str:
    """The question whether ``name`` is a slip, with ``after`` behind it; ``otherwise`` where no name comes near.

    >>> did_you_mean("sentimant", ["rrd", "sentiment"])
    "did you mean 'sentiment'?"
    >>> did_you_mean("x", ["rrd", "sentiment"], "choose one.")
    'choose one.'
    """
    near = nearest(name, allowed)
    return otherwise if near is None else f"did you mean {near!r}?{after}"
