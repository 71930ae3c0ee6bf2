"""A study's report as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from apportion.foundation.tables.grid import Grid
from apportion.foundation.tables.markdown import escaped
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
from apportion.study.report.results import StudyReport


def as_markdown(report: StudyReport) -> str:
    """The same tables as the page; what is somebody's words means nothing to Markdown."""
    parts = [f"# {escaped(report.title)}", ", ".join(f"{name}: {value}" for name, value in facts(report)) + "."]
    parts += [f"**Note.** {escaped(note)}" for note in report.notes]
    parts += _section("As the paper tells it", paper_grids(report.people))
    parts += _section("With intervals", interval_grids(report.people))
    parts += _section("Compared", [*difference_grids(report.people, report.base), *pair_grids(report.people)])
    parts += _section("Agreement", [agreement_grid(report.people)])
    parts += _section("Annotators", [annotator_grid(report)])
    if report.unflagged is not None:
        left = f"Without the flagged annotators ({report.unflagged.annotators} of {report.people.annotators} left)"
        parts += _section(left, figure_grids(report.unflagged, report.base))
    for judge in report.judges:
        parts += _section(f"A judge beside: {judge.name}", [judge_grid(judge), *figure_grids(judge.table, report.base)])
    return "\n\n".join(parts) + "\n"


def _section(title: str, grids: Sequence[Grid]) -> list[str]:
    parts = [f"## {escaped(title)}"] if grids else []
    for grid in grids:
        parts += [f"### {escaped(grid.title)}", grid.markdown()]
        parts += [grid.markdown_notes()] if grid.notes else []
    return parts
