"""Turn rewards as small bar drawings (inline SVG; colours come from the page's classes)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

HEIGHT = 20.0
COLOURED = (
    "llm", "llm-multimodal", "rrd", "sentiment", "uniform", "affect", "ircr", "rudder", "reaction", "reaction-llm",
    "rrd-va", "rrd-ls", "ircr-va", "rudder-va", "rrd-published", "rrd-160", "rrd-160-published",
    "sentiment-raw", "affect-raw", "sentiment-utterance", "sentiment-utterance-raw",
    "intensity", "intensity-raw", "episode-score", "savoir", "savoir-paper", "savoir-paper-raw", "shapley-hindsight",
    "expected-utility", "leave-one-out", "sotopia-rl", "influence", "influence-served", "mix", "llm-student",
    "prior", "reactions-en",
)  # fmt: skip
"""The methods of this package, each with a colour of its own in every report, whatever is beside it."""
GUESTS = 4
"""Colours for the methods that other packages bring, behind those."""


def colour_class(method: str) -> str:
    """The class that colours a method, the same in every report and every subset of methods."""
    if method in COLOURED:
        return f"m{COLOURED.index(method)}"
    return f"m{len(COLOURED) + int(hashlib.sha256(method.encode()).hexdigest(), 16) % GUESTS}"


def largest(values: Sequence[Sequence[float | None]]) -> float:
    """The largest size among the values of all methods: the scale that they share. Never zero."""
    return max((abs(v) for row in values for v in row if v is not None and np.isfinite(v)), default=0.0) or 1.0


def turn_bars(values: Sequence[float | None], scale: float, colour: str, label: str) -> Markup:
    """One upright bar a turn, up from or down from the middle line.

    - ``values``: rewards of T turns; None draws nothing.
    - ``scale``: the size that reaches the edge.
    - ``colour``: ``colour_class`` of the method.
    - ``label``: what a screen reader says instead of the picture.
    """
    bars = []
    for turn, value in enumerate(values):
        if value is not None and np.isfinite(value):
            height = value / scale * HEIGHT
            bars.append(f"M{turn * 10 + 1} {HEIGHT:g}h8v{-height:.1f}h-8z")
    width = max(10, 10 * len(values))
    return Markup(
        '<svg class="bars {}" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<path d="{}"/><line x1="0" x2="{}" y1="{}" y2="{}"/></svg>'
    ).format(colour, width, f"{2 * HEIGHT:g}", label, "".join(bars), width, f"{HEIGHT:g}", f"{HEIGHT:g}")


def value_bar(value: float | None, scale: float, colour: str) -> Markup:
    """One lying bar, to the right of the middle for what is above zero; decoration beside a written number."""
    share = 0.0 if value is None or not np.isfinite(value) else value / scale * 30
    left, width = (30 + min(share, 0.0), abs(share))
    return Markup(
        '<svg class="bar {}" viewBox="0 0 60 8" aria-hidden="true"><path d="M{} 0h{}v8h-{}z"/><path class="zero" '
        'd="M30 0v8"/></svg>'
    ).format(colour, f"{left:.1f}", f"{width:.1f}", f"{width:.1f}")
