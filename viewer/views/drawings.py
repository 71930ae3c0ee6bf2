"""Small pictures that stand in a line of text (inline SVG; colours come from classes of the style sheet)."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

SPARK_HEIGHT = 12.0
"""From the middle line to the edge."""
PITCH = 6
"""From one bar to the next."""
METER_WIDTH = 44


def spark(values: Sequence[float], colour: str, label: str) -> Markup:
    """A session's rewards, one bar a turn, up from or down from the middle line; the largest reaches the edge.

    ``values``: rewards [shape=(T,)]. ``colour``: the method's class (`apportion.pipeline.report.bars.colour_class`).
    ``label``: what a screen reader says instead of the picture.
    """
    scale = max((abs(value) for value in values), default=0.0) or 1.0
    bars = "".join(
        f"M{PITCH * i} {SPARK_HEIGHT:g}h{PITCH - 1}v{-value / scale * SPARK_HEIGHT:.1f}h{1 - PITCH}z"
        for i, value in enumerate(values)
    )
    width = max(PITCH * len(values) - 1, PITCH)
    return Markup(
        '<svg class="spark {}" viewBox="0 0 {} {}" width="{}" height="{}" preserveAspectRatio="none" role="img" '
        'aria-label="{}"><path class="zero" d="M0 {}h{}"/><path d="{}"/></svg>'
    ).format(
        colour, width, f"{2 * SPARK_HEIGHT:g}", min(width, 160), f"{2 * SPARK_HEIGHT:g}", label, f"{SPARK_HEIGHT:g}",
        width, bars,
    )  # fmt: skip


def meter(score: float, low: float, high: float) -> Markup:
    """Where a score lies on its scale; decoration beside the written number."""
    share = min(1.0, max(0.0, (score - low) / (high - low))) if high > low else 0.0
    return Markup(
        '<svg class="meter" viewBox="0 0 {} 6" width="{}" height="6" aria-hidden="true">'
        '<rect class="track" width="{}" height="6" rx="3"/><rect class="fill" width="{}" height="6" rx="3"/></svg>'
    ).format(METER_WIDTH, METER_WIDTH, METER_WIDTH, f"{max(6.0, share * METER_WIDTH):.1f}")
