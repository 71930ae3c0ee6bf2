"""A large data set in Parquet parts: read by row group, the rows of some whole chats at a time, by the order of ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from apportion.corpus import account
from apportion.corpus.files.tablefile import check_unpacked, readable
from apportion.corpus.importers.chats.keys import IDS, LISTS, NONE, KeyFinder, Keys, all_differ, find
from apportion.corpus.importers.chats.scales import Scale
from apportion.corpus.importers.chats.tables import MOST_BYTES, ORDER, are_lists, are_turns, turn_keys
from apportion.corpus.importers.chats.traces import is_traces
from apportion.corpus.importers.reading.json_items import Item
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import listed

LARGE = 100_000
"""Rows from which on a data set is not held whole."""
PART = 32_768
"""Rows that are looked at at a time, and those of their last chat."""
SAMPLE, GROUPS = 512, 16
"""Rows of so many row groups, evenly over the data set, tell which column holds what."""
AGAIN = "Write it again, or leave that part out."


@dataclass(frozen=True)
class _Group:
    path: Path
    number: int
    low: str
    high: str


@dataclass(frozen=True)
class DataSet:
    """The parts in ``folder`` (or the one file), the options that say which column holds what, and its chats' rows."""

    folder: Path
    options: Mapping[str, str]
    told: Keys
    columns: tuple[str, ...]
    groups: tuple[_Group, ...]
    rows: Counter[str]

    def parts(self) -> Iterator[tuple[list[Item], Mapping[str, str]]]:
        """The rows of some whole chats, in the order of the files, and the options for them."""
        read = lru_cache(2)(_read_group)
        for low, high in self._ranges():
            items: list[Item] = []
            for group in self.groups:
                if group.low <= high and low <= group.high:
                    table = read(group)
                    ids = _ids(table.column(self.options["id"]))
                    wanted = pc.indices_nonzero(pc.and_(pc.greater_equal(ids, low), pc.less_equal(ids, high)))
                    rows, places = table.take(wanted).to_pylist(), wanted.to_pylist()
                    where = f"{group.path.name}, row group {group.number}, row"
                    items += [Item(f"{where} {at + 1}", _plain(row)) for at, row in zip(places, rows, strict=True)]
            cells = account.current().cells(str(self.folder), self.columns)
            cells.rows = len(items)
            account.current().use(str(self.folder), (key.partition(".")[0] for key in self.options.values()))
            yield items, {what: self._there(what, key, items) for what, key in self.options.items()}

    def _ranges(self) -> Iterator[tuple[str, str]]:
        names = sorted(self.rows)
        first = held = 0
        for place, name in enumerate(names):
            held += self.rows[name]
            if held >= PART or place == len(names) - 1:
                yield names[first], name
                first, held = place + 1, 0

    def _there(self, what: str, key: str, items: Sequence[Item]) -> str:
        """A column that may be empty in some rows is not missed there."""
        spared = what in ("score", "order") and all(find(item.found, key) is None for item in items)
        return NONE if spared else key


def data_set(src: Path, files: Sequence[Path], options: Mapping[str, str], scale: Scale | None) -> DataSet | None:
    """The Parquet ``files`` as one data set, if they have many rows, or a chat goes on in the next file; else None.

    Raises ``InputError``: a part that is torn, encrypted or damaged, or has other columns than the first (file); a row
    group that is too large, a row without a chat (file, row group, row and column); it is not sure which column holds
    the score, or the chat.
    """
    many, names = 0, []
    for path in files:
        with _opened(path) as (_, parquet):
            many += parquet.metadata.num_rows
            names.append(tuple(parquet.schema_arrow.names))
    if many <= LARGE and (len(files) < 2 or len(set(names)) > 1):
        return None
    for path, columns in zip(files, names, strict=True):
        if odd := set(columns) ^ set(names[0]):
            raise InputError(
                f"{path}: one of it and {files[0].name} has no column {listed(sorted(odd))}. The parts of one data set "
                "have the same columns: write it again, or import it by itself."
            )
    finder = KeyFinder(str(src), _sample(files), options)
    found = _keys(finder, scale)
    if found is None:
        return None
    given, told = found
    groups, rows, is_shared = _indexed(files, given["id"])
    if not rows or (many <= LARGE and not is_shared):
        return None
    return DataSet(src, {**options, **given}, told, names[0], tuple(groups), rows)


