"""The tables of the reply cache, and how a file of an older version becomes one of this."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

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
    "crc": "BIGINT",
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
    "INSERT INTO account SELECT 'all', count(*), coalesce(sum(usd), 0.0) FROM replies WHERE true "
    "ON CONFLICT (name) DO UPDATE SET replies = excluded.replies, paid_usd = excluded.paid_usd",
)
_TRIGGERS = (
    "CREATE TRIGGER IF NOT EXISTS paid AFTER INSERT ON replies BEGIN "
    "UPDATE account SET replies = replies + 1, paid_usd = paid_usd + coalesce(new.usd, 0); END",
    "CREATE TRIGGER IF NOT EXISTS paid_again AFTER UPDATE OF usd ON replies BEGIN "
    "UPDATE account SET paid_usd = paid_usd + coalesce(new.usd, 0) - coalesce(old.usd, 0); END",
)


_SERVER_TRIGGERS = (
    "CREATE FUNCTION count_paid() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_OP = 'INSERT' THEN "
    "UPDATE account SET replies = replies + 1, paid_usd = paid_usd + coalesce(NEW.usd, 0); ELSE "
    "UPDATE account SET paid_usd = paid_usd + coalesce(NEW.usd, 0) - coalesce(OLD.usd, 0); END IF; RETURN NULL; END $$",
    "CREATE TRIGGER paid AFTER INSERT OR UPDATE OF usd ON replies FOR EACH ROW EXECUTE FUNCTION count_paid()",
)


class Rows(Protocol):
    """What a statement brings."""

    @property
    def rowcount(self) -> int:
        """Rows that it has changed."""

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """All other rows."""

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection to a database of either kind."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> Rows:
        """Carry out one statement."""

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Carry out one statement for each of ``rows``."""


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Make the tables, or add what is new to those of an older version; no reply is touched.

    All in one transaction: a kill leaves the file as it was, and of two processes the second finds it done.
    """
    connection.create_function("unix_now", 0, lambda: time.time())
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


def make_tables(connection: Connection, place: str) -> None:
    """Make the tables of a server's database in the schema that it looks in; one transaction, that of the caller.

    Raises ``SetupError``: they are of another version than this program knows.
    """
    if connection.execute("SELECT to_regclass('version') IS NULL").fetchone()[0]:
        columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
        for statement in (
            "CREATE TABLE replies (rowid INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, "
            f"reply TEXT NOT NULL, {columns})",
            *_TABLES,
            *_SERVER_TRIGGERS,
            "ALTER TABLE reserved ADD COLUMN owner INTEGER",
            "CREATE FUNCTION unix_now() RETURNS DOUBLE PRECISION LANGUAGE sql AS "
            "'SELECT extract(epoch FROM clock_timestamp())::float8'",
            # The last transaction of each connection that is in, so that none is carried out twice.
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, number INTEGER NOT NULL, at_s REAL NOT NULL)",
            f"CREATE TABLE version AS SELECT {VERSION} AS number",
        ):
            connection.execute(statement)
    (version,) = connection.execute("SELECT number FROM version").fetchone()
    if version != VERSION:
        raise SetupError(
            f"the ledger {place} is of version {version}, and this program knows {VERSION}. Use the program that made "
            "it, or name another database with run.llm_cache."
        )


def _upgrade(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
    _add_columns(connection, "replies", _COLUMNS)
    # Replies of version 0 have their tokens in the reply's own text; what they cost then is not known.
    connection.execute(
        "UPDATE replies SET prompt_tokens = json_extract(reply, '$.prompt_tokens'), "
        "completion_tokens = json_extract(reply, '$.completion_tokens') "
        "WHERE prompt_tokens IS NULL AND json_valid(reply)"
    )
    for statement in (*_TABLES, *_TRIGGERS):
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
