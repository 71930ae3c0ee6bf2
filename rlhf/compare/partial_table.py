"""Finished batches of a table of responses that is not finished, in a hidden folder beside it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.files import locked, write_atomically

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
        message = f"{out} is being written by another process. Wait for it, or write another file."
        self._lock = ExitStack()
        self._lock.enter_context(locked(self.folder / LOCK, message, InputError))
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
            write_atomically(note, text)

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
        write_atomically(self._path(policy, start), json.dumps(list(texts)))

    def remove(self) -> None:
        """The table is written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, policy: int, start: int) -> Path:
        return self.folder / f"{policy}-{start:07d}.json"
