"""What a saved reward model says of itself (its config.json)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from apportion.foundation.settings import Settings
from apportion.reward_model.settings import RewardModelSettings, Scoring


class RewardModelConfig(Settings, allow_inf_nan=False):
    """Everything that makes a reward model but its weights.

    r_theta(s_t, a_t) = ``reward_mean`` + ``reward_scale`` * head(backbone(s_t, a_t)), in units of reward; a session's
    predicted score is the sum of r_theta over its target turns, plus ``score_offset``.
    """

    model_type: Literal["apportion-reward-model"] = "apportion-reward-model"
    backbone: str = Field(min_length=1)
    freeze_backbone: bool
    """A frozen backbone is named, not copied."""
    scoring: Scoring = "windowed"
    history_turns: int = Field(ge=0)
    max_tokens: int = Field(ge=8)
    width: int = Field(ge=1)
    """d, the numbers in an embedding."""
    head_hidden_size: int = Field(ge=1)
    dropout: float = Field(ge=0, lt=1)
    reward_mean: float = 0.0
    reward_scale: float = Field(1.0, gt=0)
    score_offset: float = 0.0

    @classmethod
    def of(
        cls, settings: RewardModelSettings, width: int, mean: float = 0.0, scale: float = 1.0, score_offset: float = 0.0
    ) -> RewardModelConfig:
        """The configuration of a new model."""
        return cls(
            backbone=settings.backbone,
            freeze_backbone=settings.freeze_backbone,
            scoring=settings.scoring,
            history_turns=settings.history_turns,
            max_tokens=settings.max_tokens,
            width=width,
            head_hidden_size=settings.head_hidden_size,
            dropout=settings.dropout,
            reward_mean=mean,
            reward_scale=scale,
            score_offset=score_offset,
        )
