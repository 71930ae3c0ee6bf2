"""A damaged reply cache made whole: what can still be read of it in a new file under the same name."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.foundation.files import place_file, sync
from apportion.foundation.safe_text import whole_text
from apportion.llm_client.cache.inspection import (
    OTHER_TABLES,
    REPLY_COLUMNS,
    Contents,
    lock,
    log_of,
    opened,
    read_by_pages,
    read_by_sql,
)
from apportion.llm_client.cache.schema import bring_up_to_date
from apportion.llm_client.errors import SetupError

_PIECE = 2**20


@dataclass(frozen=True)
class CacheRepair:
    """What was saved; ``damaged`` is where the damaged file is now, None where there was nothing to repair."""

    contents: Contents
    damaged: Path | None = None


def repair(path: Path) -> CacheRepair:
    """Put all that can be read of the cache into a new file, and keep the damaged one beside it as ``.damaged-N``.

    A kill at any moment leaves the old file or the new one. Money that was paid for replies which are lost stays in
    the new file's account as money for requests whose reply never came.

    Raises ``SetupError``: no such file, it is another program's, another process is using it, or there is no room for
    the new one.
    """
    with opened(path) as descriptor:
        # Held until the new file is in its place. Nothing may open and close the old one meanwhile: that would end it.
        if not lock(descriptor):
            raise SetupError(
                f"another process is using the reply cache {path}, or it may not be written. Wait for that process, or "
                "end it, and correct the file's permissions; then run the same command again."
            )
        try:
            with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
                contents = _contents(path, descriptor, Path(folder))
                if contents.sound:
                    return CacheRepair(contents)
                if not contents.replies and not any(contents.others.values()):
                    raise SetupError(
                        f"nothing of a reply cache can be read in {path} ({contents.problems[0]}). It is as it was; if "
                        "it is the right file, move it away, and the next run begins a new one."
                    )
                new = Path(folder) / "new.sqlite"
                _write(new, contents)
                return CacheRepair(contents, _exchange(path, descriptor, new))
        except (OSError, sqlite3.Error) as error:
            raise SetupError(
                f"the reply cache {path} could not be repaired: {error}. It is as it was; free disk space or correct "
                "the permissions of its folder, and run the same command again."
            ) from None


def _contents(path: Path, descriptor: int, folder: Path) -> Contents:
    copy = folder / "copy.sqlite"
    _copy(descriptor, copy)
    log = _log(path, descriptor)
    if log.exists():
        shutil.copyfile(log, log_of(copy))
    contents = Contents()
    with opened(copy) as copied:
        # Page by page first: SQLite may make the copy's log a part of the file, as far as it believes it.
        pages = read_by_pages(copy, copied)
        read_by_sql(copy, contents, alone=False, called=path)
        if contents.problems or log.exists():
            contents.add(pages)
    return contents


def _log(path: Path, descriptor: int) -> Path:
    """The log beside the file; where a repair was killed half-way, it has its new name already."""
    log = log_of(path)
    if not log.exists():
        for damaged in path.parent.glob(f"{path.name}.damaged-*[0-9]"):
            if os.path.samestat(damaged.stat(), os.fstat(descriptor)):
                return log_of(damaged)
    return log


def _copy(descriptor: int, copy: Path) -> None:
    with copy.open("wb") as file:
        offset = 0
        while piece := os.pread(descriptor, _PIECE, offset):
            file.write(piece)
            offset += len(piece)


def _write(new: Path, contents: Contents) -> None:
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        bring_up_to_date(connection)
        connection.execute("BEGIN")
        _insert(connection, "replies", REPLY_COLUMNS, contents.replies.values())
        for table, names in OTHER_TABLES.items():
            _insert(connection, table, names, contents.others.get(table, []))
        if contents.lost_usd:
            connection.execute("INSERT INTO reserved (usd) VALUES (?)", (contents.lost_usd,))
        connection.execute("COMMIT")


def _insert(
    connection: sqlite3.Connection, table: str, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]
) -> None:
    marks = ", ".join("?" * len(names))
    # A row that does not fit the table, or is no text any more, is damaged, too.
    storable = (row for row in rows if not any(isinstance(value, str) and whole_text(value) != value for value in row))
    connection.executemany(f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({marks})", storable)


def _exchange(path: Path, descriptor: int, new: Path) -> Path:
    number = 1
    while (damaged := path.with_name(f"{path.name}.damaged-{number}")).exists():
        if os.path.samestat(damaged.stat(), os.fstat(descriptor)):
            break
        number += 1
    if not damaged.exists():
        try:
            damaged.hardlink_to(path)
        except OSError:  # Not every disk has them.
            _copy(descriptor, damaged)
    log = log_of(path)
    # A log beside the new file would be taken for its own, so it goes first.
    if log.exists():
        log.replace(log_of(damaged))
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    sync(path.parent)
    place_file(new, path)
    return damaged
