"""The address, the split and the words of sessions that a table names by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from apportion.corpus.session import EpisodeKey
from apportion.viewer.data.index import Index, unpack
from apportion.viewer.labels.label import Label, said_digest


@dataclass(frozen=True)
class Named:
    """A session: the part of an address that stands for it, its split, its turns' texts and who says them.

    ``places`` are the numbers of its episodes (rater, target, name) on its page.
    """

    slug: str
    split: str | None
    texts: Mapping[int, str]
    speakers: Mapping[int, str]
    places: Mapping[tuple[str, ...], int] = field(default_factory=dict)


def named(index: Index, session_ids: Iterable[str]) -> dict[str, Named]:
    """Those of the sessions that the run has."""
    found = {}
    with index.connect() as connection:
        for session_id in dict.fromkeys(session_ids):
            row = connection.execute(
                "SELECT id, slug, split, columns FROM sessions JOIN packed ON packed.session = sessions.id "
                "WHERE session_id = ? AND packed.name = 'session'",
                (session_id,),
            ).fetchone()
            if row is not None:
                turns = unpack(row["columns"])[0]["turns"]
                texts = {int(turn[0]): str(turn[2]) for turn in turns}
                speakers = {int(turn[0]): str(turn[1]) for turn in turns}
                episodes = connection.execute(
                    "SELECT rater, target, name, place FROM episodes WHERE session = ?", (row["id"],)
                )
                places: dict[tuple[str, ...], int] = {
                    (rater, target, name): place for rater, target, name, place in episodes
                }
                found[session_id] = Named(row["slug"], row["split"], texts, speakers, places)
    return found


def is_of_words(label: Label, session: Named | None) -> bool:
    """Whether a label is of the words that its turn has in ``session``; a corpus that was made anew may have others."""
    if session is None or label.turn not in session.texts:
        return False
    return label.said == said_digest(session.speakers[label.turn], session.texts[label.turn])


def splits_by_session(index: Index) -> dict[str, str | None]:
    """Every session's split."""
    with index.connect() as connection:
        return dict(connection.execute("SELECT session_id, split FROM sessions").fetchall())


def slugs_by_session(index: Index) -> dict[str, str]:
    """The part of an address that stands for each session."""
    with index.connect() as connection:
        return dict(connection.execute("SELECT session_id, slug FROM sessions").fetchall())


def places_by_episode(index: Index) -> dict[EpisodeKey, int]:
    """The number of every episode on its session's page."""
    with index.connect() as connection:
        rows = connection.execute(
            "SELECT session_id, rater, target, name, place FROM episodes JOIN sessions ON "
            "sessions.id = episodes.session WHERE rater IS NOT NULL"
        ).fetchall()
    return {(session_id, rater, target, name): place for session_id, rater, target, name, place in rows}
