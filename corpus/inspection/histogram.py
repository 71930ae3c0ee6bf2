"""How scores lie on their scale, as bins and as bars of block characters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

MOST_STEPS = 10
EIGHTHS = " ▏▎▍▌▋▊▉"
BAR = 40


@dataclass(frozen=True)
class Bin:
    """Scores of ``low`` <= score < ``high`` (the last bin holds its upper end too)."""

    low: float
    high: float
    count: int


def histogram(scores: Sequence[float], low: float, high: float) -> tuple[Bin, ...]:
    """Bins around the whole numbers of a short scale (1 to 5), else ten equal ones; strays go to the end bins.

    Parameters
    ----------
    scores : Sequence of float, shape (S,)
        Finite scores.
    low, high : float
        The ends of the scale.
    """
    width = high - low
    if not 0 < width < math.inf:
        return (Bin(low, high, len(scores)),)
    if float(low).is_integer() and float(high).is_integer() and width <= MOST_STEPS:
        steps, start, step = int(width) + 1, low - 0.5, 1.0
    else:
        steps, start, step = MOST_STEPS, low, width / MOST_STEPS
    counts = [0] * steps
    for score in scores:
        counts[min(max(math.floor((score - start) / step), 0), steps - 1)] += 1
    return tuple(Bin(start + i * step, start + (i + 1) * step, count) for i, count in enumerate(counts))


def draw(bins: Sequence[Bin]) -> list[str]:
    """One line a bin: its middle, a bar to the scale of the largest bin, its count."""
    most = max((bin_.count for bin_ in bins), default=0) or 1
    labels = [f"{(bin_.low + bin_.high) / 2:g}" for bin_ in bins]
    width = max(map(len, labels), default=0)
    return [
        f"  {label:>{width}} {_bar(bin_.count / most)} {bin_.count:,}" for label, bin_ in zip(labels, bins, strict=True)
    ]


def _bar(share: float) -> str:
    eighths = math.ceil(share * BAR * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).strip().ljust(BAR)
