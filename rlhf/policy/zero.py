"""A policy's frozen weights sharded over several processes by DeepSpeed's ZeRO, stage 3 (Rajbhandari et al., 2020)."""

from __future__ import annotations

from typing import Any

import torch

from apportion.foundation.errors import InputError


def zero_config() -> dict[str, Any]:
    """What DeepSpeed is told: ``zero_optimization`` of the accelerate config, or of the DeepSpeed file that it names.

    Optimizer, schedule, precision and batch sizes are not DeepSpeed's here, so what it says of them is not read.

    Raises
    ------
    InputError
        A DeepSpeed file that cannot be read, or a stage of ZeRO that shards no weights.
    """
    from accelerate.utils import DeepSpeedPlugin

    try:
        plugin = DeepSpeedPlugin()
    except Exception as error:  # A file of the user's, read by two libraries.
        raise InputError(
            f"accelerate: its DeepSpeed config cannot be read: {' '.join(str(error).split())[:300]}"
        ) from error
    zero = plugin.deepspeed_config["zero_optimization"]
    check_stage(zero["stage"])
    given = {key: value for key, value in zero.items() if value != "auto" and key != "offload_optimizer"}
    return {"train_micro_batch_size_per_gpu": 1, "zero_optimization": given}


def check_stage(stage: object) -> None:
    """Raise InputError where a stage of ZeRO leaves weights whole that are not trained."""
    if str(stage) != "3":
        raise InputError(
            f"accelerate: zero_stage = {stage}, but only stage 3 deals out weights that are not trained. "
            "Set zero_stage to 3, or accelerate = 'data_parallel' to leave them whole."
        )


def shard(model: Any) -> None:
    """Shard the weights of ``model`` over all processes; each layer's are brought together while it computes.

    Adapters that are attached afterwards stay whole in each process, and their optimizer and checkpoints remain those
    of one process.

    Raises
    ------
    InputError
        See `zero_config`.
    """
    import deepspeed

    model.requires_grad_(False)
    precision = {"bf16": {"enabled": True}} if model.dtype == torch.bfloat16 else {}
    # The engine that comes back trains; what is wanted are the hooks that it has put on the model's layers.
    deepspeed.initialize(model=model, config={**zero_config(), **precision})


def is_sharded_weight(weight: torch.Tensor) -> bool:
    """Whether `shard` has sharded ``weight``."""
    return hasattr(weight, "ds_id")
