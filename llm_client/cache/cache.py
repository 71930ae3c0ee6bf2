"""Replies that were paid for, kept in one database by the key of their request."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from apportion.foundation.optional_packages import check_extra
from apportion.foundation.truncate import listed
from apportion.llm_client.cache.database import Database, Place, SQLiteFile
from apportion.llm_client.cache.reservations import set_aside
from apportion.llm_client.cache.schema import Connection, checksum, read_reply
from apportion.llm_client.request import ChatReply
from apportion.llm_client.usage import Overrun, Usage

_log = logging.getLogger(__name__)
_INSERT = """
INSERT INTO replies (key, reply, prompt_tokens, cached_tokens, completion_tokens, usd, asked, served, crc)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET usd = coalesce(replies.usd + excluded.usd, replies.usd, excluded.usd)
RETURNING reply, crc
"""
_MEND = """
UPDATE replies
SET reply = ?, prompt_tokens = ?, cached_tokens = ?, completion_tokens = ?, asked = ?, served = ?, crc = ?
WHERE key = ?
"""
_USAGE = """
SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(completion_tokens), 0),
    coalesce(sum(usd), 0.0), count(*) - count(usd),
    count(usd) FILTER (WHERE prompt_tokens IS NULL OR completion_tokens IS NULL)
FROM replies WHERE rowid > ?
"""
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class CachedReply:
    """A reply to be kept under ``key``.

    ``usd`` is its cost where known, ``reservation`` what was set aside for it, ``asked`` the model's name in the
    request. ``overrun`` says what it cost beyond what it could at most.
    """

    key: str
    reply: ChatReply
    usd: float | None = None
    reservation: int | None = None
    asked: str | None = None
    overrun: Overrun | None = None


class ReplyCache:
    """Replies by request key; safe for threads, processes and, on a server, hosts, and against a kill at any moment.

    Prompts are not stored, only their hashes. A reply that cannot be read any more counts as none.

    ``place``: an SQLite file, or the URL of a PostgreSQL database. Raises ``SetupError``: the file cannot be made, is
    no SQLite file, or its disk is full; the server does not let us in. ``DamagedCacheError``: the file is damaged.
    ``LedgerAwayError``: the server cannot be reached.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._database = _database(place)
        self._unreadable = 0

    def get(self, key: str) -> ChatReply | None:
        """The reply kept under ``key``, or None."""
        query = "SELECT reply, crc FROM replies WHERE key = ?"
        row = self.read(lambda connection: connection.execute(query, (key,)).fetchone())
        if row is None:
            return None
        reply = read_reply(*row)
        if reply is None:
            self._tell_unreadable(key)
        return reply

    def put(self, key: str, reply: ChatReply, usd: float | None = None, reservation: int | None = None) -> ChatReply:
        """Keep ``reply`` and return what is now kept: the first reply wins, so all processes go on with the same one.

        The reply is on the disk when this returns, its cost ``usd`` (None where unknown) beside it, and
        ``reservation`` is settled. A reply that came second was paid as well, and its cost is added to the first's.
        """
        (kept,) = self.put_all([CachedReply(key, reply, usd, reservation)])
        return kept

    def put_all(self, entries: Sequence[CachedReply]) -> list[ChatReply]:
        """Keep several replies with one sync of the disk, all or none; what ``put`` says holds for each."""
        return self.transact(lambda connection: [insert_reply(connection, entry) for entry in entries], keeps=entries)

    def last(self) -> int:
        """A mark for ``usage``: the number of the newest reply."""
        row = self.read(lambda connection: connection.execute("SELECT max(rowid) FROM replies").fetchone())
        return int(row[0] or 0)

    def usage(self, after: int = 0) -> Usage:
        """What the replies kept after the mark ``after`` used, all by default."""

        def read(connection: Connection) -> Usage:
            row = connection.execute(_USAGE, (after,)).fetchone()
            lost_usd, under_way_usd, in_batches_usd = set_aside(connection)
            *counts, uncounted = row
            return replace(
                Usage(*counts),
                uncounted=uncounted,
                unanswered_usd=lost_usd,
                under_way_usd=under_way_usd,
                in_batches_usd=in_batches_usd,
                overrun=_overruns(connection, after),
            )

        return self.read(read)

    def served(self, asked: str) -> dict[str, int]:
        """By the names of the models that answered to the name ``asked``, the number of their replies, oldest first."""
        query = (
            "SELECT served, count(*) FROM replies WHERE asked = ? AND served != '' GROUP BY served ORDER BY min(rowid)"
        )
        return dict(self.read(lambda connection: connection.execute(query, (asked,)).fetchall()))

    def asked(self, after: int = 0) -> set[str]:
        """The names by which models were asked for the replies kept after the mark ``after``, where they are known."""
        query = "SELECT DISTINCT asked FROM replies WHERE rowid > ? AND asked IS NOT NULL"
        return {name for (name,) in self.read(lambda c: c.execute(query, (after,)).fetchall())}

    def transact(
        self,
        action: Callable[[Connection], _Result],
        *,
        synced: bool = True,
        keeps: Sequence[CachedReply] = (),
    ) -> _Result:
        """Do all of ``action`` or nothing of it; what it did is on the disk when this returns.

        Where it is not ``synced`` it outlives this process, but perhaps not a power cut. ``keeps`` are the replies that
        it inserts: should a server be away for too long, they are kept here until it is back.
        """
        return self._database.transact(action, synced, keeps)

    def read(self, action: Callable[[Connection], _Result]) -> _Result:
        """What ``action`` reads, beside whatever is being written."""
        return self._database.read(action)

    def now(self) -> float:
        """Unix seconds, by the clock on which all who use this cache agree."""
        return self._database.now()

    def close(self) -> None:
        """Close the file."""
        self._database.close()
        if self._unreadable > 1:
            _log.warning("%s: %d replies could not be read and count as none", self._place, self._unreadable)

    def _tell_unreadable(self, key: str) -> None:
        self._unreadable += 1
        if self._unreadable == 1:
            _log.warning(
                "%s: the reply kept under %s… cannot be read; it counts as none and is asked for again where it is "
                "needed, as are others like it",
                self._place,
                key[:12],
            )


