"""A corpus: a folder of tables, and each session in it as one frozen value."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.files.stored_rows import StoredRows
from apportion.corpus.files.tablefile import (
    FORMATS,
    Format,
    find_table,
    read_table,
    row_groups,
    sort_rows,
    write_table,
)
from apportion.corpus.mean_std import mean
from apportion.corpus.recordings.mirrored import mirrored
from apportion.corpus.schema import CORPUS_TABLES, TableSchema
from apportion.corpus.session import BACKGROUND_KINDS, Background, Event, Media, Rating, Session, Turn
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path, is_address, sync, temporary_name

KEPT_SESSIONS = 256
REQUIRED_TABLES = ("sessions", "utterances", "ratings")
SCHEMAS: Mapping[str, TableSchema] = {schema.name: schema for schema in CORPUS_TABLES}


@dataclass(frozen=True, eq=False)
class Corpus:
    """The seven tables of a corpus (schemas: ``corpus.schema``) and the folder that media paths are relative to.

    Rows are kept in the order of their files, so that messages can name them; sessions come out sorted. Utterances of
    many row groups stay in their file (`apportion.corpus.files.stored_rows.StoredRows`).

    >>> sessions = pa.table({"session_id": ["s1"], "source": ["by hand"], "duration_s": [None], "language": ["en"]})
    >>> corpus = Corpus.of(".", {"sessions": sessions})  # Corpus.open(folder) reads what `write` wrote
    >>> corpus.session_ids(), corpus.session("s1").language
    (['s1'], 'en')
    """

    root: Path
    sessions: pa.Table
    utterances: pa.Table
    ratings: pa.Table
    media: pa.Table
    turn_labels: pa.Table
    backgrounds: pa.Table
    events: pa.Table

    @classmethod
    def open(cls, path: str | Path) -> Corpus:
        """Read the corpus folder ``path``, or at a URL: ``NAME.parquet`` or ``NAME.jsonl`` for each table.

        ``media``, ``turn_labels``, ``backgrounds`` and ``events`` may be absent; ``ratings`` may have no rows.

        Raises ``InputError``: no such folder, a missing, unreadable or damaged table, a missing column, a value of the
        wrong type, rows without a session id, a corpus of no sessions.
        """
        root = _place(path)
        _check_folder(root)
        corpus = cls.of(root, {name: _open_table(root, schema) for name, schema in SCHEMAS.items()})
        if corpus.sessions.num_rows == 0:
            raise InputError(f"{root}: the corpus has no sessions. Import some: `apportion import KIND SRC {root}`.")
        return corpus

    @classmethod
    def of(cls, root: str | Path, tables: Mapping[str, pa.Table]) -> Corpus:
        """A corpus of tables in memory; those left out are empty."""
        return cls(_place(root), **{name: tables.get(name, s.arrow.empty_table()) for name, s in SCHEMAS.items()})

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The seven tables by name."""
        return {name: getattr(self, name) for name in SCHEMAS}

    def write(self, path: str | Path, kind: Format = "parquet") -> None:
        """Write the tables into the folder ``path``; equal tables give equal bytes.

        Every table is written and synced under a temporary name first, and ``sessions`` takes its place last: a
        folder that an interrupted write leaves behind holds the old corpus, or says that it is incomplete.

        Raises ``InputError``: the folder cannot be written to (permission, full disk).
        """
        folder = Path(path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _write_tables(folder, self.tables, kind)
        except OSError as error:
            raise InputError(
                f"{folder}: the corpus cannot be written ({error.strerror or error}). "
                "Free some space or name a folder that you may write to."
            ) from None

    def rating_names(self) -> list[str]:
        """The names of all ratings, sorted; a row without one is a fault that validation names."""
        return sorted(set(self.ratings.column("name").drop_null().to_pylist()))

    def session_ids(self) -> list[str]:
        """All session ids, sorted."""
        return list(self._positions)

    def session(self, session_id: str) -> Session:
        """A session with its turns, ratings (mean over annotators), media, backgrounds and events, each by its key.

        Raises ``InputError``: the corpus has no session of that id.
        """
        if session_id not in self._positions:
            hint = did_you_mean(session_id, self._positions, "list them with `apportion inspect`.")
            raise InputError(f"{self.root}: no session {session_id!r}; {hint}")
        row = self.sessions.slice(self._positions[session_id], 1).to_pylist()[0]
        return Session(
            session_id=session_id,
            turns=cast("tuple[Turn, ...]", StoredTurns(self, session_id)) if self.is_stored else self.turns(session_id),
            ratings=_mean_ratings(self._ratings.values(session_id)),
            media=tuple(_media(values) for values in self._media.values(session_id)),
            source=row["source"],
            duration_s=row["duration_s"],
            language=row["language"],
            backgrounds=_backgrounds(self._backgrounds.values(session_id)),
            events=tuple(Event(*values) for values in self._events.values(session_id)),
        )

    @property
    def is_stored(self) -> bool:
        """Whether turns are read from the file when they are asked for, and not held."""
        return isinstance(self.utterances, StoredRows)

    def turns(self, session_id: str) -> tuple[Turn, ...]:
        """The turns of a session by their numbers; none where it has none."""
        return tuple(Turn(*values) for values in self._utterances.values(session_id))

    @cached_property
    def recent_turns(self) -> Callable[[str], tuple[Turn, ...]]:
        """`turns`, of the last few sessions without reading."""
        return lru_cache(KEPT_SESSIONS)(self.turns)

    def iter_sessions(self) -> Iterator[Session]:
        """All sessions, sorted by id."""
        return (self.session(session_id) for session_id in self.session_ids())

    def labels(self, session_id: str) -> pa.Table:
        """The rows of ``turn_labels`` of one session (human ground truth: for the evaluation, and `hand-labels`)."""
        return self._labels.table(session_id)

    @cached_property
    def _positions(self) -> dict[str, int]:
        ids = self.sessions.column("session_id").to_pylist()
        return {ids[i]: i for i in sorted(range(len(ids)), key=ids.__getitem__)}

    @cached_property
    def _utterances(self) -> _Grouped | StoredRows:
        stored = isinstance(self.utterances, StoredRows)
        return self.utterances if stored else _Grouped(self.utterances, SCHEMAS["utterances"])

    @cached_property
    def _ratings(self) -> _Grouped:
        return _Grouped(self.ratings, SCHEMAS["ratings"])

    @cached_property
    def _media(self) -> _Grouped:
        return _Grouped(self.media, SCHEMAS["media"])

    @cached_property
    def _labels(self) -> _Grouped:
        return _Grouped(self.turn_labels, SCHEMAS["turn_labels"])

    @cached_property
    def _backgrounds(self) -> _Grouped:
        return _Grouped(self.backgrounds, SCHEMAS["backgrounds"])

    @cached_property
    def _events(self) -> _Grouped:
        return _Grouped(self.events, SCHEMAS["events"])


class StoredTurns(Sequence[Turn]):
    """A session's turns where a corpus is too large to hold them: read whenever they are looked at."""

    __slots__ = ("_corpus", "_session_id")

    def __init__(self, corpus: Corpus, session_id: str) -> None:
        self._corpus, self._session_id = corpus, session_id

    def _read(self) -> tuple[Turn, ...]:
        return self._corpus.recent_turns(self._session_id)

    def __len__(self) -> int:
        return len(self._read())

    def __getitem__(self, place: Any) -> Any:
        return self._read()[place]

    def __iter__(self) -> Iterator[Turn]:
        return iter(self._read())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoredTurns | tuple) and self._read() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._read())

    def __repr__(self) -> str:
        return repr(self._read())

    def __reduce__(self) -> tuple[type, tuple[tuple[Turn, ...]]]:
        return tuple, (self._read(),)


