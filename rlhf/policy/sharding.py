"""A policy's frozen weights sharded over several processes, by FSDP2 or by DeepSpeed's ZeRO, stage 3."""

from __future__ import annotations

import os
from typing import Any, Literal

import torch
from accelerate.utils import parse_flag_from_env
from peft import PeftModel
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parallel import DistributedDataParallel

from apportion.foundation.distributed import Processes
from apportion.foundation.errors import InputError
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.settings import AlignSettings


def zero_config() -> dict[str, Any]:
    """What DeepSpeed is told: ``zero_optimization`` of the accelerate config, or of the DeepSpeed file that it names.

    Optimizer, schedule, precision and batch sizes are not DeepSpeed's here, so what it says of them is not read.
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
    """
    import deepspeed

    model.requires_grad_(False)
    precision = {"bf16": {"enabled": True}} if model.dtype == torch.bfloat16 else {}
    # The engine that comes back trains; what is wanted are the hooks that it has put on the model's layers.
    deepspeed.initialize(model=model, config={**zero_config(), **precision})


def is_sharded_weight(weight: torch.Tensor) -> bool:
    """Whether `shard` has sharded ``weight``."""
    return hasattr(weight, "ds_id")


Sharder = Literal["fsdp", "deepspeed"]
FLAGS: dict[Sharder, tuple[str, str]] = {
    "fsdp": ("ACCELERATE_USE_FSDP", "APPORTION_USE_FSDP"),
    "deepspeed": ("ACCELERATE_USE_DEEPSPEED", "APPORTION_USE_DEEPSPEED"),
}
"""In the environment: what tells accelerate and transformers to shard, and what tells us instead."""


def claim_accelerate_flags() -> None:
    """Keep accelerate and transformers from sharding weights in this process, and remember what is asked for.

    Else TRL's trainers would shard adapters too, and their checkpoints would be no longer those of one process; and
    with DeepSpeed every model that is loaded would be sharded, the reward model too, which nobody brings together.
    """
    for theirs, ours in FLAGS.values():
        if parse_flag_from_env(theirs):
            os.environ[theirs], os.environ[ours] = "false", "true"


def sharding_asked(processes: Processes) -> Sharder | None:
    """What the accelerate config of this launch shards by, if by anything; after `claim_accelerate_flags`."""
    asked = [sharder for sharder, (_, ours) in FLAGS.items() if parse_flag_from_env(ours)]
    return asked[0] if asked and processes.size > 1 else None


def attach_sharded(model: Any, settings: AlignSettings, processes: Processes, by: Sharder) -> PeftModel:
    """Put adapters on ``model`` and shard its frozen weights over all processes.

    A layer's weights are brought together while it computes. The adapters stay whole in every process, because all of
    them learn them from the same summed gradients; their checkpoints are those of one process.
    """
    check_sharding(settings, processes.size)
    if by == "deepspeed":
        # Before there are adapters: DeepSpeed shards all that is there.
        shard(model)
        return attach_adapter(model, settings.adapter)
    adapted = attach_adapter(model, settings.adapter)
    _shard_fsdp(adapted, settings, processes)
    return adapted


def shard_for_trainer(model: PeftModel, settings: AlignSettings, processes: Processes) -> None:
    """Shard the frozen weights (FSDP2) of a model with adapters that one of TRL's trainers is to train by DDP."""
    check_sharding(settings, processes.size)
    _shard_fsdp(model, settings, processes)
    base: Any = model.get_base_model()
    # In transformers' words: sampling goes on in every process until the last one's replies have ended.
    base._is_fsdp_managed_module = True
    frozen = [name for name, weight in model.named_parameters() if not weight.requires_grad]
    # DDP would send all of them from the first process to the others.
    ignore: Any = DistributedDataParallel._set_params_and_buffers_to_ignore_for_model
    ignore(model, frozen)


def _shard_fsdp(model: PeftModel, settings: AlignSettings, processes: Processes) -> None:
    base: Any = model.get_base_model()
    trained = {weight for weight in model.parameters() if weight.requires_grad}
    mesh = init_device_mesh(settings.placement.device, (processes.size,))
    layers = set(base._no_split_modules or ())
    for module in list(base.modules()):
        if type(module).__name__ in layers:
            fully_shard(module, mesh=mesh, ignored_params=trained)
    fully_shard(base, mesh=mesh, ignored_params=trained)


def check_sharding(settings: AlignSettings, processes: int) -> None:
    """Raise InputError for settings with which one of so many processes would wait for another for ever."""
    if settings.policy == "tiny":
        raise InputError("accelerate: 'tiny' is too small to be dealt out. Set accelerate = 'data_parallel'.")
    if settings.response_turns > 1:
        raise InputError(
            "max_turns: responses of several turns end at different times, which processes that share weights "
            "cannot wait for. Set accelerate = 'data_parallel', or max_turns = 1 without an environment."
        )
    uneven = settings.batch_size % settings.mini_batch_size or settings.mini_batch_size % processes
    # The settings see to it for the others, whose processes take equal parts in any case.
    if uneven and not settings.trainer.by_trl:
        raise InputError(
            f"mini_batch_size = {settings.mini_batch_size}: with weights that are dealt out it has to divide "
            f"batch_size ({settings.batch_size}) and be a multiple of the {processes} processes."
        )


def is_sharded(model: nn.Module) -> bool:
    """Whether every process has to take part in each pass of ``model``."""
    return any(isinstance(module, FSDPModule) for module in model.modules()) or any(
        is_sharded_weight(weight) for weight in model.parameters()
    )
