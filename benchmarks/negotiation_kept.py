"""Figures of finished cells as JSON lines, so that a study goes on in another session or on another machine.

Figures only: no weights, and nothing of the dialogues but their digest. A line is one seed's agent after one epoch,
with ``key``, a digest of everything that decides it: the cell's settings without its seeds, the data, and the version
of the training (`apportion.rlhf.negotiation.experiment.VERSION`). How many epochs follow decides nothing, and is no
part of it. Two cells of the same settings share their lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from apportion.foundation.files import canonical_json, digest, locked, write_atomically
from apportion.rlhf.negotiation.data.dialogues import Dialogues
from apportion.rlhf.negotiation.datasets import digest_of
from apportion.rlhf.negotiation.experiment import VERSION
from apportion.rlhf.negotiation.settings import NegotiatorSettings

NO_MATTER: Any = {
    **dict.fromkeys(("output", "kept_every", "seeds"), True),
    "data": {"dialogues": True},
    "reinforce": {"epochs": True},
}
Rows = list[dict[str, Any]]


def data_of(whole: Dialogues | None) -> str:
    """What tells the data of one study from another's; None: scripts play them by the settings."""
    return "scripted" if whole is None else digest_of(whole)[:16]


def key_of(settings: NegotiatorSettings, data: str) -> str:
    """What decides a seed's figures, as 16 hexadecimal digits."""
    chosen = settings.model_dump(mode="json", exclude=NO_MATTER)
    return digest([VERSION, data, chosen])[:16]


def told(changed: dict[str, Any]) -> str:
    """Changed settings as a person writes them."""
    return " ".join(f"{group}.{name}={value}" for group, own in sorted(changed.items()) for name, value in own.items())


class KeptFigures:
    """The lines of one file.

    Parameters
    ----------
    path : Path
        The file; made where it is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Rows:
        """All lines.

        Raises
        ------
        SystemExit
            A line is none, named by its number.
        """
        rows: Rows = []
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                (row["key"], row["cell"], row["epoch"], row["seed"], row["who"])
            except (ValueError, KeyError, TypeError) as error:
                message = f"{self.path}: line {number}: not a kept figure ({error}). Remove that line."
                raise SystemExit(message) from None
            rows.append(row)
        return rows

    def rows(self, name: str, key: str, seeds: Iterable[int], epochs: int) -> Rows:
        """What is kept of a cell and some seeds, under the cell's own name, up to an epoch."""
        wanted = set(seeds)
        kept = [row for row in self.read() if row["key"] == key and row["seed"] in wanted and row["epoch"] <= epochs]
        return [{**row, "cell": name} for row in kept]

    def add(self, rows: Rows, key: str, data: str, changed: str) -> None:
        """Keep rows, in place of what stands there for the same; what two studies add at once is all there."""
        busy = f"{self.path} is being written by another study; try again."
        with locked(self.path.with_name(f".{self.path.name}.lock"), busy, SystemExit):
            added = [{"key": key, "data": data, "settings": changed, **_rounded(row)} for row in rows]
            whole = {_place(row): row for row in [*self.read(), *added]}
            lines = [canonical_json(whole[place]) + "\n" for place in sorted(whole)]
            write_atomically(self.path, "".join(lines))


def _place(row: dict[str, Any]) -> tuple[str, int, int, str]:
    return row["key"], row["seed"], row["epoch"], row["who"]


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}
