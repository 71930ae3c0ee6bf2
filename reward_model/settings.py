"""What the reward model reads, how large it is and how it is trained; published settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from apportion.foundation.files import last_name
from apportion.foundation.model_hub.names import model_found_from
from apportion.foundation.settings import Preset, PresetSettings, PublishedValue

_E = "appendix E, reward function training"
_D = "appendix D, reward model training"

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "objective": PublishedValue(
            "direct", "section 5.2 and figure 3: each method but the language model's trains the reward function itself"
        ),
        "backbone": PublishedValue(
            "facebook/bart-large",
            "appendix E: BART of 406M parameters. Section 5.2 starts from one that was trained to summarize "
            "conversations, kabita-choudhary/finetuned-bart-for-conversation-summary, of the same shape",
        ),
        "freeze_backbone": PublishedValue(
            False, "section 5.2: BART is built on, and 19 hours of training (appendix E)"
        ),
        "trained_layers": PublishedValue(0, "not in the paper: the whole of it"),
        "scoring": PublishedValue(
            "windowed",
            "section 4.2: r_theta(s_t, a_t) of history and utterance; by encoder and decoder, as BART's classifiers "
            "are (the paper does not say)",
        ),
        "history_turns": PublishedValue(
            10, "section 3: all that was said before; every CANDOR history that appendix H prints has 10 turns"
        ),
        "max_tokens": PublishedValue(1024, "as many as BART has positions for"),
        "batch_turns": PublishedValue(160, f"{_E}: batch size 1, 160 samples a batch"),
        "heads": PublishedValue(1, "not in the paper: one reward function, no ensemble"),
        "lr": PublishedValue(5e-6, _E),
        "lr_backbone": PublishedValue(5e-6, _E),
        "gradient_checkpointing": PublishedValue(
            True, "not in the paper: the same bits, and 160 histories fit into the memory of one card"
        ),
    },
    "savoir": {
        "objective": PublishedValue("distilled", "section 3.5: the values of utterances are learned, by MSE"),
        "backbone": PublishedValue(
            "Qwen/Qwen2.5-7B-Instruct",
            "section 3.5 and appendix D: a regression head on top of the base model, which is named for the policy",
        ),
        "freeze_backbone": PublishedValue(False, "section 3.5: R(c, a) = MLP(LLM([c; a])), both with parameters theta"),
        "trained_layers": PublishedValue(0, "not in the paper: the whole of it"),
        "scoring": PublishedValue(
            "one_pass", "section 3.5: context and utterance in one text, read once; the head reads its last state here"
        ),
        "max_tokens": PublishedValue(2048, "appendix D, of the SFT stage"),
        "batch_turns": PublishedValue(16, f"{_D}: batches of 16; the instances are utterances"),
        "epochs": PublishedValue(5, _D),
        "patience": PublishedValue(5, "not in the paper: no end before the last epoch"),
        "heads": PublishedValue(1, "not in the paper: one reward model, no ensemble"),
        "lr": PublishedValue(1e-5, _D),
        "lr_backbone": PublishedValue(1e-5, _D),
        "gradient_checkpointing": PublishedValue(True, "not in the paper: the same bits in less memory"),
    },
}
"""LLM-GELI. AdamW (appendix E) is what this package trains by; the paper gives neither epochs nor weight decay.

SAVOIR gives neither weight decay nor the width of its MLP.
"""

BESIDE_MINILM: Mapping[str, frozenset[str]] = {
    "paper": frozenset({"objective", "backbone", "scoring"}),
    "savoir": frozenset({"objective", "backbone"}),
}
"""What of a preset is taken beside a backbone that is another's stand-in: nothing that is said of training the
published one, and of SAVOIR not how it is read, which takes a causal model."""


Scoring = Literal["pooled", "windowed", "one_pass"]
LR_OF_ADAPTERS = 2e-4
"""They begin at nothing: at a backbone's own step size they learn little in a few epochs."""
MINILM = "minilm"
"""The embedded backbone, which is on every machine."""
SMOLLM2 = "smollm2"
"""A small language model that `apportion models fetch smollm2` gets; it reads a dialogue in one pass."""


