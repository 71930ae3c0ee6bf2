"""CSV and TSV files, read strictly: a shifted or swallowed row must not become somebody's words or figures."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus.account import Cells, current
from apportion.corpus.files.csvtext import folded, head_letters, read_letters, table_text
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import listed, shortened

BLANK = frozenset(["", "na", "n/a", "nan", "nat", "none", "null"])
"""Cells (in lower case) that hold no value: pandas, R and spreadsheets write different ones."""

HEAD_BYTES = 1 << 18
_FORMULA = re.compile("'*[=+@\\-\t\r\n\uff1d\uff0b\uff20\uff0d]")
"""How a cell begins that spreadsheets may run as a formula, or one that we have kept from that."""
_PLAIN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(?:0+,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})|[0-9]{4,},[0-9]+)")
"""Figures whose comma cannot stand between thousands."""
UNSURE = "Its point may stand before decimals or between thousands. Write 5.0 or 5000, not 5.000."


@dataclass(frozen=True)
class Table:
    """The columns of a file called ``name`` in messages, and its rows as text; a file of zero bytes has neither.

    Whoever reads a column asks for it (`position`, `optional`, `use`): the account of an import says by name whose
    cells nobody read.
    """

    name: str
    header: tuple[str, ...]
    rows: Iterator[tuple[int, list[str]]]
    """(line on which it begins, cells), as many cells as columns; a `UnitError` where a row cannot be read."""
    delimiter: str
    cells: Cells

    def position(self, column: str, otherwise: str = "Export it again.") -> int:
        """Where ``column`` is.

        Raises ``UnitError``: there is no such column (with the nearest that there is, or what to do ``otherwise``), or
        nothing in the file.
        """
        if not any(name.strip() for name in self.header):
            raise UnitError(
                f"{self.name}: the file is empty; a first row with {column!r} in it is needed. Export it again."
            )
        at = self.optional(column)
        if at is not None:
            return at
        hint = did_you_mean(column, self.header, otherwise)
        raise UnitError(f"{self.name}: no column {column!r}; {hint} Found: {_some(self.header)}.")

    def optional(self, column: str) -> int | None:
        """Where ``column`` is, None where the file has none."""
        if column not in self.header:
            return None
        self.use(column)
        return self.header.index(column)

    def use(self, *columns: str) -> None:
        """Say that these columns, which are there, are read."""
        self.cells.asked.update(map(self.header.index, columns))


def read_table(path: Path, name: str, known: Collection[str] = ()) -> Table:
    """Open a CSV file, or a TSV file where ``path`` ends in ``.tsv``; the first row names the columns.

    ``known``: the columns that somebody looks for. They are found in another case and with other blanks, too, and tell
    which separator it is where it is not the one that the file's name promises.

    Raises ``UnitError``: a file that cannot be read, is no text, or whose first row is no header.
    """
    try:
        text = read_letters(path, allow_empty=True)
    except InputError as error:
        raise UnitError(str(error)) from None
    return parse_table(text, path, name, known)


def parse_table(text: str, path: Path, name: str, known: Collection[str] = ()) -> Table:
    """As `read_table`, of a file's text. Raises ``UnitError``: the first row is no header."""
    whole = table_text(text, name, _promised(path), known)
    lines = whole.rows(name)
    _, header = next(lines, (1, []))
    header = _named(header, known)
    named = [column for column in header if column]
    if len(set(named)) < len(named):
        twice = next(column for column in named if named.count(column) > 1)
        raise UnitError(f"{name}, line 1: column {twice!r} is there twice. Keep one.")
    cells = current().cells(name, header)
    return Table(name, tuple(header), _rows(name, lines, cells), whole.delimiter, cells)


