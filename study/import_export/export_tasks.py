"""A study for other programs: its answers as a table, its items as a batch or a project."""

from __future__ import annotations

from pathlib import Path

from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.study.all_answers import gathered
from apportion.study.design.folder import StudyFolder
from apportion.study.design.unblinding_key import read_key
from apportion.study.import_export.form import shown_items
from apportion.study.import_export.label_studio_tasks import interface_xml, tasks_json
from apportion.study.import_export.mturk_batch import batch_csv, layout_html
from apportion.study.import_export.table import write_answers

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
