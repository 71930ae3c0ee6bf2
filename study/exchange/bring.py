"""Answers that were given elsewhere, into a study: which program's file it is follows from its name's end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foundation.errors import InputError
from study.definition.folder import StudyFolder
from study.exchange.arrived import keep
from study.exchange.label_studio_answers import read_export
from study.exchange.mturk_results import read_results
from study.gathered import database_rows

READERS = {".csv": read_results, ".json": read_export}


@dataclass(frozen=True)
class Brought:
    """Where the answers are kept, how many of how many annotators, and what was passed over."""

    path: Path
    answers: int
    annotators: int
    notes: tuple[str, ...]


def bring(study: Path, source: Path, database: str | Path | None = None) -> Brought:
    """Read a results file of Mechanical Turk (``.csv``) or an export of Label Studio (``.json``) and keep its answers.

    ``database`` is where the study's own answers are; beside it by default.

    Raises
    ------
    InputError
        Another file; as the readers and `keep`; answers that the study's own pages have, too.
    """
    if source.suffix.lower() not in READERS:
        raise InputError(
            f"{source}: a results file of Mechanical Turk ends in .csv, an export of Label Studio in .json. Name one."
        )
    folder = StudyFolder.open(study)
    arrived = READERS[source.suffix.lower()](source, folder)
    there = {(row.annotator, row.item) for row in database_rows(folder, database)}
    twice = next((key for key in sorted(arrived.rows) if key in there), None)
    if twice is not None:
        raise InputError(
            f"{source}: annotator {twice[0]} answers item {twice[1]}, and did so on the study's own pages. "
            "Nothing was kept."
        )
    out = keep(folder, arrived, source)
    people = {annotator for annotator, _ in arrived.rows}
    return Brought(out, len(arrived.rows), len(people), arrived.notes())
