"""A store that hosts share by a bucket: what is found there is fetched, what is made here is uploaded.

An artifact is one object, which a bucket takes whole or not at all, under a name made of its key. So there is no torn
one and nothing to clear away, and a unit costs one request to publish and one to fetch.
"""

from __future__ import annotations

import json
import platform
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from apportion.foundation.errors import InputError
from apportion.foundation.files import digest
from apportion.pipeline.engine.store import MANIFEST, Artifact, Store, intact
from apportion.pipeline.shared_place import LOCAL_ERRORS, Bucket

ARTIFACTS, USES = "artifacts", "uses"
MARK = ".bucket"
"""A file in an artifact's folder: the `Bucket.identity` of the one that holds it, too."""
LARGEST_MANIFEST = 1 << 24
"""Bytes: room for a hundred thousand files."""


class RemoteStore(Store):
    """Artifacts in a bucket; ``root`` has this host's copies, and its checkpoints, which no other host goes on with.

    One that is damaged in the bucket is as good as none, and is replaced by `commit`. Where two hosts make one artifact
    at once, both keep the one that the bucket had first. With ``looks_only`` nothing is written into the bucket.
    """

    def __init__(self, root: Path, bucket: Bucket, beside: Path | None = None, *, looks_only: bool = False) -> None:
        super().__init__(root, beside)
        self.bucket, self.looks_only = bucket, looks_only
        self._shared: set[str] = set()

    def find(self, stage: str, key: str) -> Artifact | None:
        """The artifact of this key, by a listing of the bucket that `Bucket.look_anew` renews where it is not here.

        One that is here and not there (an upload has failed, another bucket was set) is uploaded; of one whose upload
        was interrupted before it was noted here, the bucket's is taken.
        """
        found = super().find(stage, key)
        if key in self._shared or (found is not None and self.looks_only):
            return found
        if found is None or (found.folder.is_relative_to(self.root) and not self._is_marked(found.folder)):
            there = _object(stage, key) in self.bucket.names(f"{ARTIFACTS}/{stage}") and self._fetch(stage, key)
            if found is None and not there:
                return None
            if not there:
                self._upload(stage, key)
        self._shared.add(key)
        return super().find(stage, key)

    def find_anew(self, stage: str, key: str) -> Artifact | None:
        """See `Store`; what no listing names is asked for by its name."""
        found = self.find(stage, key)
        if found is None and self._fetch(stage, key):
            self._shared.add(key)
            found = super().find(stage, key)
        return found

    def commit(
        self, stage: str, key: str, scratch: Path, tables: Mapping[str, pa.Table], documents: Mapping[str, Any]
    ) -> Artifact:
        """As in a folder, then into the bucket; what does not get there is kept here, and uploaded by the next run."""
        made = super().commit(stage, key, scratch, tables, documents)
        self._upload(stage, key)
        return self.find(stage, key) or made

    def kept(self, stage: str) -> dict[str, int]:
        """The keys of all artifacts of a stage, here and there, and their sizes in bytes."""
        there = self.bucket.names(f"{ARTIFACTS}/{stage}").items()
        return super().kept(stage) | {Path(name).stem: size for name, size in there}

    def note_use(self, keys: Iterable[str] | None) -> None:
        """See `Store`."""
        told = {"host": platform.node(), "folder": str(self.root.resolve().parent)}
        self.bucket.write(self._uses, json.dumps({**told, "keys": None if keys is None else sorted(keys)}))

    def used_elsewhere(self) -> frozenset[str]:
        """See `Store`."""
        self.bucket.look_anew()
        used: set[str] = set()
        for name, content in self.bucket.read_all(set(self.bucket.names(USES)) - {self._uses}).items():
            about: dict[str, Any] = {}
            with suppress(ValueError):
                about |= json.loads(content)
            if about.get("keys") is None:
                raise InputError(
                    f"{self.bucket.url}: the run into {about.get('folder')} on {about.get('host')} has begun and not "
                    f"ended, so that it is not known what it uses. Let it end; if it is given up, delete {name} there."
                )
            used.update(about["keys"])
        return frozenset(used)

    @property
    def _uses(self) -> str:
        return f"{USES}/{digest([platform.node(), str(self.root.resolve())])[:32]}.json"

    def remove(self, stage: str, key: str) -> None:
        """Delete an artifact for all hosts, and the copy here."""
        self.bucket.remove(_object(stage, key), f"{ARTIFACTS}/{stage}")
        super().remove(stage, key)

    def _is_marked(self, folder: Path) -> bool:
        mark = folder / MARK
        return mark.is_file() and mark.read_text(errors="replace") == self.bucket.identity

    def _upload(self, stage: str, key: str) -> None:
        folder, scratch = self.folder(stage, key), self.scratch()
        try:
            packed = scratch / "packed"
            _pack(folder, packed)
            try:
                self.bucket.put(packed, _object(stage, key), replace=False)
            except FileExistsError:
                if self._fetch(stage, key):
                    return
                self.bucket.put(packed, _object(stage, key), replace=True)
            (folder / MARK).write_text(self.bucket.identity)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _fetch(self, stage: str, key: str) -> bool:
        """Put the bucket's artifact in this host's place for it; False where there is none, or it is damaged."""
        scratch = self.scratch()
        try:
            self.bucket.get(_object(stage, key), scratch / "packed")
            if not _unpack(scratch / "packed", scratch / "made"):
                return False
            (scratch / "made" / MARK).write_text(self.bucket.identity)
            shutil.rmtree(self.folder(stage, key), ignore_errors=True)
            self._verified.pop(key, None)
            self._place(scratch / "made", stage, key)
            return True
        except FileNotFoundError:
            return False
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _object(stage: str, key: str) -> str:
    return f"{ARTIFACTS}/{stage}/{key}.tar"


def _pack(folder: Path, target: Path) -> None:
    """Equal artifacts as equal bytes, the manifest first."""
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name != MARK)
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(names, key=lambda name: name != MANIFEST):
            member = tarfile.TarInfo(name)
            member.size = (folder / name).stat().st_size
            with (folder / name).open("rb") as content:
                tar.addfile(member, content)


def _unpack(packed: Path, folder: Path) -> bool:
    """Whether a stranger's file holds an artifact, whole and nothing else; then ``folder`` does."""
    try:
        with tarfile.open(packed, "r:") as tar:
            tar.extractall(folder, filter=_plain_file)
        manifest = folder / MANIFEST
        made = intact(folder) if manifest.is_file() and manifest.stat().st_size <= LARGEST_MANIFEST else None
    except (tarfile.TarError, ValueError, EOFError, RecursionError):
        return False
    except OSError as error:  # Names that are too long, or of a file and of a folder.
        if error.errno in LOCAL_ERRORS:
            raise
        return False
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return made is not None and {*made.files, MANIFEST} == there


def _plain_file(member: tarfile.TarInfo, place: str) -> tarfile.TarInfo:
    if not member.isreg() or member.issparse():
        raise tarfile.ReadError(member.name)
    return tarfile.data_filter(member, place)
