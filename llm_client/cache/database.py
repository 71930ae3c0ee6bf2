"""Where the ledger is kept: an SQLite file on one host, or a PostgreSQL database that many hosts share.

Statements stand once, in SQL that both understand: ``?`` for a value, ``RETURNING``, ``ON CONFLICT``, and `unix_now()`,
the database's own clock. Both let one writer in at a time, and what is committed is on the disk.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from apportion.llm_client.cache.schema import SQL_ERRORS, Connection, bring_up_to_date, check_kind
from apportion.llm_client.errors import DamagedCacheError, LLMError, SetupError

Place = Path | str
"""A file, or the URL of a server's database."""
LOCK_WAIT_S = 60.0
_NOT_SYNCED, _SYNCED = 1, 2
_Result = TypeVar("_Result")


def ledger_place(given: str | Path) -> Place:
    """What a person calls the ledger by; a URL stays a text.

    Raises ``ValueError``: a URL of another kind, or one with a password, which every process' list and log would show.
    """
    text = str(given)
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", text):
        if re.search(r"(^|\s)(host|dbname|user|password|service)\s*=", text):
            raise ValueError("no file and no URL; write it as postgresql://HOST:PORT/DATABASE, the password elsewhere")
        return Path(given)
    if not re.match(r"postgres(ql)?://", text):
        raise ValueError("allowed are an SQLite file and postgresql://HOST:PORT/DATABASE")
    parts = urlsplit(text)
    if ":" in parts.netloc.rpartition("@")[0] or re.search(r"[?&](ssl)?password=", text):
        raise ValueError("a password in it would be seen; give it by PGPASSWORD, ~/.pgpass or PGSERVICEFILE")
    return text


def may_exist(place: Place) -> bool:
    """Whether there may be replies; a server is not asked."""
    return isinstance(place, str) or place.exists()


class Database(Protocol):
    """What `ReplyCache` needs of a database; safe for several threads."""

    def read(self, action: Callable[[Connection], _Result]) -> _Result:
        """What ``action`` reads."""

    def transact(self, action: Callable[[Connection], _Result], synced: bool, keeps: Sequence[Any]) -> _Result:
        """Do all of ``action`` or nothing of it; ``keeps`` are the replies that it inserts."""

    def now(self) -> float:
        """Unix seconds by the clock on which all who use the database agree."""

    def close(self) -> None:
        """Let go of it."""


class SQLiteFile:
    """A file for the processes of one host; raises what `ReplyCache` says."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock, self._reading_lock = Lock(), Lock()
        self.connection = self._guarded(self._connect)
        # Reading does not wait for the disk that what is being written is synced to.
        self._reading = self._guarded(self._connect)
        self._sync = _SYNCED

    def read(self, action: Callable[[Connection], _Result]) -> _Result:
        """See `Database`."""

        def alone() -> _Result:
            with self._reading_lock:
                return action(self._reading)

        return self._guarded(alone)

    def transact(self, action: Callable[[Connection], _Result], synced: bool, keeps: Sequence[Any] = ()) -> _Result:
        """See `Database`. What is not ``synced`` outlives this process, but perhaps not a power cut."""

        def whole() -> _Result:
            level = _SYNCED if synced else _NOT_SYNCED
            with self._lock:
                if level != self._sync:
                    self.connection.execute(f"PRAGMA synchronous = {level}")
                    self._sync = level
                self.connection.execute("BEGIN IMMEDIATE")
                try:
                    result = action(self.connection)
                except BaseException:
                    # A full disk has rolled it back already.
                    if self.connection.in_transaction:
                        self.connection.execute("ROLLBACK")
                    raise
                self.connection.execute("COMMIT")
                return result

        return self._guarded(whole)

    def now(self) -> float:
        """See `Database`: of one host, its own."""
        return time.time()

    def close(self) -> None:
        """See `Database`."""
        with self._lock, self._reading_lock:
            self._guarded(self.connection.close)
            self._reading.close()

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists() and not self._path.is_file():
            raise OSError("it is no regular file")  # To open a pipe would wait for its other end.
        connection = sqlite3.connect(self._path, timeout=LOCK_WAIT_S, check_same_thread=False, isolation_level=None)
        # WAL lets other processes read while one writes; FULL syncs each commit, so that not even a power cut
        # loses a reply that was paid for.
        connection.execute(f"PRAGMA synchronous = {_SYNCED}")
        # A row's text may have been damaged; that is found out where the reply is read.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        deadline_s = time.monotonic() + LOCK_WAIT_S
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

    def _guarded(self, action: Callable[[], _Result]) -> _Result:
        try:
            return action()
        except (*SQL_ERRORS, OSError) as error:
            raise self._told(error) from None

    def _told(self, error: Exception) -> LLMError:
        cause = f"the reply cache {self._path} cannot be used: {error}."
        if is_damage(error):
            return DamagedCacheError(
                f"{cause} The file is damaged. What can still be read of it can be saved into a new one; until "
                "then nothing is asked, since it might have been paid already. Or name another file."
            )
        if is_busy(error):
            return SetupError(
                f"{cause} Another process has kept it locked for {LOCK_WAIT_S:.0f} s, as one does that was "
                "stopped (Ctrl-Z) while it wrote. Let it go on or end it, and run the same command again."
            )
        return SetupError(
            f"{cause} Replies already in it are kept; free disk space, correct its permissions, or name another file."
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
