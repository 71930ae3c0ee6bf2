"""What a study of some size finds, and how many items and annotators a difference needs, as one page (HTML)."""

from __future__ import annotations

from apportion.foundation.svg import ChartLine, line_chart
from apportion.foundation.tables.grid import Grid
from apportion.foundation.tables.numbers import fixed
from apportion.study.planning import Planned, Told
from apportion.study.report.page import framed, inert

TITLE = "How large a study has to be"
SIZES = (0.5, 1, 2, 4, 8)
"""Numbers of items that are told, as multiples of the study's own."""
POINTS_A_CURVE, COLOURS = 60, 8
"""Points that a curve is drawn through; colours that the report's style has."""


def as_page(found: Planned) -> str:
    """The page as text; it holds no script and asks nothing of anybody."""
    header, *rows = found.rows
    colours = {_name(found, told): f"m{place % COLOURS}" for place, told in enumerate(found.differences)}
    own = Grid(
        "What this study finds", tuple(header), tuple(map(tuple, rows)), tuple(f"{note}." for note in found.notes)
    )
    values = {
        "size": found.size,
        "assumed": found.assumed,
        "least": found.least,
        "wanted": f"{found.wanted:g}",
        "legend": list(colours.items()),
        "colours": colours,
        "own": inert([own])[0],
        "sizes": inert([_sizes(found)])[0],
        "chart": _chart(found, colours),
    }
    return framed("plan.html", TITLE, values)


def _name(found: Planned, told: Told) -> str:
    return f"{told.difference:+g} {found.unit}".replace("-", "−")


def _sizes(found: Planned) -> Grid:
    """The power after correction, a row a difference, a column a number of items."""
    sizes = [max(2, round(found.design.items * factor)) for factor in SIZES]
    people = (f"{found.design.with_items(size).annotators:,}" for size in sizes)
    rows = [
        ("annotators", *people),
        *(
            (_name(found, told), *(fixed(found.corrected(told, size), 2) for size in sizes))
            for told in found.differences
        ),
    ]
    note = f"Power after correction, with {found.design.each:.4g} items an annotator; {found.wanted:g} is wanted."
    return Grid(
        "By how many items and annotators", ("difference", *(f"{size:,} items" for size in sizes)), tuple(rows), (note,)
    )


def _chart(found: Planned, colours: dict[str, str]) -> object:
    most = max(4, round(found.design.items * SIZES[-1]))
    items = sorted({max(2, round(most * step / POINTS_A_CURVE)) for step in range(1, POINTS_A_CURVE + 1)})
    lines = [
        ChartLine(name, items, [found.corrected(told, number) for number in items], colour)
        for (name, colour), told in zip(colours.items(), found.differences, strict=True)
    ]
    return line_chart(lines, "items", "Power after correction over the number of items, a curve a difference")
