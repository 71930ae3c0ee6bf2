"""Low-rank adapters on a policy (LoRA, Hu et al., 2021).

What computes is imported where it is needed: the check before a run asks for names alone, and takes no seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from apportion.foundation.errors import InputError
from apportion.rlhf.policy_settings import LoraSettings

if TYPE_CHECKING:
    from peft import LoraConfig, PeftModel
    from torch import nn


def attach_adapter(model: Any, settings: LoraSettings) -> PeftModel:
    """Freeze ``model`` and put adapters on it that change nothing yet."""
    from peft import get_peft_model

    adapted: PeftModel = get_peft_model(model, adapter_config(model, settings))
    return adapted


def adapter_config(model: Any, settings: LoraSettings) -> LoraConfig:
    """The adapters that ``settings`` asks for, in peft's words."""
    from peft import LoraConfig

    check_layers(adaptable_layers(model), settings)
    return LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets),
        fan_in_fan_out=not _transposed_layers(model).isdisjoint(settings.targets),
        bias="none",
        task_type="CAUSAL_LM",
    )


def adaptable_layers(model: nn.Module) -> set[str]:
    """The names, each without its module's, of the layers of ``model`` that take an adapter: linear ones."""
    from apportion.reward_model.network.lora import linear_layers

    return linear_layers(model) | _transposed_layers(model)


def _transposed_layers(model: nn.Module) -> set[str]:
    """GPT-2's linear layers, whose weights lie the other way round."""
    from transformers.pytorch_utils import Conv1D

    return {name.rpartition(".")[2] for name, layer in model.named_modules() if isinstance(layer, Conv1D)}


def check_layers(layers: Iterable[str], settings: LoraSettings) -> None:
    """Raise InputError where adapters are asked for on a layer that is not among the names of ``layers``."""
    known = sorted(layers)
    missing = [name for name in settings.targets if name not in known]
    if missing:
        raise InputError(
            f"lora.targets: the policy has no linear layer {', '.join(map(repr, missing))}. It has: {', '.join(known)}."
        )


def trained_weights(model: nn.Module) -> int:
    """How many weights the optimizer moves."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
