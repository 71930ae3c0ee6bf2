"""A policy's frozen weights dealt out to several processes, so that no GPU has to hold all of them."""

from __future__ import annotations

import os
from typing import Any, Literal

from accelerate.utils import parse_flag_from_env
from peft import PeftModel
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parallel import DistributedDataParallel

from foundation.errors import InputError
from foundation.processes import Team
from rlhf.policy.lora import attach_adapter
from rlhf.policy.zero import deal_out, is_dealt_out
from rlhf.settings import AlignSettings

Dealer = Literal["fsdp", "deepspeed"]
FLAGS: dict[Dealer, tuple[str, str]] = {
    "fsdp": ("ACCELERATE_USE_FSDP", "APPORTION_USE_FSDP"),
    "deepspeed": ("ACCELERATE_USE_DEEPSPEED", "APPORTION_USE_DEEPSPEED"),
}
"""In the environment: what tells accelerate and transformers to deal weights out, and what tells us instead."""


def take_over() -> None:
    """Keep accelerate and transformers from dealing weights out in this process, and remember what is asked for.

    Else TRL's trainers would deal out adapters too, and their checkpoints would be no longer those of one process; and
    with DeepSpeed every model that is loaded would be dealt out, the reward model too, which nobody brings together.
    """
    for theirs, ours in FLAGS.values():
        if parse_flag_from_env(theirs):
            os.environ[theirs], os.environ[ours] = "false", "true"


def sharding_asked(team: Team) -> Dealer | None:
    """What the accelerate config of this team's launch deals weights out by, if by anything (`take_over` was here)."""
    asked = [dealer for dealer, (_, ours) in FLAGS.items() if parse_flag_from_env(ours)]
    return asked[0] if asked and team.size > 1 else None


def attach_to_dealt_out(model: Any, settings: AlignSettings, team: Team, by: Dealer) -> PeftModel:
    """Put adapters on ``model`` and deal its frozen weights out to all processes.

    A layer's weights are brought together while it computes. The adapters stay whole in every process, because all of
    them learn them from the same summed gradients; their checkpoints are those of one process.

    Raises
    ------
    InputError
        Settings with which the processes would not read the model equally often, or a DeepSpeed config that does not
        deal out weights.
    """
    check_sharding(settings, team)
    if by == "deepspeed":
        # Before there are adapters: DeepSpeed deals out all that is there.
        deal_out(model)
        return attach_adapter(model, settings.lora)
    adapted = attach_adapter(model, settings.lora)
    _deal_out_fsdp(adapted, settings, team)
    return adapted


def deal_out_for_trainer(model: PeftModel, settings: AlignSettings, team: Team) -> None:
    """Deal the frozen weights of a model with adapters out (FSDP2) that one of TRL's trainers is to train by DDP.

    Raises
    ------
    InputError
        Settings with which the processes would not read the model equally often.
    """
    check_sharding(settings, team)
    _deal_out_fsdp(model, settings, team)
    base: Any = model.get_base_model()
    # In transformers' words: sampling goes on in every process until the last one's replies have ended.
    base._is_fsdp_managed_module = True
    frozen = [name for name, weight in model.named_parameters() if not weight.requires_grad]
    # DDP would send all of them from the first process to the others.
    ignore: Any = DistributedDataParallel._set_params_and_buffers_to_ignore_for_model
    ignore(model, frozen)


def _deal_out_fsdp(model: PeftModel, settings: AlignSettings, team: Team) -> None:
    base: Any = model.get_base_model()
    trained = {weight for weight in model.parameters() if weight.requires_grad}
    mesh = init_device_mesh(settings.device, (team.size,))
    layers = set(base._no_split_modules or ())
    for module in list(base.modules()):
        if type(module).__name__ in layers:
            fully_shard(module, mesh=mesh, ignored_params=trained)
    fully_shard(base, mesh=mesh, ignored_params=trained)


def check_sharding(settings: AlignSettings, team: Team) -> None:
    """Raise InputError for settings with which one process would wait for another for ever."""
    if settings.policy == "tiny":
        raise InputError("align.accelerate: 'tiny' is too small to be dealt out. Set accelerate = 'data_parallel'.")
    if settings.reply_turns > 1:
        raise InputError(
            "align.reply_turns: responses of several turns end at different times, which processes that share weights "
            "cannot wait for. Set accelerate = 'data_parallel', or reply_turns = 1."
        )
    uneven = settings.batch % settings.minibatch or settings.minibatch % team.size
    # The settings see to it for the others, whose processes take equal parts in any case.
    if settings.algorithm == "ppo" and uneven:
        raise InputError(
            f"align.minibatch = {settings.minibatch}: with weights that are dealt out it has to divide batch "
            f"({settings.batch}) and be a multiple of the {team.size} processes."
        )


def is_sharded(model: nn.Module) -> bool:
    """Whether every process has to take part in each pass of ``model``."""
    return any(isinstance(module, FSDPModule) for module in model.modules()) or any(
        is_dealt_out(weight) for weight in model.parameters()
    )
