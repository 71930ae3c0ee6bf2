"""Checkpoints of a PPO training in progress, from which it goes on to the same numbers."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel, set_peft_model_state_dict
from safetensors.torch import load_file, save_file
from torch import Tensor

from apportion.foundation.distributed import Processes
from apportion.rlhf.policy.folder import write_adapter
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.training.checkpoint_folders import StepFolders
from apportion.rlhf.training.metrics import STATE, Metrics

TRAINER, VALUES = "trainer.pt", "value_head.safetensors"


@dataclass(frozen=True)
class PPOState:
    """What PPO goes on from: weights of the value head, torch's states of optimizer and schedule, plain JSON values."""

    value_head: dict[str, Tensor]
    optimizer: dict[str, Any]
    schedule: dict[str, Any]
    plain: dict[str, Any]


class Checkpoints(StepFolders):
    """Folders of a training's states.

    A checkpoint holds the adapters in peft's form (it can be loaded as a policy), the value head, the optimizer with
    its schedule, the state of the random number generators, the plain values of the state and the metrics so far.

    ``root``: made when the first checkpoint is written. ``processes``: those that share the training; each has random
    number generators of its own.
    """

    def __init__(self, root: Path, policy: Policy, model: PeftModel, processes: Processes) -> None:
        super().__init__(root)
        self._policy = policy
        self._model = model
        self._processes = processes

    def save(self, step: int, state: PPOState, metrics: Metrics, calm: bool) -> None:
        """Write the checkpoint of ``step`` finished steps and drop those that nobody needs any more.

        Every process has to call it; the first one writes. ``calm``: no alarm's limit was passed in the step.
        """
        random = self._processes.gather_objects(_random_state())
        if self._processes.rank:
            return
        scratch = self.scratch()
        write_adapter(scratch, self._policy, self._model)
        save_file({name: weight.contiguous() for name, weight in state.value_head.items()}, scratch / VALUES)
        trainer = {"optimizer": state.optimizer, "schedule": state.schedule, "random": random}
        buffer = io.BytesIO()
        torch.save(trainer, buffer)
        (scratch / TRAINER).write_bytes(buffer.getvalue())
        self.finish(scratch, step, calm, {**state.plain, "history": metrics.rows})

    def restore(self, load_state: Callable[[PPOState], None], metrics: Metrics) -> int | None:
        """Bring the model, ``metrics`` and the random number generators to the newest checkpoint; its number of steps.

        ``load_state`` takes up the rest. None where there is no checkpoint.
        """
        if self._processes.rank == 0:
            self.clear_scratch()
        folder = self._processes.broadcast(self.newest())
        if folder is None:
            return None
        return self.read(folder, lambda folder: self._load(folder, load_state, metrics))

    def _load(self, folder: Path, load_state: Callable[[PPOState], None], metrics: Metrics) -> int:
        plain = json.loads((folder / STATE).read_text(encoding="utf-8"))
        trainer = torch.load(folder / TRAINER, weights_only=True, map_location="cpu")
        set_peft_model_state_dict(self._model, load_file(folder / "adapter_model.safetensors"))
        load_state(PPOState(load_file(folder / VALUES), trainer["optimizer"], trainer["schedule"], plain))
        metrics.restore(plain["history"])
        _set_random_state(trainer["random"][self._processes.rank])
        return int(plain["step"])


def _random_state() -> dict[str, Any]:
    """This process' generators."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def _set_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])
