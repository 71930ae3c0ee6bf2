"""One of several processes that align a policy together, and the folder of files that it is given.

`apportion.rlhf.launch.launcher` writes FOLDER and starts `accelerate launch -m apportion.rlhf.launch.worker FOLDER`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from apportion.corpus.session import Background, Episode, Rating, Turn
from apportion.foundation.errors import ApportionError
from apportion.foundation.files import write_atomically
from apportion.llm_client.cache.database import ledger_place
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.job import Asking, Job, Member

JOB, EPISODES, PROMPTS, SPLITS = "job.json", "episodes.json", "prompts.json", "splits.parquet"
HISTORY, SAMPLES, FAILURE = "history.parquet", "samples.parquet", "failure.json"
MESSAGE_PREFIX = "APPORTION "
"""What a line from a process to its parent begins with; JSON follows."""


@dataclass(frozen=True)
class SharedJob:
    """A job of several processes, ``threads`` of torch in each; without the process ``parent`` it is in vain."""

    job: Job
    threads: int
    parent: int

    def write(self, folder: Path) -> None:
        """Write all of it into ``folder`` but for what the caller calls it."""
        job = self.job
        for name, episodes in ((EPISODES, job.episodes), (PROMPTS, job.prompts)):
            (folder / name).write_text(json.dumps([asdict(episode) for episode in episodes]), encoding="utf-8")
        pq.write_table(job.splits, folder / SPLITS)
        plain = {
            "reward_model": str(job.reward_model.absolute()) if job.reward_model else None,
            "settings": job.settings.model_dump(mode="json"),
            "seed": job.seed,
            "out": str(job.out.absolute()),
            "checkpoints": str(job.checkpoints.absolute()) if job.checkpoints else None,
            "asking": {name: _plain(value) for name, value in asdict(job.asking).items()},
            "thumbs": [[*place, good] for place, good in job.thumbs.items()],
            "ensemble": [[str(one.folder.absolute()), one.mean, one.sd] for one in job.ensemble],
            "threads": self.threads,
            "parent": self.parent,
        }
        (folder / JOB).write_text(json.dumps(plain), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> SharedJob:
        """What `write` wrote."""
        plain: dict[str, Any] = json.loads((folder / JOB).read_text(encoding="utf-8"))
        episodes, prompts = (
            tuple(_episode(row) for row in json.loads((folder / name).read_text(encoding="utf-8")))
            for name in (EPISODES, PROMPTS)
        )
        job = Job(
            episodes=episodes,
            splits=pq.read_table(folder / SPLITS),
            reward_model=Path(plain["reward_model"]) if plain["reward_model"] else None,
            settings=AlignSettings.model_validate(plain["settings"]),
            seed=plain["seed"],
            out=Path(plain["out"]),
            checkpoints=Path(plain["checkpoints"]) if plain["checkpoints"] else None,
            prompts=prompts,
            asking=_asking(plain["asking"]),
            thumbs={(session_id, turn): good for session_id, turn, good in plain["thumbs"]},
            ensemble=tuple(Member(Path(folder), mean, sd) for folder, mean, sd in plain["ensemble"]),
        )
        return cls(job, plain["threads"], plain["parent"])


def write_result(folder: Path, tables: Sequence[pa.Table]) -> None:
    """Write the history and the samples that `apportion.rlhf.alignment.align_here` gave."""
    for name, table in zip((HISTORY, SAMPLES), tables, strict=True):
        write_atomically(folder / name, partial(pq.write_table, table))


def read_result(folder: Path) -> tuple[pa.Table, pa.Table] | None:
    """What `write_result` wrote, None before it is done."""
    # The samples come last.
    if not (folder / SAMPLES).is_file():
        return None
    return pq.read_table(folder / HISTORY), pq.read_table(folder / SAMPLES)


def _plain(value: Path | float | None) -> str | float | None:
    return str(value.absolute()) if isinstance(value, Path) else value


def _asking(row: dict[str, Any]) -> Asking:
    files: dict[str, Any] = {name: value and Path(value) for name, value in row.items() if name != "budget_usd"}
    cache = row["cache"] and ledger_place(row["cache"])
    return Asking(**files | {"cache": cache}, budget_usd=row["budget_usd"])


def _episode(row: dict[str, Any]) -> Episode:
    turns = tuple(Turn(**turn) for turn in row["turns"])
    backgrounds = tuple(Background(**known) for known in row["backgrounds"])
    return Episode(row["session_id"], turns, Rating(**row["rating"]), backgrounds)


def main(folder: Path) -> None:
    """Do this process' part of the job in ``folder``; the first one tells how far it is and writes the results."""
    shared = SharedJob.read(folder)
    _end_with(shared.parent)
    import torch
    from accelerate import Accelerator

    from apportion.foundation.distributed import Processes
    from apportion.foundation.progress import silent
    from apportion.rlhf.alignment import align_here
    from apportion.rlhf.policy.sharding import claim_accelerate_flags
    from apportion.rlhf.training.reward import load_reward

    claim_accelerate_flags()
    torch.set_num_threads(shared.threads)
    accelerator = Accelerator(cpu=shared.job.settings.placement.device == "cpu")
    processes = Processes(accelerator)
    first = processes.rank == 0
    try:
        tables = align_here(
            shared.job,
            load_reward(shared.job),
            processes,
            _tell_progress if first else silent,
            (lambda step, metrics: _tell({"step": step, "metrics": dict(metrics)}),) if first else (),
        )
    except ApportionError as error:
        write_atomically(folder / FAILURE, json.dumps([type(error).__name__, str(error)]))
        raise SystemExit(1) from error
    if first:
        write_result(folder, tables)
    accelerator.wait_for_everyone()
    torch.distributed.destroy_process_group()


def _tell_progress(done: int, total: int, text: str) -> None:
    _tell({"progress": [done, total, text]})


def _tell(what: Mapping[str, object]) -> None:
    print(MESSAGE_PREFIX + json.dumps(what), flush=True)


def _end_with(parent: int) -> None:
    """End this process once ``parent`` is gone: nobody wants the work then, and a new run may write the same files."""

    def watch() -> None:
        while True:
            try:
                os.kill(parent, 0)
            except OSError:
                os._exit(1)
            time.sleep(0.5)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
