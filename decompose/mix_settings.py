"""Which opinions on turns are put together, and what decides how far each of them counts."""

from __future__ import annotations

from pydantic import Field, field_validator, model_validator

from apportion.decompose.method import SessionMethod
from apportion.decompose.methods import METHODS
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.settings import Settings
from apportion.foundation.truncate import listed

MADE_HERE = ("reaction", "prior", "reactions-en", "behaviour", "llm-student")
"""The sources of a mix that are no method's judgements, but made of what was read of the replies."""


class BlendSettings(Settings):
    """How reactions and a language model's judgements are put together."""

    weight: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="what the judgements weigh, the rest is the reactions'; none lets the training scores decide",
    )


class MixSettings(Settings):
    """Which sources are put together, and by what."""

    sources: tuple[str, ...] = Field(
        default=("reaction", "prior", "reactions-en", "behaviour", "llm-student", "llm", "sentiment"),
        min_length=1,
        description="what is mixed, as far as the run has it: reaction (what this corpus's scores tell of replies), "
        "prior (what others' do, where decompose.reaction.prior names it), reactions-en (what a language model's "
        "judgements of made-up English dialogues do, where decompose.reaction reads replies as it ships), behaviour "
        "(the rater's face and voice alone), llm-student (what llm's judgements of some sessions tell of replies), and "
        "methods that judge by their names, llm, sentiment, ...",
    )
    weights: dict[str, float] | None = Field(
        default=None,
        description="what each source weighs, a source that is not named nothing; none lets the training scores decide",
    )
    routed: bool = Field(
        default=True,
        description="leave out what reads the rater's replies alone where the rating's name tells of quality",
    )

    @field_validator("sources")
    @classmethod
    def _known_and_unique(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        judging = [name for name, method in METHODS.items() if isinstance(method, SessionMethod)]
        allowed = [*MADE_HERE, *judging]
        for name in names:
            if name not in allowed:
                raise ValueError(f"{name!r} is no source; {did_you_mean(name, allowed, listed(allowed))}")
        if len(set(names)) != len(names):
            raise ValueError(f"{', '.join(names)}: name each source once")
        return names

    @model_validator(mode="after")
    def _weights_of_sources(self) -> MixSettings:
        for name, weight in (self.weights or {}).items():
            if name not in self.sources:
                raise ValueError(f"weights: {name!r} is not among sources ({', '.join(self.sources)}); add it there")
            if not 0 <= weight <= 1e6:
                raise ValueError(f"weights: {name} = {weight:g} is not from 0 to 1e6")
        if self.weights is not None and not any(self.weights.values()):
            raise ValueError("weights: none is above 0; leave weights out to let the training scores decide")
        return self