def _database(place: Place) -> Database:
    if not isinstance(place, str):
        return SQLiteFile(place)
    check_extra("psycopg", "postgresql", "run.llm_cache", "a ledger in PostgreSQL")
    from apportion.llm_client.cache.postgresql import PostgreSQL

    def take_in(connection: Connection, line: str) -> None:
        given = json.loads(line)
        over = Overrun(**given["overrun"]) if given["overrun"] else None
        insert_reply(connection, CachedReply(**{**given, "reply": ChatReply(**given["reply"]), "overrun": over}))

    return PostgreSQL(place, lambda entry: json.dumps(asdict(entry)), take_in)


def insert_reply(connection: Connection, entry: CachedReply) -> ChatReply:
    """``ReplyCache.put`` as a part of a transaction."""
    reply = entry.reply
    text, tokens = reply.to_json(), (reply.prompt_tokens, reply.cached_tokens, reply.completion_tokens)
    names = (entry.asked, reply.model if entry.asked else None)
    crc = checksum(text)
    kept_text, kept_crc = connection.execute(_INSERT, (entry.key, text, *tokens, entry.usd, *names, crc)).fetchone()
    if entry.reservation is not None:
        connection.execute("DELETE FROM reserved WHERE id = ?", (entry.reservation,))
    connection.execute("DELETE FROM claims WHERE key = ?", (entry.key,))
    if entry.overrun is not None:
        over = entry.overrun
        connection.execute(
            "INSERT INTO overruns VALUES (?, ?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET usd = overruns.usd + excluded.usd, "
            "asked = overruns.asked + excluded.asked, counted = overruns.counted + excluded.counted",
            (entry.key, over.usd, over.asked, over.counted),
        )
    if kept_text == text and kept_crc in (crc, None):
        return reply
    kept = read_reply(kept_text, kept_crc)
    if kept is None:
        connection.execute(_MEND, (text, *tokens, *names, crc, entry.key))
    return kept or reply


def _overruns(connection: Connection, after: int) -> Overrun | None:
    row = connection.execute(
        "SELECT count(*), coalesce(sum(overruns.usd), 0.0), coalesce(sum(overruns.asked), 0), "
        "coalesce(sum(counted), 0), count(*) FILTER (WHERE completion_tokens IS NULL) "
        "FROM overruns JOIN replies USING (key) WHERE replies.rowid > ?",
        (after,),
    ).fetchone()
    replies, usd, asked, counted, estimated = row
    return Overrun(usd, asked, counted, replies, bool(estimated)) if replies else None


class ServedModels:
    """Warns where replies of two models are kept under one name; once for each name.

    That a provider answers a general name with a dated one is no change; that the dated one becomes another is.
    """

    def __init__(self, cache: ReplyCache) -> None:
        self._cache = cache
        self._seen: set[tuple[str, str]] = set()
        self._told: set[str] = set()

    def note(self, asked: str, served: str) -> None:
        """A reply to a request for the model ``asked`` came from ``served``, and is kept; empty says nothing."""
        if not served or asked in self._told or (asked, served) in self._seen:
            return
        self._seen.add((asked, served))
        counts = self._cache.served(asked)
        if len(counts) < 2:
            return
        self._told.add(asked)
        _log.warning(
            "the model that answers to the name %r has changed: the reply cache holds %s. Judgements of two models do "
            "not compare: ask for one of them by its own name (a dated one, where the provider has it), or begin "
            "another reply cache",
            asked,
            listed([f"{count:,} of {name!r}" for name, count in counts.items()]),
        )
