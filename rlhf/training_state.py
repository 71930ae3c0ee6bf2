"""Checkpoints of a training in progress, from which it goes on to the same numbers."""

from __future__ import annotations

import io
import json
import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from peft import set_peft_model_state_dict
from safetensors.torch import load_file, save_file
from torch import nn

from corpus.errors import UnitError
from rlhf.checkpoint import write_adapter
from rlhf.history import History
from rlhf.kl_control import KLControl
from rlhf.score_norm import ScoreNorm

if TYPE_CHECKING:
    from rlhf.ppo import PPO

BASE, STEP = "base", "step-"
STATE, TRAINER, VALUES = "state.json", "trainer.pt", "value_head.safetensors"


class Checkpoints:
    """Folders ``step-000012`` under one root, each written whole or not at all.

    A checkpoint holds the adapters in peft's form (it can be loaded as a policy), the value head, the optimizer with
    its schedule, the state of the random number generators, the place in the data, the moments of the scores, the
    weight of the divergence, the alarms and the metrics so far. Kept are the newest one and the last good one: the
    newest whose policy was seen to pass no alarm's limit.

    Parameters
    ----------
    root : Path
        Made when the first checkpoint is written; nothing else may lie there.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def base(self) -> Path | None:
        """The model of ``tiny`` as it was before the first step, once there is a checkpoint to go on from."""
        return self.root / BASE if (self.root / BASE).is_dir() and self._steps() else None

    def save_base(self, model: nn.Module) -> None:
        """Keep the weights of ``tiny``, whose warm-up then need not be repeated."""
        scratch = self._scratch()
        writer: Any = model
        writer.save_pretrained(str(scratch))
        shutil.rmtree(self.root / BASE, ignore_errors=True)
        self._place(scratch, self.root / BASE)

    def save(self, ppo: PPO, history: History, step: int) -> None:
        """Write the checkpoint of ``step`` finished steps and drop those that nobody needs any more.

        Every process of a team has to call it; the first one writes.
        """
        random = ppo.team.collect(_random_state())
        if ppo.team.rank:
            return
        scratch = self._scratch()
        write_adapter(scratch, ppo.policy, ppo.actor.model)
        save_file({name: weight.contiguous() for name, weight in _values(ppo).items()}, scratch / VALUES)
        trainer = {
            "optimizer": ppo.optimizer.state_dict(),
            "schedule": ppo.schedule.state_dict(),
            "random": random,
        }
        buffer = io.BytesIO()
        torch.save(trainer, buffer)
        (scratch / TRAINER).write_bytes(buffer.getvalue())
        # A step's replies show what the policy was before its updates, so a calm one vouches for the checkpoint before.
        good = max(step - 1, 0) if ppo.alarms.calm else self._good()
        state = {
            "step": step,
            "good": good,
            "order": ppo.order.left,
            "dialogue_order": ppo.dialogue_order.left,
            "score_norm": ppo.score_norm.moments,
            "kl_coefficient": ppo.kl_control.coefficient,
            "alarms": ppo.alarms.state(),
            "history": history.rows,
        }
        (scratch / STATE).write_text(json.dumps(state), encoding="utf-8")
        self._place(scratch, self._folder(step))
        for other in self._steps():
            if other not in (step, good):
                shutil.rmtree(self._folder(other), ignore_errors=True)

    def restore(self, ppo: PPO, history: History) -> int:
        """Bring ``ppo``, ``history`` and the random number generators to the newest checkpoint; its number of steps.

        Without one, the first is written: that of 0 steps.

        Raises
        ------
        UnitError
            A checkpoint that cannot be read.
        """
        if ppo.team.rank == 0:
            self._clear_scratch()
        steps = ppo.team.agree(self._steps())
        if not steps:
            self.save(ppo, history, 0)
            return 0
        folder = self._folder(steps[-1])
        try:
            return self._load(folder, ppo, history)
        except Exception as error:  # Damage shows in many ways: cut JSON, missing files, weights of another shape.
            raise UnitError(
                f"align: the checkpoint {folder} cannot be read ({type(error).__name__}: {str(error)[:200]}). Delete "
                "this folder to go on from an older checkpoint or from the start, then run the same command again."
            ) from error

    def kept(self) -> str | None:
        """A sentence that names the last good checkpoint, None where there is none."""
        good = self._good()
        if good is None:
            return None
        return f"The last good checkpoint, of {good} steps, is kept in {self._folder(good)}."

    def _load(self, folder: Path, ppo: PPO, history: History) -> int:
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
        trainer = torch.load(folder / TRAINER, weights_only=True, map_location="cpu")
        set_peft_model_state_dict(ppo.actor.model, load_file(folder / "adapter_model.safetensors"))
        ppo.actor.value_head.load_state_dict(load_file(folder / VALUES))
        ppo.optimizer.load_state_dict(trainer["optimizer"])
        ppo.schedule.load_state_dict(trainer["schedule"])
        ppo.order.left = [int(index) for index in state["order"]]
        ppo.dialogue_order.left = [int(index) for index in state["dialogue_order"]]
        ppo.score_norm = ScoreNorm(*state["score_norm"])
        ppo.kl_control = KLControl(ppo.settings, float(state["kl_coefficient"]))
        ppo.alarms.start, ppo.alarms.streaks = state["alarms"]["start"], state["alarms"]["streaks"]
        history.restore(state["history"])
        _set_random_state(trainer["random"][ppo.team.rank])
        return int(state["step"])

    def _folder(self, step: int) -> Path:
        return self.root / f"{STEP}{step:06d}"

    def _steps(self) -> list[int]:
        return sorted(int(folder.name.removeprefix(STEP)) for folder in self.root.glob(f"{STEP}*"))

    def _good(self) -> int | None:
        steps = self._steps()
        if not steps:
            return None
        try:
            good = json.loads((self._folder(steps[-1]) / STATE).read_text(encoding="utf-8"))["good"]
        except (OSError, ValueError, KeyError):
            return None
        return int(good) if good in steps else None

    def _scratch(self) -> Path:
        scratch = self.root / f"tmp.{uuid.uuid4().hex}"
        scratch.mkdir(parents=True)
        return scratch

    def _clear_scratch(self) -> None:
        for folder in self.root.glob("tmp.*"):
            shutil.rmtree(folder, ignore_errors=True)

    @staticmethod
    def _place(scratch: Path, folder: Path) -> None:
        """Rename ``scratch`` once all of it is on the disk, so that a kill or a power cut leaves all or nothing."""
        for path in (*scratch.rglob("*"), scratch):
            _sync(path)
        shutil.rmtree(folder, ignore_errors=True)
        scratch.rename(folder)
        _sync(folder.parent)


def _random_state() -> dict[str, Any]:
    """This process' generators."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def _set_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    if state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])


def _values(ppo: PPO) -> dict[str, torch.Tensor]:
    return {name: weight.detach().cpu() for name, weight in ppo.actor.value_head.state_dict().items()}


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
