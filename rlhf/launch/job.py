"""What several processes are given to align a policy together, as a folder of files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpus.session import Episode, Rating, Turn
from foundation.files import write_atomically
from rlhf.settings import AlignSettings

JOB, EPISODES, SPLITS = "job.json", "episodes.json", "splits.parquet"
HISTORY, SAMPLES, FAILURE = "history.parquet", "samples.parquet", "failure.json"


@dataclass(frozen=True)
class Job:
    """The arguments of `rlhf.align.align` that are not the caller's own.

    ``threads`` of torch are for each process; ``parent`` is the process without which the work is in vain.
    """

    episodes: tuple[Episode, ...]
    splits: pa.Table
    reward_model: Path
    settings: AlignSettings
    seed: int
    out: Path
    checkpoints: Path | None
    threads: int
    parent: int

    def write(self, folder: Path) -> None:
        """Write all of it into ``folder``."""
        (folder / EPISODES).write_text(json.dumps([asdict(episode) for episode in self.episodes]), encoding="utf-8")
        pq.write_table(self.splits, folder / SPLITS)
        plain = {
            "reward_model": str(self.reward_model.absolute()),
            "settings": self.settings.model_dump(mode="json"),
            "seed": self.seed,
            "out": str(self.out.absolute()),
            "checkpoints": str(self.checkpoints.absolute()) if self.checkpoints else None,
            "threads": self.threads,
            "parent": self.parent,
        }
        (folder / JOB).write_text(json.dumps(plain), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Job:
        """What `write` wrote."""
        plain: dict[str, Any] = json.loads((folder / JOB).read_text(encoding="utf-8"))
        rows = json.loads((folder / EPISODES).read_text(encoding="utf-8"))
        return cls(
            episodes=tuple(_episode(row) for row in rows),
            splits=pq.read_table(folder / SPLITS),
            reward_model=Path(plain["reward_model"]),
            settings=AlignSettings.model_validate(plain["settings"]),
            seed=plain["seed"],
            out=Path(plain["out"]),
            checkpoints=Path(plain["checkpoints"]) if plain["checkpoints"] else None,
            threads=plain["threads"],
            parent=plain["parent"],
        )


def write_result(folder: Path, tables: Sequence[pa.Table]) -> None:
    """The history and the samples that `rlhf.align.align` gave."""
    for name, table in zip((HISTORY, SAMPLES), tables, strict=True):
        write_atomically(folder / name, partial(pq.write_table, table))


def read_result(folder: Path) -> tuple[pa.Table, pa.Table] | None:
    """What `write_result` wrote, None before it is done."""
    # The samples come last.
    if not (folder / SAMPLES).is_file():
        return None
    return pq.read_table(folder / HISTORY), pq.read_table(folder / SAMPLES)


def _episode(row: dict[str, Any]) -> Episode:
    turns = tuple(Turn(**turn) for turn in row["turns"])
    return Episode(row["session_id"], turns, Rating(**row["rating"]))
