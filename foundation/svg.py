"""Small drawings (inline SVG; colours come from classes of a page's style): charts, bars, intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

WIDTH, HEIGHT = 360.0, 190.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 10.0, 10.0, 30.0
METER = 44
POINTS = 200
"""A longer curve is shown as the means of this many stretches."""


@dataclass(frozen=True)
class ChartLine:
    """One curve: values over steps (two sequences of one length); ``dashed`` sets the training curve apart."""

    label: str
    steps: Sequence[float]
    values: Sequence[float]
    colour: str
    dashed: bool = False


def line_chart(lines: Sequence[ChartLine], x_title: str, label: str) -> Markup | None:
    """All curves in one frame with ticks, or None where no value is finite.

    ``x_title``: what the steps count. ``label``: what a screen reader says instead of the picture.
    """
    curves = [(line, *_thinned(line)) for line in lines]
    curves = [(line, x, y) for line, x, y in curves if len(x)]
    if not curves:
        return None
    x_low, x_high = _range(np.concatenate([x for _, x, _ in curves]))
    y_low, y_high = _range(np.concatenate([y for _, _, y in curves]))
    y_ticks = ticks(y_low, y_high)
    y_low, y_high = min(y_low, y_ticks[0]), max(y_high, y_ticks[-1])

    def place_x(x: float) -> float:
        return LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)

    def place_y(y: float) -> float:
        return HEIGHT - BOTTOM - (y - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)

    parts = [_grid_line(place_y(y), f"{y:.6g}".replace("-", "−")) for y in y_ticks]
    parts += [_x_tick(place_x(x), f"{x:.6g}") for x in ticks(x_low, x_high) if x_low <= x <= x_high and x == int(x)]
    parts += [_curve(line, [(place_x(a), place_y(b)) for a, b in zip(x, y, strict=True)]) for line, x, y in curves]
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}</svg>').format(
        f"{WIDTH:g}",
        f"{HEIGHT:g}",
        label,
        Markup("").join(parts),
        Markup('<text class="axis" x="{}" y="{}" text-anchor="end">{}</text>').format(
            f"{WIDTH - RIGHT:g}", f"{HEIGHT - 3:g}", x_title
        ),
    )


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """About ``count`` round numbers from at most ``low`` to at least ``high``."""
    rough = (high - low) / count
    if not 1e-300 < rough < 1e300:  # Too close or too far apart for numbers between them.
        return [low, high]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def _thinned(line: ChartLine) -> tuple[np.ndarray, np.ndarray]:
    """The finite points in the order of their steps, at most ``POINTS`` of them."""
    x, y = np.asarray(line.steps, dtype=float), np.asarray(line.values, dtype=float)
    finite = np.isfinite(x) & np.isfinite(y)
    order = np.argsort(x[finite], kind="stable")
    x, y = x[finite][order], y[finite][order]
    if len(x) <= POINTS:
        return x, y
    pieces = np.array_split(np.arange(len(x)), POINTS)
    return np.array([x[p].mean() for p in pieces]), np.array([y[p].mean() for p in pieces])


def _range(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    if high - low > 1e-9 * max(abs(low), abs(high), 1e-300):
        return low, high
    half = max(abs(low) * 0.1, 0.5)
    return low - half, high + half


def _grid_line(y: float, text: str) -> Markup:
    return Markup(
        '<path class="grid" d="M{} {}H{}"/><text x="{}" y="{}" text-anchor="end" dominant-baseline="middle">{}</text>'
    ).format(f"{LEFT:g}", f"{y:.1f}", f"{WIDTH - RIGHT:g}", f"{LEFT - 5:g}", f"{y:.1f}", text)


def _x_tick(x: float, text: str) -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
        f"{x:.1f}", f"{HEIGHT - BOTTOM + 13:g}", text
    )


def _curve(line: ChartLine, points: Sequence[tuple[float, float]]) -> Markup:
    classes = f"{line.colour} curve{' dashed' if line.dashed else ''}"
    if len(points) == 1:
        x, y = points[0]
        return Markup('<circle class="{}" cx="{}" cy="{}" r="3"/>').format(classes, f"{x:.1f}", f"{y:.1f}")
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return Markup('<path class="{}" d="M{}"><title>{}</title></path>').format(classes, path, line.label)


def largest(values: Sequence[Sequence[float | None]]) -> float:
    """The largest size among the values of all rows: the scale that they share. Never zero."""
    return max((abs(v) for row in values for v in row if v is not None and np.isfinite(v)), default=0.0) or 1.0


def turn_bars(
    values: Sequence[float | None], scale: float, colour: str, label: str, *, half: float = 20.0, pitch: int = 10
) -> Markup:
    """One upright bar a turn, up from or down from the middle line; None and NaN draw nothing.

    ``values``: rewards of T turns. ``scale``: the size that reaches the edge, ``half`` from the middle. ``colour``: the
    method's class. ``label``: what a screen reader says instead of the picture.
    """
    gap = pitch // 5
    bars = "".join(
        f"M{turn * pitch + gap // 2} {half:g}h{pitch - gap}v{-value / scale * half:.1f}h{gap - pitch}z"
        for turn, value in enumerate(values)
        if value is not None and np.isfinite(value)
    )
    width = pitch * max(1, len(values))
    return Markup(
        '<svg class="bars {}" viewBox="0 0 {} {}" width="{}" height="{}" preserveAspectRatio="none" role="img" '
        'aria-label="{}"><path d="{}"/><path class="zero" d="M0 {}h{}"/></svg>'
    ).format(colour, width, f"{2 * half:g}", min(width, 160), f"{2 * half:g}", label, bars, f"{half:g}", width)


def session_bars(values: Sequence[float], colour: str, label: str) -> Markup:
    """A session's rewards small enough for a line of a list; the largest reaches the edge."""
    return turn_bars(values, largest([values]), colour, label, half=12.0, pitch=6)


