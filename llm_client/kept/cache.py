"""Replies that were paid for, kept in one SQLite file by the key of their request."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from llm_client.errors import SetupError
from llm_client.kept.schema import bring_up_to_date
from llm_client.request import ChatReply
from llm_client.usage import Usage

_INSERT = """
INSERT INTO replies (key, reply, prompt_tokens, cached_tokens, completion_tokens, usd) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET usd = coalesce(usd + excluded.usd, usd, excluded.usd)
RETURNING reply
"""
_USAGE = """
SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(completion_tokens), 0),
    total(usd), count(*) - count(usd), (SELECT total(usd) FROM reserved)
FROM replies WHERE rowid > ?
"""
_SPENT = "SELECT (SELECT total(usd) FROM replies) + (SELECT total(usd) FROM reserved)"
_LOCK_WAIT_S = 60.0
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class KeptReply:
    """A reply to be kept under ``key``; ``usd`` is its cost where known, ``reservation`` what was set aside for it."""

    key: str
    reply: ChatReply
    usd: float | None = None
    reservation: int | None = None


class ReplyCache:
    """Replies by request key; safe for several threads and processes on one file, and against a kill at any moment.

    Prompts are not stored, only their hashes.

    Raises
    ------
    SetupError
        The file cannot be made, is no SQLite file, or its disk is full.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection = self._guarded(self._connect)

    def get(self, key: str) -> ChatReply | None:
        """The reply kept under ``key``, or None."""
        row = self._guarded(
            lambda: self._connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        )
        return None if row is None else ChatReply.from_json(row[0])

    def put(self, key: str, reply: ChatReply, usd: float | None = None, reservation: int | None = None) -> ChatReply:
        """Keep ``reply`` and return what is now kept: the first reply wins, so all processes go on with the same one.

        The reply is on the disk when this returns, its cost ``usd`` (None where unknown) beside it, and
        ``reservation`` is settled. A reply that came second was paid as well, and its cost is added to the first's.
        """
        (kept,) = self.put_all([KeptReply(key, reply, usd, reservation)])
        return kept

    def put_all(self, entries: Sequence[KeptReply]) -> list[ChatReply]:
        """Keep several replies with one sync of the disk, all or none; what ``put`` says holds for each."""
        return self.transact(lambda connection: [insert_reply(connection, entry) for entry in entries])

    def last(self) -> int:
        """A mark for ``usage``: the number of the newest reply."""
        row = self._guarded(lambda: self._connection.execute("SELECT max(rowid) FROM replies").fetchone())
        return int(row[0] or 0)

    def usage(self, after: int = 0) -> Usage:
        """What the replies kept after the mark ``after`` used, all by default."""
        row = self._guarded(lambda: self._connection.execute(_USAGE, (after,)).fetchone())
        return Usage(*row)

    def reserve(self, usd: float, ceiling_usd: float) -> int | None:
        """Set ``usd`` aside for a try, on the disk before it is sent, and return the reservation's number.

        None where it would pass the ceiling together with all that was paid and is set aside, by any process.
        """
        return self.transact(lambda connection: insert_reservation(connection, usd, ceiling_usd))

    def release(self, reservation: int) -> None:
        """Give back what was set aside for a try that is not paid."""
        self._guarded(lambda: self._connection.execute("DELETE FROM reserved WHERE id = ?", (reservation,)))

    def transact(self, action: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Do all of ``action`` on the file or nothing of it; what it did is on the disk when this returns."""

        def whole() -> _Result:
            with self._transaction():
                return action(self._connection)

        return self._guarded(whole)

    def close(self) -> None:
        """Close the file."""
        self._guarded(self._connection.close)

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=_LOCK_WAIT_S, check_same_thread=False, isolation_level=None)
        # WAL lets other processes read while one writes; FULL syncs each commit, so that not even a power cut
        # loses a reply that was paid for.
        connection.execute("PRAGMA synchronous = FULL")
        deadline_s = time.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                bring_up_to_date(connection)
                return connection
            except sqlite3.OperationalError as error:
                # SQLite does not wait for its own lock while another process makes the file.
                if "locked" not in str(error) or time.monotonic() > deadline_s:
                    raise
                time.sleep(0.01)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # A full disk has rolled it back already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _guarded(self, action: Callable[[], _Result]) -> _Result:
        try:
            with self._lock:
                return action()
        except (sqlite3.Error, OSError) as error:
            raise SetupError(
                f"the reply cache {self._path} cannot be used: {error}. Replies already in it are kept; free disk "
                "space, correct its permissions, or name another file."
            ) from None


def insert_reply(connection: sqlite3.Connection, entry: KeptReply) -> ChatReply:
    """``ReplyCache.put`` as a part of a transaction."""
    reply = entry.reply
    tokens = (reply.prompt_tokens, reply.cached_tokens, reply.completion_tokens)
    (text,) = connection.execute(_INSERT, (entry.key, reply.to_json(), *tokens, entry.usd)).fetchone()
    if entry.reservation is not None:
        connection.execute("DELETE FROM reserved WHERE id = ?", (entry.reservation,))
    return ChatReply.from_json(text)


def insert_reservation(connection: sqlite3.Connection, usd: float, ceiling_usd: float) -> int | None:
    """``ReplyCache.reserve`` as a part of a transaction."""
    (spent_usd,) = connection.execute(_SPENT).fetchone()
    if spent_usd + usd > ceiling_usd:
        return None
    return connection.execute("INSERT INTO reserved (usd) VALUES (?)", (usd,)).lastrowid
