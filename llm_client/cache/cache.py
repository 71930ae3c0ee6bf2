"""Replies that were paid for, kept in one SQLite file by the key of their request."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from apportion.foundation.truncate import listed
from apportion.llm_client.cache.reservations import set_aside
from apportion.llm_client.cache.schema import SQL_ERRORS, bring_up_to_date, check_kind, checksum, read_reply
from apportion.llm_client.errors import DamagedCacheError, SetupError
from apportion.llm_client.request import ChatReply
from apportion.llm_client.usage import Overrun, Usage

_log = logging.getLogger(__name__)
_INSERT = """
INSERT INTO replies (key, reply, prompt_tokens, cached_tokens, completion_tokens, usd, asked, served, crc)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET usd = coalesce(usd + excluded.usd, usd, excluded.usd)
RETURNING reply, crc
"""
_MEND = """
UPDATE replies
SET reply = ?, prompt_tokens = ?, cached_tokens = ?, completion_tokens = ?, asked = ?, served = ?, crc = ?
WHERE key = ?
"""
_USAGE = """
SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(completion_tokens), 0),
    total(usd), count(*) - count(usd),
    count(usd) FILTER (WHERE prompt_tokens IS NULL OR completion_tokens IS NULL)
FROM replies WHERE rowid > ?
"""
_LOCK_WAIT_S = 60.0
_NOT_SYNCED, _SYNCED = 1, 2
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
    """Replies by request key; safe for several threads and processes on one file, and against a kill at any moment.

    Prompts are not stored, only their hashes. A reply that cannot be read any more counts as none.

    Raises ``SetupError``: the file cannot be made, is no SQLite file, or its disk is full. ``DamagedCacheError``: the
    file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock, self._reading_lock = threading.Lock(), threading.Lock()
        self._connection = self._guarded(self._connect)
        # Reading does not wait for the disk that what is being written is synced to.
        self._reading = self._guarded(self._connect)
        self._sync = _SYNCED
        self._unreadable = 0

    def get(self, key: str) -> ChatReply | None:
        """The reply kept under ``key``, or None."""

        def find() -> tuple[str, int | None] | None:
            with self._reading_lock:
                row: tuple[str, int | None] | None = self._reading.execute(
                    "SELECT reply, crc FROM replies WHERE key = ?", (key,)
                ).fetchone()
                return row

        row = self._guarded(find)
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
        return self.transact(lambda connection: [insert_reply(connection, entry) for entry in entries])

    def last(self) -> int:
        """A mark for ``usage``: the number of the newest reply."""
        row = self._locked(lambda: self._connection.execute("SELECT max(rowid) FROM replies").fetchone())
        return int(row[0] or 0)

    def usage(self, after: int = 0) -> Usage:
        """What the replies kept after the mark ``after`` used, all by default."""

        def read(connection: sqlite3.Connection) -> Usage:
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

        return self._locked(lambda: read(self._connection))

    def served(self, asked: str) -> dict[str, int]:
        """By the names of the models that answered to the name ``asked``, the number of their replies, oldest first."""
        query = (
            "SELECT served, count(*) FROM replies WHERE asked = ? AND served != '' GROUP BY served ORDER BY min(rowid)"
        )
        return dict(self._locked(lambda: self._connection.execute(query, (asked,)).fetchall()))

    def asked(self, after: int = 0) -> set[str]:
        """The names by which models were asked for the replies kept after the mark ``after``, where they are known."""
        query = "SELECT DISTINCT asked FROM replies WHERE rowid > ? AND asked IS NOT NULL"
        return {name for (name,) in self._locked(lambda: self._connection.execute(query, (after,)).fetchall())}

    def transact(self, action: Callable[[sqlite3.Connection], _Result], *, synced: bool = True) -> _Result:
        """Do all of ``action`` on the file or nothing of it; what it did is on the disk when this returns.

        Where it is not ``synced`` it outlives this process, but perhaps not a power cut.
        """

        def whole() -> _Result:
            level = _SYNCED if synced else _NOT_SYNCED
            if level != self._sync:
                self._connection.execute(f"PRAGMA synchronous = {level}")
                self._sync = level
            with self._transaction():
                return action(self._connection)

        return self._locked(whole)

    def close(self) -> None:
        """Close the file."""
        self._locked(self._connection.close)
        with self._reading_lock:
            self._reading.close()
        if self._unreadable > 1:
            _log.warning("%s: %d replies could not be read and count as none", self._path, self._unreadable)

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists() and not self._path.is_file():
            raise OSError("it is no regular file")  # To open a pipe would wait for its other end.
        connection = sqlite3.connect(self._path, timeout=_LOCK_WAIT_S, check_same_thread=False, isolation_level=None)
        # WAL lets other processes read while one writes; FULL syncs each commit, so that not even a power cut
        # loses a reply that was paid for.
        connection.execute(f"PRAGMA synchronous = {_SYNCED}")
        # A row's text may have been damaged; that is found out where the reply is read.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        deadline_s = time.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                check_kind(connection, self._path)  # Another program's file is left as it is.
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

    def _locked(self, action: Callable[[], _Result]) -> _Result:
        def alone() -> _Result:
            with self._lock:
                return action()

        return self._guarded(alone)

    def _guarded(self, action: Callable[[], _Result]) -> _Result:
        try:
            return action()
        except (*SQL_ERRORS, OSError) as error:
            cause = f"the reply cache {self._path} cannot be used: {error}."
            if is_damage(error):
                raise DamagedCacheError(
                    f"{cause} The file is damaged. What can still be read of it can be saved into a new one; until "
                    "then nothing is asked, since it might have been paid already. Or name another file."
                ) from None
            if is_busy(error):
                raise SetupError(
                    f"{cause} Another process has kept it locked for {_LOCK_WAIT_S:.0f} s, as one does that was "
                    "stopped (Ctrl-Z) while it wrote. Let it go on or end it, and run the same command again."
                ) from None
            raise SetupError(
                f"{cause} Replies already in it are kept; free disk space, correct its permissions, or name another "
                "file."
            ) from None

    def _tell_unreadable(self, key: str) -> None:
        self._unreadable += 1
        if self._unreadable == 1:
            _log.warning(
                "%s: the reply kept under %s… cannot be read; it counts as none and is asked for again where it is "
                "needed, as are others like it",
                self._path,
                key[:12],
            )


