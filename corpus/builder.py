"""What whoever makes a corpus (an importer, a simulation) hands over, and how its rows are collected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.files.stored_rows import StoredRows
from apportion.corpus.files.tablefile import sort_rows
from apportion.corpus.schema import CORPUS_TABLES, UTTERANCES
from apportion.corpus.session import Event
from apportion.corpus.speakers.settled import Speaker
from apportion.foundation.errors import InputError
from apportion.foundation.files import remove_leftovers, temporary_name
from apportion.foundation.safe_text import IN_TABLES, whole_text

_FOLDER: ContextVar[Path] = ContextVar("folder")
COLUMNS = {schema.name: schema.arrow for schema in CORPUS_TABLES}


@dataclass(frozen=True)
class SkippedSession:
    """A session that is not in the corpus, and why."""

    session_id: str
    message: str

    def __str__(self) -> str:
        return f"session {self.session_id}: {self.message}"


@dataclass(frozen=True)
class CorpusBuild:
    """A corpus that was made and is not written yet.

    ``tables``: by name, as `CorpusRows.tables` gives them; schemas: `apportion.corpus.schema.CORPUS_TABLES`. ``notes``:
    what was dropped or merged, with counts. ``left_out``: broken sessions. ``files``: by the path in the media table,
    the file that is to be brought there. ``chosen``: what had to be chosen among recordings; looking at the corpus and
    measuring it say so again. ``usual_language``: of sessions whose rows say none, unless their words are another's
    (`apportion.corpus.languages.settling`). ``answers``: options that a person gave on the way.
    """

    tables: Mapping[str, pa.Table]
    notes: tuple[str, ...] = ()
    left_out: tuple[SkippedSession, ...] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    speakers: tuple[Speaker, ...] = ()
    chosen: tuple[str, ...] = ()
    usual_language: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)


class CorpusRows:
    """Collects the rows of a corpus's tables; nothing is checked before `corpus.validate.validate` reads them.

    >>> rows = CorpusRows()
    >>> rows.session("s1", "by hand", language="en")
    >>> rows.utterance("s1", 0, "ann", "Is there a train?")
    >>> rows.utterance("s1", 1, "bob", "At nine.")
    >>> rows.rating("s1", ("ann", "bob"), "helpful", 4.0, (1.0, 5.0))
    >>> rows.tables()["utterances"].num_rows
    2
    """

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in COLUMNS}
        self._done: dict[str, list[pa.Table]] = {name: [] for name in COLUMNS}
        self._writer: pq.ParquetWriter | None = None
        self._spilled = Path()

    def session(
        self, session_id: str, source: str, *, duration_s: float | None = None, language: str | None = None
    ) -> None:
        """Add a session."""
        self._rows["sessions"].append((session_id, source, duration_s, language))

    def utterance(
        self,
        session_id: str,
        turn: int,
        speaker: str,
        text: str,
        start_s: float | None = None,
        end_s: float | None = None,
    ) -> None:
        """Add an utterance."""
        self._rows["utterances"].append((session_id, turn, speaker, text, start_s, end_s))

    def rating(
        self,
        session_id: str,
        pair: tuple[str, str],
        name: str,
        score: float,
        scale: tuple[float, float],
        *,
        annotator: str | None = None,
        higher_is_better: bool = True,
    ) -> None:
        """Add a score that ``pair`` = (rater, target) is about, on ``scale`` = (low, high).

        Where rules or a judge gave it, the rater is `apportion.corpus.session.ENVIRONMENT` and ``annotator`` says who
        they are.
        """
        self._rows["ratings"].append((session_id, *pair, name, annotator, score, *scale, higher_is_better))

    def media(self, session_id: str, speaker: str, kind: str, path: str, channel: str | None) -> None:
        """Add a recording that starts with its session."""
        self._rows["media"].append((session_id, speaker, kind, path, 0.0, channel))

    def label(
        self,
        session_id: str,
        turn: int,
        name: str,
        value: float,
        scale: tuple[float | None, float | None],
        annotator: str | None = None,
    ) -> None:
        """Add a person's judgement of one turn, or its value as it was computed (`apportion.corpus.annotators`)."""
        self._rows["turn_labels"].append((session_id, turn, annotator, name, value, *scale))

    def background(self, session_id: str, kind: str, text: str, speaker: str | None = None) -> None:
        """Add what was known before the first turn: to ``speaker`` alone, or to everybody."""
        self._rows["backgrounds"].append((session_id, speaker, kind, text))

    def event(self, session_id: str, event: Event) -> None:
        """Add something that somebody did while another spoke, or that was seen of them."""
        self._rows["events"].append((session_id, *vars(event).values()))

    def spill(self) -> None:
        """Let go of all rows so far: utterances become a row group of a file in the folder of `spilled_into`.

        The utterances of a session lie between two calls, those of a later one behind all others by the order of ids.
        Raises ``InputError``: the folder cannot be written.
        """
        new = {name: _table(rows, COLUMNS[name]) for name, rows in self._rows.items()}
        self._rows = {name: [] for name in COLUMNS}
        utterances = sort_rows(new.pop("utterances"), UTTERANCES)
        folder = _FOLDER.get()
        try:
            if self._writer is None:
                folder.mkdir(parents=True, exist_ok=True)
                remove_leftovers(folder)
                self._spilled = temporary_name(folder / "turns.parquet")
                self._writer = pq.ParquetWriter(self._spilled.absolute(), COLUMNS["utterances"], compression="zstd")
            self._writer.write_table(utterances)
        except OSError as error:
            raise InputError(
                f"{folder}: the corpus cannot be written ({error.strerror or error}). Free some space or name a folder "
                "that you may write to."
            ) from None
        for name, table in new.items():
            self._done[name].append(table)

    def tables(self) -> dict[str, pa.Table]:
        """The tables, in the order in which rows were added; utterances that were spilled stay in their file."""
        if self._writer is not None:
            self.spill()
            self._writer.close()
            self._done["utterances"] = [StoredRows(self._spilled, UTTERANCES)]
            return {
                name: pa.concat_tables(done) if name != "utterances" else done[0] for name, done in self._done.items()
            }
        return {name: _table(rows, COLUMNS[name]) for name, rows in self._rows.items()}


@contextmanager
def spilled_into(folder: Path) -> Iterator[None]:
    """Where `CorpusRows.spill` keeps its file, while the context is open."""
    token, is_new = _FOLDER.set(folder), not folder.exists()
    try:
        yield
    finally:
        _FOLDER.reset(token)
        if folder.is_dir():
            with suppress(OSError):  # What ended the import is told, and the next one removes it.
                temporary_name(folder / "turns.parquet").unlink(missing_ok=True)
            if is_new and not any(folder.iterdir()):
                folder.rmdir()


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pa.table([_column(values, field) for values, field in zip(columns, schema, strict=True)], schema=schema)


def _column(values: tuple[Any, ...], field: pa.Field) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except UnicodeEncodeError:
        return pa.array([v if v is None else whole_text(v, IN_TABLES) for v in values], field.type)
