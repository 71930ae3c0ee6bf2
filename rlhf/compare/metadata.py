"""What stands beside a table of responses: how it was made, and the key to blind ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apportion.foundation.files import file_digest


def note_path(out: Path) -> Path:
    """The note beside a table of responses that says what it was made with."""
    return out.with_name(f"{out.stem}.made.json")


def key_path(out: Path) -> Path:
    """The table beside blind responses that says which policy is which."""
    return out.with_name(f"{out.stem}.key{out.suffix}")


def pairs_path(out: Path) -> Path:
    """The best and the worst of the replies drawn to each context, beside the table."""
    return out.with_name(f"{out.stem}.pairs.jsonl")


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
    beside = [key_path(out)] * fingerprint["blind"] + [pairs_path(out)] * fingerprint.get("pairs", False)
    return same and all(path.is_file() for path in beside)


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
