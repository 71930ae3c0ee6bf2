"""What of a reward model can be known to fail before anything is measured, asked or paid."""

from __future__ import annotations

from apportion.foundation.errors import InputError
from apportion.reward_model.settings import MINILM, RewardModelSettings


def check_backbone(settings: RewardModelSettings) -> None:
    """Raise InputError where the backbone cannot be had, without its weights: what training would end with, at once.

    Of the bundled backbone nothing need be looked at, nor torch imported, which takes seconds.

    Raises InputError: a device that is not there; a model that is not, without network or safetensors, or that does not
    suit, as `load_backbone` finds it (that it is causal for ``scoring = "one_pass"`` is looked at with the weights).
    """
    check_device(settings.device)
    if settings.backbone != MINILM:
        from apportion.reward_model.network.backbones import check_loadable

        check_loadable(settings.backbone, settings.max_tokens, bool(settings.lora_rank))


def check_device(device: str) -> None:
    """Raise InputError where the device that is asked for is not there."""
    if device != "cuda":
        return
    import torch

    if not torch.cuda.is_available():
        raise InputError(
            "train_reward.device = 'cuda': torch sees no CUDA device here. Set device = 'cpu' or use a GPU machine."
        )
