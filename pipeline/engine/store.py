"""The content-addressed artifact store, one folder an artifact, written whole or not at all; hashes of what is read."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import platform
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.files.stored_vectors import StoredVectors, VectorTable
from apportion.corpus.languages.names import is_foreign
from apportion.corpus.recordings.fetched import held, state_of
from apportion.corpus.recordings.mirrored import address_in
from apportion.corpus.session import Session
from apportion.foundation.errors import UnitError
from apportion.foundation.files import (
    FileLeases,
    canonical_json,
    digest,
    file_digest,
    is_address,
    remove_leftovers,
    sync,
    sync_folder,
    write_atomically,
)

MANIFEST = "manifest.json"
JOINED_AT_ONCE = 512
"""Tables that become one block: of a hundred thousand small ones the bookkeeping would outweigh the content."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """What one unit of work left in the store, in the folder ``name`` of ``within``; one is held of every unit.

    ``files`` maps a file's relative name to its sha256; ``output_hash`` identifies the content, so that a
    stage whose output did not change leaves everything after it valid.
    """

    within: str
    name: str
    files: Mapping[str, str]

    @classmethod
    def of(cls, folder: Path, files: Mapping[str, str]) -> Artifact:
        """The one in ``folder``; what many have in common they share."""
        shared = {sys.intern(name): sha256 for name, sha256 in files.items()}
        return cls(sys.intern(str(folder.parent)), folder.name, shared)

    @property
    def folder(self) -> Path:
        """Its folder."""
        return Path(self.within, self.name)

    @property
    def output_hash(self) -> str:
        """sha256 over names and contents."""
        return digest(dict(self.files))

    def has(self, name: str) -> bool:
        """Whether the artifact holds a file of this name."""
        return name in self.files

    def table(self, name: str) -> pa.Table:
        """The table ``name``; its bytes are checked against the manifest."""
        # On this thread alone: one of Arrow's own that still holds these bytes, a Python object, while the
        # interpreter ends kills the process ("terminate called without an active exception").
        with pa.BufferReader(self._bytes(f"{name}.parquet")) as content:
            return pq.ParquetFile(content).read(use_threads=False)

    def document(self, name: str) -> Any:
        """The JSON document ``name``."""
        return json.loads(self._bytes(f"{name}.json"))

    def text(self, name: str) -> str:
        """A text file's content."""
        return self._bytes(name).decode()

    def intact(self) -> bool:
        """Whether every file is there with the content that the manifest names."""
        return all(
            (self.folder / name).is_file() and file_digest(self.folder / name) == expected
            for name, expected in self.files.items()
        )

    def _bytes(self, name: str) -> bytes:
        content = (self.folder / name).read_bytes()
        if hashlib.sha256(content).hexdigest() != self.files[name]:
            raise UnitError(
                f"{self.folder / name} does not hold what was written there: the store was changed by hand or the "
                "disk is failing. Run the command again; the unit will be made anew."
            )
        return content


def joined(tables: Iterable[pa.Table], folder: Path | None = None) -> pa.Table | VectorTable | None:
    """Tables one below the other, None where there are none; a column of vectors is one block of memory, or of a file
    in ``folder`` that goes when nobody reads it any more.

    Each table is let go of before the next one is asked for, so that vectors are in memory once. Raises ValueError: one
    is missing.
    """
    blocks: list[pa.Table] = []
    small: list[pa.Table] = []
    vectors: dict[str, IO[bytes]] = {}
    first: pa.Table | None = None
    count = 0
    for table in tables:
        count += len(table)
        first = table.slice(0, 0) if first is None else first
        pa.concat_tables([first, table.slice(0, 0)])  # Raises ArrowInvalid where the columns differ.
        names = [field.name for field in table.schema if pa.types.is_fixed_size_list(field.type)]
        for name in names:
            if table.column(name).null_count:
                raise ValueError(f"column {name!r}: a row without a vector cannot stand in a block of them")
            if name not in vectors:
                vectors[name] = io.BytesIO() if folder is None else TemporaryFile(dir=folder)  # noqa: SIM115 (read later)
            for chunk in table.column(name).chunks:
                vectors[name].write(np.ascontiguousarray(chunk.flatten().to_numpy()).view(np.uint8).data)
        small.append(table.drop_columns(names))
        if len(small) == JOINED_AT_ONCE:
            blocks, small = [*blocks, pa.concat_tables(small).combine_chunks()], []
    if first is None:
        return None
    others = pa.concat_tables([*blocks, *small])
    if folder is None:
        return _one_table(first.schema, others, vectors, count)
    kinds = {name: first.schema.field(name).type for name in vectors}
    shapes = {name: (kind.value_type.to_pandas_dtype(), (count, kind.list_size)) for name, kind in kinds.items()}
    return VectorTable(others, {name: StoredVectors(file, *shapes[name]) for name, file in vectors.items()})


