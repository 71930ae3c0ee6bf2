"""One annotator's answer to one item, wherever it was given: from the pages, from elsewhere, by a judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus.files.textfile import read_jsonl
from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json

IMPORTED, JUDGED = "imported", "judged"
"""Folders of a study for answers that its own pages did not take: of people elsewhere, and of judges."""
PREFIX, AGAIN = "judge:", "#"
"""How a judge's id begins, and what stands before the number of a second answer, such as that with orders swapped."""
RESERVED = ("simulated-", "label-studio-", "mturk-")
"""How ids begin that are given here: of simulated annotators, and of those who are named otherwise elsewhere."""
_ID = re.compile(r"[A-Za-z0-9_.:#-]{1,64}")
RowCheck = Callable[["AnswerRow"], None]
"""Raises InputError where a row is no answer to what was asked."""


@dataclass(frozen=True)
class AnswerRow:
    """What an annotator answered to an item.

    - ``annotator``, ``item``: ids; nothing else about a person is known.
    - ``answers``: by criterion, as `apportion.study.design.answers.Value` says.
    - ``reason``: in the annotator's words; may be empty.
    - ``seconds``: for how long the item was looked at; 0 where that is not known.
    - ``focus_lost``: how often the page lost the focus meanwhile.
    - ``revision``: counted up by each change of the answer, from 1.
    - ``at``: when it was saved, in UTC (ISO 8601); may be empty.
    """

    annotator: str
    item: str
    answers: Mapping[str, Any]
    reason: str = ""
    seconds: float = 0.0
    focus_lost: int = 0
    revision: int = 1
    at: str = ""


def check_annotator_id(annotator: str) -> str:
    """The id; InputError where it is none.

    >>> check_annotator_id("a001")
    'a001'
    """
    if not _ID.fullmatch(annotator):
        raise InputError(
            f"annotator {annotator!r:.80}: 1 to 64 letters, digits and marks of _.:#- are an id; nothing else is kept."
        )
    return annotator


def is_reserved(annotator: str) -> bool:
    """Whether an id that somebody brings would be taken for one that is given here.

    >>> is_reserved("Simulated-001"), is_reserved("5f3c")
    (True, False)
    """
    return annotator.casefold().startswith(RESERVED)


def rows_text(rows: Iterable[AnswerRow]) -> str:
    """JSON Lines, a row each, by item and annotator: equal rows, equal text."""
    ordered = sorted(rows, key=lambda row: (row.item, row.annotator))
    return "".join(f"{canonical_json({**vars(row), 'answers': dict(row.answers)})}\n" for row in ordered)


def read_row_file(path: Path, check: RowCheck = lambda _: None) -> tuple[AnswerRow, ...]:
    """The rows of a file that `rows_text` gave; ``check`` is asked of each. Raises InputError: it cannot be read, or a
    line is none of these (file and line).
    """
    rows = []
    for number, line in read_jsonl(path, allow_empty=True):
        try:
            row = _row(line)
            check(row)
            rows.append(row)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
    return tuple(rows)


def rows_beside(study: Path, folder: str, check: RowCheck = lambda _: None) -> tuple[AnswerRow, ...]:
    """The rows of all files (``*.jsonl``) in a folder of a study; none where it has no such folder. Raises InputError:
    as `read_row_file`; an annotator answers an item in two files.
    """
    found: dict[tuple[str, str], tuple[AnswerRow, Path]] = {}
    for path in sorted((study / folder).glob("*.jsonl")):
        for row in read_row_file(path, check):
            before = found.get((row.annotator, row.item))
            if before is not None:
                raise InputError(
                    f"{path}: annotator {row.annotator} answers item {row.item}, and does so in {before[1]}, too. "
                    "Remove one of the files."
                )
            found[row.annotator, row.item] = (row, path)
    return tuple(row for row, _ in found.values())


def _row(line: Mapping[str, Any]) -> AnswerRow:
    kinds = {
        "annotator": str, "item": str, "answers": Mapping, "reason": str, "seconds": int | float, "focus_lost": int,
        "revision": int, "at": str,
    }  # fmt: skip
    for name, kind in kinds.items():
        value = line.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(f"{name}: {value!r:.60} is not what an answer has there. Write the file again.")
    if line["seconds"] < 0 or line["focus_lost"] < 0:
        raise InputError("seconds and focus_lost cannot be below 0.")
    check_annotator_id(line["annotator"])
    return AnswerRow(**{name: line[name] for name in kinds})
