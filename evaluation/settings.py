"""How decompositions and reward models are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from apportion.foundation.settings import Preset, PresetSettings, PublishedValue

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "happiness_source": PublishedValue(
            "mode", "Eq. 7 and appendix E.1: happiness alone is positive; the most probable emotion, as in GELI's code"
        ),
    }
}
"""LLM-GELI."""


class EvaluationSettings(PresetSettings):
    """Intervals, and what counts as a happy face or a labelled session."""

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset({"preset"})
    PRESETS: ClassVar[Mapping[str, Preset]] = PRESETS

    preset: Literal["paper"] | None = Field(
        None, description="Settings by name, which the other keys go before: paper is LLM-GELI's."
    )
    bootstrap: int = Field(2000, ge=100, le=100_000, description="Resamples of the test sessions behind an interval.")
    confidence: float = Field(0.95, gt=0.5, lt=1.0, description="Probability that an interval is to cover.")
    seed: int = Field(0, ge=0, description="Seed of the resampling and of the random baseline.")
    power: float = Field(
        0.8, gt=0.5, lt=1.0, description="Chance of seeing a real difference that the advised corpus size is to give."
    )
    happiness_source: Literal["mean", "mode"] = Field(
        "mean",
        description="What makes a rater's face happy during a turn: mean, its mean happiness; mode, that happiness is "
        "the most probable emotion of most pictures (LLM-GELI's code).",
    )
    happy_threshold: float = Field(
        0.5, ge=0.0, le=1.0, description="By mean: a face is happy from this mean happiness (0 to 1) during a turn on."
    )
    smile_threshold: float = Field(
        0.5, ge=0.0, le=1.0, description="Without happiness: happy is smiling for at least this share of the turn."
    )
    label: str | None = Field(
        None,
        description="Name of the turn labels to agree with; needed only where a corpus has labels of several names.",
    )
    labelled_turns: int = Field(
        4, ge=2, description="Labelled target turns that a session needs to enter the within-session agreement."
    )
    calibration_bins: int = Field(
        10,
        ge=1,
        le=100,
        description="Most bins of the calibration error, equally many predicted scores in each, and at least 10.",
    )
    random_draws: int = Field(20, ge=1, le=1000, description="Draws of random turn rewards, averaged, as a baseline.")
