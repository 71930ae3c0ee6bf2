"""Connections and transactions: what is committed is on the disk, and a database that goes away is told as that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from apportion.foundation.errors import InputError
from apportion.study.store.rows import DatabaseAwayError

TABLES = MetaData()
STUDY = Table(
    "study",
    TABLES,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
    Column("version", Integer, nullable=False),
)
"""One row, the first: which study the answers are to. It is locked by who draws items."""
ANNOTATORS = Table(
    "study_annotators",
    TABLES,
    Column("id", String(64), primary_key=True),
    Column("link", String(64), nullable=False, unique=True),
    Column("public", Boolean, nullable=False),
    Column("consented", Boolean, nullable=False, default=False),
    Column("instructed", Boolean, nullable=False, default=False),
    Column("finished", Boolean, nullable=False, default=False),
    Column("active_at", Float, nullable=False, default=0.0),
)
"""``link`` is the hash of the token; ``active_at`` is when they last agreed or answered (seconds since 1970)."""
ASSIGNMENTS = Table(
    "study_assignments",
    TABLES,
    Column("annotator", String(64), ForeignKey(ANNOTATORS.c.id), primary_key=True),
    Column("item", String(16), primary_key=True),
    Column("place", Integer, nullable=False),
    Column("released", Boolean, nullable=False, default=False),
)
"""Who gets which item, at which place; ``released``: another answered in their absence."""
ANSWERS = Table(
    "study_answers",
    TABLES,
    Column("annotator", String(64), ForeignKey(ANNOTATORS.c.id), nullable=False),
    Column("item", String(16), nullable=False),
    Column("answers", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("focus_lost", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("at", String(32), nullable=False),
    Column("nonce", String(64), nullable=False),
    UniqueConstraint("annotator", "item"),
)
"""``answers`` is JSON by criterion; ``nonce`` is of the page that gave it, so that sending twice is giving once."""


WAIT_S = 15
"""How long a write waits for the others."""
CONNECTIONS = 20
"""Kept open by one process; ten more are opened where they are all in use."""
DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_SQLITE = b"SQLite format 3\0"
"""How a database's file begins."""
_MAKING = 6_175_024
"""The lock of PostgreSQL that is held while tables are made."""


class Database:
    """The answers' database: SQLite by path, PostgreSQL by URL.

    SQLite: write-ahead log, ``synchronous=FULL``, one writer at a time. PostgreSQL: ``synchronous_commit=on``.
    """

    def __init__(self, place: str | Path) -> None:
        """Open it, and make the tables that are not there. Raises InputError: an URL of another kind, a file that is no
        database, a place that cannot be written, a server that cannot be reached.
        """
        self._url = _url(place)
        self._file = file_of(place)
        arguments: dict[str, Any] = (
            {"timeout": WAIT_S} if self._file else {"options": "-c synchronous_commit=on", "connect_timeout": WAIT_S}
        )
        self._engine = create_engine(
            self._url, connect_args=arguments, hide_parameters=True, pool_pre_ping=True, pool_size=CONNECTIONS
        )
        if self._file:
            event.listen(self._engine, "connect", _prepare_sqlite)
            event.listen(self._engine, "begin", _begin_sqlite)
        # SQLite has one writer; threads that ask it again and again whether it is free wait much longer than in a line.
        self._turn = Lock() if self._file else None
        self._inode: int | None = None
        try:
            if self._file:
                _check_kind(self._file)
                self._file.touch(mode=0o600)  # Readable for its owner alone from the first byte on.
                self._inode = self._file.stat().st_ino
            self._make_tables()
        except InputError:
            self.close()
            raise
        except (SQLAlchemyError, OSError) as error:
            self.close()
            raise InputError(
                f"{self.name}: the answers' database cannot be opened ({_cause(error)}). Check the path or the URL, "
                "and that its server runs."
            ) from None

    @property
    def name(self) -> str:
        """The path, or the URL without its password."""
        return str(self._file) if self._file else self._url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads. Raises DatabaseAwayError: the database cannot be reached."""
        with self._told(), self._engine.begin() as connection:
            self._check_there()
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on the disk when the block has ended, and otherwise not at all. Raises
        DatabaseAwayError: the database cannot be reached.
        """
        with self._told(), self._in_turn(), self._engine.connect().execution_options(writes=True) as connection:
            with connection.begin():
                self._check_there()
                yield connection
            # A file that was taken away while this was written holds the answer no longer.
            self._check_there()

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        if self._turn is None:
            yield
            return
        if not self._turn.acquire(timeout=WAIT_S):
            raise DatabaseAwayError(
                f"{self.name}: others have written for {WAIT_S} s. Nothing was confirmed; try again."
            )
        try:
            yield
        finally:
            self._turn.release()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, PoolTimeoutError) as error:
            raise DatabaseAwayError(
                f"{self.name}: the answers' database cannot be reached or written ({_cause(error)}). Nothing was "
                "confirmed; try again once it is back."
            ) from None

    def _check_there(self) -> None:
        """SQLite would go on writing into a file that was deleted or replaced, and lose it."""
        if self._file is None:
            return
        try:
            same = self._file.stat().st_ino == self._inode
        except OSError:
            same = False
        if not same:
            raise DatabaseAwayError(
                f"{self.name}: the answers' database was taken away while it was in use. Nothing was confirmed; put it "
                "back, and begin again."
            )

    def _make_tables(self) -> None:
        with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            if self._file is None:  # Two that begin at once would both make them.
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MAKING})
            TABLES.create_all(connection)


def file_of(place: str | Path) -> Path | None:
    """The file of a database by path; None of one by URL of a server. Raises InputError: an URL of another kind."""
    url = _url(place)
    return Path(url.database or "") if url.drivername == "sqlite" else None


_ANY_URL = re.compile(r".*://|(sqlite|postgres(ql)?)(\+\w+)?:", re.IGNORECASE | re.DOTALL)
"""What is no path, or was not meant as one: written with one slash, a password would be in its file's name."""


def _check_kind(path: Path) -> None:
    """SQLite takes a short file of any kind for an empty database, and would write over it."""
    if path.is_file() and path.stat().st_size and not _begins_as_sqlite(path):
        raise InputError(f"{path}: this file is no database, and is left as it is. Name another for the answers.")


def _begins_as_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _url(place: str | Path) -> URL:
    if isinstance(place, Path) or not _ANY_URL.match(place):
        return URL.create("sqlite", database=str(Path(place).absolute()))
    try:
        url = make_url(place)
        driver = DRIVERS[url.drivername.partition("+")[0]]
    except (ArgumentError, KeyError, ValueError):
        kind = place.partition(":")[0]
        raise InputError(
            f"the database {kind[:40]}://…: not understood. Give a path (SQLite), or "
            "postgresql://USER:PASSWORD@HOST/DATABASE."
        ) from None
    if driver == "sqlite":
        if not url.database or url.database == ":memory:":
            raise InputError("sqlite://: answers in memory would be gone with the process. Give a path.")
        return URL.create("sqlite", database=str(Path(url.database).absolute()))
    return url.set(drivername=driver)


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # Transactions begin where SQLAlchemy says so (`_begin_sqlite`).
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer that began as a reader cannot wait for another one: it would have read what is no longer so.
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _cause(error: Exception) -> str:
    """What the database said, on one line; SQLAlchemy's own text would have the statement in it."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(cause).split())[:200]
