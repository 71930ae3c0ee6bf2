"""A study's report as one self-contained HTML page: no script, no request to anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from apportion.foundation.html.page import render_page
from apportion.foundation.html.text import clean
from apportion.foundation.tables.grid import Grid
from apportion.study.report.forest import forests
from apportion.study.report.grids import (
    agreement_grid,
    annotator_grid,
    difference_grids,
    facts,
    figure_grids,
    interval_grids,
    judge_grid,
    pair_grids,
    paper_grids,
)
from apportion.study.report.results import StudyReport, StudyTable

MOST_CELL = 400
"""Characters of a cell: names and questions are somebody else's words."""


def as_html(report: StudyReport) -> str:
    """The page as text; equal reports give equal text.

    Every string from outside is escaped, and the page's own policy forbids scripts and requests.
    """
    shown = any(cell.answers for one in report.people.criteria for cell in one.cells)
    values: dict[str, Any] = {
        "version": report.version,
        "base": None if report.base is None else clean(report.base, 80),
        "systems": report.systems,
        "source": clean(report.source, 1000),
        "colours": {clean(name, MOST_CELL): colour for name, colour in report.colours.items()},
        "facts": facts(report),
        "notes": [clean(note, 1000) for note in report.notes],
        "paper": inert(paper_grids(report.people)) if shown else [],
        "intervals": inert(interval_grids(report.people)) if shown else [],
        "differences": inert(difference_grids(report.people, report.base)),
        "pairs": inert(pair_grids(report.people)),
        "forests": forests(report.people, report.base, report.colours),
        "agreement": inert([agreement_grid(report.people)])[0],
        "annotators": inert([annotator_grid(report)])[0],
        "people": report.people.annotators,
        "without": None if report.unflagged is None else _beside(report.unflagged, report),
        "judges": [
            {
                **_beside(judge.table, report),
                "name": clean(judge.name, 120),
                "grids": inert([judge_grid(judge), *figure_grids(judge.table, report.base)]),
            }
            for judge in report.judges
        ],
    }
    return framed("page.html", report.title, values)


def framed(template: str, title: str, values: Mapping[str, Any]) -> str:
    """A page by a template that extends ``document.html``; its policy forbids scripts and requests.

    ``values`` are the template's; what `inert` and `apportion.foundation.html.text.clean` have not seen is none of
    them.
    """
    # The study's own rules stand last: they go before the page's.
    style = files("apportion.study.report").joinpath("page.css").read_text(encoding="utf-8")
    return render_page("apportion.study.report", template, style, title=clean(title, 200), **values)


def _beside(table: StudyTable, report: StudyReport) -> dict[str, Any]:
    return {
        "annotators": table.annotators,
        "grids": inert(figure_grids(table, report.base)),
        "forests": forests(table, report.base, report.colours),
    }


def inert(grids: list[Grid]) -> list[Grid]:
    """The same tables without characters that no page can hold, and with real minus signs before figures."""
    return [
        Grid(
            clean(grid.title, MOST_CELL),
            tuple(clean(cell, MOST_CELL) for cell in grid.header),
            tuple((clean(row[0], MOST_CELL), *(_cell(cell) for cell in row[1:])) for row in grid.rows),
            tuple(clean(note, 2000) for note in grid.notes),
        )
        for grid in grids
    ]


def _cell(text: str) -> str:
    text = clean(text, MOST_CELL)
    begins = text.startswith("-") and text[1:2].isdigit()
    return ("−" + text[1:] if begins else text).replace("[-", "[−").replace(", -", ", −")
