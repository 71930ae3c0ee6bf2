"""Which decompositions are made, and how each of them works."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from foundation.settings import Settings
from llm_client.settings import LLMSettings


class SentimentSettings(Settings):
    """The sentiment of the rater's next reply."""

    classifier: str = Field(
        default="vader",
        min_length=1,
        description="vader (rules, English, embedded) or the name of a Hugging Face text-classification model",
    )


class AffectSettings(Settings):
    """How happy the rater looks."""

    feature: Literal["auto", "happiness", "smile"] = Field(
        default="auto",
        description="happiness (needs an emotion model), smile, or auto: smile where nothing measured happiness",
    )
    window: Literal["during", "reply", "both"] = Field(
        default="during",
        description="when the rater's face is looked at: during the turn, during the reply to it, or the mean of both",
    )


class LLMMethodSettings(LLMSettings):
    """The model that is asked, and the wording of the question."""

    prompt: str = Field(
        default="default",
        min_length=1,
        description="default (judged as the rating means it: the rater's feeling or the utterance's quality), quality, "
        "paper (LLM-GELI's own wording), attribution (Sotopia-RL's), or the path of a text file of your own",
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
    context_tokens: int = Field(
        default=32_768,
        ge=1024,
        description="tokens that the model takes in and gives out at once (Ollama's default is 4096); a longer "
        "dialogue is asked about in overlapping parts",
    )
    overlap_turns: int = Field(
        default=8,
        ge=1,
        le=100,
        description="target turns that two parts share, at most half of a part; they bring the parts to one scale",
    )

    pseudonyms: bool = Field(
        default=False,
        description="show the model other names than the speakers', also in the texts; results have the real ones",
    )
    names: tuple[str, ...] = Field(
        default=(),
        description="further names to replace with pseudonyms = true: of people who are talked about, or of speakers "
        "whose ids are numbers",
    )


class RRDSettings(Settings):
    """Randomized return decomposition (Ren et al., 2021)."""

    k: int = Field(default=32, ge=1, description="turns sampled from a dialogue to estimate its return")
    corrected: bool = Field(
        default=True, description="take away the bias that sampling fewer than all turns adds to the loss"
    )


class RudderSettings(Settings):
    """RUDDER (Arjona-Medina et al., 2019)."""

    auxiliary: float = Field(
        default=0.5, ge=0, le=100, description="weight of predicting the return after every turn, not at the end alone"
    )


class GELISettings(Settings):
    """Global and local feedback in one loss (GELI, Lee et al., 2024)."""

    weight: float = Field(
        default=0.5, ge=0, le=1, description="share of the global part of the loss; the rest is the local values'"
    )


class ReactionSettings(Settings):
    """What is read of the rater's reaction to a turn, and how a session's score is made of its turns."""

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


class BlendSettings(Settings):
    """How reactions and a language model's judgements are put together."""

    weight: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="what the judgements weigh, the rest is the reactions'; none lets the training scores decide",
    )


class AuditSettings(Settings):
    """Asking a language model the same in several ways, to see whether its order of the turns holds."""

    sessions: int = Field(
        default=0, ge=0, description="sessions that are asked about again, changed in several ways; 0 means no audit"
    )
    method: Literal["llm", "llm-multimodal"] | None = Field(
        default=None, description="the method that is audited; none takes the last one of decompose.methods that asks"
    )
    seed: int = Field(
        default=0, ge=0, description="decides which sessions, which turns, where words are planted, and the other order"
    )


class DecomposeSettings(Settings):
    """From one score a dialogue to one reward a turn."""

    methods: tuple[str, ...] = Field(
        default=("uniform", "sentiment", "rrd"),
        min_length=1,
        description="ways of decomposition to run and compare: uniform, sentiment, affect, llm, llm-multimodal, rrd, "
        "ircr, rudder, rrd-va, rrd-ls, ircr-va, rudder-va, reaction, reaction-llm",
    )
    target: Literal["relative", "score"] = Field(
        default="relative",
        description="what a dialogue's rewards sum to: relative, its score less the training mean; "
        "score, the score itself (the paper's)",
    )
    attribution: Literal["share", "fraction"] = Field(
        default="share",
        description="how attributions a (prompt attribution) become rewards: share, a / sum of a of the score; "
        "fraction, a / 3 of the score as in Sotopia-RL, what is missing from the sum spread evenly",
    )
    sentiment: SentimentSettings = SentimentSettings()
    affect: AffectSettings = AffectSettings()
    llm: LLMMethodSettings = LLMMethodSettings()
    rrd: RRDSettings = RRDSettings()
    rudder: RudderSettings = RudderSettings()
    geli: GELISettings = GELISettings()
    reaction: ReactionSettings = ReactionSettings()
    blend: BlendSettings = BlendSettings()
    audit: AuditSettings = AuditSettings()

    @property
    def audited_method(self) -> str | None:
        """The method that the audit asks by; None where no method asks a language model."""
        asking = [name for name in self.methods if name in ("llm", "llm-multimodal")]
        return self.audit.method or (asking[-1] if asking else None)

    @field_validator("methods")
    @classmethod
    def _known_and_unique(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        # Here, so that settings are read without the registry, which asks every installed package for its methods.
        from decompose.methods import METHODS, unknown_method

        if len(set(names)) != len(names):
            raise ValueError(f"{', '.join(names)}: name each method once")
        problems = [problem for name in names if (problem := unknown_method(name))]
        if problems:
            raise ValueError(" ".join(problems))
        for name in names:
            if METHODS[name].uses_judgements and METHODS[name].local not in names:
                raise ValueError(f"{name} reads what {METHODS[name].local} has judged; add {METHODS[name].local}")
        return names

    @model_validator(mode="after")
    def _audited_method_is_run(self) -> DecomposeSettings:
        if self.audit.method is not None and self.audit.method not in self.methods:
            raise ValueError(
                f"audit.method = {self.audit.method!r} is not among decompose.methods ({', '.join(self.methods)}); "
                "add it there"
            )
        return self
