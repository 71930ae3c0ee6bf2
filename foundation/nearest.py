"""The name that somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, allowed: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The one of ``allowed`` that is spelt most like ``name``; None where none comes near.

    ``cutoff``: 1 asks for the same word, 0 takes any.

    >>> nearest("sentimant", ["rrd", "sentiment"])
    'sentiment'
    """
    return next(iter(difflib.get_close_matches(name, list(allowed), n=1, cutoff=cutoff)), None)


def did_you_mean(name: str, allowed: Iterable[str], otherwise: str = "", *, after: str = "") -> str:
    """The question whether ``name`` is a slip, with ``after`` behind it; ``otherwise`` where no name comes near.

    >>> did_you_mean("sentimant", ["rrd", "sentiment"])
    "did you mean 'sentiment'?"
    >>> did_you_mean("x", ["rrd", "sentiment"], "choose one.")
    'choose one.'
    """
    near = nearest(name, allowed)
    return otherwise if near is None else f"did you mean {near!r}?{after}"
