"""All answers as one table, a row a judged response or turn: CSV, Parquet; or as they are kept, JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.files.csvfile import BLANK, number, original, read_head, read_table
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import write_atomically
from apportion.rlhf.compare.responses import csv_text
from apportion.study.all_answers import check_row
from apportion.study.design.answers import value_from, values_of
from apportion.study.design.folder import StudyFolder
from apportion.study.design.items import Item
from apportion.study.design.unblinding_key import Key
from apportion.study.import_export.external_answers import MOST_SECONDS, ExternalAnswers, in_utc
from apportion.study.rows import PREFIX, AnswerRow, check_annotator_id, read_row_file, rows_text

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
_OF_THE_ROW = ("annotator", "item", "reason", "seconds", "focus_lost", "revision", "at")
"""Columns that an answer's row has under the same name."""


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
            told = {column: getattr(row, column) for column in _OF_THE_ROW}
            told |= {"counts_as": counts_as, "criterion": name, "judged": judged, "value": value}
            policy = policies.get((row.item, judged))
            yield told | {"session_id": item.session_id, "turn": item.turn, "policy": policy}


NEEDED = ("annotator", "item", "criterion", "judged", "value")
"""Columns that a table of answers has; of the others those that `SCHEMA` names are read."""
JUDGES = "answers of language models (they belong into STUDY/judged)"

_Cells = Mapping[str, str]


@dataclass
class _Gathered:
    """What the rows of one annotator on one item say: values by criterion and what was judged, and the rest once."""

    rest: _Cells
    values: dict[str, dict[str, float]] = field(default_factory=dict)


def is_answer_table(path: Path) -> bool:
    """Whether a CSV file is a table of answers, not one of another program. Raises InputError: it cannot be read."""
    try:
        header, _ = read_head(path, str(path), SCHEMA.names)
    except UnitError as error:
        raise InputError(str(error)) from None
    return set(NEEDED) <= set(header)


def read_answer_table(path: Path, study: StudyFolder) -> ExternalAnswers:
    """The answers in a table (``.csv``, ``.parquet``) that has a row a judged response or turn.

    Policies' names in it are not looked at: whose a response is, the study's own key says. Answers of language models
    are passed over.

    Raises InputError: no such file, a column is missing, an item that the study has not, what no annotator could have
    answered (file, and the line or row).
    """
    gathered: dict[tuple[str, str], _Gathered] = {}
    begun: dict[tuple[str, str], str] = {}
    try:
        for where, cells in _csv_rows(path) if path.suffix.lower() == ".csv" else _parquet_rows(path):
            key = (cells["annotator"], cells["item"])
            begun.setdefault(key, where)
            try:
                _take(gathered.setdefault(key, _Gathered(cells)), cells, study)
            except (InputError, UnitError) as error:
                raise InputError(f"{path}, {where}: {error}") from None
    except UnitError as error:
        raise InputError(str(error)) from None

    def rows() -> Iterator[AnswerRow]:
        for key, one in gathered.items():
            try:
                row = _row(*key, one, study)
                check_row(study, row)
                yield row
            except (InputError, UnitError) as error:
                raise InputError(f"{path}, {begun[key]}: {error}") from None

    return _arrived(rows())


def read_answer_lines(path: Path, study: StudyFolder) -> ExternalAnswers:
    """The answers in JSON Lines, as they are kept. Raises InputError: as `read_answer_table`."""
    return _arrived(read_row_file(path, lambda row: check_row(study, row)))


def _arrived(rows: Iterable[AnswerRow]) -> ExternalAnswers:
    arrived = ExternalAnswers()
    for row in rows:
        if row.annotator.startswith(PREFIX):
            arrived.passed[JUDGES] += 1
        else:
            arrived.take(row)
    return arrived


def _csv_rows(path: Path) -> Iterator[tuple[str, _Cells]]:
    table = read_table(path, str(path), SCHEMA.names)
    for name in NEEDED:
        table.position(name)
    for line, cells in table.rows:
        yield f"line {line}", {name: original(cell) for name, cell in zip(table.header, cells, strict=True)}


def _parquet_rows(path: Path) -> Iterator[tuple[str, _Cells]]:
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.") from None
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({str(error)[:120]}).") from None
    missing = [name for name in NEEDED if name not in table.column_names]
    if missing:
        raise InputError(
            f"{path}: no column {missing[0]!r}; a table of answers has {', '.join(NEEDED)}. Export it again by "
            "`apportion study export`."
        )
    for place, row in enumerate(table.to_pylist(), start=1):
        yield f"row {place}", {name: "" if value is None else str(value) for name, value in row.items()}


def _take(found: _Gathered, cells: _Cells, study: StudyFolder) -> None:
    """Add one row's value; what it repeats of the item has to be the study's."""
    item = _item(cells, study)
    for name, own in (("session_id", item.session_id), ("turn", str(item.turn))):
        if cells.get(name, "") not in ("", own):
            raise InputError(
                f"{name} {cells[name]!r:.60}, and item {item.item} has {own!r:.60}: another study's table."
            )
    if cells["criterion"] not in study.criteria.by_name:
        raise InputError(f"no criterion is called {cells['criterion']!r:.60}.")
    values = found.values.setdefault(cells["criterion"], {})
    if cells["judged"] in values:
        raise InputError(
            f"annotator {cells['annotator']!r:.80} judges {cells['judged']!r:.60} of item {item.item} by "
            f"{cells['criterion']} twice. Keep one row."
        )
    values[cells["judged"]] = number(cells["value"], "column value", "a number")


def _item(cells: _Cells, study: StudyFolder) -> Item:
    item = study.items.get(cells["item"])
    if item is None:
        raise InputError(f"{cells['item']!r:.60} is no item of {study.path}. Name its own study.")
    return item


def _row(annotator: str, item: str, found: _Gathered, study: StudyFolder) -> AnswerRow:
    answers, rest = {}, found.rest
    for name, values in found.values.items():
        try:
            answers[name] = value_from(study.criteria.by_name[name], study.items[item], values)
        except InputError as error:
            raise InputError(f"annotator {annotator!r:.80}, item {item}, {name}: {error}.") from None
    return AnswerRow(
        check_annotator_id(annotator),
        item,
        answers,
        rest.get("reason", ""),
        min(_figure(rest, "seconds"), MOST_SECONDS),
        int(_figure(rest, "focus_lost")),
        max(1, int(_figure(rest, "revision"))),
        in_utc(rest.get("at", "")),
    )


def _figure(cells: _Cells, name: str) -> float:
    """A figure that a table may leave out: 0 then."""
    text = cells.get(name, "")
    if text.strip().lower() in BLANK:
        return 0.0
    value = number(text, f"column {name}", "a number, or nothing,")
    if value < 0:
        raise InputError(f"column {name}: {text!r:.40} is below 0.")
    return value
