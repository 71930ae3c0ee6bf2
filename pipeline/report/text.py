"""Strings and numbers as they are shown: nothing from outside is trusted or endless."""

from __future__ import annotations

import math
import re

# Characters that neither HTML nor XML may hold, and those that turn the direction of the text around them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")


def clean(text: str, limit: int = 600) -> str:
    """``text`` without characters that a page cannot hold, cut after ``limit`` characters."""
    text = _FORBIDDEN.sub("", text)
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def number(value: float | None, digits: int = 3) -> str:
    """A number with about ``digits`` significant ones, a real minus sign, and a dash for none."""
    if value is None or not math.isfinite(value):
        return "–"
    size = abs(value)
    decimals = digits - 1 if size < 10 else max(0, digits - 1 - math.floor(math.log10(size)))
    text = f"{value:.{digits}g}" if 0 < size < 0.01 else f"{value:,.{decimals}f}"
    return text.replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """Like ``number``, with a plus sign before what is above zero."""
    return f"+{number(value, digits)}" if value > 0 else number(value, digits)


def seconds(start_s: float | None) -> str:
    """Seconds on the session clock as minutes and seconds, empty where unknown."""
    if start_s is None or not math.isfinite(start_s):
        return ""
    minutes, rest = divmod(max(0, math.floor(start_s)), 60)
    return f"{minutes}:{rest:02d}"
