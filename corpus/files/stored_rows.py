"""A table of many sessions that stays in its Parquet file: read by row group, a session or a part at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from apportion.corpus.files.tablefile import AGAIN, as_declared, check_columns, check_unpacked, readable, sort_rows
from apportion.corpus.schema import TableSchema
from apportion.foundation.errors import InputError

KEPT_GROUPS = 2
"""Row groups in memory at a time: sessions are asked for in order, and one may end in the next group."""


class StoredRows:
    """The rows of a table by session, none of which is in memory before it is asked for.

    Every page is read once when the file is opened, so that a damaged one is an error then. What else asks for columns
    of all rows (`column`, `select`) gets them as of a `pa.Table`.
    """

    def __init__(self, path: Path, schema: TableSchema) -> None:
        self.path, self._declared, self.schema = path, schema, schema.arrow
        self.ids: list[str] = []
        """In the order of the file."""
        self._starts: list[int] = []
        with readable(path, AGAIN), pa.OSFile(str(path)) as file:
            check_columns(path, pq.ParquetFile(file).schema_arrow.names, schema)
            parquet = check_unpacked(file, path)
            groups = [parquet.metadata.row_group(number).num_rows for number in range(parquet.num_row_groups)]
            self._groups = [0, *accumulate(groups)]
            for number in range(len(groups)):
                self._index(number, parquet.read_row_group(number, columns=["session_id"]).column(0))
        self.num_rows = self._groups[-1]
        self._places = {name: place for place, name in enumerate(self.ids)}
        self._group = lru_cache(KEPT_GROUPS)(self._read_group)

    @classmethod
    def of(cls, path: Path, schema: TableSchema) -> StoredRows | None:
        """The rows of a file with each session's together; None of any other.

        Raises ``InputError``: the file cannot be read, is damaged, lacks a column, or has a row without a session.
        """
        rows = cls(path, schema)
        return rows if 0 < len(rows._places) == len(rows.ids) else None

    def _index(self, number: int, column: pa.ChunkedArray) -> None:
        """Note where sessions begin in a row group."""
        first = self._groups[number]
        if column.null_count:
            row = first + column.is_null().index(True).as_py() + 1
            raise InputError(f"{self.path}, row {row}, column session_id: empty. Every row names its session.")
        runs = pc.run_end_encode(column.combine_chunks().cast(pa.string()))
        for name, start in zip(runs.values.to_pylist(), [0, *runs.run_ends.to_pylist()], strict=False):
            if not self.ids or self.ids[-1] != name:
                self.ids.append(name)
                self._starts.append(first + start)

    def _read_group(self, number: int) -> pa.Table:
        with readable(self.path, f"Row group {number}: write the file again."), pa.OSFile(str(self.path)) as file:
            # Not by threads: see `apportion.pipeline.engine.store.Artifact.table`.
            table = pq.ParquetFile(file).read_row_group(number, use_threads=False)
            table.validate(full=True)
        return as_declared(table, self._declared, self.path)

    def _rows(self, start: int, end: int) -> pa.Table:
        pieces = []
        for number, (first, last) in enumerate(pairwise(self._groups)):
            if first < end and start < last:
                pieces.append(self._group(number).slice(max(0, start - first), min(end, last) - max(start, first)))
        return pa.concat_tables(pieces) if pieces else self.schema.empty_table()

    def table(self, session_id: str) -> pa.Table:
        """One session's rows in the order of the key."""
        place = self._places.get(session_id)
        if place is None:
            return self.schema.empty_table()
        end = self._starts[place + 1] if place + 1 < len(self._starts) else self.num_rows
        return sort_rows(self._rows(self._starts[place], end), self._declared)

    def values(self, session_id: str) -> list[tuple[Any, ...]]:
        """The session's rows in key order, as tuples of all columns but ``session_id``."""
        return list(zip(*(column.to_pylist() for column in self.table(session_id).columns[1:]), strict=True))

    def parts(self) -> Iterator[tuple[int, pa.Table]]:
        """(place of its first row, rows) of whole sessions, about a row group each, in the order of the file."""
        start = 0
        for end in self._groups[1:]:
            if end < self.num_rows:
                place = bisect_right(self._starts, end) - 1
                end = self._starts[place]  # The session that goes on in the next group is left to it.
            if start < end:
                yield start, self._rows(start, end)
                start = end

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of all rows."""
        return self.select([name]).column(0)

    __getitem__ = column

    def select(self, names: Sequence[str]) -> pa.Table:
        """Some columns of all rows."""
        return pa.concat_tables([table.select(names) for _, table in self.parts()])

    @property
    def is_sorted(self) -> bool:
        """Whether sessions come in the order of their ids."""
        return all(one < other for one, other in pairwise(self.ids))
