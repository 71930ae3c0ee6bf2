"""Bars of turn rewards, lying beside a turn or standing on the session's axis; places are per cent: they stretch."""

from __future__ import annotations

from markupsafe import Markup

from viewer.shown.session.axis import Axis
from viewer.shown.session.series import Series

SVG = Markup('<svg class="wb" aria-hidden="true">{}</svg>')
LEAST = 0.6
"""A bar is at least so wide, per cent, that a reward of nothing is told from no reward."""


def margin_bar(series: Series, turn: int) -> Markup:
    """One lying bar, to the right of the middle for what is above zero, with its intervals; beside a written number."""
    worth = series.values[turn]
    end = _share(worth.reward, series.scale)
    left, width = 50 + min(end, 0.0), max(abs(end), LEAST)
    parts = [Markup('<rect x="{}%" width="{}%" y="3" height="6"/>').format(f"{left:.1f}", f"{width:.1f}")]
    for interval in (one for one in worth.intervals if one.drawn):
        low, high = (50 + _share(value, series.scale) for value in (interval.low, interval.high))
        parts.append(
            Markup('<line class="{}" x1="{}%" x2="{}%" y1="6" y2="6"/>').format(
                interval.kind, f"{low:.1f}", f"{max(high, low + LEAST):.1f}"
            )
        )
    return SVG.format(Markup("").join(parts))


def reward_row(series: Series, axis: Axis, number: int) -> Markup:
    """A series over the axis: a bar a turn, up or down from the middle, with its intervals.

    Bars name their turn (``data-turn``), so that a click leads to it.
    """
    parts = []
    for turn, worth in series.values.items():
        place = axis.place(turn)
        if place is None:
            continue
        end = _share(worth.reward, series.scale)
        left, width = place
        parts.append(
            Markup('<rect data-turn="{}" x="{}%" width="{}%" y="{}%" height="{}%"/>').format(
                turn, f"{left:.3f}", f"{max(width, 0.05):.3f}", f"{50 - max(end, 0.0):.1f}", f"{max(abs(end), 1.5):.1f}"
            )
        )
        for interval in (one for one in worth.intervals if one.drawn):
            high, low = (50 - _share(value, series.scale) for value in (interval.high, interval.low))
            middle = f"{left + width / 2:.3f}%"
            parts.append(
                Markup('<line class="{}" x1="{}" x2="{}" y1="{}%" y2="{}%"/>').format(
                    interval.kind, middle, middle, f"{high:.1f}", f"{max(low, high + 1):.1f}"
                )
            )
    label = f"{series.name}: rewards of {len(series.values)} turns"
    return Markup(
        '<svg class="row {}" data-series="{}" role="img" aria-label="{}"><line class="zero" x1="0" x2="100%" y1="50%" '
        'y2="50%"/>{}</svg>'
    ).format(series.colour, number, label, Markup("").join(parts))


def _share(value: float, scale: float) -> float:
    """Per cent of the whole from the middle, -46 to 46: an interval that leaves the drawing ends at its edge."""
    return 46.0 * max(-1.0, min(1.0, value / scale))
