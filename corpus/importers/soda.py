"""SODA (allenai/soda): dialogues as a list of utterances and a list of speakers, without any score."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus import account
from apportion.corpus.builder import CorpusBuild, SkippedSession
from apportion.corpus.files.tablefile import read_parquet
from apportion.corpus.importers.reading.json_items import first_fault, json_items
from apportion.corpus.importers.reading.sources import check_options, count_option, numbered, source_files, stem
from apportion.corpus.schema import SESSIONS, UTTERANCES
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import listed

COLUMNS = ("dialogue", "speakers")
OPTIONS = {"limit": "only the first so many dialogues of each file"}
MOST_COLUMNS = 12
TEXTS = pa.list_(pa.string())


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Unrated sessions: contexts for a policy, nothing to learn a reward from.

    ``src``: A Parquet or JSON Lines file, or a folder of them. ``options``: ``limit``: only the first so many dialogues
    of each file. Raises ``InputError``: a file that cannot be read, or without the columns ``dialogue`` and
    ``speakers``.
    """
    check_options("soda", options, OPTIONS)
    limit = count_option("soda", options, "limit")
    sessions, utterances, left_out = [], [], []
    for path in source_files(src, (".parquet", ".jsonl")):
        table, faults = _parquet(path) if path.suffix == ".parquet" else _jsonl(path)
        table, beyond = table.slice(0, limit), max(0, table.num_rows - (limit or table.num_rows))
        account.current().left_out("dialogues", "beyond the limit", beyond, path.name)
        texts, speakers = (table.column(name).combine_chunks() for name in COLUMNS)
        prefix = stem(path)
        ids = pa.array([numbered(prefix, number) for number in range(1, table.num_rows + 1)], pa.string())
        good = _whole(texts, speakers)
        _count(texts, good)
        for position, is_good in enumerate(good.to_pylist()):
            if not is_good:
                reason = faults.get(position, "dialogue and speakers are not of the same length, or hold nulls.")
                left_out.append(SkippedSession(ids[position].as_py(), f"{path.name}: {reason}"))
                account.current().left_out("dialogues", "broken", place=ids[position].as_py())
        sessions.append(_sessions(ids.filter(good)))
        utterances.append(_utterances(ids.filter(good), texts.filter(good), speakers.filter(good)))
    tables = {"sessions": pa.concat_tables(sessions), "utterances": pa.concat_tables(utterances)}
    notes = ("SODA has no scores: no ratings were imported",)
    return CorpusBuild(tables, notes, tuple(left_out), usual_language="en")


def _whole(texts: pa.Array, speakers: pa.Array) -> pa.Array:
    """True where a dialogue has as many texts as speakers, and none of them is missing."""
    good = pc.fill_null(pc.equal(pc.list_value_length(texts), pc.list_value_length(speakers)), False)
    if texts.flatten().null_count == speakers.flatten().null_count == 0:
        return good
    rows = zip(good.to_pylist(), texts.to_pylist(), speakers.to_pylist(), strict=True)
    return pa.array([is_good and None not in (*said, *who) for is_good, said, who in rows], pa.bool_())


def _count(texts: pa.Array, good: pa.Array) -> None:
    """Tell the account what is said, and that the dialogues that are not whole are left out with it."""
    read, bad = account.current(), texts.filter(pc.invert(good)).flatten()
    for what, many in (("turns", len), ("words", account.words_of)):
        read.read(what, many(texts.flatten()))
        read.left_out(what, account.THEIR_SESSION, many(bad))


def _sessions(ids: pa.Array) -> pa.Table:
    many = len(ids)
    columns = [ids, pa.repeat("soda", many), pa.nulls(many, pa.float64()), pa.nulls(many, pa.string())]
    return pa.table(columns, schema=SESSIONS.arrow)


def _utterances(ids: pa.Array, texts: pa.Array, speakers: pa.Array) -> pa.Table:
    lengths = pc.list_value_length(texts).to_pylist()
    turns = pa.array([turn for length in lengths for turn in range(length)], pa.int32())
    missing = pa.nulls(len(turns), pa.float64())
    session_ids = ids.take(pc.list_parent_indices(texts))
    columns = [session_ids, turns, pc.list_flatten(speakers), pc.list_flatten(texts), missing, missing]
    return pa.table(columns, schema=UTTERANCES.arrow)


def _parquet(path: Path) -> tuple[pa.Table, dict[int, str]]:
    def wanted(present: list[str]) -> list[str]:
        _check_columns(path, present)
        return list(COLUMNS)

    table = read_parquet(path, wanted, "Download it again.")
    account.current().read("dialogues", table.num_rows)
    try:
        return pa.table([table.column(name).cast(TEXTS) for name in COLUMNS], names=list(COLUMNS)), {}
    except pa.ArrowException as error:
        cause = str(error).split("\n", 1)[0]
        raise InputError(f"{path}: its columns are not lists of texts ({cause}). Download it again.") from None


def _jsonl(path: Path) -> tuple[pa.Table, dict[int, str]]:
    """The dialogues, without speakers where a line is broken, and by row what is wrong with it."""
    items = json_items(path, "dialogues")
    _check_columns(path, sorted({key for item in items for key in item.found}), first_fault(items))
    faults, rows = dict[int, str](), list[dict[str, Any]]()
    for position, item in enumerate(items):
        wrong = next((name for name in COLUMNS if not _is_texts(item.found.get(name))), None)
        if wrong is not None:
            faults[position] = f"{item.place}: {item.fault or f'{wrong!r} must be a list of texts.'}"
            texts = item.found.get("dialogue")
            rows.append(
                {"dialogue": [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else None}
            )
        else:
            rows.append(item.found)
    return pa.table({name: pa.array([row.get(name) for row in rows], TEXTS) for name in COLUMNS}), faults


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _check_columns(path: Path, present: list[str], fault: str = "") -> None:
    missing = [name for name in COLUMNS if name not in present]
    if missing:
        raise InputError(
            f"{path}: no column {missing[0]!r}; SODA has dialogue and speakers. "
            f"Found: {listed(present, MOST_COLUMNS) or 'none'}.{fault}"
        )
