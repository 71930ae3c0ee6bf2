"""Figures with their intervals along an axis of named places: what changes with a size, or between models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from apportion.environments.report_tables.table import SIMULATED, Figure, Value
from apportion.environments.terminal.console import printable
from apportion.foundation.tables.numbers import fixed

_STYLE = """
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;font-size:13px;fill:#1c1f24}
.paper{fill:#fff}.soft{fill:#5b626d;font-size:11.5px}.title{font-size:15px;font-weight:700}.rule{stroke:#c9ced6}
.bar{fill:#3b63c9}.light{fill:#fff}.dark{fill:#1c1f24}.none{fill:none;stroke:#c9ced6}
.range{stroke:#8fa6e6;stroke-width:9;stroke-linecap:round}.dot{fill:#e0563f}
"""
NAME = 16
"""Letters of an agent's name that a picture shows."""


def short(name: str) -> str:
    """A name that a picture has room for."""
    name = printable(name)
    return name if len(name) <= NAME else f"{name[: NAME - 1]}…"


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> Markup:
    """Words at a place; ``kind`` is a class of the style."""
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        kind, f"{x:.1f}", f"{y:.1f}", anchor, printable(words)
    )


def picture(title: str, width: float, height: float, parts: Sequence[Markup]) -> str:
    """A standalone picture of these parts, with its title, marked as simulated."""
    title = printable(title)
    # A title that is longer than the picture is wide widens it.
    width = int(max(width, 40 + 9.5 * len(title), 420))
    head = [text(20, 22, title, "title"), text(20, height - 4, f"({SIMULATED})", "soft")]
    return str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" '
            'aria-label="{label}"><style>{style}</style><rect class="paper" width="{w}" height="{h}"/>{body}</svg>\n'
        ).format(w=width, h=int(height) + 6, label=title, style=Markup(_STYLE), body=Markup("").join([*head, *parts]))
    )


COLOURS = ("#3b63c9", "#e0563f", "#2f8f5b", "#8a5bc2", "#b8860b", "#1c8ea3", "#7a7f87", "#c2417c")
LEFT, TOP, STEP, HEIGHT = 64, 48, 130, 240
_TICKS = 5


def chart(
    title: str,
    places: Sequence[str],
    lines: Mapping[str, Sequence[Figure | None]],
    label: str,
    scale: tuple[float, float],
    *,
    joined: bool = True,
) -> str:
    """A picture: dots with the whiskers of their intervals, a colour a line.

    Parameters
    ----------
    title : str
    places : sequence of str
        Along the axis, from the left.
    lines : mapping of str to sequence of Figure
        By name a figure a place; None, or a missing one, has no dot.
    label : str
        What the axis below says.
    scale : (float, float)
        The lowest and the highest value that is shown.
    joined : bool
        Whether a line joins the dots: the places have an order.
    """
    parts = _grid(places, scale)
    for number, (name, figures) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        aside = 12 * (number - (len(lines) - 1) / 2)
        dots = [
            (LEFT + STEP * (place + 0.5) + aside, figure)
            for place, figure in enumerate(figures)
            if isinstance(figure, Value)
        ]
        if joined and len(dots) > 1:
            points = " ".join(f"{x:.1f},{_height(figure.value, scale):.1f}" for x, figure in dots)
            parts.append(
                Markup('<polyline points="{}" fill="none" stroke="{}" stroke-opacity=".5"/>').format(points, colour)
            )
        for x, figure in dots:
            parts += _dot(x, figure, scale, colour)
        y = TOP + HEIGHT + 62 + 18 * number
        parts.append(Markup('<circle cx="{}" cy="{}" r="5" fill="{}"/>').format(LEFT, y - 4, colour))
        parts.append(text(LEFT + 12, y, name, "soft"))
    below = TOP + HEIGHT + 62 + 18 * len(lines)
    parts.append(text(LEFT, TOP + HEIGHT + 40, label, "soft"))
    return picture(title, LEFT + STEP * len(places) + 40, below + 10, parts)


def _grid(places: Sequence[str], scale: tuple[float, float]) -> list[Markup]:
    parts = []
    for tick in range(_TICKS + 1):
        value = scale[0] + (scale[1] - scale[0]) * tick / _TICKS
        y = f"{_height(value, scale):.1f}"
        right = LEFT + STEP * len(places)
        parts.append(Markup('<path class="rule" d="M{} {}H{}"/>').format(LEFT, y, right))
        parts.append(text(LEFT - 8, _height(value, scale) + 4, fixed(value, 0 if scale[1] > 10 else 2), "soft", "end"))
    for place, name in enumerate(places):
        parts.append(text(LEFT + STEP * (place + 0.5), TOP + HEIGHT + 20, short(name), "soft", "middle"))
    return parts


def _dot(x: float, figure: Value, scale: tuple[float, float], colour: str) -> list[Markup]:
    parts = []
    if figure.low is not None and figure.high is not None:
        high, low = (f"{_height(end, scale):.1f}" for end in (figure.high, figure.low))
        parts.append(
            Markup('<path d="M{x} {high}V{low}" stroke="{colour}" stroke-width="2"/>').format(
                x=f"{x:.1f}", high=high, low=low, colour=colour
            )
        )
    y = f"{_height(figure.value, scale):.1f}"
    parts.append(Markup('<circle cx="{}" cy="{}" r="5" fill="{}"/>').format(f"{x:.1f}", y, colour))
    return parts


def _height(value: float, scale: tuple[float, float]) -> float:
    share = min(max((value - scale[0]) / (scale[1] - scale[0]), 0.0), 1.0)
    return TOP + HEIGHT * (1 - share)
