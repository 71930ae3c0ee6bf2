"""Low-rank adapters on a policy (LoRA, Hu et al., 2021)."""

from __future__ import annotations

from typing import Any

from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn

from foundation.errors import InputError
from rlhf.settings import LoraSettings


def attach_adapter(model: Any, settings: LoraSettings) -> PeftModel:
    """Freeze ``model`` and put adapters on it that change nothing yet.

    Raises
    ------
    InputError
        The model has no layer of the names in ``settings.targets``.
    """
    adapted: PeftModel = get_peft_model(model, adapter_config(model, settings))
    return adapted


def adapter_config(model: Any, settings: LoraSettings) -> LoraConfig:
    """The adapters that ``settings`` asks for, in peft's words.

    Raises
    ------
    InputError
        The model has no layer of the names in ``settings.targets``.
    """
    layers = sorted({name.rpartition(".")[2] for name, layer in model.named_modules() if isinstance(layer, nn.Linear)})
    missing = [name for name in settings.targets if name not in layers]
    if missing:
        raise InputError(
            f"lora.targets: the policy has no linear layer {', '.join(map(repr, missing))}. "
            f"It has: {', '.join(layers)}."
        )
    return LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets),
        bias="none",
        task_type="CAUSAL_LM",
    )


def trained_weights(model: nn.Module) -> int:
    """How many weights the optimizer moves."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
