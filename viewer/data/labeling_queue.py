"""The sessions that somebody can label, and how far each is: nothing of any method or score is read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from apportion.viewer.data.index import Index
from apportion.viewer.data.session import SessionTables
from apportion.viewer.data.session_ref import is_of_words, named
from apportion.viewer.labels.label_store import Labels

PAGE = 50


@dataclass(frozen=True)
class ToLabel:
    """A session: how many of its turns can be labelled, and of how many somebody has labelled these very words."""

    session_id: str
    slug: str
    split: str | None
    turns: int
    labelled: int

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to label."""
        return self.labelled >= self.turns


def sessions_to_label(index: Index, labels: Labels, annotator: str, name: str) -> list[ToLabel]:
    """All sessions that have turns to label, those of the test split first: the evaluation is of them alone."""
    own = [label for label in labels.standing.values() if (label.annotator, label.name) == (annotator, name)]
    there = named(index, (label.session_id for label in own))
    mine = Counter(label.session_id for label in own if is_of_words(label, there.get(label.session_id)))
    with index.connect() as connection:
        rows = connection.execute(
            "SELECT session_id, slug, split, max(targets) AS targets FROM sessions JOIN episodes ON "
            "episodes.session = sessions.id GROUP BY sessions.id HAVING targets > 0 "
            "ORDER BY split IS NOT 'test', sessions.id"
        ).fetchall()
    return [ToLabel(r["session_id"], r["slug"], r["split"], r["targets"], mine[r["session_id"]]) for r in rows]


def turns_to_label(tables: SessionTables) -> frozenset[int]:
    """The turns of a session that have a reward; where none has, those that a rating credits."""
    rewarded = {int(row["turn"]) for row in tables.rewards}
    return frozenset(rewarded or {turn for episode in tables.session.episodes() for turn in episode.target_turns})
