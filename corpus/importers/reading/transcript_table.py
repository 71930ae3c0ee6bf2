"""Transcripts as tables (CSV, TSV): one row a cue, with who speaks from when to when."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from apportion.corpus import account
from apportion.corpus.files.csvfile import UNSURE, Table, decimal_mark, parse_table, parsed
from apportion.corpus.files.csvtext import read_letters
from apportion.corpus.importers.reading.time_unit import MILLISECONDS, SECONDS, TimeUnit
from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import shortened

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "speaker": ("speaker",),
    "text": ("utterance", "text"),
    "start": ("start", "start_s", "start_ms"),
    "end": ("stop", "end", "stop_s", "end_s", "stop_ms", "end_ms"),
}
"""What a cue has, and how its column may be called."""


class TableCue(NamedTuple):
    """A row: its place for messages, who and what, from when to when in seconds (the cells where one is no figure)."""

    place: str
    speaker: str
    text: str
    start: float | str
    end: float | str


def read_cues(path: Path, unit: TimeUnit | None) -> list[TableCue]:
    """The rows of a table with a column for each of `COLUMNS`, in another order or case, too.

    ``unit``: of the times; None: the columns' names tell it, else it is seconds.

    Raises ``UnitError``: no or two columns for the same thing, a row that cannot be trusted, a unit that the columns'
    names contradict. ``InputError``: a file that cannot be read, is empty, or no text.
    """
    known = [name for names in COLUMNS.values() for name in names]
    table = parse_table(read_letters(path), path, path.name, known)
    columns = [_Column(table, key, names) for key, names in COLUMNS.items()]
    speaker, text, *times = (column.at for column in columns)
    a_second = [column.a_second(unit) for column in columns[2:]]
    rows = list(table.rows)
    account.current().said("cues", [row[text] for _, row in rows])
    mark = decimal_mark((row[at] for _, row in rows for at in times), table.delimiter)
    cues = []
    for line, row in rows:
        place = f"{path.name}, line {line}"
        _check_whole(place, row, table, times, (speaker, text))
        start, end = (parsed(row[at], mark) for at in times)
        if not mark and None in (start, end):
            raise UnitError(f"{place}: start {row[times[0]]!r} and end {row[times[1]]!r}. {UNSURE}")
        if start is None or end is None:
            cues.append(TableCue(place, row[speaker], row[text], row[times[0]], row[times[1]]))
        else:
            cues.append(TableCue(place, row[speaker], row[text], start / a_second[0], end / a_second[1]))
    return cues


@dataclass(frozen=True)
class _Column:
    """The one column of ``table`` for ``key``, which may have one of several ``names``."""

    table: Table
    key: str
    names: Sequence[str]

    @property
    def name(self) -> str:
        found = [name for name in self.names if name in self.table.header]
        if len(found) == 1:
            return found[0]
        place, there = self.table.name, ", ".join(filter(None, map(shortened, self.table.header))) or "none"
        if not found:
            raise UnitError(f"{place}: no column for the {self.key}; allowed: {', '.join(self.names)}. Found: {there}.")
        raise UnitError(f"{place}: columns {' and '.join(found)}; which is the {self.key}? Rename or remove the other.")

    @property
    def at(self) -> int:
        return self.table.position(self.name)

    def a_second(self, unit: TimeUnit | None) -> float:
        """What a second is in this column."""
        named = {"s": SECONDS, "ms": MILLISECONDS}.get(self.name.rpartition("_")[2])
        if unit and named and unit != named:
            raise UnitError(
                f"{self.table.name}: column {self.name!r} has {named}, and time_unit is {unit}. Correct one."
            )
        return 1000.0 if (unit or named) == MILLISECONDS else 1.0


def _check_whole(place: str, row: Sequence[str], table: Table, times: Sequence[int], named: Sequence[int]) -> None:
    """Refuse what only looks like one row: a quote that swallowed others, a text that was cut at its comma."""
    speaker, text = named
    for at, cell in enumerate(row):
        if len(cell.splitlines()) > 1 and (at in (speaker, *times) or _holds_rows(cell, at, row, table, times)):
            raise UnitError(f"{place}: {shortened(cell)!r} goes over several lines; a quote is left open. Close it.")
    after = row[text + 1] if table.delimiter == "," and text + 1 < len(row) else ""
    if after[:1] == " " and after.strip() and not any(row[at][:1] == " " for at in (speaker, *times)):
        raise UnitError(f"{place}: {shortened(after)!r} may be the rest of the text. Quote the text if it is.")


def _holds_rows(cell: str, at: int, row: Sequence[str], table: Table, times: Sequence[int]) -> bool:
    """Whether a line of the cell has as many cells as the table, with times where those are."""
    first, *others = (next(csv.reader([line], delimiter=table.delimiter), []) for line in cell.splitlines())
    lines = [[*row[:at], *first], *others] if at < min(times) else others
    return any(
        len(cells) == len(row) and all(any(parsed(cells[at], mark) is not None for mark in ".,") for at in times)
        for cells in lines
    )
