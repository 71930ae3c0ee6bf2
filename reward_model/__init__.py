"""r_theta: backbones, heads, scoring a dialogue, and the one training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reward_model.model import RewardModel

__all__ = ["RewardModel"]


def __getattr__(name: str) -> object:
    """`RewardModel` on first use: torch takes seconds to import, and most commands need none."""
    if name == "RewardModel":
        from reward_model.model import RewardModel

        return RewardModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
