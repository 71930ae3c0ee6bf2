"""Pictures of the paper's figures as standalone SVG: a histogram, maps of model pairs, ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from apportion.environments.report_tables.chart import picture, short, text
from apportion.foundation.tables.numbers import NO_FIGURE, fixed

LEFT, TOP, CELL_WIDTH, CELL_HEIGHT = 130, 76, 86, 38


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
    each_width = LEFT + CELL_WIDTH * max(len(one.columns) for one in drawn) + 30
    each_height = TOP + CELL_HEIGHT * max(len(one.rows) for one in drawn) + 14
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
        middle = x + LEFT + CELL_WIDTH * (column + 0.5)
        parts.append(text(middle, y + (48 if column % 2 == 0 else 64), short(name), "soft", "middle"))
    for row, partner in enumerate(one.rows):
        top = y + TOP + CELL_HEIGHT * row
        parts.append(text(x + LEFT - 8, top + 23, short(partner), "soft", "end"))
        for column, name in enumerate(one.columns):
            parts += _cell(one.values.get((partner, name)), one.scale, x + LEFT + CELL_WIDTH * column, top)
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
