"""One session as a run left it: its dialogue and all rows of the run's tables that are its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from apportion.corpus.session import Background, EpisodeKey, Media, Rating, Session, Turn
from apportion.viewer.data.index import Index, unpack
from apportion.viewer.labels.label import Label, said_digest

Rows = tuple[dict[str, Any], ...]
"""Rows of a table (its columns: docs/columns.toml) without ``session_id``."""


@dataclass(frozen=True, eq=False)
class SessionTables:
    """A session and the rows of the run's tables about it, each empty where the run has none.

    ``rewards`` has a row a target turn, method and seed; ``scores`` the same of reward models; ``samples`` a row a
    turn, method and sample; ``labels`` are the corpus's own ``turn_labels``. Frames are in files of their own
    (`apportion.pipeline.results.run_folder.session_file_name`). ``before`` and ``after`` are the slugs of the sessions
    beside it.
    """

    session: Session
    slug: str
    split: str | None
    rewards: Rows
    scores: Rows
    samples: Rows
    descriptors: Rows
    utterance_features: Rows
    events: Rows
    labels: Rows
    quarantine: Rows
    before: str | None
    after: str | None


def read_session(index: Index, slug: str) -> SessionTables | None:
    """The session that an address names, None where the run has no such session."""
    with index.connect() as connection:
        row = connection.execute("SELECT id, slug, split FROM sessions WHERE slug = ?", (slug,)).fetchone()
        if row is None:
            return None
        blobs = connection.execute("SELECT name, columns FROM packed WHERE session = ?", (row["id"],))
        tables = {name: tuple(unpack(blob)) for name, blob in blobs}
        beside = dict(
            connection.execute(
                "SELECT id, slug FROM sessions WHERE id IN (?, ?)", (row["id"] - 1, row["id"] + 1)
            ).fetchall()
        )
    names = ("rewards", "scores", "samples", "descriptors", "utterance_features", "events", "quarantine")
    return SessionTables(
        session=_session(tables["session"][0]),
        slug=row["slug"],
        split=row["split"],
        labels=tables.get("turn_labels", ()),
        before=beside.get(row["id"] - 1),
        after=beside.get(row["id"] + 1),
        **{name: tables.get(name, ()) for name in names},
    )


def with_labels(tables: SessionTables, given: Iterable[Label]) -> SessionTables:
    """The session with what people said beside the run among its ``labels``.

    Where an annotator has said something in both, what was said beside the run counts. A label of another session, or
    of other words than the turn has, is left out.
    """
    turns = {turn.turn: turn for turn in tables.session.turns}
    rows = {(row["turn"], row["annotator"], row["name"]): row for row in tables.labels}
    for label in given:
        turn = turns.get(label.turn) if label.session_id == tables.session.session_id else None
        if turn is not None and label.said == said_digest(turn.speaker, turn.text):
            fields = ("turn", "annotator", "name", "value", "low", "high")
            rows[label.turn, label.annotator, label.name] = {name: getattr(label, name) for name in fields}
    return replace(tables, labels=tuple(rows.values()))


def episode_order(session: Session, rewarded: Collection[EpisodeKey]) -> tuple[EpisodeKey, ...]:
    """A session's episodes as its page numbers them: those with rewards come first, the others show a score alone."""
    rated = [episode.key for episode in session.episodes()]
    return tuple(dict.fromkeys([*(key for key in rated if key in rewarded), *sorted(rewarded), *rated]))


def _session(parts: dict[str, Any]) -> Session:
    return Session(
        session_id=parts["session_id"],
        turns=tuple(Turn(*values) for values in parts["turns"]),
        ratings=tuple(Rating(*values) for values in parts["ratings"]),
        media=tuple(Media(*values) for values in parts["media"]),
        source=parts["source"],
        duration_s=parts["duration_s"],
        language=parts["language"],
        backgrounds=tuple(Background(*values) for values in parts["backgrounds"]),
    )
