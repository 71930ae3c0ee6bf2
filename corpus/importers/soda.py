"""SODA (allenai/soda): dialogues as a list of utterances and a list of speakers, without any score."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus.importers.options import check_options, number_option
from corpus.importers.sources import numbered, source_files, stem
from corpus.rows import LeftOut, NewCorpus
from corpus.schema import SESSIONS, UTTERANCES
from corpus.textfile import read_jsonl
from foundation.errors import InputError

COLUMNS = ("dialogue", "speakers")
TEXTS = pa.list_(pa.string())


def import_corpus(src: Path, options: Mapping[str, str]) -> NewCorpus:
    """Unrated sessions: contexts for a policy, nothing to learn a reward from.

    Parameters
    ----------
    src : Path
        A Parquet or JSON Lines file, or a folder of them.
    options : Mapping
        ``limit``: only the first so many dialogues of each file.

    Raises
    ------
    InputError
        A file that cannot be read, or without the columns ``dialogue`` and ``speakers``.
    """
    check_options("soda", options, ("limit",))
    limit = number_option("soda", options, "limit")
    sessions, utterances, left_out = [], [], []
    for path in source_files(src, (".parquet", ".jsonl")):
        table = (_parquet(path) if path.suffix == ".parquet" else _jsonl(path)).slice(0, limit and int(limit))
        texts, speakers = (table.column(name).combine_chunks() for name in COLUMNS)
        ids = pa.array([numbered(stem(path), number) for number in range(1, table.num_rows + 1)], pa.string())
        good = pc.fill_null(pc.equal(pc.list_value_length(texts), pc.list_value_length(speakers)), False)
        for session_id in ids.filter(pc.invert(good)).to_pylist():
            left_out.append(LeftOut(session_id, f"{path.name}: dialogue and speakers are not of the same length."))
        sessions.append(_sessions(ids.filter(good)))
        utterances.append(_utterances(ids.filter(good), texts.filter(good), speakers.filter(good)))
    tables = {"sessions": pa.concat_tables(sessions), "utterances": pa.concat_tables(utterances)}
    return NewCorpus(tables, ("SODA has no scores: no ratings were imported",), tuple(left_out))


def _sessions(ids: pa.Array) -> pa.Table:
    many = len(ids)
    columns = [ids, pa.repeat("soda", many), pa.nulls(many, pa.float64()), pa.repeat("en", many)]
    return pa.table(columns, schema=SESSIONS.arrow)


def _utterances(ids: pa.Array, texts: pa.Array, speakers: pa.Array) -> pa.Table:
    lengths = pc.list_value_length(texts).to_pylist()
    turns = pa.array([turn for length in lengths for turn in range(length)], pa.int32())
    missing = pa.nulls(len(turns), pa.float64())
    session_ids = ids.take(pc.list_parent_indices(texts))
    columns = [session_ids, turns, pc.list_flatten(speakers), pc.list_flatten(texts), missing, missing]
    return pa.table(columns, schema=UTTERANCES.arrow)


def _parquet(path: Path) -> pa.Table:
    try:
        with pa.OSFile(str(path)) as file:  # not a Python file: see corpus/tablefile.py
            parquet = pq.ParquetFile(file)
            _check_columns(path, parquet.schema_arrow.names)
            table = parquet.read(columns=list(COLUMNS))
        return pa.table([table.column(name).cast(TEXTS) for name in COLUMNS], names=list(COLUMNS))
    except (pa.ArrowException, OSError) as error:
        cause = str(error).split("\n", 1)[0]
        raise InputError(f"{path}: not a readable Parquet file of texts ({cause}). Download it again.") from None


def _jsonl(path: Path) -> pa.Table:
    rows = read_jsonl(path)
    _check_columns(path, sorted({key for _, row in rows for key in row}))
    for line, row in rows:
        for name in COLUMNS:
            if not isinstance(row.get(name), list) or not all(isinstance(text, str) for text in row[name]):
                raise InputError(f"{path}, line {line}: {name!r} must be a list of texts.")
    return pa.table({name: pa.array([row[name] for _, row in rows], TEXTS) for name in COLUMNS})


def _check_columns(path: Path, present: list[str]) -> None:
    missing = [name for name in COLUMNS if name not in present]
    if missing:
        raise InputError(
            f"{path}: no column {missing[0]!r}; SODA has dialogue and speakers. Found: {', '.join(present)}."
        )
