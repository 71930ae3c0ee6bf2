"""What can be read of a reply cache that may be damaged, without changing it."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.database import primary_code
from apportion.llm_client.cache.pages import Pages
from apportion.llm_client.cache.schema import SQL_ERRORS, Connection, check_kind, read_reply
from apportion.llm_client.errors import SetupError

_KEY = re.compile(r"[0-9a-f]{64}")
_IN_USE_AT, _IN_USE_BYTES = 0x4000_0002, 510
"""Where SQLite locks its file as long as a process has it open."""
_MOST_TOLD = 5
_NOT_ITS_FAULT = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PERM)
REPLY_COLUMNS = ("key", "reply", "prompt_tokens", "cached_tokens", "completion_tokens", "usd", "asked", "served", "crc")
OTHER_TABLES: Mapping[str, tuple[str, ...]] = {
    "reserved": ("id", "usd"),
    "batches": ("id", "token", "url", "dialect", "sent_at", "input_file", "batch_id"),
    "batched": ("key", "batch", "reservation"),
    "overruns": ("key", "usd", "asked", "counted"),
}


@dataclass
class Contents:
    """What was found: ``replies`` that can be read, by key and with their columns, and rows of the other tables.

    ``unreadable`` rows are replies that cannot be read any more, with their cost where that can be. ``account`` is how
    many replies there were by the file's own count and what they had cost, None where that is gone. ``by_pages``
    replies were found only page by page, and ``problems`` are SQLite's words.
    """

    replies: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    unreadable: dict[str, float | None] = field(default_factory=dict)
    others: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    account: tuple[int, float] | None = None
    by_pages: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, pages: Contents) -> None:
        """Take over what ``pages`` has beyond this, found page by page."""
        for key, row in pages.replies.items():
            if key not in self.replies:
                self.replies[key] = row
                self.unreadable.pop(key, None)
                self.by_pages += 1
        if "batched" not in self.others and pages.others.get("batched"):
            self.others["batched"] = pages.others["batched"]
        self.account = self.account or pages.account

    @property
    def sound(self) -> bool:
        """Whether nothing has to be repaired."""
        return not self.problems and not self.unreadable and not self.by_pages

    @property
    def lost(self) -> int:
        """Replies that the file once had and that cannot be read, as far as that is known."""
        return max(self.account[0] - len(self.replies) if self.account else 0, len(self.unreadable))

    @property
    def adrift(self) -> int:
        """Requests in a batch of which nothing else is known any more, so that nobody can collect it."""
        batches = {row[0] for row in self.others.get("batches", [])}
        return sum(row[1] is not None and row[1] not in batches for row in self.others.get("batched", []))

    @property
    def lost_usd(self) -> float:
        """What is known of their cost."""
        if self.account is None:
            return sum(usd or 0.0 for usd in self.unreadable.values())
        left_usd = self.account[1] - sum(row[5] or 0.0 for row in self.replies.values())
        # Sums of many small numbers, in whatever order, are equal up to rounding.
        return left_usd if left_usd > 1e-9 * self.account[1] else 0.0


def inspect(path: Path) -> Contents:
    """Read a reply cache, page by page where SQLite does not; it may be in use.

    Raises ``SetupError``: no such file, or it is another program's or a newer version's.
    """
    contents = Contents()
    with opened(path) as descriptor:
        alone = lock(descriptor)
        read_by_sql(path, contents, alone=alone)
        # Pages that another process is changing would look as if SQLite had missed something.
        if contents.problems or (alone and log_of(path).exists()):
            contents.add(read_by_pages(path, descriptor))
    return contents


def inspect_server(url: str) -> Contents:
    """Read a server's ledger; that its own files are sound is the server's to say.

    Raises ``SetupError`` and ``LedgerAwayError`` as ``ReplyCache`` does.
    """
    contents = Contents()

    def read(connection: Connection) -> None:
        for row in connection.execute(f"SELECT {', '.join(REPLY_COLUMNS)} FROM replies ORDER BY rowid"):
            if read_reply(row[1], row[-1]) is None:
                contents.unreadable[row[0]] = row[5]
            else:
                contents.replies[row[0]] = row
        contents.account = connection.execute("SELECT replies, paid_usd FROM account").fetchone()

    with closing(ReplyCache(url)) as cache:
        cache.transact(read)  # All of one moment.
    return contents


def log_of(path: Path) -> Path:
    """The write-ahead log beside a file."""
    return path.with_name(f"{path.name}-wal")


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """The file, to be read. Raises ``SetupError``: it cannot be."""
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is a folder" if path.is_dir() else "it is no regular file")
        # Only who may write can ask whether others use it.
        descriptor = os.open(path, os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY)
    except OSError as error:
        raise SetupError(
            f"the reply cache {path} cannot be read ({error.strerror}). Name the SQLite file of run.llm_cache, which "
            "is llm_cache.sqlite in a run's folder."
        ) from None
    try:
        yield descriptor
    except OSError as error:
        raise SetupError(
            f"the reply cache {path} cannot be read to its end ({error.strerror or error}). Copy it, with the file "
            f"{log_of(path).name} where there is one, to another disk, and name the copy."
        ) from None
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Keep every other process from using the file; False where one does already."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, _IN_USE_BYTES, _IN_USE_AT)
    except OSError:
        return False
    return True


def read_by_sql(path: Path, contents: Contents, *, alone: bool, called: Path | None = None) -> None:
    """Add what SQLite reads of the file; without a log, ``alone`` reads it without leaving a trace.

    ``path``: the file. ``contents``: what is added to. ``alone``: whether nobody else uses it. ``called``: the file
    that errors name, ``path`` by default. Raises ``SetupError``: it is another program's or a newer version's, or its
    place does not let SQLite read it.
    """
    log = log_of(path)
    # Who may not write can neither shut others out nor leave a trace.
    untouched = (alone or not os.access(path, os.W_OK)) and not (log.exists() and log.stat().st_size)
    address = f"file:{quote(str(path.absolute()))}?{'immutable=1' if untouched else 'mode=ro'}"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=10, isolation_level=None)) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            # All of one moment: what a run adds between two tables would look as if one of them had lost it.
            connection.execute("BEGIN")
            if not check_kind(connection, called or path):
                return  # Nothing was ever written into it.
            for (problem,) in connection.execute(f"PRAGMA integrity_check({_MOST_TOLD})"):
                if problem != "ok":
                    contents.problems.append(str(problem))
            _read_tables(connection, contents)
    except SQL_ERRORS as error:
        if primary_code(error) in _NOT_ITS_FAULT:
            raise SetupError(
                f"whether the reply cache {called or path} is sound cannot be told here: {error}. As long as there is "
                f"a file {log.name} beside it, SQLite has to write in its folder. Copy both to a folder of your own, "
                "and name the copy."
            ) from None
        contents.problems.append(str(error))


def read_by_pages(path: Path, descriptor: int) -> Contents:
    """The replies, and the requests in batches, that stand in the file's pages, whether SQLite finds them or not."""
    log = log_of(path)
    pages = Pages(
        lambda offset, length: os.pread(descriptor, length, offset),
        os.fstat(descriptor).st_size,
        log.read_bytes() if log.is_file() else b"",
    )
    found = Contents()
    batched: dict[str, tuple[Any, ...]] = {}
    for row in pages.rows():
        if _is_reply(row):
            row = (*row, *[None] * len(REPLY_COLUMNS))[: len(REPLY_COLUMNS)]
            if row[0] not in found.replies and read_reply(row[1], row[-1]) is not None:
                found.replies[row[0]] = row
        elif _is_batched(row):
            batched.setdefault(row[0], row)
        elif _is_account(row) and found.account is None:
            found.account = (row[1], float(row[2]))
    found.others["batched"] = list(batched.values())
    return found


