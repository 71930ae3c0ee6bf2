"""CSV and TSV files, read strictly: a shifted or swallowed row must not become somebody's words or figures."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus.files.textfile import BOM, read_text
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import listed, shortened

BLANK = frozenset(["", "na", "n/a", "nan", "nat", "none", "null"])
"""Cells (in lower case) that hold no value: pandas, R and spreadsheets write different ones."""

HEAD_BYTES = 1 << 18
_FORMULA = re.compile("'*[=+@\\-\t\r\n\uff1d\uff0b\uff20\uff0d]")
"""How a cell begins that spreadsheets may run as a formula, or one that we have kept from that."""


@dataclass(frozen=True)
class Table:
    """The columns of a file called ``name`` in messages, and its rows as text; a file of zero bytes has neither."""

    name: str
    header: tuple[str, ...]
    rows: Iterator[tuple[int, list[str]]]
    """(line on which it begins, cells), as many cells as columns; a `UnitError` where a row cannot be read."""

    def position(self, column: str) -> int:
        """Where ``column`` is.

        Raises ``UnitError``: there is no such column (with the nearest that there is), or nothing in the file.
        """
        if not any(name.strip() for name in self.header):
            raise UnitError(
                f"{self.name}: the file is empty; a first row with {column!r} in it is needed. Export it again."
            )
        if column in self.header:
            return self.header.index(column)
        hint = did_you_mean(column, self.header, "Export it again.")
        raise UnitError(f"{self.name}: no column {column!r}; {hint} Found: {_some(self.header)}.")

    def optional(self, column: str) -> int | None:
        """Where ``column`` is, None where the file has none."""
        return self.header.index(column) if column in self.header else None


def read_table(path: Path, name: str) -> Table:
    """Open a CSV file, or a TSV file where ``path`` ends in ``.tsv``; the first row names the columns.

    Raises ``UnitError``: a file that cannot be read, is not UTF-8, or whose first row is no header.
    """
    try:
        text = read_text(path, allow_empty=True)
    except InputError as error:
        raise UnitError(str(error)) from None
    lines = _lines(name, text, _delimiter(path))
    _, header = next(lines, (1, []))
    header = [column.strip() for column in header]
    named = [column for column in header if column]
    if len(set(named)) < len(named):
        twice = next(column for column in named if named.count(column) > 1)
        raise UnitError(f"{name}, line 1: column {twice!r} is there twice. Keep one.")
    return Table(name, tuple(header), _rows(name, lines, len(header)))


def read_head(path: Path, name: str) -> tuple[tuple[str, ...], bool]:
    """The columns of a CSV file, and whether a row follows, from its first bytes alone; () for a file of zero bytes.

    Raises ``UnitError``: a file that cannot be read, or whose first row is no header.
    """
    try:
        with path.open("rb") as file:
            text = file.read(HEAD_BYTES).decode("utf-8", errors="replace").removeprefix(BOM)
    except OSError as error:
        raise UnitError(f"{name}: cannot be read ({error.strerror}). Check its owner and mode.") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(path))
    try:
        header = tuple(column.strip() for column in next(reader, []))
        return header, any(reader)
    except csv.Error as error:
        raise UnitError(f"{name}: not readable CSV ({error}). Export it again.") from None


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _lines(name: str, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line on which it begins, cells) of every row; blank ones are passed over."""
    # Not strict, an opened and never closed quote would swallow the rest of the file in silence.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begins = 1
    try:
        for row in reader:
            if row:
                yield begins, row
            begins = reader.line_num + 1
    except csv.Error as error:
        raise UnitError(f"{name}, line {begins}: not readable CSV ({error}). Export it again.") from None


def _rows(name: str, lines: Iterator[tuple[int, list[str]]], width: int) -> Iterator[tuple[int, list[str]]]:
    for line, row in lines:
        if len(row) != width:
            raise UnitError(
                f"{name}, line {line}: {len(row)} cells; the first line names {width} columns. "
                "Quote the cells that hold the separator, or export it again."
            )
        yield line, row


def number(text: str, place: str, need: str) -> float:
    """A cell as a finite number. Raises ``UnitError``: it is none; ``place`` says where, ``need`` what is needed."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UnitError(f"{place}: {shortened(text)!r}; {need} is needed.")
    return value


def inert(text: str) -> str:
    """The text as a cell that no spreadsheet runs as a formula: an apostrophe stands before what would be one.

    >>> inert("=1+1"), inert("'tis"), original(inert("'=1+1"))
    ("'=1+1", "'tis", "'=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def original(cell: str) -> str:
    """The text that `inert` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _some(names: Sequence[str], most: int = 12) -> str:
    return listed([shortened(name) for name in names], most) or "none"
