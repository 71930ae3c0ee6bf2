"""A study's report as files."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.files import make_folder, write_atomically
from apportion.foundation.tables.grid import Grid
from apportion.foundation.tables.markdown import escaped
from apportion.study.all_answers import gathered
from apportion.study.design.folder import StudyFolder
from apportion.study.design.unblinding_key import read_key
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
from apportion.study.report.latex import as_latex
from apportion.study.report.make import report_of
from apportion.study.report.page import as_html
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


FORMAT = 1
"""Counted up where a field changes its meaning."""


def as_json(report: StudyReport) -> str:
    """Fields as `apportion.study.report.results` has them; what is no number is null."""
    document = {"format": FORMAT, "simulated_annotators": report.simulated, **asdict(report)}
    return json.dumps(_plain(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


WRITERS: dict[str, Callable[[StudyReport], str]] = {
    "html": as_html,
    "md": as_markdown,
    "tex": as_latex,
    "json": as_json,
}
"""By the file name's end."""


@dataclass(frozen=True)
class WrittenReport:
    """A report, its files, and the size of the study in a few words."""

    report: StudyReport
    files: tuple[Path, ...]
    facts: tuple[tuple[str, str], ...]


def written(
    study: Path, out: Path, formats: Sequence[str], *, database: str | Path | None = None, **how: Any
) -> WrittenReport:
    """Write a study's report (``report.html`` and so on) into a folder.

    ``formats``: of `WRITERS`. ``database``: where its answers are; beside it by default. ``how``: as `report_of` takes
    it. Raises InputError: no such study, no answers, a format that there is not; the folder cannot be written.
    """
    unknown = [name for name in formats if name not in WRITERS]
    if unknown:
        raise InputError(f"no format {unknown[0]!r}; there are {', '.join(WRITERS)}.")
    folder = StudyFolder.open(study)
    answers = gathered(folder, database)
    report = report_of(folder, read_key(study), answers.people, answers.judges, **how)
    make_folder(out, "Name another folder for the report.")
    files = []
    for name in dict.fromkeys(formats):
        path = out / f"report.{name}"
        write_atomically(path, WRITERS[name](report))
        files.append(path)
    return WrittenReport(report, tuple(files), tuple(facts(report)))
