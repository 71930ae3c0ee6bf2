"""Run by two processes in test_sharding.py: what a sharded policy holds, says and learns, beside a whole one."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy.sharding import claim_accelerate_flags, is_sharded, shard
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.sampling.rollout import sample_replies
from tests.rlhf.toy import contexts, small_policy

LORA = LoraSettings(r=4, alpha=8, dropout=0.0)


def learned(model: Any, tokens: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    logits = model(input_ids=tokens).logits
    logits.float().logsumexp(dim=-1).mean().backward()
    return logits.detach(), [weight.grad for weight in model.parameters() if weight.requires_grad]


def adapted(policy: Policy) -> Any:
    torch.manual_seed(1)
    model = attach_adapter(policy.model, LORA)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight.normal_(std=0.1)
    return model


def largest_difference(some: list[torch.Tensor], others: list[torch.Tensor]) -> float:
    return max(float((one - other).abs().max()) for one, other in zip(some, others, strict=True))


def main(out: Path) -> None:
    claim_accelerate_flags()
    accelerator = Accelerator(cpu=True)
    rank = accelerator.process_index
    whole, sharded = small_policy(), small_policy()
    count = sum(weight.numel() for weight in whole.model.parameters())
    shard(sharded.model)
    models = {"whole": adapted(whole), "sharded": adapted(sharded)}
    # Replies that end at different times, so that one process has to wait for the other.
    asked = contexts(whole)[rank : rank + 2]
    replies = {}
    for name, policy in (("whole", whole), ("sharded", sharded)):
        torch.manual_seed(rank)
        replies[name] = sample_replies(policy, models[name], asked, max_new_tokens=3 + 9 * rank, temperature=1.0).texts
    tokens = torch.arange(20, 36).view(2, 8)
    (logits, gradients), (logits_whole, gradients_whole) = (
        learned(models[name], tokens) for name in ("sharded", "whole")
    )
    frozen = [weight for weight in models["sharded"].parameters() if not weight.requires_grad]
    told = {
        "all": count,
        "sharded": sum(weight.ds_tensor.numel() for weight in frozen),
        "whole_between_passes": sum(weight.numel() for weight in frozen if not weight.ds_persist),
        "logits": largest_difference([logits], [logits_whole]),
        "gradients": largest_difference(gradients, gradients_whole),
        "largest_gradient": max(float(gradient.abs().max()) for gradient in gradients_whole),
        "replies": replies["sharded"],
        "replies_whole": replies["whole"],
        "is_sharded": is_sharded(models["sharded"]),
    }
    (out / f"rank{rank}.json").write_text(json.dumps(told))
    accelerator.wait_for_everyone()
    torch.distributed.destroy_process_group()
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
