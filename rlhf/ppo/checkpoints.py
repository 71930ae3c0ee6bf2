"""Checkpoints of a PPO training in progress, from which it goes on to the same numbers."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from peft import set_peft_model_state_dict
from safetensors.torch import load_file, save_file

from rlhf.policy.writing import write_adapter
from rlhf.ppo.kl_control import KLControl
from rlhf.training.checkpoint_folders import STATE, StepFolders
from rlhf.training.metrics import History
from rlhf.training.score_norm import ScoreNorm

if TYPE_CHECKING:
    from rlhf.ppo.ppo import PPO

TRAINER, VALUES = "trainer.pt", "value_head.safetensors"


class Checkpoints(StepFolders):
    """What PPO goes on from.

    A checkpoint holds the adapters in peft's form (it can be loaded as a policy), the value head, the optimizer with
    its schedule, the state of the random number generators, the place in the data, the moments of the scores, the
    weight of the divergence, the alarms and the metrics so far.
    """

    def save(self, ppo: PPO, history: History, step: int) -> None:
        """Write the checkpoint of ``step`` finished steps and drop those that nobody needs any more.

        Every process of a team has to call it; the first one writes.
        """
        random = ppo.team.collect(_random_state())
        if ppo.team.rank:
            return
        scratch = self.scratch()
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
        state = {
            "order": ppo.order.left,
            "dialogue_order": ppo.dialogue_order.left,
            "score_norm": ppo.score_norm.moments,
            "kl_coefficient": ppo.kl_control.coefficient,
            "alarms": ppo.alarms.state(),
            "history": history.rows,
        }
        self.finish(scratch, step, ppo.alarms.calm, state)

    def restore(self, ppo: PPO, history: History) -> int:
        """Bring ``ppo``, ``history`` and the random number generators to the newest checkpoint; its number of steps.

        Without one, the first is written: that of 0 steps.

        Raises
        ------
        UnitError
            A checkpoint that cannot be read.
        """
        if ppo.team.rank == 0:
            self.clear_scratch()
        folder = ppo.team.agree(self.newest())
        if folder is None:
            self.save(ppo, history, 0)
            return 0
        return self.read(folder, lambda folder: self._load(folder, ppo, history))

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