class RewardModelSettings(PresetSettings):
    """The reward model r_theta(s_t, a_t); learned decompositions (rrd) train the same network."""

    PRESETS: ClassVar[Mapping[str, Preset]] = PRESETS

    preset: Literal["paper", "savoir"] | None = Field(
        None,
        description="settings by name, which the other keys go before: paper is LLM-GELI's (appendix E), savoir is "
        "SAVOIR's (section 3.5); beside backbone = 'minilm' the training stays MiniLM's own",
    )
    objective: Literal["distilled", "direct", "both"] = Field(
        "distilled",
        description="what a learned method's (rrd, ircr, rudder, GELI) reward model is trained on: distilled, its turn "
        "rewards (Eq. 5); direct, its own objective, on the scores (the paper's Table 4); both, one of each",
    )
    teacher: Literal["rewards", "predicted-reaction"] = Field(
        "rewards",
        description="what teaches the reward models: rewards, those of each method; predicted-reaction, one model for "
        "all, which learns what the reply that came to a turn was worth (reaction and reactions-en); scores set its "
        "level alone",
    )
    backbone: str = Field(
        "minilm",
        min_length=1,
        description="minilm (embedded, works offline), smollm2 or e5-small (`apportion models fetch smollm2`), or any "
        "Hugging Face model by name or folder, e.g. facebook/bart-large",
    )
    freeze_backbone: bool = Field(
        True,
        description="true trains the head alone on embeddings that are made once; false trains the backbone too: "
        "more than 100 times slower, and a separate run for every method and seed",
    )
    trained_layers: int = Field(
        3,
        ge=0,
        le=1000,
        description="with freeze_backbone = false: how many of its upper layers are trained; "
        "0 trains everything, embeddings too",
    )
    lora_rank: int = Field(
        0,
        ge=0,
        le=1024,
        description="with freeze_backbone = false: train adapters of this rank on all linear layers (LoRA) instead of "
        "the backbone's weights; lr_backbone is 2e-4 then, where nothing else is said; 0 trains the weights",
    )
    scoring: Scoring = Field(
        "pooled",
        description="pooled reads every turn once, by itself, and averages those of the history; windowed (a trained "
        "backbone's default) reads history and reply together for each turn; one_pass reads the dialogue once and "
        "scores at each turn's last token, which needs a causal language model",
    )
    device: Literal["cpu", "cuda"] = Field("cpu", description="where the backbone computes; results differ by bits")
    precision: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="bfloat16 halves a trained backbone's memory for activations while it trains (mixed precision: "
        "weights, optimizer and scores stay float32)",
    )
    gradient_checkpointing: bool = Field(
        False,
        description="with freeze_backbone = false: keep only each layer's input and compute the rest again for the "
        "gradient; the same bits, a third more time, much less memory",
    )
    processes: int = Field(
        1,
        ge=1,
        le=64,
        description="processes that share each batch while training, a GPU each with device = cuda; through accelerate",
    )
    history_turns: int = Field(
        3, ge=0, le=100, description="turns of either speaker that are read before the reply; one_pass reads them all"
    )
    max_tokens: int = Field(
        128,
        ge=8,
        le=131_072,
        description="pooled: tokens of a turn; windowed: of history and reply together, the oldest history is dropped "
        "first; one_pass: of a dialogue that are read at once: give what the model has room for, e.g. 1024",
    )
    heads: int = Field(
        5,
        ge=1,
        le=32,
        description="heads of the model, each trained on a bootstrap of the training sessions of its own: their mean "
        "is the reward, their spread its sd; 1 gives no sd",
    )
    head_hidden_size: int = Field(128, ge=1, le=8192, description="width of the head's hidden layer")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout in the head, while training only")
    epochs: int = Field(30, ge=1, le=10_000, description="passes over the training sessions, at most")
    patience: int = Field(
        5, ge=1, le=10_000, description="epochs without a better validation loss before training stops"
    )
    batch_size: int = Field(
        8, ge=1, le=4096, description="whole dialogues a step; with a trained backbone, memory grows with their turns"
    )
    batch_turns: int | None = Field(
        None,
        ge=1,
        description="instead of batch_size: whole dialogues a step for as long as they have no more target turns than "
        "this together; a longer one is a step by itself",
    )
    lr: float = Field(3e-4, gt=0, le=1, description="AdamW's step size for the head")
    lr_backbone: float = Field(2e-5, gt=0, le=1, description="AdamW's step size for a backbone that is trained")
    weight_decay: float = Field(0.01, ge=0, le=1, description="AdamW's weight decay")

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset(
        (
            *("preset", "teacher", "objective", "freeze_backbone", "trained_layers", "lora_rank", "precision"),
            *("gradient_checkpointing", "processes", "heads", "head_hidden_size", "dropout", "epochs", "patience"),
            *("batch_size", "batch_turns", "lr", "lr_backbone", "weight_decay"),
        )
    )
    """What decides the training alone: the key of frozen embeddings is made of all other fields."""

    @model_validator(mode="before")
    @classmethod
    def _given_first(cls, values: Any) -> Any:
        """A given ``batch_size`` goes before a preset's ``batch_turns``, which would be read instead of it; a backbone
        that is trained reads windows where nothing else is said, and adapters are in all of its layers."""
        if not isinstance(values, Mapping):
            return values
        if "batch_size" in values and "batch_turns" not in values:
            values = {**values, "batch_turns": None}
        preset = cls.PRESETS.get(str(values.get("preset")))
        brought = {} if preset is None else cls.preset_beside(preset, values)
        scoring = brought.get("scoring", values.get("scoring", "one_pass"))
        if values.get("backbone") == SMOLLM2 and scoring == "one_pass":
            values = {"scoring": "one_pass", "max_tokens": 1024, **values}
        if values.get("freeze_backbone") is False and "scoring" not in brought:
            values = {"scoring": "windowed", **values}
        if values.get("lora_rank"):
            own = {"trained_layers": 0, "lr_backbone": LR_OF_ADAPTERS}
            values = {**{name: value for name, value in own.items() if name not in brought}, **values}
        return values

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.scoring == "pooled" and not self.freeze_backbone:
            raise ValueError(
                "scoring = 'pooled' reads by a frozen backbone; set freeze_backbone = true, or scoring = 'windowed'"
            )
        if self.lora_rank and (self.freeze_backbone or self.trained_layers):
            raise ValueError(
                f"lora_rank = {self.lora_rank} trains adapters in all layers; set freeze_backbone = false and leave "
                "trained_layers out, or lora_rank = 0"
            )
        return self

    @classmethod
    def preset_beside(cls, preset: Preset, values: Mapping[str, Any]) -> Preset:
        """Beside MiniLM, nothing that was published for training another backbone.

        MiniLM is frozen, and a head that starts at random learns nothing at 5e-6.
        """
        if values.get("backbone") != MINILM:
            return preset
        return {name: given for name, given in preset.items() if name in BESIDE_MINILM[str(values["preset"])]}

    @property
    def reads_beside(self) -> bool:
        """Whether MiniLM reads every turn, too, for heads of its own: beside a frozen language model."""
        return self.scoring == "one_pass" and self.freeze_backbone

    def found_from(self, base: Path) -> Self:
        """A copy whose backbone, where it is a folder, is found from ``base``."""
        if self.backbone == MINILM:
            return self
        return self.model_copy(update={"backbone": model_found_from(base, self.backbone)})

    def shown(self) -> dict[str, Any]:
        """As plain JSON values, a folder by its last name."""
        return self.plain() | {"backbone": last_name(self.backbone)}
