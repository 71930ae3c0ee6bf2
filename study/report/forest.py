"""Forest plots: each system beside the base on one criterion, a point with its interval (inline SVG)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from apportion.foundation.html.text import clean
from apportion.foundation.svg import ticks
from apportion.study.report.grids import UNITS, Unit
from apportion.study.report.results import CriterionTable, StudyTable

WIDTH, LEFT, RIGHT, TOP, ROW, BOTTOM = 360.0, 112.0, 14.0, 8.0, 26.0, 22.0
TICKS, MOST_NAME = 6, 17
"""About so many ticks; characters of a system's name that have room beside its row; all of it stands in the title."""


@dataclass(frozen=True)
class Forest:
    """One criterion's plot with the text that stands for it."""

    criterion: str
    caption: str
    svg: Markup


def forests(table: StudyTable, base: str | None, colours: Mapping[str, str]) -> list[Forest]:
    """A plot a criterion that is compared to the base, all of a kind on one scale."""
    plots = []
    for kind in dict.fromkeys(one.kind for one in table.criteria):
        criteria = [one for one in table.criteria if one.kind == kind]
        rows = {one.criterion: _rows(one, table, UNITS[kind]) for one in criteria}
        ends = [end for own in rows.values() for row in own for end in (row.value, *(row.ends or ()))]
        if not ends:
            continue
        even = UNITS[kind].even
        span = _span([*ends, even])
        caption = f"{UNITS[kind].difference.replace('the base', str(base))}, with 95 % intervals"
        plots += [Forest(name, caption, _drawn(name, own, span, even, colours)) for name, own in rows.items() if own]
    return plots


@dataclass(frozen=True)
class _Row:
    system: str
    value: float
    ends: tuple[float, float] | None
    clear: bool
    text: str


def _rows(one: CriterionTable, table: StudyTable, unit: Unit) -> list[_Row]:
    rows = []
    for cell in one.cells:
        found = table.difference(one.criterion, cell.system)
        if found is None:
            continue
        value, low, high = found.difference.value, found.difference.low, found.difference.high
        ends = None if low is None or high is None else (unit.told(low), unit.told(high))
        clear = found.p_holm is not None and found.p_holm < 0.05
        rows.append(_Row(cell.system, unit.told(value), ends, clear, unit.difference_text(value, low, high)))
    return rows


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = 0.04 * (high - low) or 1.0
    return low - margin, high + margin


def _drawn(
    criterion: str, rows: Sequence[_Row], span: tuple[float, float], even: float, colours: Mapping[str, str]
) -> Markup:
    height = TOP + ROW * len(rows) + BOTTOM
    floor = height - BOTTOM

    def place(value: float) -> float:
        return LEFT + (value - span[0]) / (span[1] - span[0]) * (WIDTH - LEFT - RIGHT)

    parts = [
        Markup('<path class="grid" d="M{} {}V{}"/><text x="{}" y="{}" text-anchor="middle">{}</text>').format(
            f"{place(tick):.1f}", f"{TOP:g}", f"{floor:g}", f"{place(tick):.1f}", f"{floor + 14:g}", _tick(tick)
        )
        for tick in ticks(*span, TICKS)
        if span[0] <= tick <= span[1]
    ]
    parts.append(Markup('<path class="even" d="M{} {}V{}"/>').format(f"{place(even):.1f}", f"{TOP:g}", f"{floor:g}"))
    parts += [
        _row(row, TOP + ROW * (number + 0.5), place, colours.get(row.system, "m0")) for number, row in enumerate(rows)
    ]
    label = f"{criterion}: " + "; ".join(f"{row.system} {row.text}" for row in rows)
    return Markup('<svg class="chart forest" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        f"{WIDTH:g}", f"{height:g}", clean(label, 2000), Markup("").join(parts)
    )


def _row(row: _Row, y: float, place: Callable[[float], float], colour: str) -> Markup:
    x = place(row.value)
    line = Markup("")
    if row.ends is not None:
        low, high = (f"{place(end):.1f}" for end in row.ends)
        line = Markup('<path class="whisker" d="M{} {}H{}"/>').format(low, f"{y:.1f}", high)
    point = Markup('<path class="{}" d="M{} {}l5 5-5 5-5-5z"/>').format(
        "clear" if row.clear else "open", f"{x:.1f}", f"{y - 5:.1f}"
    )
    name = Markup('<text x="{}" y="{}" text-anchor="end" dominant-baseline="middle">{}</text>').format(
        f"{LEFT - 8:g}", f"{y:.1f}", clean(row.system, MOST_NAME)
    )
    title = Markup("<title>{}</title>").format(clean(f"{row.system}: {row.text}", 400))
    return Markup('{}<g class="{}">{}{}{}</g>').format(name, colour, title, line, point)


def _tick(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")
