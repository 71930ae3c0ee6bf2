"""All answers to a study, wherever they were given: on its pages, elsewhere, by judges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apportion.foundation.errors import InputError
from apportion.study.design.answers import problem_of
from apportion.study.design.folder import ANSWERS, StudyFolder
from apportion.study.rows import IMPORTED, JUDGED, AnswerRow, rows_beside


@dataclass(frozen=True)
class CollectedAnswers:
    """Answers of people (and of simulated annotators, who are named so), and those of judges."""

    people: tuple[AnswerRow, ...]
    judges: tuple[AnswerRow, ...]


def gathered(study: StudyFolder, database: str | Path | None = None) -> CollectedAnswers:
    """The answers of a study's database (beside it, if there is one, or named) and of its folders for others'. Raises
    InputError: a file or the database cannot be read, or has what is no answer to what was asked (file and line);
    somebody answers an item both here and elsewhere.
    """
    own, check = database_rows(study, database), partial(check_row, study)
    imported = rows_beside(study.path, IMPORTED, check)
    there = {(row.annotator, row.item) for row in own}
    twice = next((row for row in imported if (row.annotator, row.item) in there), None)
    if twice is not None:
        raise InputError(
            f"annotator {twice.annotator} answered item {twice.item} on the study's pages, and in "
            f"{study.path / IMPORTED}, too. Remove the file that has it."
        )
    return CollectedAnswers((*own, *imported), rows_beside(study.path, JUDGED, check))


def check_row(study: StudyFolder, row: AnswerRow) -> None:
    """A file from elsewhere may be anybody's: each answer in it has to be one to what was asked. Raises InputError: an
    item or a criterion that the study has not, or a value that is no answer.
    """
    item = study.items.get(row.item)
    if item is None:
        raise InputError(f"annotator {row.annotator} answers item {row.item!r:.40}, which {study.path} has not.")
    for name, value in row.answers.items():
        criterion = study.criteria.by_name.get(name)
        problem = "no such criterion" if criterion is None else problem_of(criterion, item, value, whole=False)
        if problem is not None:
            raise InputError(f"annotator {row.annotator}, item {row.item}, {name!r:.60}: {problem}. Import them again.")


def database_rows(study: StudyFolder, database: str | Path | None = None) -> tuple[AnswerRow, ...]:
    """The answers that the study's own pages took; none where it has no database yet. Raises InputError: the database
    is not there, cannot be read, or is another study's.
    """
    if database is None and not (study.path / ANSWERS).exists():
        return ()
    try:
        from apportion.study.store.database import file_of
        from apportion.study.store.store import Store
    except ModuleNotFoundError as error:
        raise InputError(
            f"{error.name} is needed to read the answers of {study.path}. Install it with "
            "`pip install 'apportion[study]'`."
        ) from None

    file = None if database is None else file_of(database)
    if file is not None and not file.exists():
        raise InputError(f"{file}: no such database. Name the one that `apportion study serve` was given.")
    store = Store.open(database, study, reading=True)
    try:
        return tuple(store.answers())
    finally:
        store.close()
