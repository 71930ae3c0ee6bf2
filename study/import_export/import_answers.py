"""Answers that were given elsewhere, into a study: whose file it is follows from its name's end and its columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from apportion.foundation.errors import InputError
from apportion.study.all_answers import database_rows
from apportion.study.design.folder import StudyFolder
from apportion.study.import_export.external_answers import ExternalAnswers, keep
from apportion.study.import_export.label_studio_answers import read_export
from apportion.study.import_export.mturk_results import read_results
from apportion.study.import_export.table_answers import is_answer_table, read_answer_lines, read_answer_table


def _read_csv(source: Path, study: StudyFolder) -> ExternalAnswers:
    return read_answer_table(source, study) if is_answer_table(source) else read_results(source, study)


READERS = {".csv": _read_csv, ".json": read_export, ".parquet": read_answer_table, ".jsonl": read_answer_lines}


@dataclass(frozen=True)
class ImportResult:
    """Where the answers are kept, how many of how many annotators, and what was passed over."""

    path: Path
    answers: int
    annotators: int
    notes: tuple[str, ...]


def bring(study: Path, source: Path, database: str | Path | None = None) -> ImportResult:
    """Read answers that were given elsewhere and keep them.

    ``source`` is a results file of Mechanical Turk (``.csv``), an export of Label Studio (``.json``), or a table of
    answers of `apportion study export` (``.csv``, ``.parquet``, ``.jsonl``), such as of the same study elsewhere.
    ``database`` is where the study's own answers are; beside it by default.

    Raises InputError: another file; as the readers and `keep`; answers that the study's own pages have, too.
    """
    if source.suffix.lower() not in READERS:
        raise InputError(
            f"{source}: a results file of Mechanical Turk ends in .csv, an export of Label Studio in .json, a table of "
            "answers in .csv, .parquet or .jsonl. Name one."
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
    return ImportResult(out, len(arrived.rows), len(people), arrived.notes())
