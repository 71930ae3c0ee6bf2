"""A study for other programs: its answers as a table, its items as a batch or a project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.study.all_answers import database_rows, gathered
from apportion.study.design.folder import StudyFolder
from apportion.study.design.unblinding_key import read_key
from apportion.study.import_export.answer_table import (
    is_answer_table,
    read_answer_lines,
    read_answer_table,
    write_answers,
)
from apportion.study.import_export.external_answers import ExternalAnswers, keep
from apportion.study.import_export.form import shown_items
from apportion.study.import_export.label_studio import interface_xml, read_export, tasks_json
from apportion.study.import_export.mturk import batch_csv, layout_html, read_results

ANSWERS, MTURK, LABEL_STUDIO = "answers", "mturk", "label-studio"


def hand_out(
    study: Path, out: Path, kind: str, database: str | Path | None = None, *, force: bool = False
) -> tuple[tuple[Path, str], ...]:
    """Write what ``kind`` asks for; the files, each with what it holds.

    ``answers`` has the policies' names; a batch and a project have none.

    Raises InputError: no such kind, a file that is there without ``force``, no answers yet; as what writes it.
    """
    folder = StudyFolder.open(study)
    if kind == ANSWERS:
        _check_free([out], force)
        answers = gathered(folder, database)
        rows = (*answers.people, *answers.judges)
        if not rows:
            raise InputError(f"{study}: no answers yet.")
        count = write_answers(folder, read_key(study), rows, out)
        return ((out, f"{count:,} rows of {len(rows):,} answers"),)
    makers = {
        MTURK: ((".csv", batch_csv), (".html", layout_html)),
        LABEL_STUDIO: ((".json", tasks_json), (".xml", interface_xml)),
    }
    if kind not in makers:
        raise InputError(f"{kind!r} cannot be written; there are {', '.join([ANSWERS, *makers])}.")
    files = [(out.with_suffix(suffix), make) for suffix, make in makers[kind]]
    _check_free([path for path, _ in files], force)
    for path, make in files:
        write_atomically(path, make(folder))
    tasks = f"{len(shown_items(folder)):,} tasks"
    return tuple((path, what) for (path, _), what in zip(files, (tasks, "the page's layout"), strict=True))


def _check_free(paths: list[Path], force: bool) -> None:
    there = [path for path in paths if path.exists()]
    if there and not force:
        raise InputError(f"{there[0]} exists. Use --force to replace it, or name another file.")


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
