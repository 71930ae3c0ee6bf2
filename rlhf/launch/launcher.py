"""A policy aligned by several processes on this machine: the accelerate configs, and the processes that are started."""

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

import apportion
from apportion.foundation.errors import ApportionError, InputError, UnitError
from apportion.foundation.files import at_home
from apportion.foundation.optional_packages import check_extra
from apportion.foundation.progress import Progress
from apportion.rlhf.algorithms import ALGORITHMS, listed
from apportion.rlhf.launch.worker import FAILURE, MESSAGE_PREFIX, SharedJob, read_result
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.job import Job, Watcher

CONFIGS = Path(__file__).resolve().parent / "accelerate"
SHIPPED = ("data_parallel", "fsdp", "deepspeed")
KINDS = ("MULTI_GPU", "MULTI_CPU", "FSDP", "DEEPSPEED")
"""What accelerate calls the ways to share work that are driven here."""
SHARDING = ("FSDP", "DEEPSPEED")


def config_file(settings: AlignSettings) -> Path:
    """The file that ``settings.accelerate`` means."""
    if settings.accelerate in SHIPPED:
        return CONFIGS / f"{settings.accelerate}.yaml"
    return at_home(settings.accelerate)


def check_config(settings: AlignSettings, called: str = "accelerate") -> str:
    """What accelerate calls the way that the config file shares work, one of ``KINDS``.

    ``called`` is what the caller calls the setting that names the file.

    Raises InputError: a file that is not there or cannot be used here, or needs what is not installed.
    """
    from accelerate.commands.config.config_args import load_config_from_file

    path = config_file(settings)
    given = f"{called} = {settings.accelerate!r}"
    if not path.is_file():
        raise InputError(
            f"{given}: no such file. Give {', '.join(SHIPPED)}, or the file that `accelerate config` writes."
        )
    try:
        config = load_config_from_file(str(path))
    except Exception as error:  # A file of the user's: no YAML, another layout, unknown keys or values.
        raise InputError(f"{given}: accelerate cannot read it: {' '.join(str(error).split())[:300]}") from error
    kind = getattr(config.distributed_type, "value", config.distributed_type)
    if kind not in KINDS:
        raise InputError(f"{given}: distributed_type is {kind}, and one of {', '.join(KINDS)} is needed.")
    if config.num_machines != 1:
        raise InputError(f"{given}: num_machines is {config.num_machines}; the processes are started on this machine.")
    if settings.generation == "vllm" and kind in ("FSDP", "DEEPSPEED"):
        raise InputError(
            f"{given}: generation = 'vllm' needs the whole policy in each process. Set it to 'data_parallel'."
        )
    if settings.trainer.by_trl and kind == "DEEPSPEED":
        others = listed((row.name for row in ALGORITHMS.values() if not row.by_trl), "or")
        raise InputError(
            f"{given}: distributed_type is {kind}, which {settings.algorithm} cannot use. Set it to 'fsdp', which "
            f"deals weights out as well, to 'data_parallel', or take {others}."
        )
    if kind == "DEEPSPEED":
        from apportion.rlhf.policy.sharding import check_stage

        # Here, before anything is started; a DeepSpeed file that the config names is read by the processes.
        check_stage((config.deepspeed_config or {}).get("zero_stage", 3))
        check_extra("deepspeed", "deepspeed", given, "dealing weights out by it")
    return str(kind)


ERRORS: dict[str, type[ApportionError]] = {"UnitError": UnitError, "InputError": InputError}


def align_distributed(job: Job, progress: Progress, watch: Sequence[Watcher]) -> tuple[pa.Table, pa.Table]:
    """Have ``job.settings.processes`` processes do the job, which `accelerate launch` starts; see `rlhf.align.align`.

    Raises InputError: more processes than GPUs, or an accelerate config that cannot be used; UnitError: what the
    alignment raises, or a process that ended for another reason.
    """
    check_launch(job.settings)
    import torch

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
            raise _cause(folder, running.returncode, failure_line(written))
    return result


def check_launch(settings: AlignSettings) -> None:
    """Raise InputError where the processes that are asked for cannot be started."""
    import torch

    gpus = torch.cuda.device_count()
    if settings.placement.device == "cuda" and settings.processes > gpus:
        raise InputError(
            f"processes = {settings.processes}: torch sees {gpus} CUDA devices here, and each process needs one. "
            f"Set it to {max(1, gpus)} or less, or device = 'cpu'."
        )
    if check_config(settings) in SHARDING:
        from apportion.rlhf.policy.sharding import check_sharding

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
    return {**variables, "DS_ACCELERATOR": "cpu"} if shared.job.settings.placement.device == "cpu" else variables


def _pass_on(running: subprocess.Popen[str], progress: Progress, watch: Sequence[Watcher]) -> None:
    assert running.stdout is not None
    for line in running.stdout:
        if not line.startswith(MESSAGE_PREFIX):
            continue
        message = json.loads(line.removeprefix(MESSAGE_PREFIX))
        if "progress" in message:
            progress(*message["progress"])
        else:
            for watcher in watch:
                watcher(message["step"], message["metrics"])
    running.wait()


def failure_line(written: str) -> str:
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
