"""A policy aligned by several processes on this machine, a GPU each where they compute on GPUs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import torch

import apportion
from apportion.foundation.errors import ApportionError, InputError, UnitError
from apportion.foundation.progress import Progress
from apportion.rlhf.launch.config import SHARDING, check_config, config_file
from apportion.rlhf.launch.job import FAILURE, TOLD, SharedJob, read_result
from apportion.rlhf.policy.sharding import check_sharding
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.job import Job
from apportion.rlhf.training.run import Watcher

ERRORS: dict[str, type[ApportionError]] = {"UnitError": UnitError, "InputError": InputError}


def align_together(job: Job, progress: Progress, watch: Sequence[Watcher]) -> tuple[pa.Table, pa.Table]:
    """Have ``job.settings.processes`` processes do the job, which `accelerate launch` starts; see `rlhf.align.align`.

    Raises
    ------
    InputError
        More processes than GPUs, or an accelerate config that cannot be used.
    UnitError
        What the alignment raises, or a process that ended for another reason.
    """
    check_launch(job.settings)
    shared = SharedJob(job, torch.get_num_threads(), os.getpid())
    if job.checkpoints is not None:
        job.checkpoints.mkdir(parents=True, exist_ok=True)
    # Beside the checkpoints, where there are any: what a kill leaves (the corpus' text) goes with them.
    with tempfile.TemporaryDirectory(prefix="job-", dir=job.checkpoints) as name:
        folder = Path(name)
        shared.write(folder)
        with (folder / "errors.txt").open("w+", encoding="utf-8") as errors:
            running = subprocess.Popen(
                launch_command(job.settings, folder),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **_environment(shared)},
            )
            try:
                _pass_on(running, progress, watch)
            except BaseException:
                running.terminate()  # Its processes end with it.
                running.wait()
                raise
            errors.seek(0)
            written = errors.read()
        result = read_result(folder)
        # Once the first process has written the end, all have done their part: what ends later takes nothing away.
        if result is None:
            raise _cause(folder, running.returncode, last_words(written))
    return result


def check_launch(settings: AlignSettings) -> None:
    """Raise InputError where the processes that are asked for cannot be started."""
    gpus = torch.cuda.device_count()
    if settings.device == "cuda" and settings.processes > gpus:
        raise InputError(
            f"processes = {settings.processes}: torch sees {gpus} CUDA devices here, and each process needs one. "
            f"Set it to {max(1, gpus)} or less, or device = 'cpu'."
        )
    if check_config(settings) in SHARDING:
        check_sharding(settings, settings.processes)


def launch_command(settings: AlignSettings, folder: Path) -> list[str]:
    """What starts the processes of the job in ``folder``."""
    return [
        sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(config_file(settings)),
        "--num_processes", str(settings.processes), "--main_process_port", "0",
        "-m", "apportion.rlhf.launch.worker", str(folder),
    ]  # fmt: skip


def _environment(shared: SharedJob) -> dict[str, str]:
    # The folder of `apportion` first, also where it is not installed.
    home = Path(apportion.__file__).parents[1]
    path = os.pathsep.join(filter(None, [str(home), os.environ.get("PYTHONPATH")]))
    # Nothing is imported from the folder that this was started in, by the launcher or by the processes that it starts.
    variables = {"OMP_NUM_THREADS": str(shared.threads), "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    # DeepSpeed takes the first GPU that it finds unless it is told not to.
    return {**variables, "DS_ACCELERATOR": "cpu"} if shared.job.settings.device == "cpu" else variables


def _pass_on(running: subprocess.Popen[str], progress: Progress, watch: Sequence[Watcher]) -> None:
    assert running.stdout is not None
    for line in running.stdout:
        if not line.startswith(TOLD):
            continue
        message = json.loads(line.removeprefix(TOLD))
        if "progress" in message:
            progress(*message["progress"])
        else:
            for watcher in watch:
                watcher(message["step"], message["metrics"])
    running.wait()


def last_words(written: str) -> str:
    """The line that tells why a process ended, among all that the launcher and its processes wrote."""
    lines = [line.strip() for line in written.splitlines() if line.strip()]
    # The launcher ends the others by SIGTERM: that is never the cause.
    telling = [line for line in lines if re.search(r"Error: \S|Signal \d+ \(SIG(?!TERM)", line)]
    return (telling or lines or ["without a word"])[-1]


def _cause(folder: Path, code: int, last: str) -> ApportionError:
    if (folder / FAILURE).is_file():
        kind, text = json.loads((folder / FAILURE).read_text())
        return ERRORS.get(kind, UnitError)(text)
    return UnitError(
        f"one of the processes ended (exit code {code}; {last[:300]}). Where memory ran out, lower "
        "mini_batch_size or processes; run the command again to go on from the last step."
    )
