"""Files that are written whole or not at all, what they hold, and one process at a time at them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Protocol

from apportion.foundation.errors import InputError, UnitError

MOST_SHOWN = 200
CORRECT_IT = "Correct or delete it"
_log = logging.getLogger(__name__)
_told: list[str] = []
"""What this process has told that it waits for."""


def canonical_json(value: Any) -> str:
    """JSON text that is the same for equal values: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """sha256 (64 hexadecimal digits) of a JSON-able value's canonical text.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """sha256 (64 hexadecimal digits) of a file's content, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remembered_digest(path: Path) -> str:
    """`file_digest`, read again in this process only when the file's size or time of change is another one.

    For large files that are asked for often, such as a model's; what proves that a file is undamaged is `file_digest`.
    """
    status = path.stat()
    return _digest_at(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest_at(path: Path, size: int, changed_ns: int) -> str:
    return file_digest(path)


def at_home(path: str | Path) -> Path:
    """``path`` with a ``~`` at its head as the folder of that user; one of nobody stays, and nothing is found there."""
    # Not Path.expanduser, for which a user that does not exist is an error of its own kind.
    return Path(os.path.expanduser(path))  # noqa: PTH111


def found_from(base: Path, path: str | Path) -> Path:
    """``path`` as it is called from the folder ``base``."""
    return Path(os.path.normpath(base / at_home(path)))


def is_address(path: str) -> bool:
    """Whether what stands where a path may is a URL."""
    return "://" in path


def last_name(place: str | Path) -> str:
    """The file's or folder's own name where ``place`` is a whole path; what is no path stays what it is."""
    return Path(place).name if Path(place).is_absolute() else str(place)


def check_path(path: Path) -> None:
    """Refuse a path that the system cannot look at, before something else is said of it; one that is missing is fine.

    Raises ``InputError``: a name that is too long or holds a NUL, links in a circle, a folder on the way that is
    closed.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        shown = str(path) if len(str(path)) <= MOST_SHOWN else f"{str(path)[:MOST_SHOWN]}…"
        cause = getattr(error, "strerror", None) or error
        raise InputError(f"{shown!r}: cannot be looked at ({cause}). Check the path.") from None


def make_folder(folder: Path, advice: str) -> None:
    """Make a folder, and those it is in, where they are missing; ``advice`` is how the message ends.

    Raises ``InputError``: it cannot be made.
    """
    check_path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be made ({error.strerror}). {advice}") from None


def check_file(path: Path, called: str, advice: str) -> None:
    """Refuse a path at which there is no file; ``called`` is how the message begins, ``advice`` how it ends.

    Raises ``InputError``: there is a folder, or nothing.
    """
    if not path.is_file():
        raise InputError(f"{called}: {'a folder' if path.is_dir() else 'no such file'}. {advice}")


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, content: str | bytes | Callable[[Path], object]) -> None:
    """Replace one file so that a reader, a kill or a power cut sees the old one or the new one, never a part.

    ``path``: the file; its folder is made where it is missing. ``content``: what it is to hold, or a function that
    writes a file at the path that it is called with.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    try:
        if callable(content):
            content(temporary)
        else:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        place_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """Append lines to a file; they are on the disk when this returns. Raises OSError: it cannot be written."""
    with path.open("ab") as file:
        file.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
        file.flush()
        os.fsync(file.fileno())


def take_lines(
    path: Path, take: Callable[[Any], object], *, mend: bool = False, what: str = "", advice: str = CORRECT_IT
) -> None:
    """Give what each line of a file holds as JSON to ``take``; a missing file has none.

    A last line that a kill has cut off is passed over, and taken off the file to ``mend``. ``what`` a line is none of,
    and the ``advice``, are for errors. Raises InputError: a line that ``take`` cannot take, by number.
    """
    data = path.read_bytes() if path.exists() else b""
    end = data.rfind(b"\n") + 1
    if mend and end < len(data):
        os.truncate(path, end)
    for number, line in enumerate(data[:end].split(b"\n")[:-1], start=1):
        try:
            take(json.loads(line))
        except (UnitError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            told = f"no line of {what} ({error})" if what else str(error)
            raise InputError(f"{path}: line {number}: {told}: {line[:120]!r}. {advice}") from None


TEMPORARY = re.compile(r"\..+\.(?P<process>[0-9]{1,9})\.tmp")


def temporary_name(path: Path) -> Path:
    """Where this process writes what is to be ``path``: a hidden file beside it, of no kind that is looked for."""
    return path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}.tmp")


def is_temporary(path: Path) -> bool:
    """Whether ``path`` is called as a file that some process is writing, or was when it was killed."""
    return TEMPORARY.fullmatch(path.name) is not None


def _is_leftover(path: Path) -> bool:
    """Whether no process of this machine writes ``path`` any more; this one, which asks, is not writing."""
    match = TEMPORARY.fullmatch(path.name)
    # Another machine's process may be alive.
    if match is None or not path.is_file() or not path.name.endswith(f".{platform.node()}.{match['process']}.tmp"):
        return False
    process = int(match["process"])
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # Somebody else's, and alive.
    return process == os.getpid()


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes were writing in ``folder`` (`temporary_name`); it may be missing."""
    for path in list(folder.iterdir()) if folder.is_dir() else ():
        if _is_leftover(path):
            path.unlink(missing_ok=True)


def place_file(scratch: Path, path: Path) -> None:
    """Give a finished file its name, once all of it is on the disk; both lie on one disk."""
    sync(scratch)
    scratch.replace(path)
    sync(path.parent)


def place_folder(scratch: Path, folder: Path) -> None:
    """Give a finished folder its name, once all of it is on the disk; what had the name before is gone."""
    sync_folder(scratch)
    shutil.rmtree(folder, ignore_errors=True)
    scratch.rename(folder)
    sync(folder.parent)


def sync_folder(folder: Path) -> None:
    """`sync` every file and folder in ``folder``, and itself."""
    for path in (*folder.rglob("*"), folder):
        sync(path)


@contextmanager
def locked(path: Path, message: str, error: type[Exception], shared: bytes | None = None) -> Iterator[IO[bytes]]:
    """The open file ``path``, made where missing, its folder too, that no other process has open so.

    The lock ends with the process, however that ends. Processes that give the same ``shared`` have it together.

    Raises ``error``: another process has it: ``message``. ``OSError``: the file cannot be opened.
    """
    with _open_locked(path, message, error, shared) as file:
        yield file


def _open_locked(path: Path, message: str, error: type[Exception], shared: bytes | None) -> IO[bytes]:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = path.open("a+b")
        except FileNotFoundError:
            if path.is_symlink():
                raise  # It leads nowhere, and will not the next time.
            continue  # Whoever had it has just finished and taken the folder away.
        try:
            _lock(file, shared)
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except BlockingIOError:
            file.close()
            raise error(message) from None
        except FileNotFoundError:
            pass
        file.close()  # It was taken away after it was opened: the name may be another process' by now.


def _lock(file: IO[bytes], shared: bytes | None) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if shared is None:
            raise
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        file.seek(0)
        if file.read() != shared:
            raise BlockingIOError from None
    else:
        if shared is not None:
            with suppress(OSError):  # A full disk: nobody joins.
                file.truncate(0)
                file.write(shared)
                file.flush()
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


class Leases(Protocol):
    """Names that a process holds, each by one at a time; a name is fit for a file."""

    def hold(self, name: str) -> AbstractContextManager[bool]:
        """Whether the name is ours inside; False: another process, which lives, has it."""

    def holder(self, name: str) -> str | None:
        """Who has it, in words, perhaps dead; None: nobody."""


class _HeldElsewhereError(Exception):
    pass


class FileLeases:
    """Names as files of ``folder``, locked by the kernel: a lock ends with its process, without clock or heartbeat.

    On a network folder it ends once the file server misses the host (NFS 4: 90 s).
    """

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

    def clear(self) -> None:
        """Remove the files of processes that ended without it."""
        for path in self._folder.glob("*"):
            with self.hold(path.name):
                pass

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
