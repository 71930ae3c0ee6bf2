"""Low-rank adapters (LoRA, Hu et al., 2021) on the network that reads.

Policies get theirs by `apportion.rlhf.policy.lora`, which looks for linear layers by the same function, and more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from apportion.foundation.errors import InputError

if TYPE_CHECKING:
    from torch import nn


def linear_layers(model: nn.Module) -> set[str]:
    """The names, each without its module's, that ``model`` gives its linear layers."""
    return {name.rpartition(".")[2] for name, layer in model.named_modules() if isinstance(layer, torch.nn.Linear)}


def check_adaptable(model: nn.Module) -> None:
    """Raise InputError where ``model`` has no layer to put an adapter on."""
    if not linear_layers(model):
        raise InputError(
            f"train_reward.lora_rank: a {type(model).__name__} has no linear layers (torch.nn.Linear) to put adapters "
            "on. Set it to 0, or name another backbone (a LLaMA, Qwen, BERT or BART)."
        )


def attach_adapters(model: nn.Module, rank: int) -> None:
    """Freeze ``model`` and put adapters on all its linear layers, which change nothing yet; equal ranks, equal bits.

    Their output is scaled by alpha / rank = 2, as that of the policies' adapters is.

    Raises InputError: it has no linear layers.
    """
    from peft import LoraConfig, inject_adapter_in_model

    check_adaptable(model)
    model.requires_grad_(False)
    config = LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=sorted(linear_layers(model)))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        inject_adapter_in_model(config, model)
