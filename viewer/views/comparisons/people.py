"""A scatter of a voice's values against people's labels: every point leads to its turn."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from markupsafe import Markup

from apportion.foundation.files import digest
from apportion.foundation.html.text import clean, plain, signed
from apportion.foundation.svg import ticks
from apportion.viewer.data.comparisons.people import Against, Point
from apportion.viewer.data.session_ref import Named

MOST_POINTS = 2000
WIDTH, HEIGHT, LEFT, BOTTOM, EDGE = 720, 436, 46, 56, 14
TICKS = 5
APART = 12
"""Turns that are listed below the picture."""


def people_view(
    found: Against, sessions: Container[str], address: Callable[[Point], str], colour: str, axes: tuple[str, str]
) -> dict[str, Any]:
    """The scatter of those of ``sessions``; ``address`` gives a point's link, ``axes`` name values and labels."""
    points = [point for point in found.points if point.session_id in sessions]
    step = max(1, -(-len(points) // MOST_POINTS))
    drawn = points[::step]
    return {
        "picture": _scatter(drawn, address, colour, axes),
        "drawn": len(drawn),
        "turns": len(points),
        "sessions": found.sessions,
        "left_out": found.left_out,
        "correlation": "–" if found.correlation is None else f"{found.correlation:.2f}".replace("-", "−"),
    }


def most_apart(found: Against) -> Sequence[Point]:
    """The turns whose ranks are furthest apart."""
    return sorted(found.points, key=lambda point: (-point.apart, point.session_id, point.turn))[:APART]


def apart_row(point: Point, named: Named) -> dict[str, Any]:
    """A turn of `most_apart` as it is shown."""
    text = clean(" ".join(named.texts.get(point.turn, "").split()), 160)
    place = named.places.get(point.key[1:], 0)
    value, label = signed(point.value), plain(point.label)
    return {
        "session_id": clean(point.session_id, 120),
        "slug": named.slug,
        "place": place,
        "turn": point.turn,
        "said": text,
        "value": value,
        "label": label,
    }


def _scatter(points: Sequence[Point], address: Callable[[Point], str], colour: str, axes: tuple[str, str]) -> Markup:
    across, up = ([point.value for point in points], [point.label for point in points])
    x, y = _Scale(across, LEFT, WIDTH - EDGE), _Scale(up, HEIGHT - BOTTOM, EDGE)
    parts = [
        Markup('<svg class="scatter {}" viewBox="0 0 {} {}" role="group" aria-label="{} against {}">').format(
            colour, WIDTH, HEIGHT, axes[0], axes[1]
        )
    ]
    floor = HEIGHT - BOTTOM
    parts += [_line(f"M{x.at(value)} {EDGE}V{floor}", x.at(value), floor + 20, "middle", value) for value in x.ticks]
    parts += [
        _line(f"M{LEFT} {y.at(value)}H{WIDTH - EDGE}", LEFT - 7, y.at(value) + 4, "end", value) for value in y.ticks
    ]
    named = Markup('<text class="axis" x="{}" y="{}" text-anchor="{}">{}</text>')
    parts.append(named.format(WIDTH - EDGE, HEIGHT - 6, "end", f"{axes[0]} →"))
    parts.append(named.format(LEFT + 4, EDGE + 10, "start", f"↑ {axes[1]}"))
    parts += [_dot(point, x, y, address(point)) for point in points]
    return Markup("").join(parts) + Markup("</svg>")


def _line(path: str, x: float, y: float, anchor: str, value: float) -> Markup:
    """A line across the picture and the number that it stands for."""
    return Markup('<path class="grid" d="{}"/><text x="{}" y="{}" text-anchor="{}">{}</text>').format(
        path, x, y, anchor, plain(value)
    )


def _dot(point: Point, x: _Scale, y: _Scale, address: str) -> Markup:
    says = f"{clean(point.session_id, 120)}, turn {point.turn}: {signed(point.value)}, people {plain(point.label)}"
    across, up = _shift(point)
    return Markup('<a href="{}" aria-label="{}"><circle cx="{}" cy="{}" r="4"><title>{}</title></circle></a>').format(
        address, says, round(x.at(point.value) + across, 1), round(y.at(point.label) + up, 1), says
    )


class _Scale:
    """Values onto pixels, with a margin; a single value stands in the middle."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        wide = (high - low) or abs(high) or 1.0
        self.low, self.high = low - 0.05 * wide, high + 0.05 * wide
        self.start, self.end = start, end
        inside = (value for value in ticks(low, high, TICKS) if low <= value <= high) if high > low else (low,)
        self.ticks = [float(round(value, 12)) for value in inside]

    def at(self, value: float) -> float:
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)


def _shift(point: Point) -> tuple[float, float]:
    """Up to 5 pixels, always the same for a turn: labels are few numbers, and points on each other are one."""
    noise = int(digest([point.session_id, point.turn])[:8], 16)
    return ((noise & 0xFF) / 255 * 4 - 2, (noise >> 8 & 0xFF) / 255 * 10 - 5)
