"""Policies on disk, as `apportion run --only align` and others leave them."""

from pathlib import Path

import torch

from apportion.rlhf.policy.folder import write_policy, write_window
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import attach_adapter
from tests.rlhf.toy import SMALL, small_policy


def save_model(folder: Path, seed: int = 0) -> Path:
    """A whole small model with its tokenizer."""
    policy = small_policy(seed)
    policy.model.save_pretrained(folder)
    policy.tokenizer.save_pretrained(folder)
    return folder


def save_aligned(folder: Path, seed: int = 0) -> Path:
    """Adapters that change something, on a base beside them: what aligning `tiny` writes."""
    small = small_policy(seed)
    policy = Policy("tiny", small.model, small.tokenizer, small.eos_ids, small.pad_id)
    model = attach_adapter(policy.model, SMALL.lora)
    torch.manual_seed(seed)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=2.0)
    write_policy(folder, policy, model, "a card")
    write_window(folder, SMALL.window)
    return folder
