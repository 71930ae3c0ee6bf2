"""Finding the rows of a table that break a rule, whole columns at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.corpus import Corpus
from apportion.corpus.files.tablefile import parts
from apportion.corpus.issue import Severity, ValidationIssue
from apportion.corpus.schema import BACKGROUNDS, TableSchema
from apportion.corpus.session import BACKGROUND_KINDS


def rows_where(table: pa.Table, mask: pa.ChunkedArray) -> Iterator[tuple[int, dict[str, Any]]]:
    """(row number from 1, row) of the rows where the boolean ``mask`` is true (null counts as false)."""
    positions = pc.indices_nonzero(pc.fill_null(mask, False))
    rows = table.take(positions).to_pylist() if len(positions) else []
    return ((position + 1, row) for position, row in zip(positions.to_pylist(), rows, strict=True))


def issues(
    name: str,
    rows: Iterable[tuple[int, dict[str, Any]]],
    column: str,
    found: str,
    allowed: str,
    hint: str,
    severity: Severity = "error",
) -> Iterator[ValidationIssue]:
    """One issue for each (number, row) of the table ``name``.

    ``found`` and ``allowed`` are filled in with the row's values, as in "{end_s:g} s".
    """
    for number, row in rows:
        told, wanted = found.format_map(row), allowed.format_map(row)
        yield ValidationIssue(name, number, column, row["session_id"], told, wanted, hint, severity)


def once(rows: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The first (number, row) of each session."""
    reported: set[str] = set()
    for number, row in rows:
        if row["session_id"] not in reported:
            reported.add(row["session_id"])
            yield number, row


def not_finite(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """True where a number is NaN or infinite; false or null elsewhere."""
    return pc.invert(pc.is_finite(column))


def nulls(table: pa.Table, schema: TableSchema) -> Iterator[ValidationIssue]:
    """Required values that are missing."""
    for name in schema.required:
        if table.column(name).null_count:
            empty = rows_where(table, table.column(name).is_null())
            yield from issues(schema.name, empty, name, "no value", "a value in every row", "Fill it in.")


def not_numbers(table: pa.Table, name: str, columns: Iterable[str]) -> Iterator[ValidationIssue]:
    """NaN and infinite values."""
    for column in columns:
        odd, hint = rows_where(table, not_finite(table.column(column))), "Give the number, or leave the row out."
        yield from issues(name, odd, column, f"{{{column}}} is not a number", "a finite number", hint)


def duplicates(table: pa.Table, schema: TableSchema, first: int = 0) -> Iterator[ValidationIssue]:
    """Rows whose key another row above has already; in its file ``first`` rows stand above the table."""
    keys = list(schema.key)
    groups = table.select(keys).group_by(keys, use_threads=False).aggregate([([], "count_all")])
    if groups.num_rows == table.num_rows:
        return
    seen: dict[tuple[Any, ...], int] = {}
    for number, key in enumerate(zip(*(table.column(name).to_pylist() for name in keys), strict=True), start=1):
        if key in seen:
            shown = ", ".join(str(part) for part in key[1:] if part is not None) or str(key[0])
            column = keys[-1] if len(keys) < 3 else ", ".join(keys[1:])
            told, allowed = f"{shown} is there already (row {first + seen[key]})", f"each {' + '.join(keys)} once"
            hint = "Renumber it, or remove one of the two."
            yield ValidationIssue(schema.name, number, column, key[0], told, allowed, hint)
        else:
            seen[key] = number


def unknown_sessions(table: pa.Table, name: str, sessions: pa.Table) -> Iterator[ValidationIssue]:
    """Rows of sessions that the table ``sessions`` does not have: one problem a session, at its first row."""
    known = pc.is_in(table.column("session_id"), value_set=sessions.column("session_id").combine_chunks())
    unknown, hint = once(rows_where(table, pc.invert(known))), "Add the session, or correct the id."
    told, allowed = "{session_id!r} is not in the table sessions", "a session_id of the table sessions"
    yield from issues(name, unknown, "session_id", told, allowed, hint)


def pairs(table: pa.Table, *columns: str) -> set[tuple[Any, ...]]:
    """The distinct combinations of ``columns``."""
    found: set[tuple[Any, ...]] = set()
    for _, part in parts(table):
        distinct = part.select(list(columns)).group_by(list(columns), use_threads=False).aggregate([])
        found.update(zip(*(distinct.column(name).to_pylist() for name in columns), strict=True))
    return found


def check_backgrounds(corpus: Corpus) -> Iterator[ValidationIssue]:
    """Unknown sessions and kinds, texts without a word, private rows of somebody who says nothing."""
    table = corpus.backgrounds
    if table.num_rows == 0:
        return
    yield from nulls(table, BACKGROUNDS)
    yield from duplicates(table, BACKGROUNDS)
    yield from unknown_sessions(table, "backgrounds", corpus.sessions)
    speaking: dict[str, set[str]] = {}
    for session_id, speaker in pairs(corpus.utterances, "session_id", "speaker"):
        speaking.setdefault(session_id, set()).add(speaker)
    for number, row in enumerate(table.to_pylist(), start=1):
        yield from _row_problems(row, number, speaking.get(row["session_id"]))


def _row_problems(row: dict[str, Any], number: int, speakers: set[str] | None) -> Iterator[ValidationIssue]:
    id_, speaker, kind, text = row["session_id"], row["speaker"], row["kind"], row["text"]
    if kind is not None and kind not in BACKGROUND_KINDS:
        allowed = ", ".join(BACKGROUND_KINDS)
        yield ValidationIssue("backgrounds", number, "kind", id_, repr(kind), allowed, "Correct the kind.")
    if text is not None and not text.strip():
        hint = "Write the text, or remove the row."
        yield ValidationIssue("backgrounds", number, "text", id_, "the text is empty", "a text with a word in it", hint)
    # A session that is unknown or in which nobody speaks is told once, not again for each row.
    if speaker is not None and speakers is not None and speaker not in speakers:
        names = ", ".join(sorted(name for name in speakers if name is not None))
        told, allowed = f"{speaker!r} does not speak in the session", f"{names}, or empty for what everybody knows"
        hint = "Correct the name, or remove the row."
        yield ValidationIssue("backgrounds", number, "speaker", id_, told, allowed, hint)
