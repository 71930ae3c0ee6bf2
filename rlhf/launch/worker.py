"""One of several processes that align a policy together; `accelerate launch -m apportion.rlhf.launch.worker FOLDER`
starts them.

`apportion.rlhf.launch.launcher` writes FOLDER and starts this when more than one process is asked for.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from apportion.foundation.errors import ApportionError
from apportion.foundation.files import write_atomically
from apportion.rlhf.launch.job import FAILURE, TOLD, SharedJob, write_result


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
    from apportion.rlhf.training.reward import lent_reward

    claim_accelerate_flags()
    torch.set_num_threads(shared.threads)
    accelerator = Accelerator(cpu=shared.job.settings.device == "cpu")
    processes = Processes(accelerator)
    first = processes.rank == 0
    try:
        tables = align_here(
            shared.job,
            lent_reward(shared.job),
            processes,
            _tell_progress if first else silent,
            (_tell_metrics,) if first else (),
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
