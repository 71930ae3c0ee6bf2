"""What generation begins with: a file of vignettes, or of things for sale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from apportion.corpus.files.csvfile import number, read_table
from apportion.corpus.files.textfile import read_text
from apportion.foundation.errors import InputError, UnitError

LONGEST = 4_000
"""Characters of a vignette, a title or a description."""
MOST_DOLLARS = 10_000_000
LIMITS = ("seller_least", "buyer_most")
OPTIONAL = ("source", *LIMITS)
TABLES = (".csv", ".tsv")
Row = Mapping[str, str]
_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Vignette:
    """A sentence or a few that inspire a scenario; ``place`` is its line."""

    text: str
    place: str
    source: str = ""


@dataclass(frozen=True)
class Item:
    """Something for sale, prices in US dollars.

    ``price`` is what it is offered for, ``buyer_price`` the buyer's target. ``seller_least`` and ``buyer_most``, both
    or neither, are what each would never pass: with them rules can check the scenario.
    """

    title: str
    description: str
    price: float
    buyer_price: float
    place: str
    seller_least: float | None = None
    buyer_most: float | None = None


def read_vignettes(path: Path) -> tuple[Vignette, ...]:
    """Vignettes: a text file with one a line, or a table (CSV, TSV) with the column ``vignette``, perhaps ``source``.

    Raises InputError: a file that cannot be read, has none, or has one that is too long.
    """
    if path.suffix.lower() in TABLES:
        read = tuple(_rows(path, ("vignette",), lambda row, place: Vignette(row["vignette"], place, row["source"])))
    else:
        lines = enumerate(read_text(path).splitlines(), 1)
        read = tuple(Vignette(line.strip(), f"{path.name}, line {count}") for count, line in lines if line.strip())
    if not read:
        raise InputError(f"{path}: no vignette; write one a line, or a table with the column 'vignette'")
    for vignette in read:
        _check_length(vignette.text, vignette.place)
    return read


def read_items(path: Path) -> tuple[Item, ...]:
    """Things for sale: a table (CSV, TSV) with the columns of `Item`, of which the limits may be missing.

    Raises InputError: a file that cannot be read, has none, or a cell that cannot be used: the line is named.
    """
    if path.suffix.lower() not in TABLES:
        raise InputError(f"{path}: things for sale are a table; the name must end in .csv or .tsv")
    read = tuple(_rows(path, ("title", "description", "price", "buyer_price"), _item))
    if not read:
        raise InputError(f"{path}: no item; the table has a header and nothing else")
    return read


def _rows(path: Path, needed: tuple[str, ...], make: Callable[[Row, str], _Made]) -> Iterator[_Made]:
    """What ``make`` makes of every row, given its cells by column and its place; columns that lack are empty."""
    try:
        table = read_table(path, str(path), (*needed, *OPTIONAL))
        for column in needed:
            table.position(column)
        for line, cells in table.rows:
            row = defaultdict(str, zip(table.header, (cell.strip() for cell in cells), strict=True))
            place = f"{path.name}, line {line}"
            for column in needed:
                if not row[column]:
                    raise InputError(f"{place}: {column} is empty")
                _check_length(row[column], place)
            yield make(row, place)
    except UnitError as error:
        raise InputError(str(error)) from None


def _item(row: Row, place: str) -> Item:
    price, wanted = _dollars(row, "price", place), _dollars(row, "buyer_price", place)
    given = [bool(row[column]) for column in LIMITS]
    if any(given) and not all(given):
        raise InputError(f"{place}: {' and '.join(LIMITS)} are given both or not at all")
    least, most = (_dollars(row, column, place) if all(given) else None for column in LIMITS)
    if most is not None and most <= wanted:
        raise InputError(f"{place}: buyer_most {most:g} is not above buyer_price {wanted:g}, which the buyer hopes for")
    return Item(row["title"], row["description"], price, wanted, place, least, most)


def _dollars(row: Row, column: str, place: str) -> float:
    value = number(row[column], f"{place}: {column}", "a price in dollars")
    if not 0 < value <= MOST_DOLLARS:
        raise InputError(f"{place}: {column} is {value:g}; a price is above 0 and at most {MOST_DOLLARS:,}")
    return value


def _check_length(text: str, place: str) -> None:
    if len(text) > LONGEST:
        raise InputError(f"{place}: {len(text):,} characters; at most {LONGEST:,} are one vignette or description")
