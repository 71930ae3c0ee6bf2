"""How somebody's program writes tables: its letters, and what stands between the cells."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus.files.textfile import BOM, read_bytes, read_text
from apportion.foundation.errors import InputError, UnitError

DELIMITERS = (",", ";", "\t", "|")
HEAD = 1 << 16
"""Letters in which the first row is looked for."""
MOST_PACKED = 64 << 20
"""Bytes of a table that a gzip may hold: its cells take eight times as much."""
_SEP = re.compile(r'("?)sep=([^\r\n])\1(?:\r\n|\r|\n|$)', re.IGNORECASE)
"""What Excel writes, and reads, before the first row."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class TableText:
    """A table as text, what is between its cells, and on which line the text begins."""

    text: str
    delimiter: str
    first_line: int = 1

    def rows(self, name: str) -> Iterator[tuple[int, list[str]]]:
        """(line on which it begins, cells) of every row; those without anything in them are passed over.

        Raises ``UnitError``: a quote that is not closed, or closed in the middle of a cell.
        """
        # Not strict, an opened and never closed quote would swallow the rest of the file in silence.
        reader = csv.reader(
            io.StringIO(self.text, newline=""), delimiter=self.delimiter, strict=True, skipinitialspace=self._spaced()
        )
        begins = self.first_line
        try:
            for row in reader:
                if any(map(str.strip, row)):
                    yield begins, row
                begins = self.first_line + reader.line_num
        except csv.Error as error:
            raise UnitError(
                f"{name}, line {begins}: not readable CSV ({error}). Close the quote that is opened there, write "
                'a quote within a cell twice (""), or export it again.'
            ) from None

    def _spaced(self) -> bool:
        """Whether a blank follows each separator: the quote of ``a, "b, c"`` opens a cell then."""
        cells = _first_row(self.text, self.delimiter)[1:]
        return bool(cells) and all(cell[:1] == " " and cell.strip() for cell in cells)


def table_text(text: str, name: str, default: str, known: Collection[str] = ()) -> TableText:
    """The text of a table, and its separator: of a line ``sep=;``, else by the first row.

    ``default``: the separator that the file's name promises; another one only where with that no column, or fewer of
    ``known``, would be named. Raises ``UnitError``: a line ``sep=`` that names no separator.
    """
    said = _SEP.match(text)
    if said is None:
        return TableText(text, _delimiter(text, default, known))
    if said[2] not in DELIMITERS:
        raise UnitError(f"{name}, line 1: sep={said[2]!r}; allowed: comma, semicolon, tab, |. Export it again.")
    return TableText(text[said.end() :], said[2], first_line=2)


def read_letters(path: Path, *, allow_empty: bool = False) -> str:
    """The text of a table's file: UTF-8, or UTF-16 with a byte order mark, as Excel writes "Unicode text".

    Raises ``InputError``: as `apportion.corpus.files.textfile.read_text`; bytes that are no text.
    """
    try:
        text = read_text(path, allow_empty=allow_empty, most_packed=MOST_PACKED)
    except InputError:
        data = read_bytes(path, MOST_PACKED)
        if not data.startswith(_UTF16) or len(data) == len(_UTF16[0]):
            raise
        try:
            text = data.decode("utf-16")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-16 at byte offset {error.start}. Save the file as UTF-8.") from None
    if "\0" in text[:HEAD].partition("\n")[0]:
        raise InputError(f"{path}, line 1: zero bytes, so it is UTF-16 or no text. Save the file as UTF-8.")
    return text.removeprefix(BOM)


def head_letters(data: bytes) -> str:
    """The first bytes of a table's file as text; what is cut off, or none, becomes U+FFFD."""
    return data.decode("utf-16" if data.startswith(_UTF16) else "utf-8", errors="replace").removeprefix(BOM)


def folded(name: str) -> str:
    """A column's name without case, blanks and marks.

    >>> folded("Session ID") == folded("session_id"), folded(" Start [s]")
    (True, 'starts')
    """
    return re.sub(r"[\W_]+", "", name.casefold())


def _delimiter(text: str, default: str, known: Collection[str]) -> str:
    wanted = {folded(name) for name in known}
    rows = {mark: _first_row(text, mark) for mark in dict.fromkeys((default, *DELIMITERS))}
    named = {mark: len(wanted & {folded(cell) for cell in row}) for mark, row in rows.items()}
    most = max(named.values())
    split = [mark for mark, row in rows.items() if named[mark] == most and (most or len(row) > 1)]
    return default if default in split or len(split) != 1 else split[0]


def _first_row(text: str, delimiter: str) -> list[str]:
    try:
        rows = csv.reader(io.StringIO(text[:HEAD], newline=""), delimiter=delimiter)
        return next((row for row in rows if any(map(str.strip, row))), [])
    except csv.Error:  # Told where the table is read.
        return []
