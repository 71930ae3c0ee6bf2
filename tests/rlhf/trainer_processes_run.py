"""Run by two processes in test_trainer_processes.py: TRL's trainers on data that is the same however many share it."""

import os
import sys
from pathlib import Path
from unittest.mock import patch

import torch
from accelerate import Accelerator
from safetensors.torch import save_file

from apportion.foundation.distributed import Processes
from apportion.rlhf.policy.sharding import claim_accelerate_flags, is_sharded, sharding_asked
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.sampling import multi_turn as dialogue
from apportion.rlhf.sampling.partner import RecordedPartner
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.trainers import grpo_rloo as group_training
from apportion.rlhf.trainers import running as trainer_run
from apportion.rlhf.trainers.running import StepCallback
from apportion.rlhf.trainers.supervised import train_supervised
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training.rng_state import seeded_rng
from apportion.rlhf.training_data import TrainingData
from tests.rlhf.processes_run import by_sum, recited
from tests.rlhf.toy import SMALL, chats, contexts, no_history, small_policy, train

SETTINGS = SMALL.model_copy(
    update={
        "policy": "small",
        "steps": 3,
        "lr": 5e-3,
        "lora": LoraSettings(r=4, alpha=8, dropout=0.0),
        "beta": 0.2,
    }
)
WAYS = {
    # 12 replies: each process has one group, and half of the one that lies across both.
    "grpo": SETTINGS.model_copy(
        update={
            "algorithm": "grpo",
            "num_generations": 4,
            "batch_size": 12,
            "mini_batch_size": 12,
            "micro_batch_size": 2,
            "ppo_epochs": 2,
        }
    ),
    "grpo, several turns": SETTINGS.model_copy(
        update={
            "algorithm": "grpo",
            "num_generations": 4,
            "batch_size": 12,
            "mini_batch_size": 12,
            "max_turns": 2,
            "max_context_tokens": 90,
        }
    ),
    "rloo": SETTINGS.model_copy(
        update={"algorithm": "rloo", "num_generations": 4, "batch_size": 12, "mini_batch_size": 12}
    ),
    "raft": SETTINGS.model_copy(
        update={
            "algorithm": "raft",
            "num_generations": 3,
            "batch_size": 12,
            "mini_batch_size": 12,
            "micro_batch_size": 3,
        }
    ),
    "sft": SETTINGS.model_copy(
        update={"algorithm": "sft", "batch_size": 12, "mini_batch_size": 12, "micro_batch_size": 3}
    ),
}


def shared_by(settings: AlignSettings, processes: int) -> AlignSettings:
    """Checked as those that a person has written."""
    return AlignSettings.model_validate({**settings.model_dump(), "processes": processes})


def recite(trainer, prompts, *others):
    """Replies that the prompts and their places among all processes' prompts tell, rather than sampled ones."""
    first = trainer.accelerator.process_index * len(prompts)
    said = []
    for place, prompt in enumerate(prompts, start=first):
        told = sum(prompt) + 7 * place + trainer.state.global_step
        said.append([5 + told * (i + 3) % 200 for i in range(1 + told % 5)])
    return said


def recite_turns(policy, model, chosen, **others):
    """The same for responses of several turns: what was said in the first turn tells the second."""
    first = int(os.environ.get("RANK", 0)) * len(chosen)
    opening = {context.prompt for context in contexts(policy)}
    places = [first + row if context.prompt in opening else 0 for row, context in enumerate(chosen)]
    told = [sum(context.prompt) + 7 * place for place, context in zip(places, chosen, strict=True)]
    return recited(chosen, [[5 + words * (i + 3) % 200 for i in range(1 + words % 4)] for words in told])


class Weighing(StepCallback):
    """Notes the gradient's norm too: Adam would hide a wrong scale."""

    def on_log(self, args, state, control, logs=None, **others):
        if logs and "grad_norm" in logs:
            self.run.metrics.add(state.global_step, {"gradient": logs["grad_norm"]})
        super().on_log(args, state, control, logs=logs, **others)


def run(way: str, processes: Processes, checkpoints: Path | None = None) -> tuple[dict[str, torch.Tensor], Metrics]:
    """The trained weights, and what was measured."""
    told = Run(shared_by(WAYS[way], processes.size), 0, checkpoints=checkpoints, processes=processes)
    policy = small_policy()
    with (
        seeded_rng(0),
        patch.object(group_training._GRPO, "_generate_single_turn", lambda *asked: (recite(*asked), None)),
        patch.object(group_training._RLOO, "_generate_single_turn", recite),
        patch.object(dialogue, "sample_replies", recite_turns),
        patch.object(trainer_run, "StepCallback", Weighing),
    ):
        if way == "sft":
            model = train_supervised(TrainingData(policy, contexts(policy), by_numbers, None, chats(4)), told)
        else:
            partner = RecordedPartner(chats(4), no_history) if told.settings.max_turns > 1 else None
            model = train(TrainingData(policy, contexts(policy), by_numbers, partner), told)
    assert is_sharded(model) == bool(sharding_asked(processes))
    named = model.named_parameters()
    weights = {name: weight.detach().clone().contiguous() for name, weight in named if weight.requires_grad}
    return weights, told.metrics


def by_numbers(contexts, histories, replies):
    return by_sum(contexts, histories, [" ".join(str(ord(letter)) for letter in reply) or "0" for reply in replies])


if __name__ == "__main__":
    out = Path(sys.argv[1])
    claim_accelerate_flags()
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    processes = Processes(accelerator)
    for way in sys.argv[2:]:
        weights, history = run(way, processes, out / way)
        save_file(weights, out / f"{way}{processes.rank}.safetensors")
        (out / f"{way}{processes.rank}.txt").write_text(repr(history.rows))
    accelerator.wait_for_everyone()
    torch.distributed.destroy_process_group()
    os._exit(0)
