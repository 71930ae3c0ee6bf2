"""Replies that were paid for, kept in one SQLite file by the key of their request."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from llm_client.errors import SetupError
from llm_client.request import ChatReply

_LOCK_WAIT_S = 60.0
_Result = TypeVar("_Result")


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

    def put(self, key: str, reply: ChatReply) -> ChatReply:
        """Keep ``reply`` and return what is now kept: the first reply wins, so all processes go on with the same one.

        The reply is on the disk when this returns.
        """
        self._guarded(lambda: self._insert(key, reply))
        return self.get(key) or reply

    def close(self) -> None:
        """Close the file."""
        self._guarded(self._connection.close)

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=_LOCK_WAIT_S, check_same_thread=False, isolation_level=None)
        # WAL lets other processes read while one writes; FULL syncs each commit, so that not even a power cut
        # loses a reply that was paid for.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
        return connection

    def _insert(self, key: str, reply: ChatReply) -> None:
        self._connection.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, reply.to_json()))

    def _guarded(self, action: Callable[[], _Result]) -> _Result:
        try:
            with self._lock:
                return action()
        except (sqlite3.Error, OSError) as error:
            raise SetupError(
                f"the reply cache {self._path} cannot be used: {error}. Replies already in it are kept; free disk "
                "space, correct its permissions, or name another file."
            ) from None