class _Grouped:
    """A table sorted by its key, with the range of rows of every session: one sort, then slices."""

    def __init__(self, table: pa.Table, schema: TableSchema) -> None:
        self._sorted = sort_rows(table, schema)
        runs = pc.run_end_encode(self._sorted.column("session_id").combine_chunks())
        ends = runs.run_ends.to_pylist()
        self._ranges = dict(zip(runs.values.to_pylist(), zip([0, *ends], ends, strict=False), strict=True))

    def table(self, session_id: str) -> pa.Table:
        start, end = self._ranges.get(session_id, (0, 0))
        return self._sorted.slice(start, end - start)

    def values(self, session_id: str) -> list[tuple[Any, ...]]:
        """The session's rows in key order, as tuples of all columns but ``session_id``."""
        columns = [column.to_pylist() for column in self.table(session_id).columns[1:]]
        return list(zip(*columns, strict=True))


def _mean_ratings(rows: list[tuple[Any, ...]]) -> tuple[Rating, ...]:
    ratings = []
    for (rater, target, name), group in groupby(rows, key=lambda row: row[:3]):
        annotators = list(group)
        scores = [_number(row[4]) for row in annotators]
        score = mean(scores) if len(scores) > 1 else scores[0]
        low, high, higher_is_better = annotators[0][5:]
        ratings.append(Rating(rater, target, name, score, _number(low), _number(high), higher_is_better))
    return tuple(ratings)


