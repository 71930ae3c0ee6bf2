"""Responses of policies to the same dialogue contexts: the table, and the files that it is kept in."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from apportion.corpus.files.csvfile import inert, original, whole
from apportion.corpus.files.csvfile import read_table as read_csv
from apportion.corpus.files.tablefile import read_table, sort_rows, write_table
from apportion.corpus.schema import TableSchema
from apportion.foundation.errors import InputError
from apportion.reward_model.history_windows import MARKS
from apportion.rlhf.policy.contexts import KNOWN, ContextTurn

SUFFIXES = (".parquet", ".jsonl", ".csv")
_LINE = re.compile(r"(?P<role>user|assistant)(?: \((?P<speaker>.+?)\))?:(?P<text>.*)", re.DOTALL)
"""A message in a context: the role, one of several users by name, and the words."""
_KNOWN = re.compile(rf"(?P<role>{KNOWN}) \((?P<speaker>{'|'.join(MARKS)})\):(?P<text>.*)", re.DOTALL)
"""What was known before the first turn: of what kind, and the words."""


def context_text(messages: Sequence[ContextTurn]) -> str:
    """One line a message, ``user: …`` or ``assistant: …``; line breaks within a message become spaces.

    Of several users each is named: ``user (ann): …``. What the assistant knew before stands first: ``known (goal): …``
    what everybody knew, ``known (own goal): …`` what it alone did.
    """
    return "\n".join(f"{speaker_of(message)}: {' '.join(message.text.split())}" for message in messages)


def speaker_of(message: ContextTurn) -> str:
    """Who says a message: its role, and which of several users."""
    # A name may hold anything, but nothing that ends it.
    return f"{message.role} ({message.speaker.replace('):', ')')})" if message.speaker else message.role


def messages_of(context: str) -> tuple[ContextTurn, ...]:
    """The messages that `context_text` wrote. Raises InputError: a line that begins with neither role."""
    messages = []
    for line in context.split("\n"):
        found = _LINE.fullmatch(line) or _KNOWN.fullmatch(line)
        if found is None:
            raise InputError(
                f"column context: the line {line[:80]!r} begins with neither 'user: ' nor 'assistant: '. "
                "Write one line a message, as `apportion policy generate` does; 'user (NAME): ' where there are "
                "several, 'known (KIND): ' for what was known before."
            )
        messages.append(ContextTurn(found["role"], found["text"].strip(), found["speaker"] or ""))
    return tuple(messages)


def write_rows(table: pa.Table, path: Path, schema: TableSchema) -> None:
    """Write a table, rows sorted by key, as Parquet, JSON Lines or CSV by the name's end; equal rows, equal bytes.

    In CSV a text that a spreadsheet would run as a formula has an apostrophe in front, which `read_rows` takes off.
    """
    if path.suffix != ".csv":
        write_table(table, path, schema)
        return
    rows = (row.values() for row in sort_rows(table, schema).to_pylist())
    path.write_text(csv_text(schema.arrow.names, rows), encoding="utf-8", newline="")


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A CSV file as text; no cell is run by a spreadsheet."""
    text = io.StringIO()
    # With these line ends the module quotes both of their characters where a cell holds one.
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([inert(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()


def read_rows(path: Path, schema: TableSchema) -> pa.Table:
    """Read what `write_rows` wrote, or the like made elsewhere.

    Raises InputError: No such file, another suffix, a missing column, a value of another type or missing, a key that is
    there twice.
    """
    if path.suffix not in SUFFIXES:
        raise InputError(f"the file {path}: the name must end in {', '.join(SUFFIXES)}; it says how it is written.")
    if not path.is_file():
        raise InputError(f"{path}: no such file. Make one with `apportion policy generate POLICY CORPUS`.")
    table = _read_csv(path, schema) if path.suffix == ".csv" else read_table(path, schema)
    for name in schema.required:
        if missing := table.column(name).null_count:
            raise InputError(f"{path}: {missing} rows have no {name}. Every row needs one.")
    keys = list(zip(*(table.column(name).to_pylist() for name in schema.key), strict=True))
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        named = ", ".join(f"{name} {value!r}" for name, value in zip(schema.key, twice, strict=True))
        raise InputError(f"{path}: {named} is there twice. Keep one row of each.")
    return table


def _read_csv(path: Path, schema: TableSchema) -> pa.Table:
    from apportion.foundation.errors import UnitError

    columns: dict[str, list[Any]] = {name: [] for name in schema.arrow.names}
    try:
        read = read_csv(path, str(path), schema.arrow.names)
        places = {name: read.position(name) for name in columns}
        for line, cells in read.rows:
            for name, place in places.items():
                columns[name].append(_cell(path, line, schema.arrow.field(name), cells[place]))
    except UnitError as error:
        raise InputError(str(error)) from None
    return pa.table(columns, schema=schema.arrow)


def _cell(path: Path, line: int, field: pa.Field, cell: str) -> Any:
    if not pa.types.is_integer(field.type):
        return original(cell)
    try:
        value = pa.scalar(whole(cell), field.type).as_py()
    except (OverflowError, pa.ArrowInvalid):
        value = None
    if value is None:
        raise InputError(f"{path}, line {line}, column {field.name}: {cell[:60]!r} is not a whole number.")
    return value