def is_damage(error: Exception) -> bool:
    """Whether SQLite's error says that the file's content is at fault, not its place or its use."""
    damage = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA)
    if isinstance(error, UnicodeDecodeError) or primary_code(error) in damage:
        return True
    return isinstance(error, sqlite3.Error) and ("no such" in str(error) or "malformed" in str(error))


def is_busy(error: Exception) -> bool:
    """Whether SQLite has waited in vain for another process."""
    return primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def primary_code(error: Exception) -> int | None:
    """SQLite's number for an error, without what it adds to it in details; None where it has none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def insert_reply(connection: sqlite3.Connection, entry: CachedReply) -> ChatReply:
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
            "INSERT INTO overruns VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET usd = usd + excluded.usd, "
            "asked = asked + excluded.asked, counted = counted + excluded.counted",
            (entry.key, over.usd, over.asked, over.counted),
        )
    if kept_text == text and kept_crc in (crc, None):
        return reply
    kept = read_reply(kept_text, kept_crc)
    if kept is None:
        connection.execute(_MEND, (text, *tokens, *names, crc, entry.key))
    return kept or reply


def _overruns(connection: sqlite3.Connection, after: int) -> Overrun | None:
    row = connection.execute(
        "SELECT count(*), total(overruns.usd), coalesce(sum(overruns.asked), 0), coalesce(sum(counted), 0), "
        "count(*) FILTER (WHERE completion_tokens IS NULL) "
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
