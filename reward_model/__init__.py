"""r_theta: backbones, heads, scoring a dialogue, and the one training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foundation.lazy import lazy_names

if TYPE_CHECKING:
    from reward_model.model import RewardModel

__all__ = ["RewardModel"]

__getattr__ = lazy_names(__name__, {"RewardModel": "reward_model.model"})
