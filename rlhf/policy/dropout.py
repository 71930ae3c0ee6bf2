"""A policy's own dropout, which is off: what it says with dropout is said by another policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn


def without_dropout(model: nn.Module) -> None:
    """Set every dropout of ``model`` to 0, in training as well.

    Not by leaving it in evaluation: gradient checkpointing works in training alone. Rates lie in torch's own layers, in
    numbers that layers give to functions (OPT's ``dropout`` and ``layerdrop``, LLaMA's ``attention_dropout``), and in
    the configuration, which some layers read when they are called.
    """
    from torch.nn.modules.dropout import _DropoutNd

    for module in model.modules():
        if isinstance(module, _DropoutNd):
            module.p = 0.0
        _zero_rates(module)
    if (config := getattr(model, "config", None)) is not None:
        _zero_config(config)


def _zero_config(config: Any) -> None:
    from transformers import PretrainedConfig

    _zero_rates(config)
    for value in vars(config).values():
        if isinstance(value, PretrainedConfig):
            _zero_config(value)


def _zero_rates(holder: Any) -> None:
    for name, value in list(vars(holder).items()):
        if "drop" in name and isinstance(value, float):
            setattr(holder, name, 0.0)