def value_bar(value: float | None, scale: float, colour: str) -> Markup:
    """One lying bar, to the right of the middle for what is above zero; decoration beside a written number."""
    share = 0.0 if value is None or not np.isfinite(value) else value / scale * 30
    left, width = (30 + min(share, 0.0), abs(share))
    return Markup(
        '<svg class="bar {}" viewBox="0 0 60 8" aria-hidden="true"><path d="M{} 0h{}v8h-{}z"/><path class="zero" '
        'd="M30 0v8"/></svg>'
    ).format(colour, f"{left:.1f}", f"{width:.1f}", f"{width:.1f}")


def meter(score: float, low: float, high: float) -> Markup:
    """Where a score lies on its scale; decoration beside the written number."""
    share = min(1.0, max(0.0, (score - low) / (high - low))) if high > low else 0.0
    return Markup(
        '<svg class="meter" viewBox="0 0 {} 6" width="{}" height="6" aria-hidden="true">'
        '<rect class="track" width="{}" height="6" rx="3"/><rect class="fill" width="{}" height="6" rx="3"/></svg>'
    ).format(METER, METER, METER, f"{max(6.0, share * METER):.1f}")


def interval_drawing(value: float, low: float, high: float, widest: float) -> Markup:
    """An interval on a scale from -``widest`` to ``widest``, a line at zero; decoration beside the written numbers."""

    width, height = 168.0, 22.0

    def at(number: float) -> str:
        return f"{width / 2 * (1 + min(1.0, max(-1.0, number / widest))) * 0.96 + width * 0.02:.1f}"

    middle = f"{height / 2:g}"
    return Markup(
        '<svg class="interval {}" viewBox="0 0 {} {}" width="{}" height="{}" aria-hidden="true">'
        '<path class="zero" d="M{} 0v{}"/><path class="span" d="M{} {}H{}"/><circle cx="{}" cy="{}" r="4.5"/></svg>'
    ).format(
        "low" if value < 0 else "high", f"{width:g}", f"{height:g}", f"{width:g}", f"{height:g}",
        at(0.0), f"{height:g}", at(low), middle, at(high), at(value), middle,
    )  # fmt: skip
