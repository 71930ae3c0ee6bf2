"""A run that is served: its place, and an index of it that follows when the run changes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from apportion.foundation.errors import InputError
from apportion.viewer.data.index import Index, index_path
from apportion.viewer.data.run_location import RunPlace

LOOK_S = 1.0
"""Seconds for which a look at the run's files is good; a change is taken up when two looks in a row see the same."""


@dataclass
class ServedRun:
    """A run as pages read it. One process makes an index anew at a time; pages read the old one meanwhile."""

    place: RunPlace
    index: Index
    notice: str = ""
    """What a page has to say of the run's state: that it is read anew, or cannot be."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _looked_at: float = 0.0
    _seen: str = ""
    _maker: subprocess.Popen[bytes] | None = None
    _failed: str = ""

    def look(self) -> None:
        """See whether the run has changed, and begin to make its index anew where it has. Raises InputError: the run is
        no longer there.
        """
        with self._lock:
            now = time.monotonic()
            if self._maker is not None and self._maker.poll() is not None:
                self._take_up(self._maker)
            if now - self._looked_at < LOOK_S:
                return
            seen = self.place.fingerprint()
            before, self._seen, self._looked_at = self._seen, seen, now
            if self._maker is not None or self._failed == seen:
                return
            if self.index.is_of(seen):
                self.notice = ""
            elif seen == before:
                self.notice = "The run has changed: it is being read anew. Until then this is what it was before."
                self._maker = _maker(self.place, self.index.path)

    def close(self) -> None:
        """End the process that is making an index, if one is; the index stays what it was."""
        with self._lock:
            if self._maker is not None:
                self._maker.terminate()
                self._maker.wait()

    def _take_up(self, maker: subprocess.Popen[bytes]) -> None:
        said = maker.communicate()[1].decode(errors="replace").strip()
        self._maker, self._looked_at = None, 0.0
        self._failed = self._seen if maker.returncode else ""
        last = said.splitlines()[-1] if said else f"exit code {maker.returncode}"
        self.notice = f"The run has changed and cannot be read: {last}" if maker.returncode else ""


def serve_run(place: RunPlace) -> ServedRun:
    """A run with its index, made first where there is none of its present state. Raises InputError: the index cannot be
    made or written; the run cannot be read.
    """
    index = Index(index_path(place))
    if not (index.is_of(place.fingerprint()) and index.is_whole()):
        maker = _maker(place, index.path)
        said = maker.communicate()[1].decode(errors="replace").strip()
        if maker.returncode:
            raise InputError(said.splitlines()[-1] if said else f"{place.folder}: its index could not be made.")
    return ServedRun(place, index)


def _maker(place: RunPlace, path: Path) -> subprocess.Popen[bytes]:
    # -P: `-m` alone would import whatever lies in the folder that this was started in.
    # -W: nobody reads what it says before it ends, and a pipe holds little.
    module = ("-P", "-W", "ignore", "-m", "apportion.viewer.data.build")
    command = [sys.executable, *module, str(place.folder), str(place.corpus), str(path)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
