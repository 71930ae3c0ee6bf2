"""Which decompositions are made, and how each of them works."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from llm_client.settings import LLMSettings


class SentimentSettings(BaseModel):
    """The sentiment of the rater's next reply."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    classifier: str = Field(
        default="vader",
        min_length=1,
        description="vader (rules, English, embedded) or the name of a Hugging Face text-classification model",
    )


class LLMMethodSettings(LLMSettings):
    """The model that is asked, and the wording of the question."""

    prompt: str = Field(
        default="default",
        description="default (how the rater felt after each utterance) or paper (LLM-GELI's own wording)",
    )
    question: str | None = Field(
        default=None,
        description="what the rating tells, e.g. 'how satisfied {{ rater }} was with {{ target }}'; "
        "none takes it from the rating's name",
    )
    attempts: int = Field(
        default=3,
        ge=1,
        le=10,
        description="times a model is asked, its mistake shown to it, before a session is given up",
    )


class RRDSettings(BaseModel):
    """Randomized return decomposition (Ren et al., 2021)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    k: int = Field(default=32, ge=1, description="turns sampled from a dialogue to estimate its return")
    corrected: bool = Field(
        default=True, description="take away the bias that sampling fewer than all turns adds to the loss"
    )


class ReactionSettings(BaseModel):
    """What is read of the rater's reaction to a turn, and how a session's score is made of its turns."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backbone: str = Field(
        default="minilm",
        min_length=1,
        description="reads the replies, always frozen: minilm (embedded), or a Hugging Face model by name or folder",
    )
    max_tokens: int = Field(default=128, ge=8, le=8192, description="tokens of an utterance that are read")
    late: tuple[float, ...] = Field(
        default=(0.0, 1.0, 2.0),
        min_length=1,
        description="how much more later turns weigh in the score (0: all alike), tried one after the other; "
        "the leave-one-out error of the training sessions' scores decides",
    )

    @field_validator("late")
    @classmethod
    def _powers(cls, powers: tuple[float, ...]) -> tuple[float, ...]:
        wrong = [power for power in powers if not 0 <= power <= 8]
        if wrong:
            raise ValueError(f"{wrong[0]:g} is not from 0 to 8")
        return powers


class DecomposeSettings(BaseModel):
    """From one score a dialogue to one reward a turn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    methods: tuple[str, ...] = Field(
        default=("uniform", "sentiment", "rrd"),
        min_length=1,
        description="ways of decomposition to run and compare: uniform, sentiment, llm, llm-multimodal, rrd, reaction",
    )
    target: Literal["relative", "score"] = Field(
        default="relative",
        description="what a dialogue's rewards sum to: relative, its score less the training mean; "
        "score, the score itself (the paper's)",
    )
    sentiment: SentimentSettings = SentimentSettings()
    llm: LLMMethodSettings = LLMMethodSettings()
    rrd: RRDSettings = RRDSettings()
    reaction: ReactionSettings = ReactionSettings()

    @field_validator("methods")
    @classmethod
    def _known_and_unique(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        # Here, so that settings are read without the registry, which asks every installed package for its methods.
        from decompose.methods import unknown_method

        if len(set(names)) != len(names):
            raise ValueError(f"{', '.join(names)}: name each method once")
        problems = [problem for name in names if (problem := unknown_method(name))]
        if problems:
            raise ValueError(" ".join(problems))
        return names
