"""One training by several processes on this machine, a GPU each where they compute on GPUs."""

from __future__ import annotations

import json
import socket
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from apportion.foundation.distributed import Processes
from apportion.foundation.errors import ApportionError, InputError, UnitError
from apportion.foundation.files import write_atomically
from apportion.foundation.progress import Progress
from apportion.reward_model.learning.loop import EpochRow, Training, trained_weights, training_loop

WEIGHTS, HISTORY, FAILURE = "weights.safetensors", "history.json", "failure.json"
ERRORS: dict[str, type[ApportionError]] = {"UnitError": UnitError, "InputError": InputError}


def train_together(training: Training, progress: Progress, state: Path | None) -> tuple[EpochRow, ...]:
    """`apportion.reward_model.learning.training.train` by ``settings.processes`` processes.

    Raises
    ------
    InputError
        More processes than GPUs.
    UnitError
        What the training raises, or a process that was killed.
    """
    from accelerate.utils import PrepareForLaunch, patch_environment
    from torch.multiprocessing import get_context
    from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException, start_processes

    model, settings = training.model, training.settings
    gpus = torch.cuda.device_count()
    if settings.device == "cuda" and settings.processes > gpus:
        raise InputError(
            f"train_reward.processes = {settings.processes}: torch sees {gpus} CUDA devices here, and each process "
            f"needs one. Set it to {max(1, gpus)} or less, or device = 'cpu'."
        )
    model.cpu()
    kind = "MULTI_GPU" if settings.device == "cuda" else "MULTI_CPU"
    steps = get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as name:
        work = (training, state, Path(name), torch.get_num_threads(), steps)
        with patch_environment(world_size=settings.processes, master_addr="127.0.0.1", master_port=_free_port()):
            running: Any = start_processes(  # type: ignore[no-untyped-call]
                PrepareForLaunch(_work, distributed_type=kind),
                args=work,
                nprocs=settings.processes,
                join=False,
                start_method="spawn",
            )
        try:
            while not running.join(timeout=0.2):
                _pass_on(steps, progress)
            _pass_on(steps, progress)
        except (ProcessRaisedException, ProcessExitedException) as error:
            # Once the first process has written the end, all have done their part: what ends later takes nothing away.
            if not (Path(name) / HISTORY).is_file():
                raise _cause(Path(name), error) from None
        finally:
            for process in running.processes:
                process.kill()
        model.load_state_dict(load_file(Path(name) / WEIGHTS), strict=False)
        history = tuple(EpochRow(*row) for row in json.loads((Path(name) / HISTORY).read_text()))
    if model.trained_backbone is not None:
        model.trained_backbone.to(settings.device)
    model.eval()
    return history


def _work(training: Training, state: Path | None, out: Path, threads: int, steps: Any) -> None:
    """What each process does; the first one tells how far it is and writes the result."""
    from accelerate import Accelerator

    torch.set_num_threads(threads)
    model = training.model
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()  # What is sent to a process lies in memory that all of them share.
    accelerator = Accelerator(cpu=training.settings.device == "cpu")
    first = accelerator.is_main_process
    try:
        if model.trained_backbone is not None:
            model.trained_backbone.to(accelerator.device)
        progress: Progress = (lambda *step: steps.put(step)) if first else (lambda *step: None)
        history = training_loop(training, progress, state, Processes(accelerator))
    except ApportionError as error:
        (out / FAILURE).write_text(json.dumps([type(error).__name__, str(error)]))
        raise
    if first:
        weights = {name: value.detach().cpu().contiguous() for name, value in trained_weights(model).items()}
        save_file(weights, out / WEIGHTS)
        rows = json.dumps([[row.epoch, row.train_loss, row.validation_loss] for row in history])
        write_atomically(out / HISTORY, rows)
    accelerator.wait_for_everyone()
    torch.distributed.destroy_process_group()


def _pass_on(steps: Any, progress: Progress) -> None:
    while not steps.empty():
        progress(*steps.get())


def _cause(folder: Path, error: Exception) -> ApportionError:
    if (folder / FAILURE).is_file():
        kind, text = json.loads((folder / FAILURE).read_text())
        return ERRORS.get(kind, UnitError)(text)
    last = str(error).strip().splitlines()[-1]
    return UnitError(
        f"train_reward.processes: one of the training processes ended ({last}). Where memory ran out, lower "
        "train_reward.batch_size or processes; run the command again to go on from the last epoch."
    )


def _free_port() -> str:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return str(listening.getsockname()[1])
