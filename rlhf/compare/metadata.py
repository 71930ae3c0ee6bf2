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
        same = _read(out) == _note(fingerprint, out, out)
    except OSError:
        return False
    return same and (not fingerprint["blind"] or key_path(out).is_file())


def note_text(fingerprint: Mapping[str, Any], table: Path, out: Path) -> str:
    """The note of the table that is to be ``out`` and stands at ``table`` until it is whole; its pairs are there."""
    return json.dumps(_note(fingerprint, table, out), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _note(fingerprint: Mapping[str, Any], table: Path, out: Path) -> dict[str, Any]:
    pairs = {"pairs_sha256": file_digest(pairs_path(out))} if fingerprint.get("pairs") else {}
    return {**fingerprint, "sha256": file_digest(table), "table": out.name, **pairs}


def _read(out: Path) -> dict[str, Any] | None:
    try:
        note = json.loads(note_path(out).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) else None
