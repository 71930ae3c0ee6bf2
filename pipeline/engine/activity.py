"""Which units of a run are at work and how the others ended: files that each process appends to and anybody may read.

No result rests on them: whether a unit is finished is the store's to say.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.foundation.files import write_atomically

FOLDER, PLAN = "activity", "plan.json"
RUNNING, LOST = "running", "lost"


@dataclass(frozen=True)
class Entry:
    """The last that is known of a unit. ``seconds``: how long it took, or has taken until now."""

    stage: str
    unit: str
    status: str
    seconds: float
    host: str
    process: int
    cause: str | None = None


class Activity:
    """The record of one run's units, below the store ``root``."""

    def __init__(self, root: Path) -> None:
        self.folder = root / FOLDER
        self._file = self.folder / f"{platform.node()}.{os.getpid()}.jsonl"

    def begin(self, units: Mapping[str, int]) -> None:
        """A run begins that has so many units of each stage; what was known of the one before is forgotten."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):
            write_atomically(self.folder / PLAN, json.dumps(dict(units)))

    @contextmanager
    def unit(self, stage: str, unit: str) -> Iterator[dict[str, Any]]:
        """Around the work on a unit, which says by ``status`` and ``cause`` what has become of it."""
        ended: dict[str, Any] = {"status": "stopped"}
        self._append(stage, unit, {"status": RUNNING})
        try:
            yield ended
        finally:
            self._append(stage, unit, ended)

    def _append(self, stage: str, unit: str, said: Mapping[str, Any]) -> None:
        # Without the folder there is no run that the unit is a part of; a full disk is told of by the unit itself.
        with suppress(OSError), self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"stage": stage, "unit": unit, "at": time.time(), **said}) + "\n")


def planned(root: Path) -> dict[str, int] | None:
    """The units of each stage of the run that began last below the store ``root``; None where none has."""
    try:
        return dict(json.loads((root / FOLDER / PLAN).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def entries(root: Path) -> list[Entry]:
    """What is known of each unit that has begun, by the file's lines; one whose process is gone is ``lost``."""
    last: dict[tuple[str, str], Entry] = {}
    for path in sorted((root / FOLDER).glob("*.jsonl")):
        host, process = path.stem.rsplit(".", 1)
        gone = host == platform.node() and not Path(f"/proc/{process}").exists() and Path("/proc/self").exists()
        began: dict[tuple[str, str], float] = {}
        for row in _rows(path):
            unit = (row["stage"], row["unit"])
            began_s = began.setdefault(unit, row["at"])
            if row["status"] == RUNNING:
                began_s = began[unit] = row["at"]
            status = LOST if row["status"] == RUNNING and gone else row["status"]
            seconds = (time.time() if status == RUNNING else row["at"]) - began_s
            last[unit] = Entry(*unit, status, seconds, host, int(process), row.get("cause"))
    return list(last.values())


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # the end of what a killed process was writing
            continue
