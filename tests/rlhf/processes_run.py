"""Run by two processes in test_parent.py: PPO on replies that are the same however many processes share them."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from accelerate import Accelerator
from safetensors.torch import save_file

from apportion.foundation.distributed import Processes
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.ppo.ppo import PPO, Checkpoints
from apportion.rlhf.sampling.rollout import Rollout
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.metrics import Metrics
from tests.rlhf.toy import SMALL, contexts, quiet, small_policy

SETTINGS = SMALL.model_copy(
    update={
        "steps": 3,
        "batch_size": 7,
        "mini_batch_size": 5,
        "micro_batch_size": 2,
        "lr": 5e-3,
        "lora": LoraSettings(r=4, alpha=8, dropout=0.5),
        "pretrain_coefficient": 0.1,
        "pretrain_batch_size": 3,
        "target_kl": 1e3,
    }
)


def recited(chosen: Sequence[DialogueContext], replies: Sequence[list[int]]) -> Rollout:
    """Given replies, as if they had been sampled; their texts are their tokens' numbers."""
    prompts = [list(context.prompt) for context in chosen]
    left, right = max(map(len, prompts)), max(map(len, replies))
    rows = [[0] * (left - len(p)) + p + r + [0] * (right - len(r)) for p, r in zip(prompts, replies, strict=True)]
    read = [
        [0] * (left - len(p)) + [1] * (len(p) + len(r)) + [0] * (right - len(r))
        for p, r in zip(prompts, replies, strict=True)
    ]
    mask = torch.tensor([[i < len(r) for i in range(right)] for r in replies])
    texts = tuple(" ".join(map(str, reply)) for reply in replies)
    return Rollout(torch.tensor(rows), torch.tensor(read), mask, texts, tuple(context.history for context in chosen))


class Recited(PPO):
    """Says to each context what its words and the step tell, rather than what it samples."""

    def _sample(self, chosen):
        told = [sum(context.prompt) for context in chosen]
        return recited(chosen, [[5 + (words * (i + 3)) % 200 for i in range(1 + words % 4)] for words in told])


def by_sum(contexts, histories, replies):
    return [float(sum(map(int, reply.split())) % 17) for reply in replies]


def run(processes: Processes, checkpoints: Path | None, settings=SETTINGS) -> tuple[PPO, Metrics]:
    policy = small_policy()
    torch.manual_seed(0)
    model = attach_adapter(policy.model, settings.lora)
    said = [torch.tensor(context.prompt) for context in contexts(policy)]
    ppo = Recited(policy, model, contexts(policy), by_sum, settings, dialogues=said, processes=processes)
    torch.manual_seed(7 + processes.rank)
    history = Metrics()
    saved = Checkpoints(checkpoints, policy, model, processes) if checkpoints else None
    ppo.run(Run(settings, 0, history, quiet), saved)
    return ppo, history


def trained(ppo: PPO) -> dict[str, torch.Tensor]:
    named = ppo.actor.named_parameters()
    return {name: weight.detach().clone().contiguous() for name, weight in named if weight.requires_grad}


if __name__ == "__main__":
    out = Path(sys.argv[1])
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    processes = Processes(accelerator)
    ppo, history = run(processes, out / "checkpoints")
    save_file(trained(ppo), out / f"rank{processes.rank}.safetensors")
    if processes.rank == 0:
        (out / "history.txt").write_text(repr(history.rows))
    accelerator.wait_for_everyone()
    torch.distributed.destroy_process_group()
    os._exit(0)