def _read_tables(connection: sqlite3.Connection, contents: Contents) -> None:
    present = [row[1] for row in connection.execute("PRAGMA table_info(replies)")]
    columns = ", ".join(name if name in present else "NULL" for name in REPLY_COLUMNS)
    try:
        # Not by an index, which may be damaged apart from the rows.
        for row in connection.execute(f"SELECT {columns} FROM replies NOT INDEXED ORDER BY rowid"):
            if isinstance(row[0], str) and read_reply(row[1], row[-1]) is not None:
                contents.replies.setdefault(row[0], row)
            else:
                contents.unreadable[str(row[0])] = row[5] if isinstance(row[5], float | int) else None
    except SQL_ERRORS as error:
        contents.problems.append(f"replies: {error}")
    for table, names in OTHER_TABLES.items():
        try:
            rows = connection.execute(f"SELECT {', '.join(names)} FROM {table} NOT INDEXED").fetchall()
            contents.others[table] = rows
        except SQL_ERRORS as error:
            if not str(error).startswith("no such table"):  # An older version has fewer.
                contents.problems.append(f"{table}: {error}")
    try:
        row = connection.execute("SELECT name, replies, paid_usd FROM account").fetchone()
        contents.account = (row[1], float(row[2])) if row and _is_account(row) else None
    except SQL_ERRORS:
        contents.account = None


def _is_reply(row: tuple[Any, ...]) -> bool:
    return len(row) >= 2 and isinstance(row[0], str) and _KEY.fullmatch(row[0]) is not None and isinstance(row[1], str)


def _is_batched(row: tuple[Any, ...]) -> bool:
    numbers = all(value is None or isinstance(value, int) for value in row[1:])
    return len(row) == 3 and isinstance(row[0], str) and _KEY.fullmatch(row[0]) is not None and numbers


def _is_account(row: tuple[Any, ...]) -> bool:
    return len(row) == 3 and row[0] == "all" and isinstance(row[1], int) and isinstance(row[2], float | int)
