"""Checkpoints of a training by TRL's trainers, from which it goes on to the same numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import TrainerState
from transformers.trainer_pt_utils import safe_globals

from apportion.rlhf.training.checkpoint_folders import StepFolders
from apportion.rlhf.training.partial_curves import STATE


def tensor_files(processes: int) -> tuple[str, ...]:
    """What a checkpoint of that many processes holds beside adapters and JSON."""
    random = [f"rng_state_{rank}.pth" for rank in range(processes)] if processes > 1 else ["rng_state.pth"]
    return ("optimizer.pt", "scheduler.pt", *random)


class TrainerCheckpoints(StepFolders):
    """What TRL's trainers go on from.

    A checkpoint holds the adapters in peft's form (it can be loaded as a policy), the trainer's own optimizer,
    schedule, random number generators and count of updates, and in ``state.json`` what is ours. Nothing in it is
    unpickled: weights are safetensors, and the trainer reads the rest with ``weights_only=True``. Several processes
    share one; each has its own random number generators in it.

    Parameters
    ----------
    root : Path
        Made when the first checkpoint is written.
    processes : int
        How many share it.
    """

    def __init__(self, root: Path, processes: int = 1) -> None:
        super().__init__(root)
        self._processes = processes

    def open(self) -> tuple[Path, Mapping[str, Any]] | None:
        """The newest checkpoint and what is ours in it, once all of it has been read; None without one.

        Raises
        ------
        UnitError
            A checkpoint that cannot be read.
        """
        folder = self.newest()
        return None if folder is None else (folder, self.read(folder, self._verified))

    def _verified(self, folder: Path) -> Mapping[str, Any]:
        state: Mapping[str, Any] = json.loads((folder / STATE).read_text(encoding="utf-8"))
        load_file(folder / "adapter_model.safetensors")
        TrainerState.load_from_json(str(folder / "trainer_state.json"))
        with safe_globals():  # type: ignore[no-untyped-call]
            for name in tensor_files(self._processes):
                torch.load(folder / name, weights_only=True, map_location="cpu")
        return {"history": state["history"], "alarms": state["alarms"], "own": state["own"]}
