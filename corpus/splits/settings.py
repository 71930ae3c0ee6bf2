"""How sessions are shared out among training, validation, test and the policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from apportion.foundation.settings import Preset, PresetSettings, PublishedValue

_E = "appendix E"

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "by": PublishedValue("session", "not in the paper: `person` would lose sessions"),
        "train": PublishedValue(0.36, f"{_E}: 360 of 1,000 conversations"),
        "validation": PublishedValue(0.0, f"{_E}: 360 and 40 and 600, none for choosing an epoch"),
        "test": PublishedValue(0.04, f"{_E}: 40 of 1,000 conversations"),
        "policy": PublishedValue(0.6, f"{_E}: 600 of 1,000 conversations, kept apart for the adaptation"),
    }
}
"""LLM-GELI, which took 1,000 of CANDOR's 1,656 conversations; `run.limit` takes as many."""


SPLITS = ("train", "validation", "test", "policy")


class SplitSettings(PresetSettings):
    """Shares of the rated sessions; those without a rating go to the policy, or by person where their persons are."""

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset({"preset"})
    PRESETS: ClassVar[Mapping[str, Preset]] = PRESETS

    preset: Literal["paper"] | None = Field(
        None, description="shares by name, which the other keys go before: paper is LLM-GELI's 360, 40 and 600 of 1,000"
    )
    by: Literal["session", "person"] = Field(
        "session", description="'person' keeps each person within one split (loses the pairs that would cross)"
    )
    train: float = Field(0.6, gt=0, le=1, description="share of sessions that the reward model learns from")
    validation: float = Field(0.1, ge=0, lt=1, description="share of sessions that stops the training")
    test: float = Field(
        0.2, ge=0, lt=1, description="share of sessions that only the evaluation sees; 0: no evaluation"
    )
    policy: float = Field(0.1, ge=0, lt=1, description="share of sessions that give PPO its dialogue contexts")
    seed: int = Field(0, ge=0, description="another seed gives other splits")

    @model_validator(mode="after")
    def _shares_sum_to_one(self) -> SplitSettings:
        total = math.fsum(self.shares.values())
        if not math.isclose(total, 1.0, abs_tol=1e-6):
            raise ValueError(f"the shares {', '.join(SPLITS)} sum to {total:g}; make them sum to 1")
        return self

    @property
    def shares(self) -> dict[str, float]:
        """Share of every split, in the fixed order of ``SPLITS``."""
        return {name: getattr(self, name) for name in SPLITS}
