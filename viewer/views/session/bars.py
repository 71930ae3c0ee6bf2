"""Bars of turn rewards, lying beside a turn or standing on the session's axis; places are per cent: they stretch."""

from __future__ import annotations

from markupsafe import Markup

from apportion.viewer.views.session.axis import Axis
from apportion.viewer.views.session.series import Series

LEAST = 0.6
"""A bar is at least so wide, per cent, that a reward of nothing is told from no reward."""

# Strings are put together from numbers alone: a page of a thousand turns has thousands of bars, and escaping each
# number takes longer than all the rest. What is a text goes through `Markup.format`.


def margin_bar(series: Series, turn: int) -> Markup:
    """One lying bar, to the right of the middle for what is above zero, with its intervals; beside a written number."""
    worth = series.values[turn]
    end = _share(worth.reward, series.scale)
    parts = [f'<rect x="{50 + min(end, 0.0):.1f}%" width="{max(abs(end), LEAST):.1f}%" y="3" height="6"/>']
    for interval in (one for one in worth.intervals if one.drawn):
        low, high = (50 + _share(value, series.scale) for value in (interval.low, interval.high))
        parts.append(
            f'<line class="{interval.kind}" x1="{low:.1f}%" x2="{max(high, low + LEAST):.1f}%" y1="6" y2="6"/>'
        )
    return Markup(f'<svg class="wb" aria-hidden="true">{"".join(parts)}</svg>')


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
        top, height = 50 - max(end, 0.0), max(abs(end), 1.5)
        parts.append(
            f'<rect data-turn="{turn:d}" x="{left:.3f}%" width="{max(width, 0.05):.3f}%" '
            f'y="{top:.1f}%" height="{height:.1f}%"/>'
        )
        middle = left + width / 2
        for interval in (one for one in worth.intervals if one.drawn):
            high, low = (50 - _share(value, series.scale) for value in (interval.high, interval.low))
            parts.append(
                f'<line class="{interval.kind}" x1="{middle:.3f}%" x2="{middle:.3f}%" '
                f'y1="{high:.1f}%" y2="{low:.1f}%"/>'
            )
    label = f"{series.name}: rewards of {len(series.values)} turns"
    return Markup(
        '<svg class="row {}" data-series="{}" role="img" aria-label="{}"><line class="zero" x1="0" x2="100%" y1="50%" '
        'y2="50%"/>{}</svg>'
    ).format(series.colour, number, label, Markup("".join(parts)))


def _share(value: float, scale: float) -> float:
    """Per cent of the whole from the middle, -46 to 46: an interval that leaves the drawing ends at its edge."""
    return 46.0 * max(-1.0, min(1.0, value / scale))
