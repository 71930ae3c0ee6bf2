"""One table as a file (Parquet or JSON Lines with the same columns, checked against its declared schema), and its rows
by episode and turn.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from apportion.corpus.files.textfile import read_jsonl
from apportion.corpus.schema import EPISODE_KEY, REWARDS, TableSchema
from apportion.corpus.session import EpisodeKey
from apportion.foundation.arrays import ROWS_AT_ONCE
from apportion.foundation.did_you_mean import nearest
from apportion.foundation.errors import InputError

Format = Literal["parquet", "jsonl"]
Places = Mapping[EpisodeKey, Mapping[int, int]]
"""Episode, turn, and the row of a table that is about it."""
FORMATS: tuple[Format, ...] = ("parquet", "jsonl")
MOST_ROWS_A_BYTE, FREE_ROWS = 1, 1_000_000
"""Rows of a Parquet file for one byte of it, once there are more than ``FREE_ROWS``: a row with words takes tens."""
MOST_RATIO, FREE_BYTES = 100, 64 << 20
"""Bytes in memory for one byte of a Parquet file, once they are more than ``FREE_BYTES``."""
AGAIN = "It may be truncated: write it again."
_ROWS = 512
"""That are looked at at a time."""
_TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def find_table(folder: Path, name: str) -> Path | None:
    """The file of table ``name`` in ``folder``, or None; an InputError where both formats lie there."""
    present = [folder / f"{name}.{kind}" for kind in FORMATS if (folder / f"{name}.{kind}").is_file()]
    if len(present) > 1:
        raise InputError(
            f"{folder}: both {present[0].name} and {present[1].name} are there. Remove the one that is stale."
        )
    return present[0] if present else None


def read_table(path: Path, schema: TableSchema) -> pa.Table:
    """Read one table; columns that are absent but optional are nulls, unknown columns are left out.

    ``path``: ``*.parquet`` or ``*.jsonl``. ``schema``: the declared columns. Returns the declared columns in the
    declared order, one row a row of the file, in the file's order. Raises ``InputError``: unreadable or damaged file,
    bad JSON (line), text that is not UTF-8, a missing column (with the nearest that is there), a value of another type
    (row and column).
    """
    return _read_jsonl(path, schema) if path.suffix == ".jsonl" else _read_parquet(path, schema)


def read_parquet(path: Path, columns: Callable[[list[str]], list[str]], again: str) -> pa.Table:
    """The wanted columns of a Parquet file, every value checked.

    ``path``: the file. ``columns``: from the names of the columns that are there to those to read, or an error of its
    own. ``again``: what to do about a file that is damaged, for the error. Raises ``InputError``: a file that cannot be
    read, is damaged in any way, or holds far more than its size can.
    """
    # Arrow's own file, never a Python one: a thread of Arrow's that lets go of a Python object while the
    # interpreter ends kills the process. And a damaged file stays a plain error, without dataset machinery.
    with readable(path, again), pa.OSFile(str(path)) as file:
        wanted = columns(pq.ParquetFile(file).schema_arrow.names)
        parquet = check_unpacked(file, path, wanted)
        batches = list(parquet.iter_batches(_ROWS, columns=wanted))  # Whole, lists cannot always be read.
        table = pa.Table.from_batches(batches) if batches else parquet.read(columns=wanted)
        table.validate(full=True)
    return table


@contextmanager
def readable(path: Path, again: str) -> Iterator[None]:
    """Whatever Arrow finds wrong with the Parquet file ``path`` as an ``InputError`` that ends with ``again``."""
    try:
        yield
    except PermissionError:
        raise InputError(f"{path}: no permission to read it. Check its owner and mode.") from None
    except (pa.ArrowException, OSError, ValueError) as error:  # The last: names that are not UTF-8.
        raise InputError(f"{path}: not a readable Parquet file ({_first_line(error)}). {again}") from None


def row_groups(path: Path) -> int:
    """How many row groups a Parquet file has; raises ``InputError``: it cannot be read."""
    with readable(path, AGAIN), pa.OSFile(str(path)) as file:
        return int(pq.ParquetFile(file).num_row_groups)


def parts(rows: Any) -> Iterator[tuple[int, pa.Table]]:
    """(place of its first row, rows) of whole sessions of a table, which is one part in memory, or of `StoredRows`."""
    return iter([(0, rows)]) if isinstance(rows, pa.Table) else rows.parts()


def check_unpacked(file: pa.NativeFile, path: Path, columns: Sequence[str] | None = None) -> pq.ParquetFile:
    """The Parquet file ``path``, opened as ``file``, if it holds no more than its size can.

    A dictionary keeps a text once however often it stands in the table, so texts are first read as such. Raises
    ``InputError``: too many rows, values or bytes.
    """
    parquet, size = pq.ParquetFile(file), path.stat().st_size
    groups = [parquet.metadata.row_group(number) for number in range(parquet.metadata.num_row_groups)]
    values = sum(max((group.column(at).num_values for at in range(group.num_columns)), default=0) for group in groups)
    for what, many in (("rows", parquet.metadata.num_rows), ("values", values)):
        if many > max(FREE_ROWS, MOST_ROWS_A_BYTE * size):
            raise InputError(f"{path}: {many:,} {what} in {size:,} bytes. {_NO_TABLE}")
    _check_ratio(path, sum(group.total_byte_size for group in groups), size)
    kinds = map(parquet.schema.column, range(len(parquet.schema)))
    texts = [kind.path for kind in kinds if kind.physical_type == "BYTE_ARRAY"]
    packed, done = pq.ParquetFile(file, read_dictionary=texts), 0
    for number in range(len(groups)):  # A dictionary is one group's.
        for batch in packed.iter_batches(_ROWS, row_groups=[number], columns=columns):
            done += sum(map(unpacked_bytes, batch.columns))
            _check_ratio(path, done, size)
    return parquet


def unpacked_bytes(array: pa.Array) -> int:
    """Bytes of the values, each counted as often as it stands there."""
    kind = array.type
    if pa.types.is_map(kind):
        pairs = pa.StructArray.from_arrays([array.keys, array.items], ["key", "item"])
        return unpacked_bytes(pa.ListArray.from_arrays(array.offsets, pairs))
    if pa.types.is_struct(kind):
        return sum(map(unpacked_bytes, array.flatten()))
    if pa.types.is_nested(kind) and hasattr(array, "flatten"):
        return unpacked_bytes(array.flatten()) + 4 * len(array)
    if pa.types.is_run_end_encoded(kind):
        return len(array) * unpacked_bytes(array.values)
    if not pa.types.is_dictionary(kind):
        return int(array.nbytes)
    values = array.dictionary
    if pa.types.is_primitive(values.type):
        return len(array) * int(values.type.bit_width) // 8
    if values.type not in _TEXTS:
        return len(array) * unpacked_bytes(values)
    return 4 * len(array) + int(pc.sum(pc.take(pc.binary_length(values), array.indices)).as_py() or 0)


def _check_ratio(path: Path, unpacked: int, size: int) -> None:
    if unpacked > max(FREE_BYTES, MOST_RATIO * size):
        raise InputError(f"{path}: more than {unpacked:,} bytes unpacked from {size:,}. {_NO_TABLE}")


_NO_TABLE = "No conversations lie so close; look what it holds, and write it again."


def _read_parquet(path: Path, schema: TableSchema) -> pa.Table:
    table = read_parquet(path, list, "It may be truncated: write it again.")
    check_columns(path, table.column_names, schema)
    return as_declared(table, schema, path)


def as_declared(table: pa.Table, schema: TableSchema, path: Path) -> pa.Table:
    """The declared columns of a table of the file ``path``; raises ``InputError``: a value of another type."""
    columns = [
        _cast(table.column(field.name), field, path)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema.arrow
    ]
    return pa.table(columns, schema=schema.arrow)


def _read_jsonl(path: Path, schema: TableSchema) -> pa.Table:
    rows = read_jsonl(path, allow_empty=True)
    if rows:
        check_columns(path, list(dict.fromkeys(key for _, row in rows for key in row)), schema)
    columns = []
    for field in schema.arrow:
        values = [row.get(field.name) for _, row in rows]
        try:
            columns.append(_array(values, field.type))
        except (ValueError, TypeError, OverflowError):
            raise InputError(_bad_value(path, rows, field)) from None
    return pa.table(columns, schema=schema.arrow)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    # Arrow itself would turn 1.5 into 1 and true into 1.0 without a word.
    if not pa.types.is_boolean(kind) and any(isinstance(value, bool) for value in values):
        raise ValueError("true or false where a number or text is needed")
    if pa.types.is_integer(kind) and any(isinstance(value, float) and not value.is_integer() for value in values):
        raise ValueError("a fraction where a whole number is needed")
    return pa.array(values, kind)


def _bad_value(path: Path, rows: Sequence[tuple[int, dict[str, Any]]], field: pa.Field) -> str:
    line, value = next((line, row.get(field.name)) for line, row in rows if not _fits(row.get(field.name), field))
    return f"{path}, line {line}, column {field.name}: {_shown(value)} is not {_needed(field.type)}. Correct it."


def _fits(value: Any, field: pa.Field) -> bool:
    try:
        _array([value], field.type)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def _cast(column: pa.ChunkedArray, field: pa.Field, path: Path) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not _same_family(column.type, field.type):
        raise InputError(
            f"{path}, column {field.name}: holds {column.type}, but {_needed(field.type)} is needed. "
            "Convert the column and write the file again."
        )
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"{path}, column {field.name}: a value does not fit {_needed(field.type)} ({_first_line(error)})."
        ) from None


def _same_family(found: pa.DataType, wanted: pa.DataType) -> bool:
    t = pa.types
    if t.is_null(found) or found == wanted:
        return True
    if t.is_string(wanted):
        return bool(t.is_large_string(found) or t.is_string_view(found))
    if t.is_floating(wanted):
        return bool(t.is_floating(found) or t.is_integer(found))
    return bool(t.is_integer(wanted) and t.is_integer(found))


def _needed(kind: pa.DataType) -> str:
    if pa.types.is_string(kind):
        return "text"
    if pa.types.is_boolean(kind):
        return "true or false"
    return "a number" if pa.types.is_floating(kind) else f"a whole number ({kind})"


def check_columns(path: Path, present: Sequence[str], schema: TableSchema) -> None:
    """Every required column must be there; a near miss of an optional one is an error, not a silent loss.

    Raises ``InputError``: one is not there, or is called almost so.
    """
    unknown = [name for name in present if name not in schema.arrow.names]
    for name in (name for name in schema.arrow.names if name not in present):
        required = name in schema.required
        near = nearest(name, unknown, cutoff=0.5 if required else 0.8)
        if required:
            hint = f"did you mean {near!r}? Rename it" if near else "add it"
            raise InputError(
                f"{path}: table {schema.name} has no column {name!r}; {hint}. "
                f"Needed: {', '.join(schema.required)}; found: {', '.join(present) or 'none'}."
            )
        if near:
            raise InputError(
                f"{path}: table {schema.name} has an unknown column {near!r}; did you mean {name!r}? "
                f"Rename it, or leave it out."
            )


def write_table(table: pa.Table, path: Path, schema: TableSchema, kind: Format | None = None) -> None:
    """Write one table, rows sorted by key, to ``path``: equal rows give equal bytes.

    ``table``: with the columns of ``schema``; one that is stored in the order of its sessions is never held whole.
    ``path``: where to; the caller renames it into place. ``schema``: its key sorts the rows (nulls last). ``kind``: how
    the file is written; by default as its name ends, ``*.parquet`` or ``*.jsonl``.
    """
    in_parts = getattr(table, "is_sorted", False)
    if in_parts and (kind or path.suffix.removeprefix(".")) == "parquet":
        with pq.ParquetWriter(path.absolute(), schema.arrow, compression="zstd") as writer:
            for _, part in table.parts():
                writer.write_table(sort_rows(part, schema))
        return
    table = sort_rows(table, schema)
    if (kind or path.suffix.removeprefix(".")) == "jsonl":
        path.write_text("".join(_json_line(row) for row in table.to_pylist()), encoding="utf-8")
    else:
        # Arrow takes "~" at the head of a path for somebody's home, and nothing else here does.
        pq.write_table(table, path.absolute(), compression="zstd")


def sort_rows(table: pa.Table, schema: TableSchema) -> pa.Table:
    """The rows in the order of the key, nulls last, in one chunk each column."""
    order = [(column, "ascending") for column in schema.key]
    return table.select(schema.arrow.names).sort_by(order).combine_chunks()


def _json_line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, float) or math.isfinite(value) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def row_places(table: pa.Table) -> Places:
    """Where each turn of each episode stands in a table with those columns; the last row of several."""
    places: dict[EpisodeKey, dict[int, int]] = {}
    rows = count()
    for part in table.select([*EPISODE_KEY, "turn"]).to_batches(max_chunksize=ROWS_AT_ONCE):
        *keys, turns = (column.to_pylist() for column in part.columns)
        for key, turn, row in zip(zip(*keys, strict=True), turns, rows, strict=False):
            places.setdefault(key, {})[turn] = row
    return places


def turn_table(
    episodes: Sequence[EpisodeKey],
    lengths: Sequence[int],
    turns: Sequence[int],
    columns: Mapping[str, Any],
    method: str,
    seed: int,
) -> pa.Table:
    """Values of a method as a table of the REWARDS schema; columns that are not given are null.

    ``episodes`` (S) and how many turns each has; ``turns`` (N) are their numbers, ``columns`` values by name (N).
    """
    of = pa.array(np.repeat(np.arange(len(episodes)), np.asarray(lengths, np.int64)))
    first = pa.array(np.zeros(len(turns), np.int64))
    given = {name: pa.array([key[i] for key in episodes], pa.string()).take(of) for i, name in enumerate(EPISODE_KEY)}
    given |= {"turn": pa.array(turns, pa.int32()), "method": pa.array([method]).take(first)}
    given |= {"seed": pa.array([seed], pa.int32()).take(first)}
    given |= {name: pa.array(values, pa.float64()) for name, values in columns.items()}
    schema = REWARDS.arrow
    every = [given[f.name] if f.name in given else pa.nulls(len(turns), f.type) for f in schema]
    return pa.Table.from_arrays(every, schema=schema)
