"""Content hashes of what a unit reads: parts of a session, and recordings."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apportion.corpus.session import Media, Session
from apportion.foundation.errors import UnitError
from apportion.foundation.files import canonical_json, file_digest, write_atomically


class InputHashes:
    """Hashes of sessions and files.

    A file's hash is remembered in the store by its size and modification time, where ``remembers`` says so.
    """

    def __init__(self, root: Path, store: Path, *, remembers: bool = True) -> None:
        self.root = root
        self.remembers = remembers
        self._remembered = store / "inputs"
        self._sessions: dict[tuple[str, tuple[str, ...]], str] = {}

    def session(self, session: Session, reads: Sequence[str]) -> str:
        """sha256 of the parts of a session named in ``reads`` ("turns", "ratings", "media", "backgrounds")."""
        key = (session.session_id, tuple(reads))
        if key not in self._sessions:
            # Without backgrounds the hash is that of the time before there were any.
            reads = [part for part in reads if part != "backgrounds" or session.backgrounds]
            parts: list[list[Any]] = [[_plain(value) for value in getattr(session, part)] for part in reads]
            if "media" in reads:
                parts.append([self.file(self._recording(media)) for media in session.media])
            text = canonical_json([session.session_id, parts])
            self._sessions[key] = hashlib.sha256(text.encode()).hexdigest()
        return self._sessions[key]

    def file(self, path: Path) -> str:
        """sha256 of a file's content; read again only when its size or modification time changed."""
        try:
            status = path.stat()
        except OSError as error:
            raise UnitError(
                f"{path}: cannot be read ({error.strerror}). Put the file there or remove its row."
            ) from None
        stamp = [status.st_size, status.st_mtime_ns]
        note = self._remembered / f"{hashlib.sha256(str(path.resolve()).encode()).hexdigest()}.json"
        try:
            remembered = json.loads(note.read_text())
            if remembered["stamp"] == stamp:
                return str(remembered["sha256"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        sha256 = file_digest(path)
        if self.remembers:
            write_atomically(note, canonical_json({"stamp": stamp, "sha256": sha256}))
        return sha256

    def _recording(self, media: Media) -> Path:
        return self.root / media.path


def _plain(value: Any) -> dict[str, Any]:
    return dataclasses.asdict(value)
