"""A study's report as one self-contained HTML page: no script, no request to anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2

from apportion.evaluation.table import Grid
from apportion.pipeline.report.text import clean
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
    """A page in the report's style, by a template that extends ``frame.html``; its policy forbids scripts and requests.

    ``values`` are the template's; what `inert` and `apportion.pipeline.report.text.clean` have not seen is none of
    them.
    """
    # The study's own rules stand last: they go before the page's.
    style = _source("apportion.pipeline.report", "tokens.css") + _source("apportion.pipeline.report", "page.css")
    style += _source("apportion.study.report", "page.css")
    frame = {
        "style": style,
        "style_hash": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        "title": clean(title, 200),
        "colours": {},
    }
    return _environment().get_template(template).render({**frame, **values}).lstrip()


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


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("apportion.study.report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _source(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")
