"""What whoever makes a corpus (an importer, a simulation) hands over, and how its rows are collected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from apportion.corpus.schema import CORPUS_TABLES
from apportion.corpus.session import Event
from apportion.corpus.speakers.settled import Speaker
from apportion.foundation.safe_text import IN_TABLES, whole_text

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

    def tables(self) -> dict[str, pa.Table]:
        """The tables, in the order in which rows were added."""
        return {name: _table(rows, COLUMNS[name]) for name, rows in self._rows.items()}


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pa.table([_column(values, field) for values, field in zip(columns, schema, strict=True)], schema=schema)


def _column(values: tuple[Any, ...], field: pa.Field) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except UnicodeEncodeError:
        return pa.array([v if v is None else whole_text(v, IN_TABLES) for v in values], field.type)