def _number(value: float | None) -> float:
    """A missing number is not a number; validation names its row."""
    return math.nan if value is None else value


def _media(values: tuple[Any, ...]) -> Media:
    speaker, kind, path, offset_s, channel = values
    return Media(speaker, kind, path, 0.0 if offset_s is None else offset_s, channel)


def _backgrounds(rows: list[tuple[Any, ...]]) -> tuple[Background, ...]:
    """What everybody knows first, then each speaker's own, in the order of the kinds; an unknown kind comes last."""
    order = {kind: place for place, kind in enumerate(BACKGROUND_KINDS)}
    known = (Background(*values) for values in rows)
    return tuple(sorted(known, key=lambda b: (b.speaker is not None, b.speaker or "", order.get(b.kind, len(order)))))


def _place(path: str | Path) -> Path:
    if isinstance(path, str):
        return mirrored(path) if is_address(path) else Path(path)
    return path


def _check_folder(root: Path) -> None:
    check_path(root)
    if not root.exists():
        raise InputError(f"{root}: no such folder. Check the path, or make it with `apportion import KIND SRC {root}`.")
    if not root.is_dir():
        raise InputError(
            f"{root} is a file, and a corpus is a folder of tables. "
            f"Import it with `apportion import KIND {root} CORPUS`."
        )


def _open_table(root: Path, schema: TableSchema) -> pa.Table:
    path = find_table(root, schema.name)
    if path is None:
        if schema.name not in REQUIRED_TABLES:
            return schema.arrow.empty_table()
        names = ", ".join(f"{name}.parquet or .jsonl" for name in REQUIRED_TABLES)
        raise InputError(
            f"{root}: no table {schema.name!r}; a corpus holds {names}. "
            "If an import into it was interrupted, run it again."
        )
    if schema.name == "utterances" and path.suffix == ".parquet" and row_groups(path) > 1:
        stored = StoredRows.of(path, schema)
        if stored is not None:
            return stored
    table = read_table(path, schema)
    if table.column("session_id").null_count:
        row = table.column("session_id").is_null().index(True).as_py() + 1
        raise InputError(f"{path}, row {row}, column session_id: empty. Every row names its session.")
    return table


def _write_tables(folder: Path, tables: Mapping[str, pa.Table], kind: Format) -> None:
    # Optional tables without rows leave no file; a stale one of an older corpus goes away.
    kept = [name for name in tables if name in REQUIRED_TABLES or tables[name].num_rows]
    finals = {name: folder / f"{name}.{kind}" for name in reversed(kept)}  # ``sessions`` last
    temporary = {name: temporary_name(path) for name, path in finals.items()}
    try:
        for name, path in temporary.items():
            write_table(tables[name], path, SCHEMAS[name], kind)
            sync(path)
        for stale in (folder / f"{name}.{other}" for name in tables for other in FORMATS):
            stale.unlink(missing_ok=True)
        for name, path in temporary.items():
            path.replace(finals[name])
        sync(folder)
    finally:
        for path in temporary.values():
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
