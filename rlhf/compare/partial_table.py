"""Finished batches of a table of responses that is not finished, in a hidden folder beside it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from foundation.errors import InputError

LOCK = "lock"


class PartialTable:
    """What a stopped run has finished of the table ``out``; one process at a time has it, until that process ends.

    Parameters
    ----------
    out : Path
        The table.
    fingerprint : mapping
        What it is made with, as plain JSON values; what was made with something else is thrown away.

    Raises
    ------
    InputError
        Another process is writing the table.
    """

    def __init__(self, out: Path, fingerprint: Mapping[str, Any]) -> None:
        self.folder = out.with_name(f".{out.name}.partial")
        self._lock = _locked(self.folder, out)
        note = self.folder / "made.json"
        text = json.dumps(fingerprint, sort_keys=True)
        try:
            same = note.read_text(encoding="utf-8") == text
        except (OSError, ValueError):
            same = False
        if not same:
            for path in self.folder.iterdir():
                if path.name != LOCK:
                    path.unlink()
            self.place(note, lambda path: path.write_text(text, encoding="utf-8"))

    def __enter__(self) -> PartialTable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.close()

    def read(self, policy: int, start: int) -> list[str] | None:
        """The responses of one batch, None where they have to be made."""
        try:
            return list(json.loads(self._path(policy, start).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None

    def write(self, policy: int, start: int, texts: Sequence[str]) -> None:
        """Keep the responses of one batch, whole or not at all."""
        text = json.dumps(list(texts))
        self.place(self._path(policy, start), lambda path: path.write_text(text, encoding="utf-8"))

    def place(self, path: Path, write: Callable[[Path], object]) -> None:
        """Write a file under a name in the folder and rename it to ``path``, so that it is whole or not there."""
        scratch = self.folder / f"new{path.suffix}"
        write(scratch)
        scratch.replace(path)

    def remove(self) -> None:
        """The table is written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, policy: int, start: int) -> Path:
        return self.folder / f"{policy}-{start:07d}.json"


def _locked(folder: Path, out: Path) -> TextIO:
    """The open lock file of the folder; closing it, or the end of the process, gives it back."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            file = (folder / LOCK).open("w")
        except FileNotFoundError:
            continue  # Whoever had the folder has just finished and taken it away.
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file.fileno()), (folder / LOCK).stat()):
                return file
        except BlockingIOError:
            raise InputError(
                f"{out} is being written by another process. Wait for it, or write another file."
            ) from None
        except FileNotFoundError:
            pass
        file.close()
