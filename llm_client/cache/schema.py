"""The tables of the reply cache, and how a file of an older version becomes one of this."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apportion.foundation.truncate import listed
from apportion.llm_client.errors import SetupError
from apportion.llm_client.request import ChatReply

VERSION = 5
_COLUMNS = {
    "prompt_tokens": "INTEGER",
    "cached_tokens": "INTEGER",
    "completion_tokens": "INTEGER",
    "usd": "REAL",
    # The model's name as it was asked for and as the server gave it back.
    "asked": "TEXT",
    "served": "TEXT",
    # Of the reply's text; none in replies of older versions.
    "crc": "INTEGER",
}
_TABLES = (
    # A sum over an index does not read the replies' texts.
    "CREATE INDEX IF NOT EXISTS costs ON replies (usd)",
    "CREATE INDEX IF NOT EXISTS models ON replies (asked, served)",
    # One row for each try that may have to be paid and has no reply yet; its owner is the process that waits for the
    # reply, none where nobody does any more.
    "CREATE TABLE IF NOT EXISTS reserved (id INTEGER PRIMARY KEY AUTOINCREMENT, usd REAL NOT NULL)",
    # A batch without batch_id may or may not be at the server: sent_at (Unix seconds) says since when that is so.
    "CREATE TABLE IF NOT EXISTS batches (id INTEGER PRIMARY KEY AUTOINCREMENT, token TEXT NOT NULL UNIQUE, "
    "url TEXT NOT NULL, dialect TEXT NOT NULL, sent_at REAL, input_file TEXT, batch_id TEXT)",
    # One row for each request in a batch; without a batch it is one that a batch did not answer, to be asked directly.
    "CREATE TABLE IF NOT EXISTS batched (key TEXT PRIMARY KEY, batch INTEGER, reservation INTEGER)",
    # Clients that ask through this file, and the requests that each of them is asking. The numbers are used once.
    "CREATE TABLE IF NOT EXISTS owners (id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, "
    "pid INTEGER NOT NULL, started TEXT NOT NULL, expires_at REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner INTEGER NOT NULL) WITHOUT ROWID",
    # Units of each limit a minute that may go through now, and since when (Unix seconds): for all who ask a server.
    "CREATE TABLE IF NOT EXISTS buckets (name TEXT PRIMARY KEY, level REAL NOT NULL, at_s REAL NOT NULL)",
    # Who asks a server at the time, how many requests each of them may have under way, and all together as it sees it.
    "CREATE TABLE IF NOT EXISTS askers (server TEXT NOT NULL, owner INTEGER NOT NULL, slots INTEGER NOT NULL, "
    "most INTEGER NOT NULL, PRIMARY KEY (server, owner)) WITHOUT ROWID",
    # Replies for which a server counted more tokens than it was asked for at most.
    "CREATE TABLE IF NOT EXISTS overruns (key TEXT PRIMARY KEY, usd REAL NOT NULL, asked INTEGER NOT NULL, "
    "counted INTEGER NOT NULL)",
    # How many replies there are and what they cost, so that a reservation need not add it up, and so that what a
    # damaged file has lost can be told.
    "CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, replies INTEGER NOT NULL, paid_usd REAL NOT NULL)",
    "INSERT OR REPLACE INTO account SELECT 'all', count(*), total(usd) FROM replies",
    "CREATE TRIGGER IF NOT EXISTS paid AFTER INSERT ON replies BEGIN "
    "UPDATE account SET replies = replies + 1, paid_usd = paid_usd + coalesce(new.usd, 0); END",
    "CREATE TRIGGER IF NOT EXISTS paid_again AFTER UPDATE OF usd ON replies BEGIN "
    "UPDATE account SET paid_usd = paid_usd + coalesce(new.usd, 0) - coalesce(old.usd, 0); END",
)


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Make the tables, or add what is new to those of an older version; no reply is touched.

    All in one transaction: a kill leaves the file as it was, and of two processes the second finds it done.
    """
    if _version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        _upgrade(connection)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def check_kind(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether anything was ever written into the file ``path``.

    Raises ``SetupError``: it is of a newer version than this program, or of another program.
    """
    tables = sorted(name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
    if tables and "replies" not in tables:
        raise SetupError(
            f"{path} is an SQLite file of another program (its tables: {listed(tables)}) and no reply cache. Name "
            "another file with run.llm_cache."
        )
    version = _version(connection)
    if version > VERSION:
        raise SetupError(
            f"the reply cache {path} is of version {version}, and this program knows up to {VERSION}. Use the newer "
            "program that wrote it, or name another file with run.llm_cache."
        )
    return bool(tables)


def _upgrade(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
    _add_columns(connection, "replies", _COLUMNS)
    # Replies of version 0 have their tokens in the reply's own text; what they cost then is not known.
    connection.execute(
        "UPDATE replies SET prompt_tokens = json_extract(reply, '$.prompt_tokens'), "
        "completion_tokens = json_extract(reply, '$.completion_tokens') "
        "WHERE prompt_tokens IS NULL AND json_valid(reply)"
    )
    for statement in _TABLES:
        connection.execute(statement)
    _add_columns(connection, "reserved", {"owner": "INTEGER"})
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _add_columns(connection: sqlite3.Connection, table: str, columns: Mapping[str, str]) -> None:
    present = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    for name, kind in columns.items():
        if name not in present:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


SQL_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged file ends in: SQLite's own message may quote what is no text any more."""


def checksum(text: str) -> int:
    """What is kept beside a reply's ``text`` to tell whether it is still the same."""
    return zlib.crc32(text.encode())


def read_reply(text: Any, crc: Any = None) -> ChatReply | None:
    """The reply that ``ChatReply.to_json`` wrote; None where ``text`` is none or has not the checksum ``crc``."""
    try:
        # Bytes that are no UTF-8 have become half surrogate pairs, which cannot be encoded.
        if checksum(text) != crc and crc is not None:
            return None
        reply = ChatReply.from_json(text)
    except (AttributeError, ValueError, TypeError, RecursionError):
        return None
    words = (reply.text, reply.model, reply.finish_reason)
    counts = (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens)
    if not all(isinstance(word, str) for word in words):
        return None
    return reply if all(count is None or type(count) is int for count in counts) else None
