"""All answers as one table, a row a judged response or turn: CSV, Parquet; or as they are kept, JSON Lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.files.csvfile import inert
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.study.design.answers import values_of
from apportion.study.design.folder import StudyFolder
from apportion.study.design.unblinding_key import Key
from apportion.study.rows import AnswerRow, rows_text

SUFFIXES = (".csv", ".parquet", ".jsonl")
SCHEMA = pa.schema(
    {
        "annotator": pa.string(),
        "item": pa.string(),
        "counts_as": pa.string(),
        "session_id": pa.string(),
        "turn": pa.int64(),
        "criterion": pa.string(),
        "judged": pa.string(),
        "policy": pa.string(),
        "value": pa.float64(),
        "reason": pa.string(),
        "seconds": pa.float64(),
        "focus_lost": pa.int64(),
        "revision": pa.int64(),
        "at": pa.string(),
    }
)
"""``counts_as``: item, practice or check; ``judged``: a response's id or, of turns, the position in the context's
messages; ``policy``: null of turns and of what an attention check made; ``value``: as `values_of` has it, reversed
criteria turned so that more is better."""


def answer_table(study: StudyFolder, key: Key, rows: Iterable[AnswerRow]) -> pa.Table:
    """The table, by item, annotator, criterion and what was judged. Raises InputError: an answer to an item that the
    study has not.
    """
    ordered = sorted(rows, key=lambda row: (row.item, row.annotator))
    policies = key.policy_of
    return pa.Table.from_pylist([line for row in ordered for line in _lines(study, policies, row)], schema=SCHEMA)


def write_answers(study: StudyFolder, key: Key, rows: Iterable[AnswerRow], path: Path) -> int:
    """Write all answers by the name's end; how many rows the file has.

    In CSV a text that a spreadsheet would run as a formula has an apostrophe in front.

    Raises InputError: another suffix; as `answer_table`.
    """
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: the name must end in {', '.join(SUFFIXES)}; it says how it is written.")
    rows = tuple(rows)
    if path.suffix == ".jsonl":
        write_atomically(path, rows_text(rows))
        return len(rows)
    table = answer_table(study, key, rows)
    if path.suffix == ".csv":
        write_atomically(path, csv_text(SCHEMA.names, (list(line.values()) for line in table.to_pylist())))
    else:
        write_atomically(path, lambda place: pq.write_table(table, place, compression="zstd"))
    return int(table.num_rows)


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A CSV file as text; no cell is run by a spreadsheet."""
    text = io.StringIO()
    # With these line ends the module quotes both of their characters where a cell holds one.
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([inert(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()


def _lines(study: StudyFolder, policies: Any, row: AnswerRow) -> Iterator[dict[str, Any]]:
    item = study.items.get(row.item)
    if item is None:
        raise InputError(
            f"annotator {row.annotator}: an answer to item {row.item!r}, which {study.path} has not. The answers "
            "belong to another study."
        )
    is_check, is_practice = row.item in study.checks, row.item in study.settings.practice
    counts_as = "check" if is_check else "practice" if is_practice else "item"
    for name, given in sorted(row.answers.items()):
        criterion = study.criteria.by_name.get(name)
        if criterion is None:
            raise InputError(f"annotator {row.annotator}, item {row.item}: no criterion is called {name!r:.60}.")
        for judged, value in sorted(values_of(criterion, item, given).items()):
            yield {
                "annotator": row.annotator,
                "item": row.item,
                "counts_as": counts_as,
                "session_id": item.session_id,
                "turn": item.turn,
                "criterion": name,
                "judged": judged,
                "policy": policies.get((row.item, judged)),
                "value": value,
                "reason": row.reason,
                "seconds": row.seconds,
                "focus_lost": row.focus_lost,
                "revision": row.revision,
                "at": row.at,
            }
