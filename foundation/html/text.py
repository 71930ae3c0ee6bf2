"""Strings and numbers as they are shown: nothing from outside is trusted or endless."""

from __future__ import annotations

import math
import re

from apportion.foundation.tables.numbers import NO_FIGURE, NOISE, fixed

# Characters that neither HTML nor XML may hold, and those that turn the direction of the text around them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")


def clean(text: str, limit: int = 600) -> str:
    """``text`` without characters that a page cannot hold, cut after ``limit`` characters."""
    text = _FORBIDDEN.sub("", text)
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def number(value: float | None) -> str:
    """A number with three significant digits or three decimals, a real minus sign, and a dash for none.

    What is smaller than any measurement, a remainder of floating-point sums, is zero; zero has no sign.
    """
    if value is None or not math.isfinite(value):
        return NO_FIGURE
    size = abs(value)
    if NOISE <= size < 0.0005:
        return f"{value:.1e}".replace("-", "−")
    decimals = next(d for limit, d in ((100, 0), (10, 1), (1, 2), (0, 3)) if size >= limit)
    return fixed(value, decimals, thousands=True).replace("-", "−")


def plain(value: float) -> str:
    """A score as a person wrote it: no more digits than it needs, at most four."""
    return f"{value + 0.0:.4g}".replace("-", "−")


def signed(value: float) -> str:
    """Like ``number``, with a plus sign before what is above zero."""
    return f"+{number(value)}" if value >= NOISE else number(value)


def seconds(start_s: float | None) -> str:
    """Seconds on the session clock as minutes and seconds, empty where unknown."""
    if start_s is None or not math.isfinite(start_s):
        return ""
    minutes, rest = divmod(max(0, math.floor(start_s)), 60)
    return f"{minutes}:{rest:02d}"
