"""The tables of the reply cache, and how a file of an older version becomes one of this."""

from __future__ import annotations

import sqlite3

from llm_client.errors import SetupError

VERSION = 2
_COLUMNS = {"prompt_tokens": "INTEGER", "cached_tokens": "INTEGER", "completion_tokens": "INTEGER", "usd": "REAL"}


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Make the tables, or add what is new to those of an older version; no reply is touched.

    All in one transaction: a kill leaves the file as it was, and of two processes the second finds it done.

    Raises
    ------
    SetupError
        The file is of a newer version than this program.
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


def _upgrade(connection: sqlite3.Connection) -> None:
    version = _version(connection)
    if version > VERSION:
        raise SetupError(
            f"the reply cache is of version {version}, and this program knows up to {VERSION}. Use the newer program "
            "that wrote it, or name another file with run.llm_cache."
        )
    connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
    present = {row[1] for row in connection.execute("PRAGMA table_info(replies)")}
    for name, kind in _COLUMNS.items():
        if name not in present:
            connection.execute(f"ALTER TABLE replies ADD COLUMN {name} {kind}")
    # Replies of version 0 have their tokens in the reply's own text; what they cost then is not known.
    connection.execute(
        "UPDATE replies SET prompt_tokens = json_extract(reply, '$.prompt_tokens'), "
        "completion_tokens = json_extract(reply, '$.completion_tokens') "
        "WHERE prompt_tokens IS NULL AND json_valid(reply)"
    )
    # A sum over the index does not read the replies' texts.
    connection.execute("CREATE INDEX IF NOT EXISTS costs ON replies (usd)")
    # One row for each try that may have to be paid and has no reply yet.
    connection.execute("CREATE TABLE IF NOT EXISTS reserved (id INTEGER PRIMARY KEY AUTOINCREMENT, usd REAL NOT NULL)")
    # A batch without batch_id may or may not be at the server: sent_at (Unix seconds) says since when that is so.
    connection.execute(
        "CREATE TABLE IF NOT EXISTS batches (id INTEGER PRIMARY KEY AUTOINCREMENT, token TEXT NOT NULL UNIQUE, "
        "url TEXT NOT NULL, dialect TEXT NOT NULL, sent_at REAL, input_file TEXT, batch_id TEXT)"
    )
    # One row for each request in a batch; without a batch it is one that a batch did not answer, to be asked directly.
    connection.execute("CREATE TABLE IF NOT EXISTS batched (key TEXT PRIMARY KEY, batch INTEGER, reservation INTEGER)")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
