"""What one process alone does at a time: files that it locks beside a store, or claims in a ledger that hosts share.

A file's lock is kept by the kernel: it ends with its process, and on a network folder once the file server misses the
host (NFS 4: 90 s). It needs no clock and no heartbeat, costs tens of microseconds, and lies with what it guards. Where
hosts share a server's ledger, it is a claim there (`server_leases`).
"""

from __future__ import annotations

import logging
import os
import platform
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from apportion.foundation.files import locked

_log = logging.getLogger(__name__)
_told: list[str] = []
"""What this process has told that it waits for."""


class Leases(Protocol):
    """Names that a process holds, each by one at a time; a name is fit for a file."""

    def hold(self, name: str) -> AbstractContextManager[bool]:
        """Whether the name is ours inside; False: another process, which lives, has it."""

    def holder(self, name: str) -> str | None:
        """Who has it, in words, perhaps dead; None: nobody."""


class _HeldElsewhereError(Exception):
    pass


class FileLeases:
    """Names as files of ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """See `Leases`."""
        path = self._folder / name
        try:
            with locked(path, "", _HeldElsewhereError) as file:
                file.truncate(0)
                file.write(f"process {os.getpid()} of {platform.node()}".encode())
                file.flush()
                try:
                    yield True
                finally:
                    path.unlink(missing_ok=True)
        except _HeldElsewhereError:
            yield False

    def holder(self, name: str) -> str | None:
        """See `Leases`."""
        try:
            return (self._folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None


@contextmanager
def waiting_for(held: Leases, name: str, what: str) -> Iterator[None]:
    """Hold ``name`` as soon as nobody else does who lives; that it is waited for is told, once a process."""
    wait_s = 0.05
    while True:
        with held.hold(name) as ours:
            if ours:
                yield
                return
        _tell_wait(what, held.holder(name))
        time.sleep(wait_s)
        wait_s = min(2.0, 1.5 * wait_s)


def _tell_wait(what: str, holder: str | None) -> None:
    if holder is not None and not _told:
        _told.append(what)
        _log.warning("%s is being made by %s, and is waited for, as others of it are", what, holder)


def leases_of(ledger: Path | str, folder: Path) -> Leases:
    """The leases of all who share ``ledger`` where it is a server's, else of those who share ``folder``."""
    if not isinstance(ledger, str):
        return FileLeases(folder)
    from apportion.llm_client.cache.server_leases import on_server

    return on_server(ledger)
