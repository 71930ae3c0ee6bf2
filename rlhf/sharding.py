"""A policy's frozen weights dealt out to several processes, so that no GPU has to hold all of them."""

from __future__ import annotations

from typing import Any

from peft import PeftModel
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard

from corpus.errors import InputError
from reward_model.team import Team
from rlhf.settings import AlignSettings


def sharding_asked(team: Team) -> bool:
    """Whether the accelerate config of this team's launch asks for FSDP.

    Raises
    ------
    InputError
        It asks for DeepSpeed, which this loop does not drive.
    """
    from accelerate.utils import parse_flag_from_env

    if team.size > 1 and parse_flag_from_env("ACCELERATE_USE_DEEPSPEED"):
        raise InputError(
            "align.accelerate: a DeepSpeed config, but PPO deals weights out through FSDP alone. Set it to 'fsdp'."
        )
    return team.size > 1 and bool(parse_flag_from_env("ACCELERATE_USE_FSDP"))


def shard_frozen(model: PeftModel, settings: AlignSettings, team: Team) -> None:
    """Deal the frozen weights of each layer out to all processes (FSDP2); adapters stay whole in each.

    A layer's weights are brought together while it computes. The adapters are left out because every process learns
    them from the same summed gradients; their checkpoints are those of one process.

    Raises
    ------
    InputError
        Settings with which the processes would not read the model equally often.
    """
    check_sharding(settings, team)
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
            "align.reply_turns: responses of several turns end at different times, which FSDP cannot wait for. Set "
            "accelerate = 'data_parallel', or reply_turns = 1."
        )
    if settings.batch % settings.minibatch or settings.minibatch % team.size:
        raise InputError(
            f"align.minibatch = {settings.minibatch}: with FSDP it has to divide batch ({settings.batch}) and be a "
            f"multiple of the {team.size} processes."
        )


def is_sharded(model: nn.Module) -> bool:
    """Whether every process has to take part in each pass of ``model``."""
    return any(isinstance(module, FSDPModule) for module in model.modules())
