"""When an alignment is stopped because its policy games the reward."""

from __future__ import annotations

from pydantic import Field, field_validator

from apportion.foundation.settings import Settings


class AlarmSettings(Settings):
    """When a run is stopped because the policy games its reward; 0 turns an alarm off."""

    patience: int = Field(default=3, ge=1, description="steps in a row that a limit is passed before the run stops")
    max_kl: float = Field(default=50.0, ge=0, description="KL blow-up: nats a reply from the policy at the start")
    length_factor: float = Field(
        default=4.0, ge=0, description="length drift: replies that many times longer or shorter than in the first step"
    )
    repetition_rise: float = Field(
        default=0.4, ge=0, le=1, description="repetition: rise of the share of token pairs that a reply says again"
    )
    self_similarity_rise: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="sameness: rise of the share of a reply's token pairs that a reply to another context has, too",
    )
    entropy_share: float = Field(
        default=0.1, ge=0, lt=1, description="entropy collapse: entropy below that share of the first step's"
    )

    @field_validator("length_factor")
    @classmethod
    def _off_or_above_one(cls, factor: float) -> float:
        if 0 < factor <= 1:
            raise ValueError("give a factor above 1, or 0 to turn the alarm off")
        return factor
