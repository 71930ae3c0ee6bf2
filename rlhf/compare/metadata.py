"""What stands beside a table of responses: how it was made, the key to blind ones, and finished batches."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from apportion.foundation.errors import InputError
from apportion.foundation.files import file_digest, locked, write_atomically


def note_path(out: Path) -> Path:
    """The note beside a table of responses that says what it was made with."""
    return out.with_name(f"{out.stem}.made.json")


def key_path(out: Path) -> Path:
    """The table beside blind responses that says which policy is which."""
    return out.with_name(f"{out.stem}.key{out.suffix}")


def noted_table(out: Path) -> str | None:
    """The name of the table that the note beside ``out`` tells of; None where there is no note."""
    note = _read(out)
    return None if note is None else str(note.get("table", out.name))


def is_blind(out: Path) -> bool:
    """Whether the policies' names in ``out`` are letters, as the note beside it says, or else the key."""
    note = _read(out)
    if note is None or noted_table(out) != out.name:
        return key_path(out).is_file()
    return bool(note.get("blind"))


def is_finished(out: Path, fingerprint: Mapping[str, Any]) -> bool:
    """Whether ``out`` is there, was made with exactly this, and has not been changed since."""
    try:
        same = _read(out) == {**fingerprint, "sha256": file_digest(out), "table": out.name}
    except OSError:
        return False
    return same and (not fingerprint["blind"] or key_path(out).is_file())


def note_text(fingerprint: Mapping[str, Any], table: Path, name: str) -> str:
    """The note of the table that is to be called ``name`` and stands at ``table`` until it is whole."""
    note = {**fingerprint, "sha256": file_digest(table), "table": name}
    return json.dumps(note, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _read(out: Path) -> dict[str, Any] | None:
    try:
        note = json.loads(note_path(out).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) else None


LOCK = "lock"


class PartialTable:
    """What a stopped run has finished of the table ``out``; one process at a time has it, until that process ends.

    ``fingerprint``: what it is made with, as plain JSON values; what was made with something else is thrown away.
    Raises InputError: another process is writing the table.
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
