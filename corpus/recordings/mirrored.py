"""A corpus at a URL as a folder of this machine: links to the copies of its tables that `fetched` keeps.

Recordings stay where they are until they are asked for. A folder is that of one state of the tables, so that a run
sees no change in the middle, and a later one sees it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PosixPath
from posixpath import normpath
from typing import Any
from urllib.parse import quote, unquote

from apportion.corpus.recordings.addresses import Remote, Web, address_fault, shown, source_of
from apportion.corpus.recordings.container import SUFFIXES
from apportion.corpus.recordings.fetched import SIZE, PassingError, asked_again, held, limit, state_of
from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import is_address, write_atomically

FOLDER = "corpora"
MOST_FILES, MOST_NAME = 10_000, 200
_holding = ExitStack()
"""What this process reads, to its end: nobody takes the copies away meanwhile."""
_held: dict[tuple[str, Remote], Path] = {}
_known: dict[str, str] = {}
"""The URLs of mirrors that this process has made, by their paths."""


class Mirror(PosixPath):
    """The folder or file of this machine; pickled as its URL and state, of which another host makes its own."""

    def __reduce__(self) -> Any:
        about = about_of(self)
        return (mirrored, (about["url"], self.parent.name)) if about else super().__reduce__()

    def __repr__(self) -> str:
        return named(self)


@dataclass(frozen=True, repr=False)
class Unread:
    """What lies at a URL, mirrored when it is first asked for: whoever has this object sees one state of it."""

    url: str

    @classmethod
    def of(cls, url: str) -> Unread:
        """Raises ``InputError``: no table can lie there, or its package is missing. Nobody is asked."""
        check_address(url)
        return cls(_plain(url))

    def __repr__(self) -> str:
        return self.url

    @cached_property
    def mirror(self) -> Mirror:
        """See `mirrored`."""
        return mirrored(self.url)


def check_address(url: str) -> None:
    """Raise ``InputError`` where no table can lie at ``url``, or its package is missing; nobody is asked."""
    if {".", ".."} & set(unquote(url).split("/")):
        raise InputError(f"{shown(url)}: leads out of its folder. Write the whole address, without . and ..")
    if fault := address_fault(url, tables=True):
        raise InputError(f"{shown(url)} {fault[0]}. {fault[1]}")


def _plain(url: str) -> str:
    return url if url.endswith("://") else url.rstrip("/")


def mirrored(url: str, state: str | None = None) -> Mirror:
    """The folder of this machine with the files that lie directly in the folder ``url``, or with the file ``url``.

    ``state`` is that of the mirror in another process. Raises ``InputError``: no such address, bucket or folder; no
    access; its package is missing; it is larger than `APPORTION_MEDIA_GB`; it is in another state by now.
    ``PassingError``: its server does not answer, or it changes meanwhile.
    """
    url = _plain(url)
    note = cache_folder() / FOLDER / f"{state}.json"
    about = _read(note) if state is not None else None
    try:
        files = _listed(url) if about is None else {name: Remote(*of) for name, of in about["files"].items()}
        plain = {name: [of.size, of.etag, of.changed] for name, of in sorted(files.items())}
        folder = cache_folder() / FOLDER / f"{_hash(url)}-{_hash(json.dumps(plain))}"
        if state is not None and folder.name != state:
            raise InputError(f"{shown(url)} changed since the run began. Run the same command again.")
        links = {name: _copy(f"{url}/{quote(name)}" if name else url, of) for name, of in files.items()}
    except PassingError:
        raise
    except UnitError as error:
        raise InputError(str(error)) from None
    with _told(folder):
        write_atomically(folder.with_suffix(".json"), json.dumps({"url": url, "files": plain}))
        last = unquote(url).rpartition("/")[2]
        _link(folder, {f"{last}/{name}" if name else last: copy for name, copy in links.items()})
        _clear(folder)
    _known[str(folder / last)] = url
    return Mirror(folder / last)


def about_of(path: Path) -> Mapping[str, Any] | None:
    """What is known of the mirror ``path``: its ``url`` and ``files``; None of any other folder or file."""
    if path.parent.parent.name != FOLDER or path.parent.parent.resolve() != (cache_folder() / FOLDER).resolve():
        return None
    return _read(path.parent.with_suffix(".json"))


def named(path: Path) -> str:
    """How a person calls a corpus: by its URL where ``path`` is its mirror."""
    about = about_of(path)
    return about["url"] if about else str(path)


def in_words(text: str) -> str:
    """A text in which mirrors are called as a person calls them."""
    for path, url in _known.items():
        text = text.replace(path, url)
    return text


def address_in(root: Path, path: str) -> str:
    """The media path ``path``; its URL, where the corpus in ``root`` is a mirror and has it not."""
    about = None if is_address(path) or path.startswith("/") or ".." in path.split("/") else about_of(root)
    return f"{about['url']}/{quote(normpath(path))}" if about and not (root / path).exists() else path


def _listed(url: str) -> dict[str, Remote]:
    check_address(url)
    source = source_of(url, tables=True)
    if isinstance(source, Web):
        found = state_of(url)[0]
        stamped = found.etag or found.changed or uuid.uuid4().hex  # Without any it may be another one each time.
        return {"": replace(found, changed=found.changed if stamped == found.etag else stamped)}
    files = asked_again(url, source.names)
    kept = {name: of for name, of in files.items() if Path(name).suffix.lower() not in SUFFIXES}
    if not kept:
        raise InputError(f"{shown(url)}: no table lies there. Name the folder with sessions.parquet in it.")
    if len(kept) > MOST_FILES:
        raise InputError(
            f"{shown(url)}: {len(kept):,} files; at most {MOST_FILES:,} are read. Name the folder of one corpus."
        )
    total, most = sum(of.size for of in kept.values()), limit()
    if total > most:
        raise InputError(
            f"{shown(url)}: {total / 1e9:,.2f} GB of tables, and copies may take {most / 1e9:g} GB. Set {SIZE} to more."
        )
    for name in kept:
        if name in (".", "..") or "/" in name or len(name.encode()) > MOST_NAME or not name.isprintable():
            raise InputError(f"{shown(url)}: {name[:MOST_NAME]!r} is no name of a file here. Rename the object.")
    return kept


def _copy(url: str, remote: Remote) -> Path:
    if (url, remote) not in _held:
        _held[url, remote] = _holding.enter_context(held(url, remote))
    return _held[url, remote]


def _link(folder: Path, links: Mapping[str, Path]) -> None:
    """Make a folder of links, whole or not at all; one that is there has the same."""
    if folder.is_dir():
        return
    scratch = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}")
    for name, copy in links.items():
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).symlink_to(copy)
    try:
        scratch.rename(folder)
    except OSError:  # Another process was faster.
        shutil.rmtree(scratch)


def _clear(folder: Path) -> None:
    """Remove the mirrors of other states whose copies have gone."""
    for note in folder.parent.glob(f"{folder.name.partition('-')[0]}-*.json"):
        other = note.with_suffix("")
        if other != folder and not all(link.exists() for link in other.rglob("*")):
            shutil.rmtree(other, ignore_errors=True)
            note.unlink(missing_ok=True)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise InputError(
            f"{folder}: no corpus can be kept there ({error.strerror}). Free some space, or set APPORTION_CACHE to a "
            "folder of yours."
        ) from None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(note: Path) -> Mapping[str, Any] | None:
    try:
        about: Mapping[str, Any] = json.loads(note.read_text(encoding="utf-8"))
        return about
    except (OSError, ValueError):
        return None
