"""A study's report as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.files import make_folder, write_atomically
from apportion.study.all_answers import gathered
from apportion.study.design.folder import StudyFolder
from apportion.study.design.unblinding_key import read_key
from apportion.study.report.document import as_json
from apportion.study.report.grids import facts
from apportion.study.report.latex import as_latex
from apportion.study.report.make import report_of
from apportion.study.report.markdown import as_markdown
from apportion.study.report.page import as_html
from apportion.study.report.results import StudyReport

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