def _keys(finder: KeyFinder, scale: Scale | None) -> tuple[dict[str, str], Keys] | None:
    """Which column holds what; None where only all rows together tell, or there are no chats by id."""
    if not finder.rows or is_traces([Item("", dict(row)) for row in finder.rows]):
        return None
    lists = finder.named("messages", LISTS, are_lists)
    if lists is None and are_turns(finder):
        given = {**turn_keys(finder), **_some("order", finder.named("order", ORDER))}
    elif lists is None or (id_ := finder.named("id", IDS, all_differ)) is None:
        return None
    else:
        given = {"messages": lists, "id": id_}
    told = finder.score(scale)
    return {**given, "score": told.of.get("score", NONE)}, told


def _some(what: str, key: str | None) -> dict[str, str]:
    return {} if key is None else {what: key}


@contextmanager
def _opened(path: Path, again: str = AGAIN) -> Iterator[tuple[pa.NativeFile, pq.ParquetFile]]:
    with readable(path, again), pa.OSFile(str(path)) as file:
        yield file, pq.ParquetFile(file)


def _sample(files: Sequence[Path]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    places = []
    for path in files:
        with _opened(path) as (_, parquet):
            places += [(path, number) for number in range(parquet.num_row_groups)]
    for path, number in places[:: max(1, len(places) // GROUPS)]:
        with _opened(path) as (_, parquet):
            batch = next(parquet.iter_batches(SAMPLE, row_groups=[number]), None)
            rows += [] if batch is None else map(_plain, batch.to_pylist())
    return rows


def _indexed(files: Sequence[Path], id_: str) -> tuple[list[_Group], Counter[str], bool]:
    """The row groups with the ends of their ids, how many rows each chat has, and whether one is in two files."""
    groups: list[_Group] = []
    rows: Counter[str] = Counter()
    is_shared = False
    for path in files:
        before = set(rows)
        with _opened(path) as (file, parquet):
            check_unpacked(file, path)
            for number in range(parquet.num_row_groups):
                column = _ids(parquet.read_row_group(number, columns=[id_.partition(".")[0]]).column(0))
                if column is None:
                    return [], Counter(), False
                empty = pc.indices_nonzero(pc.fill_null(pc.equal(column, ""), True))
                if len(empty):
                    raise InputError(
                        f"{path}, row group {number}, row {empty[0].as_py() + 1}, column {id_}: empty, so nobody knows "
                        "whose turn it is. Fill it in."
                    )
                if len(column):
                    ends = pc.min_max(column).as_py()
                    groups.append(_Group(path, number, ends["min"], ends["max"]))
                    counted = column.value_counts()
                    found = counted.field("values").to_pylist()
                    is_shared = is_shared or not before.isdisjoint(found)
                    rows.update(dict(zip(found, counted.field("counts").to_pylist(), strict=True)))
    return groups, rows, is_shared


def _ids(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The ids as texts; None where they are neither texts nor whole numbers."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
        return None
    return pc.utf8_trim_whitespace(column.cast(pa.string()))


def _read_group(group: _Group) -> pa.Table:
    with _opened(group.path, f"Row group {group.number}. {AGAIN}") as (_, parquet):
        size = parquet.metadata.row_group(group.number).total_byte_size
        if size > MOST_BYTES:
            raise InputError(
                f"{group.path}, row group {group.number}: {size >> 20:,} MiB, more than {MOST_BYTES >> 20}. Write the "
                "file with smaller row groups (row_group_size=100000)."
            )
        table = parquet.read_row_group(group.number, use_threads=False)
        table.validate(full=True)
        return table


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {key: float(value) if isinstance(value, Decimal) else value for key, value in row.items()}
