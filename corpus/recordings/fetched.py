"""Files at URLs as files of this machine: copied in ranges, once, into a folder of a stated size.

They are recordings, and a corpus' tables. Whoever reads one holds its lock; what nobody holds and nobody used for the
longest time goes first. FFmpeg reads the copy: seeking in it costs nothing, and its figures are those of the file that
was copied.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from apportion.corpus.recordings.addresses import ChangedError, Remote, TryAgainError, shown, source_of
from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import place_file, write_atomically

Answer = TypeVar("Answer")
SIZE = "APPORTION_MEDIA_GB"
"""The environment variable with the size of the folder in GB (10^9 bytes)."""
DEFAULT_GB = 50.0
RANGE = 16 << 20
"""Bytes of one request."""
TRIES, FIRST_WAIT_S = 5, 0.2
ROOM_WAIT_S = 3600.0
"""How long a recording waits for others to be let go of."""
_seen: dict[str, tuple[Remote, str]] = {}
"""What this process has looked at: a recording stays the same while it works."""


class PassingError(UnitError):
    """A server or the network failed, or somebody wrote meanwhile: the same command may succeed later."""


def state_of(url: str) -> tuple[Remote, str]:
    """What the server tells of the recording, and a stamp that is another one when it changes; asked once a process.

    Raises ``UnitError``: it is not there, is empty, may not be read, or the server fails again and again.
    """
    if url not in _seen:
        remote = asked_again(url, source_of(url).look)
        if remote.size == 0:
            raise UnitError(f"{shown(url)}: the file is empty (0 bytes). Copy the recording again.")
        _seen[url] = remote, stamp_of(remote)
    return _seen[url]


def stamp_of(remote: Remote) -> str:
    """A text that is another one when the file changes; a new one each time where nothing tells whether it does."""
    said = [remote.etag, remote.changed] if remote.etag or remote.changed else [uuid.uuid4().hex, None]
    return json.dumps([remote.size, *said])


@contextmanager
def held(url: str, known: Remote | None = None) -> Iterator[Path]:
    """The file at ``url`` as one of this machine, which stays while the context is open.

    ``known`` is what a listing tells of it; then each state of it has a copy of its own, and none waits for whoever
    reads another. Raises ``UnitError``: as `state_of`; it is larger than the folder may be, or changes meanwhile.
    """
    remote, stamp = state_of(url) if known is None else (known, stamp_of(known))
    copy = _Copy(cache_folder() / "media", url, "" if known is None else stamp)
    while True:
        with _lock(copy.lock, fcntl.LOCK_SH):
            if copy.is_of(stamp):
                os.utime(copy.lock)
                yield copy.file
                return
        with _lock(copy.lock, fcntl.LOCK_EX):
            if not copy.is_of(stamp):
                _fetch(copy, url, remote, stamp)


class _Copy:
    """The files of one recording in the folder: its lock, what is said of it, the copy, and the part that is there."""

    def __init__(self, folder: Path, url: str, state: str) -> None:
        name = hashlib.sha256(f"{url}{state}".encode()).hexdigest()[:40]
        ending = re.search(r"\.[A-Za-z0-9]{1,8}$", url)
        self.folder = folder
        self.lock, self.said = folder / f"{name}.lock", folder / f"{name}.json"
        self.file, self.part = folder / f"{name}{ending[0] if ending else ''}.copy", folder / f"{name}.part"

    def is_of(self, stamp: str) -> bool:
        return self.file.is_file() and _said(self.said).get("stamp") == stamp


@contextmanager
def _lock(path: Path, how: int) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError as error:
        raise InputError(
            f"{path.parent}: recordings cannot be kept there ({error.strerror}). Set APPORTION_CACHE to a folder of "
            "yours."
        ) from None
    with file:
        fcntl.flock(file, how)
        yield


def _fetch(copy: _Copy, url: str, remote: Remote, stamp: str) -> None:
    """Copy what is missing; a part of the same recording is gone on with."""
    source, failed = source_of(url), 0
    try:
        if _said(copy.said).get("stamp") != stamp:
            copy.part.unlink(missing_ok=True)
        copy.file.unlink(missing_ok=True)
        _make_room(copy, url, remote.size, stamp)
        with copy.part.open("ab") as part:
            while (have := part.tell()) < remote.size:
                try:
                    source.copy(part, have, min(have + RANGE, remote.size), remote)
                    cause = "the answer was cut short"
                except TryAgainError as error:
                    cause = str(error)
                part.flush()
                part.seek(0, os.SEEK_END)
                failed = failed + 1 if part.tell() <= have else 0
                if failed:
                    _wait(url, failed, cause)
        place_file(copy.part, copy.file)
    except ChangedError:
        copy.part.unlink()
        _seen.pop(url, None)
        raise PassingError(f"{shown(url)} changed while it was read. Run the same command again.") from None
    except OSError as error:
        raise UnitError(
            f"{shown(url)} cannot be kept in {copy.folder} ({error.strerror or error}). Free some space, set {SIZE} "
            "lower, or APPORTION_CACHE to another folder."
        ) from None


def _make_room(copy: _Copy, url: str, size: int, stamp: str) -> None:
    """Note that ``size`` bytes come into the folder, once others have gone that nobody holds, the oldest first."""
    most = limit()
    if size > most:
        raise UnitError(
            f"{shown(url)}: {size / 1e9:,.2f} GB, and copies may take {most / 1e9:g} GB. "
            f"Set {SIZE} to more, or copy it into the corpus."
        )
    until = time.monotonic() + ROOM_WAIT_S
    while True:
        with _lock(copy.folder / "room.lock", fcntl.LOCK_EX):
            if _used(copy, most - size) + size <= most:
                write_atomically(copy.said, json.dumps({"size": size, "stamp": stamp}))
                return
        if time.monotonic() > until:
            raise UnitError(f"{shown(url)}: no room for it beside recordings that are in use. Set {SIZE} to more.")
        time.sleep(0.1)


def _used(own: _Copy, most: int) -> int:
    """Bytes that other copies take, once enough of them are gone for ``most``, or all that can go."""
    others = (path for path in own.folder.glob("*.json") if path != own.said)
    sizes: dict[Path, int] = {path: int(_said(path).get("size", 0)) for path in others}
    used = sum(sizes.values())
    for path in sorted(sizes, key=_last_used):
        if used <= most:
            break
        with path.with_suffix(".lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            for file in own.folder.glob(f"{path.stem}*"):
                if file.suffix != ".lock":
                    file.unlink(missing_ok=True)
            used -= sizes[path]
    return used


def _last_used(said: Path) -> int:
    lock = said.with_suffix(".lock")
    return lock.stat().st_mtime_ns if lock.exists() else 0


def limit() -> int:
    """Bytes that the folder may hold; raises InputError where what was set is no number of them."""
    given = os.environ.get(SIZE) or str(DEFAULT_GB)
    try:
        size = int(float(given) * 1e9)
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise InputError(f"{SIZE} = {given!r}: a number of GB above 0 is needed.")
    return size


def _said(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def asked_again(url: str, ask: Callable[[], Answer]) -> Answer:
    """What a server answers; raises ``PassingError`` where it fails again and again, or as ``ask``."""
    failed = 0
    while True:
        try:
            return ask()
        except TryAgainError as error:
            failed += 1
            _wait(url, failed, str(error))


def _wait(url: str, failed: int, cause: str) -> None:
    if failed >= TRIES:
        raise PassingError(
            f"{shown(url)} could not be read, {failed} times in a row ({cause}). What has come is kept: run the same "
            "command again."
        )
    time.sleep(FIRST_WAIT_S * 2**failed)
