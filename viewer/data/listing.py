"""Sessions of an index, sorted, filtered and searched, a page at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from apportion.viewer.data.index import Index, decomposed, pattern_of, query_of, unpack

T = TypeVar("T")


@dataclass(frozen=True)
class Page:
    """Page ``number`` (from 1) of ``pages``, each of ``size`` rows, of a list of ``found`` rows."""

    number: int
    pages: int
    size: int
    found: int

    @classmethod
    def of(cls, found: int, wanted: int, size: int) -> Page:
        """The page that is ``wanted``; the first or the last where there is none of that number.

        >>> Page.of(120, 9, 50), Page.of(0, 1, 50).pages
        (Page(number=3, pages=3, size=50, found=120), 1)
        """
        pages = max(1, -(-found // size))
        return cls(min(max(1, wanted), pages), pages, size, found)

    @property
    def start(self) -> int:
        """How many rows come before it."""
        return self.size * (self.number - 1)

    @property
    def range(self) -> str:
        """Its first and last row, in words.

        >>> Page.of(1120, 23, 50).range, Page.of(0, 1, 50).range
        ('1,101–1,120 of 1,120', '0 of 0')
        """
        last = min(self.start + self.size, self.found)
        return f"{self.start + 1:,}–{last:,} of {self.found:,}" if last else "0 of 0"

    def cut(self, rows: Sequence[T]) -> Sequence[T]:
        """Its own of all ``rows``."""
        return rows[self.start : self.start + self.size]


PAGE = 50
SORTS = {
    "session": "sessions.session_id",
    "score": "episodes.score",
    "length": "sessions.turns",
    "split": "sessions.split",
    "sum": "standings.total",
    "residual": "abs(standings.residual)",
    "disagreement": "episodes.disagreement",
    "lowest": "standings.lowest",
    "warnings": "episodes.alarms",
}
"""What a list can be sorted by, and how the database calls it."""
SESSIONS = "JOIN sessions ON sessions.id = episodes.session"
STANDINGS = "LEFT JOIN standings ON standings.episode = episodes.id AND standings.method = ?"
SAME = (
    "session_id", "slug", "place", "split", "turns", "duration_s", "rater", "target", "name", "score", "low", "high",
    "disagreement", "total", "residual", "lowest_turn", "lowest", "lowest_text",
)  # fmt: skip
"""Fields of a row that the database has as they are."""
AROUND = 30
"""Characters of an excerpt before the word that was searched for."""
EXCERPT = 140


@dataclass(frozen=True)
class Query:
    """What is asked of a list; anything unknown is as if it were not given."""

    text: str = ""
    method: str = ""
    split: str = ""
    only: str = ""
    """``warned``: only sessions with a warning; else all."""
    sort: str = "session"
    down: bool = False
    page: int = 1


@dataclass(frozen=True)
class Row:
    """One episode in a list; None where the run says nothing. ``place`` is its number on the session's page.

    ``spark`` are the chosen method's rewards in the order of the turns; ``excerpt`` is the turn in which something that
    was searched for stands: its number, its speaker and a part of its text.
    """

    session_id: str
    slug: str
    place: int
    split: str | None
    turns: int
    duration_s: float | None
    rater: str | None
    target: str | None
    name: str | None
    score: float | None
    low: float | None
    high: float | None
    disagreement: float | None
    warnings: tuple[str, ...]
    total: float | None
    residual: float | None
    lowest_turn: int | None
    lowest: float | None
    lowest_text: str | None
    spark: tuple[float, ...]
    excerpt: tuple[int, str, str] | None


@dataclass(frozen=True)
class Listing:
    """One page of a list, and its rows."""

    rows: tuple[Row, ...]
    page: Page


def listing(index: Index, query: Query) -> Listing:
    """The page of sessions that ``query`` asks for.

    Ties are in the order of session ids; what has no value comes last, whichever way it is sorted.
    """
    where, values = _where(query)
    with index.connect() as connection:
        count = f"SELECT count(*) FROM episodes {SESSIONS} {where}"
        page = Page.of(int(connection.execute(count, values).fetchone()[0]), query.page, PAGE)
        numbers = _numbers(connection, query, page)
        places = ", ".join("?" * len(numbers))
        found = connection.execute(
            f"SELECT *, episodes.id AS number FROM episodes {SESSIONS} {STANDINGS} WHERE episodes.id IN ({places})",
            (query.method, *numbers),
        )
        of_number = {row["number"]: row for row in found}
        rows = [of_number[number] for number in numbers]
        wanted = pattern_of(query.text)
        shown = tuple(_row(row, _excerpt(connection, row["session"], wanted)) for row in rows)
    return Listing(shown, page)


def _numbers(connection: Any, query: Query, page: Page) -> list[int]:
    """The episodes of a page in their order: the database sorts numbers alone, not rows with all that is shown."""
    where, values = _where(query)
    order = SORTS.get(query.sort, SORTS["session"])
    way = "DESC" if query.down else "ASC"
    by_method = "standings." in order
    # By name: the planner takes the primary key, behind which a row has all that is drawn of it.
    standings = STANDINGS.replace("standings ON", "standings INDEXED BY ordered ON") if by_method else ""
    rows = connection.execute(
        f"SELECT episodes.id FROM episodes {SESSIONS} {standings} {where} "
        f"ORDER BY {order} IS NULL, {order} {way}, episodes.id LIMIT ? OFFSET ?",
        (*([query.method] if by_method else []), *values, page.size, page.start),
    )
    return [row[0] for row in rows]


def _where(query: Query) -> tuple[str, list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    if query.text.strip():
        asked = query_of(query.text)
        conditions.append("0" if asked is None else "sessions.id IN (SELECT rowid FROM words WHERE words MATCH ?)")
        values += [] if asked is None else [asked]
    if query.split:
        conditions.append("sessions.split = ?")
        values.append(query.split)
    if query.only == "warned":
        conditions.append("episodes.alarms > 0")
    return ("WHERE " + " AND ".join(conditions) if conditions else ""), values


def _row(row: Any, excerpt: tuple[int, str, str] | None) -> Row:
    spark = tuple(json.loads(row["spark"])) if row["spark"] else ()
    return Row(
        **{name: row[name] for name in SAME}, warnings=tuple(json.loads(row["warnings"])), spark=spark, excerpt=excerpt
    )


def _excerpt(connection: Any, session: int, wanted: re.Pattern[str] | None) -> tuple[int, str, str] | None:
    """The first turn in which something that is ``wanted`` stands, cut around it."""
    if wanted is None:
        return None
    blob = connection.execute(
        "SELECT columns FROM packed WHERE session = ? AND name = 'session'", (session,)
    ).fetchone()
    for turn, speaker, said, *_ in unpack(blob[0])[0]["turns"]:
        text = decomposed(said)
        match = wanted.search(text)
        if match is not None:
            # From the beginning of a word, and not further back where the text ends soon: two lines are shown of it.
            start = max(0, match.start() - AROUND)
            start = text.find(" ", start, match.start()) + 1 or start if start else 0
            part = text[start : start + EXCERPT]
            return turn, speaker, ("…" if start else "") + part + ("…" if start + EXCERPT < len(text) else "")
    return None
