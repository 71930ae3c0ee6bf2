"""What is kept of an unfinished table (scores, responses): a journal; beside finished scores, what made them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import pyarrow as pa

from apportion.corpus.schema import REWARDS
from apportion.foundation.errors import InputError
from apportion.foundation.files import file_digest, locked, write_atomically
from apportion.foundation.model_hub.names import model_folder
from apportion.reward_model.config import RewardModelConfig

VERSION = 2
READ = (".parquet", ".jsonl", ".json", ".safetensors")
"""Files of a model and of a corpus that scores depend on; not its recordings."""


@dataclass(frozen=True)
class SessionScores:
    """What became of one session: its rows (REWARDS schema; none where it is ``unrated`` or ``silent``).

    ``unrated``: it has no such rating; ``silent``: its target says nothing; ``shortened``: it was read with less
    history than there is.
    """

    session_id: str
    table: pa.Table
    unrated: bool = False
    silent: bool = False
    shortened: bool = False

    def to_json(self) -> list[Any]:
        """Plain values; numbers come back with the same bits."""
        rows = [{name: value for name, value in row.items() if value is not None} for row in self.table.to_pylist()]
        return [self.unrated, self.silent, self.shortened, rows]

    @classmethod
    def from_json(cls, session_id: str, value: Any) -> SessionScores:
        """Read what `to_json` gave; raises ValueError, KeyError or TypeError on anything else."""
        unrated, silent, shortened, rows = value
        table = pa.Table.from_pylist([dict(row) for row in rows], schema=REWARDS.arrow)
        if set(table.column("session_id").to_pylist()) - {session_id}:
            raise ValueError(f"rows of another session than {session_id!r}")
        return cls(session_id, table, bool(unrated), bool(silent), bool(shortened))


class Journal:
    """A line a part, beside the table that is being made; ``done`` is what it held when it was opened, by key."""

    def __init__(self, file: IO[bytes], done: Mapping[str, Any]) -> None:
        self._file = file
        self.done = MappingProxyType(dict(done))
        self.added = 0

    def add(self, key: str, value: Any) -> None:
        """Keep one part as JSON values; a kill after this does not lose it."""
        self._file.write(json.dumps([key, value], allow_nan=False).encode() + b"\n")
        self._file.flush()
        self.added += 1


@contextmanager
def open_journal(
    out: Path, identity: Any, read: Callable[[str, Any], Any] = lambda key, value: value
) -> Iterator[Journal]:
    """The journal of the table ``out``, for this process alone; it stays where something goes wrong after a part.

    A journal of another ``identity`` (JSON values, what the table is made of) and what a kill left half written are
    thrown away. ``read`` makes a part of its key and values.
    """
    path = out.with_name(f".{out.name}.unfinished")
    message = f"{out} is being written by another process. Wait for it, or choose another name for the table."
    with locked(path, message, InputError) as file:
        done = _read(file, identity, read)
        if done is None:
            file.truncate(0)
            file.write(json.dumps(identity).encode() + b"\n")
            file.flush()
        journal = Journal(file, done or {})
        try:
            yield journal
        except BaseException:
            if not (journal.done or journal.added):
                path.unlink(missing_ok=True)
            raise
        path.unlink(missing_ok=True)


def identity_of(
    model: Path, config: RewardModelConfig, corpus: Path, choice: tuple[str | None, ...], threads: int
) -> str:
    """sha256 of what every score depends on: the model's and the corpus's files, what was asked for, torch's threads.

    A backbone that is named and is a folder enters by its files' sizes and times, one from the hub by its name.
    """
    digest = hashlib.sha256(json.dumps([VERSION, config.backbone, choice, threads]).encode())
    for folder in (model, corpus):
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in READ):
            digest.update(f"\0{path.relative_to(folder)}\0".encode())
            digest.update(bytes.fromhex(file_digest(path)))
    backbone = model_folder(config.backbone)
    if (config.freeze_backbone or config.lora_rank) and backbone.is_dir():
        stats = [(path.name, path.stat()) for path in sorted(backbone.iterdir()) if path.is_file()]
        digest.update(json.dumps([[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]).encode())
    return digest.hexdigest()


def _read(file: IO[bytes], identity: Any, read: Callable[[str, Any], Any]) -> dict[str, Any] | None:
    """The parts in the journal, its file cut behind the last whole one; None where it is another table's."""
    file.seek(0)
    if _line(file) != identity:
        return None
    done: dict[str, Any] = {}
    end = file.tell()
    while line := file.readline():
        try:
            key, value = json.loads(line)
            if not isinstance(key, str) or not line.endswith(b"\n"):
                break
            done[key] = read(key, value)
        except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException):
            break
        end = file.tell()
    file.truncate(end)
    return done


def _line(file: IO[bytes]) -> Any:
    try:
        return json.loads(file.readline())
    except ValueError:
        return None


def note_path(out: Path) -> Path:
    """Where the note of the table ``out`` stands."""
    return out.with_name(f".{out.name}.made")


def write_note(out: Path, identity: str, told: Mapping[str, Any]) -> None:
    """Note that the table ``out`` was made with ``identity``, and what was ``told`` of it; raises OSError."""
    note = {"identity": identity, "sha256": file_digest(out), "told": told}
    write_atomically(note_path(out), json.dumps(note, indent=1, sort_keys=True) + "\n")


def read_score_note(out: Path, identity: str) -> dict[str, Any] | None:
    """What was told of the table ``out``; None where it is not there, was made with another, or was changed since."""
    try:
        note = json.loads(note_path(out).read_text(encoding="utf-8"))
        told: dict[str, Any] = note["told"]
        same = (note["identity"], note["sha256"]) == (identity, file_digest(out))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return told if same and isinstance(told, dict) else None
