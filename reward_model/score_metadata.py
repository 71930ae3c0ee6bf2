"""The note beside a finished table of scores: what it was made with, so that the same is not scored twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apportion.foundation.files import file_digest, write_atomically


def note_path(out: Path) -> Path:
    """Where the note of the table ``out`` stands."""
    return out.with_name(f".{out.name}.made")


def write_note(out: Path, identity: str, told: Mapping[str, Any]) -> None:
    """Note that the table ``out`` was made with ``identity``, and what was ``told`` of it; raises OSError."""
    note = {"identity": identity, "sha256": file_digest(out), "told": told}
    write_atomically(note_path(out), json.dumps(note, indent=1, sort_keys=True) + "\n")


def told_of(out: Path, identity: str) -> dict[str, Any] | None:
    """What was told of the table ``out``; None where it is not there, was made with another, or was changed since."""
    try:
        note = json.loads(note_path(out).read_text(encoding="utf-8"))
        told: dict[str, Any] = note["told"]
        same = (note["identity"], note["sha256"]) == (identity, file_digest(out))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return told if same and isinstance(told, dict) else None