def _one_table(schema: pa.Schema, others: pa.Table, vectors: Mapping[str, Any], count: int) -> pa.Table:
    columns = []
    for field in schema:
        if field.name in vectors:
            content = pa.py_buffer(vectors[field.name].getbuffer())
            numbers = pa.Array.from_buffers(field.type.value_type, count * field.type.list_size, [None, content])
            columns.append(pa.FixedSizeListArray.from_arrays(numbers, type=field.type))
        else:
            columns.append(others.column(field.name))
    return pa.Table.from_arrays(columns, schema=schema)


class Store:
    """Artifacts under one folder, addressed by stage and key; those of the store ``beside`` are only read."""

    def __init__(self, root: Path, beside: Path | None = None) -> None:
        self.root = root
        self._beside = None if beside is None else Store(beside)
        self._verified: dict[str, Artifact] = {}

    def folder(self, stage: str, key: str) -> Path:
        """Where the artifact of this key is or will be."""
        return self.root / stage / key[:2] / key

    def find(self, stage: str, key: str) -> Artifact | None:
        """The artifact of this key if it is complete and intact; each is verified once a process.

        A damaged one is as good as none, and stays until `commit` replaces it: whoever only looks changes nothing.
        """
        if key not in self._verified:
            artifact = intact(self.folder(stage, key))
            if artifact is None and self._beside is not None:
                artifact = self._beside.find(stage, key)
            if artifact is None:
                return None
            self._verified[key] = artifact
        return self._verified[key]

    def find_anew(self, stage: str, key: str) -> Artifact | None:
        """As `find`, by no listing that somebody may have added to since."""
        return self.find(stage, key)

    def checkpoints(self, stage: str, key: str) -> Path:
        """Where an unfinished unit keeps what it needs to go on after a kill."""
        return self.root / "checkpoints" / stage / key

    def drop_checkpoints(self, stage: str, key: str) -> None:
        """Remove the checkpoints of a unit that is finished."""
        shutil.rmtree(self.checkpoints(stage, key), ignore_errors=True)

    def scratch(self) -> Path:
        """A new empty folder on the store's own disk, for one unit's output."""
        folder = self.root / "tmp" / f"{os.getpid()}.{platform.node()}.{uuid.uuid4().hex}"
        folder.mkdir(parents=True)
        return folder

    def clear_scratch(self) -> None:
        """Remove what killed processes of this machine left half-written."""
        for folder in (self.root / "tmp").glob(f"*.{platform.node()}.*"):
            if not _is_alive(int(folder.name.split(".", 1)[0])):
                shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.root / "inputs", *(self.root / "failures").glob("*")):
            remove_leftovers(folder)
        FileLeases(self.root / "leases").clear()

    def commit(
        self, stage: str, key: str, scratch: Path, tables: Mapping[str, pa.Table], documents: Mapping[str, Any]
    ) -> Artifact:
        """Write tables and documents beside the files already in ``scratch``, then rename it into place.

        Every file and folder reaches the disk before the rename, so that a kill or a power cut leaves either the
        whole artifact or none.
        """
        for name, table in tables.items():
            # One row group and no pandas metadata: equal tables give equal bytes.
            plain = table.replace_schema_metadata(None)
            pq.write_table(plain, scratch / f"{name}.parquet", compression="zstd", row_group_size=1 << 20)
        for name, document in documents.items():
            with (scratch / f"{name}.json").open("w") as file:
                json.dump(document, file, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
        paths = sorted(path for path in scratch.rglob("*") if path.is_file())
        files = {path.relative_to(scratch).as_posix(): file_digest(path) for path in paths}
        (scratch / MANIFEST).write_text(canonical_json({"files": files}))
        self._place(scratch, stage, key)
        return Artifact.of(self.folder(stage, key), files)

    def _place(self, scratch: Path, stage: str, key: str) -> None:
        sync_folder(scratch)
        folder = self.folder(stage, key)
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            scratch.rename(folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if intact(folder) is not None:
                # Another process made the same artifact first; equal keys have equal content.
                shutil.rmtree(scratch)
            else:
                shutil.rmtree(folder)
                scratch.rename(folder)
        sync(folder.parent)

    def kept(self, stage: str) -> dict[str, int]:
        """The keys of all artifacts of a stage, and their sizes in bytes."""
        folders = [manifest.parent for manifest in (self.root / stage).glob(f"*/*/{MANIFEST}")]
        return {each.name: sum(p.stat().st_size for p in each.rglob("*") if p.is_file()) for each in folders}

    def note_use(self, keys: Iterable[str] | None) -> None:
        """Say what the run into this folder uses to others that share the store; None: its end will tell."""

    def used_elsewhere(self) -> frozenset[str]:
        """The keys of what others that share the store use; raises InputError where that is not known yet."""
        return frozenset()

    def remove(self, stage: str, key: str) -> None:
        """Delete an artifact, whole: its manifest first, without which it counts as none."""
        (self.folder(stage, key) / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(self.folder(stage, key), ignore_errors=True)


def intact(folder: Path) -> Artifact | None:
    """The artifact in ``folder``; None where it is not complete, or damaged."""
    try:
        files = json.loads((folder / MANIFEST).read_text())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    artifact = Artifact.of(folder, files) if isinstance(files, dict) else None
    return artifact if artifact is not None and artifact.intact() else None


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


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
        """sha256 of the parts of a session named in ``reads`` (`apportion.pipeline.engine.stage.Stage` lists them)."""
        key = (session.session_id, tuple(reads))
        if key not in self._sessions:
            # Without backgrounds or events the hash is that of the time before there were any.
            language = [session.language] if "language" in reads and is_foreign(session.language) else []
            empty = {part for part in ("backgrounds", "events") if not getattr(session, part)}
            reads = [part for part in reads if part != "language" and part not in empty]
            parts: list[list[Any]] = [[vars(value) for value in getattr(session, part)] for part in reads]
            if "media" in reads:
                parts.append([self._recording(media.path) for media in session.media])
            # Of English sessions it is that of the time before languages counted.
            text = canonical_json([session.session_id, parts, *language])
            self._sessions[key] = hashlib.sha256(text.encode()).hexdigest()
        return self._sessions[key]

    def file(self, path: Path) -> str:
        """sha256 of a file's content; read again only when its size or modification time changed (an address: ETag)."""
        try:
            status = path.stat()
        except OSError as error:
            raise UnitError(
                f"{path}: cannot be read ({error.strerror}). Put the file there or remove its row."
            ) from None
        return self._hash(str(path.resolve()), [status.st_size, status.st_mtime_ns], lambda: file_digest(path))

    def _recording(self, path: str) -> str:
        path = address_in(self.root, path)
        if not is_address(path):
            return self.file(self.root / path)
        return self._hash(path, state_of(path)[1], partial(_copy_digest, path))

    def _hash(self, place: str, stamp: Any, digest_now: Callable[[], str]) -> str:
        note = self._remembered / f"{hashlib.sha256(place.encode()).hexdigest()}.json"
        try:
            remembered = json.loads(note.read_text())
            if remembered["stamp"] == stamp:
                return str(remembered["sha256"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        sha256 = digest_now()
        if self.remembers:
            write_atomically(note, canonical_json({"stamp": stamp, "sha256": sha256}))
        return sha256


def _copy_digest(url: str) -> str:
    with held(url) as path:
        return file_digest(path)
