"""Figures with their intervals along an axis of named places: what changes with a size, or between models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from apportion.environments.report_tables.table import SIMULATED, Figure, Value
from apportion.environments.terminal.console import printable
from apportion.foundation.tables.numbers import NO_FIGURE, fixed

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

    ``places``: Along the axis, from the left. ``lines``: By name a figure a place; None, or a missing one, has no dot.
    ``label``: What the axis below says. ``scale``: The lowest and the highest value that is shown. ``joined``: Whether
    a line joins the dots: the places have an order.
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


MAP_LEFT, MAP_TOP, CELL_WIDTH, CELL_HEIGHT = 130, 76, 86, 38


@dataclass(frozen=True)
class Map:
    """One map of pairs: a value, or None, a row (partner) and column (model); ``scale`` its lowest and highest."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Mapping[tuple[str, str], float | None]
    scale: tuple[float, float]


@dataclass(frozen=True)
class Span:
    """A range from ``low`` to ``high`` that ``count`` ratings have, and a value to lie in it, if there is one."""

    low: float
    high: float
    value: float | None
    count: int


def histogram(title: str, counts: Mapping[int, int], label: str) -> str:
    """Bars of counts by whole number; ``label`` says what the numbers are."""
    low, high = min(counts), max(counts)
    most = max(counts.values())
    parts = []
    step = 30
    for place, number in enumerate(range(low, high + 1)):
        count = counts.get(number, 0)
        height = 180 * count / most
        x = 40 + step * place
        parts.append(
            Markup('<rect class="bar" x="{}" y="{}" width="{}" height="{}"/>').format(
                x, f"{250 - height:.1f}", step - 4, f"{height:.1f}"
            )
        )
        parts.append(text(x + step / 2 - 2, 268, str(number), "soft", "middle"))
        if count:
            parts.append(text(x + step / 2 - 2, 244 - height, f"{count:,}", "soft", "middle"))
    width = 80 + step * (high - low + 1)
    parts.append(text(40, 290, label, "soft"))
    return picture(title, width, 312, parts)


def maps(title: str, drawn: Sequence[Map], across: int = 2) -> str:
    """Maps beside and below each other; darker is better on the map's own scale."""
    each_width = MAP_LEFT + CELL_WIDTH * max(len(one.columns) for one in drawn) + 30
    each_height = MAP_TOP + CELL_HEIGHT * max(len(one.rows) for one in drawn) + 14
    parts = []
    for number, one in enumerate(drawn):
        x, y = each_width * (number % across), 34 + each_height * (number // across)
        parts += _map(one, x, y)
    height = 52 + each_height * -(-len(drawn) // across)
    parts.append(text(20, height, "rows: the partner; columns: the model whose score it is; darker is better", "soft"))
    return picture(title, each_width * min(across, len(drawn)), height + 20, parts)


def spans(title: str, drawn: Mapping[str, tuple[tuple[float, float], Sequence[Span]]], label: str) -> str:
    """By name its scale and the ranges on it, one below the other, each with its value as a dot."""
    parts, y = [], 62.0
    for name, (scale, ranges) in drawn.items():
        parts.append(text(20, y, name, "title"))
        parts += [text(_across(end, scale), y, fixed(end, 0), "soft", "middle") for end in scale]
        for span in ranges:
            y += 22
            parts.append(
                Markup('<path class="range" d="M{} {}H{}"/>').format(
                    f"{_across(span.low, scale):.1f}", y, f"{_across(span.high, scale) + 0.1:.1f}"
                )
            )
            if span.value is not None:
                place = f"{_across(span.value, scale):.1f}"
                parts.append(Markup('<circle class="dot" cx="{}" cy="{}" r="5"/>').format(place, y))
            parts.append(text(560, y + 4, f"n={span.count:,}", "soft"))
        y += 40
    parts.append(text(20, y, label, "soft"))
    return picture(title, 640, int(y) + 18, parts)


def _across(value: float, scale: tuple[float, float]) -> float:
    return 90 + 450 * (value - scale[0]) / (scale[1] - scale[0])


def _map(one: Map, x: float, y: float) -> list[Markup]:
    parts = [text(x + 20, y + 24, one.title, "title")]
    for column, name in enumerate(one.columns):
        middle = x + MAP_LEFT + CELL_WIDTH * (column + 0.5)
        parts.append(text(middle, y + (48 if column % 2 == 0 else 64), short(name), "soft", "middle"))
    for row, partner in enumerate(one.rows):
        top = y + MAP_TOP + CELL_HEIGHT * row
        parts.append(text(x + MAP_LEFT - 8, top + 23, short(partner), "soft", "end"))
        for column, name in enumerate(one.columns):
            parts += _cell(one.values.get((partner, name)), one.scale, x + MAP_LEFT + CELL_WIDTH * column, top)
    return parts


def _cell(value: float | None, scale: tuple[float, float], x: float, y: float) -> list[Markup]:
    box = Markup('<rect {} x="{}" y="{}" width="{}" height="{}"/>')
    if value is None:
        empty = box.format(Markup('class="none"'), x, y, CELL_WIDTH - 3, CELL_HEIGHT - 3)
        return [empty, text(x + CELL_WIDTH / 2, y + 23, NO_FIGURE, "soft", "middle")]
    share = min(max((value - scale[0]) / (scale[1] - scale[0]), 0.0), 1.0)
    # From near white to a dark blue.
    red, green, blue = (round(light + share * (dark - light)) for light, dark in ((240, 20), (244, 52), (252, 120)))
    fill = Markup('fill="rgb({},{},{})"').format(red, green, blue)
    return [
        box.format(fill, x, y, CELL_WIDTH - 3, CELL_HEIGHT - 3),
        text(x + CELL_WIDTH / 2, y + 23, fixed(value, 2), "light" if share > 0.6 else "dark", "middle"),
    ]