def read_head(path: Path, name: str, known: Collection[str] = ()) -> tuple[tuple[str, ...], bool]:
    """The columns of a CSV file, and whether a row follows, from its first bytes alone; () for a file of zero bytes.

    Raises ``UnitError``: a file that cannot be read, or whose first row is no header.
    """
    try:
        with path.open("rb") as file:
            text = head_letters(file.read(HEAD_BYTES))
    except OSError as error:
        raise UnitError(f"{name}: cannot be read ({error.strerror}). Check its owner and mode.") from None
    lines = table_text(text, name, _promised(path), known).rows(name)
    _, header = next(lines, (1, []))
    try:
        follows = any(True for _ in lines)
    except UnitError:  # A row that the first bytes cut off, or one that is told where it is read.
        follows = True
    return tuple(_named(header, known)), follows


def _promised(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _named(header: Sequence[str], known: Collection[str]) -> list[str]:
    """The columns, spelt as those that are known."""
    spelt = {folded(name): name for name in reversed(list(known))}
    names = [column.strip() for column in header]
    return [name if name in known else spelt.get(folded(name), name) for name in names]


def _rows(name: str, lines: Iterator[tuple[int, list[str]]], cells: Cells) -> Iterator[tuple[int, list[str]]]:
    header, width, beyond = cells.header, len(cells.header), None
    last = max((place for place, column in enumerate(header, start=1) if column), default=width)
    for line, row in lines:
        if beyond is None:
            # Some programs end every row with a separator, but not the header.
            beyond = 0 if any(map(str.strip, row[width:])) else max(0, len(row) - width)
        if len(row) != width + beyond:
            raise UnitError(
                f"{name}, line {line}: {len(row)} cells; the first line names {width} columns. "
                "Quote the cells that hold the separator (and write 3.5, not 3,5), or export it again."
            )
        if len(row) > last and any(map(str.strip, row[last:])):
            nameless = " ".join(row[last:]).strip()
            raise UnitError(
                f"{name}, line {line}: {shortened(nameless)!r} is in a column without a name. "
                "Name it, or quote the cells that hold the separator."
            )
        cells.rows += 1
        yield line, row[:width] if beyond else row


def number(text: str, place: str, need: str, decimal: str = ".") -> float:
    """A cell as a finite number. Raises ``UnitError``: it is none; ``place`` says where, ``need`` what is needed."""
    value = parsed(text, decimal)
    if value is None:
        hint = " Write it with a point for decimals, and without thousands." if "," in text else ""
        hint = f" {UNSURE}" if not decimal and parsed(text) is not None else hint
        raise UnitError(f"{place}: {shortened(text)!r}; {need} is needed.{hint}")
    return value


def parsed(text: str, decimal: str = ".") -> float | None:
    """A cell as a finite number in ASCII digits, None where it is none.

    >>> parsed("3.5"), parsed("3,5"), parsed("3,5", ","), parsed("4 of 5"), parsed("1e999"), parsed("1_0")
    (3.5, None, 3.5, None, None, None)
    """
    plain = text.strip().replace("\u2212", "-")
    if decimal != ".":
        plain = plain.replace(".", " ").replace(decimal or ".", ".")
    value = float(plain) if _PLAIN.fullmatch(plain) else math.nan
    return value if math.isfinite(value) else None


def whole(text: str) -> int | None:
    """A cell as a whole number in ASCII digits (at most 18), None where it is none."""
    return int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text) else None


def decimal_mark(cells: Iterable[str], delimiter: str) -> str:
    """What stands before the decimals of a table's figures: a comma only where that is certain; "" where nobody knows.

    Where commas divide the cells, ``"3,5"`` may be two answers; ``1,234`` alone may be a thousand and more. Where
    semicolons do, so may ``1.234``.
    """
    if delimiter == ",":
        return "."
    figures = [cell.strip() for cell in cells]
    pointed = [cell.replace(".", ",") for cell in figures if "." in cell and "," not in cell]
    if any(map(_DECIMAL_COMMA.fullmatch, figures)) and not any("." in cell for cell in figures):
        return ","
    return "" if delimiter == ";" and pointed and not any(map(_DECIMAL_COMMA.fullmatch, pointed)) else "."


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
