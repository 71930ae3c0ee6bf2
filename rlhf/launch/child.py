"""One of several processes that align a policy together; `accelerate launch -m rlhf.launched FOLDER` starts them.

`rlhf.launch.parent` writes FOLDER and starts this when `align.processes` is more than 1.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from foundation.errors import ApportionError
from foundation.files import write_atomically
from rlhf.launch.job import FAILURE, Job, write_result

TOLD = "APPORTION "
"""What a line for the parent begins with; JSON follows."""


def main(folder: Path) -> None:
    """Do this process' part of the job in ``folder``; the first one tells how far it is and writes the results."""
    job = Job.read(folder)
    _end_with(job.parent)
    import torch
    from accelerate import Accelerator

    from foundation.processes import Team
    from rlhf.align import align
    from rlhf.policy.sharding import take_over
    from rlhf.training.run import silent

    take_over()
    torch.set_num_threads(job.threads)
    accelerator = Accelerator(cpu=job.settings.device == "cpu")
    team = Team(accelerator)
    first = team.rank == 0
    try:
        tables = align(
            job.episodes,
            job.splits,
            job.reward_model,
            job.settings,
            job.seed,
            job.out,
            _tell_progress if first else silent,
            job.checkpoints,
            (_tell_metrics,) if first else (),
            team,
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


def _tell_metrics(step: int, metrics: Mapping[str, float]) -> None:
    _tell({"step": step, "metrics": dict(metrics)})


def _tell(what: Mapping[str, object]) -> None:
    print(TOLD + json.dumps(what), flush=True)


def _end_with(parent: int) -> None:
    """Without the process that has asked for it, nobody wants the work, and a new run may write the same files."""

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
