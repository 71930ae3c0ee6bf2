"""The groups of settings of an alignment: what a policy reads, where it runs, what is trained, when it is stopped."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from apportion.foundation.settings import Settings
from apportion.rlhf.algorithms import readers

ContextTurns = Annotated[int, Field(ge=1, description="most turns of history that the policy sees")]
MaxContextTokens = Annotated[int, Field(ge=8, description="longest prompt; the oldest turns are dropped until it fits")]
MaxNewTokens = Annotated[int, Field(ge=1, description="longest reply, in tokens")]
Temperature = Annotated[float, Field(ge=0.001, le=5, description="sampling temperature, in the log-probabilities too")]
Device = Annotated[
    Literal["auto", "cpu", "cuda"],
    Field(description="where the policy runs; results differ by bits. auto takes the card where one is, tiny the CPU"),
]
Dtype = Annotated[
    Literal["auto", "float32", "bfloat16"],
    Field(
        description="number format of the frozen weights; adapters stay in float32. auto takes bfloat16 on a card that "
        "computes in it"
    ),
]


class _Part(Settings):
    """Settings that larger groups hold among others."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """These settings out of a larger group, which has checked them."""
        values = {name: getattr(settings, name) for name in cls.model_fields}
        return cls.model_construct(**values)  # type: ignore[return-value]


class Window(_Part):
    """What a policy reads of a dialogue, and how its replies are sampled."""

    context_turns: ContextTurns = 3
    max_context_tokens: MaxContextTokens = 192
    max_new_tokens: MaxNewTokens = 32
    temperature: Temperature = 0.7

    @property
    def tokens(self) -> int:
        """The most tokens that the policy reads at once: prompt and reply."""
        return self.max_context_tokens + self.max_new_tokens


class Placement(_Part):
    """Where a policy runs, and in what number format its frozen weights are; ``auto`` becomes what is here.

    On a CPU ``auto`` is float32: most multiply bfloat16 several times slower.
    """

    device: Device = "auto"
    dtype: Dtype = "auto"

    @model_validator(mode="before")
    @classmethod
    def _found_here(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        device, dtype = (values.get(name, "auto") for name in ("device", "dtype"))
        if device == "auto":
            device = "cuda" if has_card() else "cpu"
        if dtype == "auto":
            dtype = "bfloat16" if device == "cuda" and _has_bfloat16() else "float32"
        return {**values, "device": device, "dtype": dtype}


def has_card() -> bool:
    """Whether torch sees a CUDA device; it is imported only where a driver has one."""
    if sys.platform == "linux" and not any(any(Path("/dev").glob(name)) for name in ("nvidia[0-9]*", "dxg", "kfd")):
        return False
    import torch

    return torch.cuda.is_available()


def _has_bfloat16() -> bool:
    import torch

    return torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)


class LoraSettings(Settings):
    """Low-rank adapters (Hu et al., 2021); the defaults are LLM-GELI's, appendix E."""

    r: int = Field(default=24, ge=1, description="rank of an adapter")
    alpha: int = Field(default=48, ge=1, description="an adapter's output is scaled by alpha / r")
    dropout: float = Field(
        default=0.05,
        ge=0,
        lt=1,
        description=f"{readers('lora.dropout')}: dropout before an adapter; others compare log-probabilities, and have "
        "none",
    )
    targets: tuple[str, ...] = Field(
        default=("q_proj", "v_proj"), min_length=1, description="names of the linear layers that get an adapter"
    )


class TinySettings(Settings):
    """The small LLaMA that is built on the spot from the corpus' own text."""

    hidden: int = Field(default=128, ge=32, multiple_of=32, description="width; one attention head for every 32")
    layers: int = Field(default=2, ge=1, le=48, description="transformer layers")
    vocabulary: int = Field(default=2048, ge=300, description="largest number of byte-level BPE tokens")
    warmup_steps: int = Field(
        default=200, ge=1, description="supervised steps on the dialogues, test sessions left out"
    )
    warmup_batch: int = Field(default=6, ge=1, description="dialogue windows a supervised step")
    warmup_lr: float = Field(default=4e-3, gt=0, description="highest learning rate of the supervised steps")


class PenaltySettings(Settings):
    """What a reply is paid less, in standard deviations of the scores seen so far; 0 turns a penalty off."""

    sameness: float = Field(
        default=0.0,
        ge=0,
        description="times the largest share of its token pairs that a reply to another context of the step has, too",
    )
    length: float = Field(
        default=0.0,
        ge=0,
        description="times the share of its tokens beyond the lengths of nine in ten recorded replies, or that it "
        "lacks to them",
    )
    missing_end: float = Field(default=0.0, ge=0, description="of a reply that is cut at max_new_tokens")


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
        default=0.15,
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


class OutcomeWeight(Settings):
    """What the outcome of an episode counts beside a reward of its turns."""

    outcome: float = Field(
        default=0.0,
        ge=0,
        description="in an environment: the outcome times this is paid at the last turn, beside the turns' rewards",
    )
