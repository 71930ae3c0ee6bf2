"""What a saved reward model says of itself: its config.json and its README.md."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Any, Literal

from pydantic import Field

from apportion.foundation.settings import Settings
from apportion.reward_model.settings import RewardModelSettings, Scoring

CARD = "README.md"
READ_BESIDE = 768
"""Of MiniLM's embedding of a window: the mean of the history, and the reply."""


class TrainingDomain(Settings, allow_inf_nan=False):
    """The bounds of what taught a reward model (`apportion.reward_model.out_of_domain`)."""

    languages: tuple[str, ...]
    """Spoken in the training sessions, as far as that is known."""
    longest_turn: int = Field(ge=0)
    """Characters that few training turns have more of."""
    distance: float | None
    """From the nearest training turn, which few held-out turns are farther; None where none were held out."""


class RewardModelConfig(Settings, allow_inf_nan=False):
    """Everything that makes a reward model but its weights.

    r_theta(s_t, a_t) = ``reward_mean`` + ``reward_scale`` * head(backbone(s_t, a_t)), in units of reward, the mean over
    ``heads`` of them; a session's predicted score is the sum of r_theta over its target turns, plus ``score_offset``.
    """

    model_type: Literal["apportion-reward-model"] = "apportion-reward-model"
    backbone: str = Field(min_length=1)
    freeze_backbone: bool
    """A frozen backbone is named, not copied."""
    lora_rank: int = Field(0, ge=0)
    """Of the adapters that were trained on a frozen backbone; 0: none."""
    scoring: Scoring = "windowed"
    history_turns: int = Field(ge=0)
    max_tokens: int = Field(ge=8)
    width: int = Field(ge=1)
    """d, the numbers in an embedding."""
    beside: int = Field(0, ge=0)
    """Numbers of MiniLM's embedding that as many heads more read: of a frozen language model alone."""
    heads: int = Field(ge=1)
    """E of each reader. Their mean is the reward, their spread its sd."""
    head_hidden_size: int = Field(ge=1)
    dropout: float = Field(ge=0, lt=1)
    reward_mean: float = 0.0
    reward_scale: float = Field(1.0, gt=0)
    score_offset: float = 0.0
    domain: TrainingDomain | None = None
    """What input is like the training turns; None of a model that was not trained on turns."""

    @classmethod
    def of(
        cls, settings: RewardModelSettings, width: int, mean: float = 0.0, scale: float = 1.0, score_offset: float = 0.0
    ) -> RewardModelConfig:
        """The configuration of a new model."""
        shared = cls.model_fields.keys() & type(settings).model_fields.keys()
        values: dict[str, Any] = {name: getattr(settings, name) for name in shared}
        beside = READ_BESIDE if settings.reads_beside else 0
        units = {"reward_mean": mean, "reward_scale": scale, "score_offset": score_offset}
        return cls(**values, width=width, beside=beside, **units)

    @property
    def members(self) -> int:
        """Heads, of both readers."""
        return 2 * self.heads if self.beside else self.heads


_CARD = Template("""\
---
library_name: apportion
tags: [reward-model, dialogue, turn-level-rewards]
---
# A reward for every turn of a dialogue

r_theta(s_t, a_t) of LLM-GELI, section 4.2: $reading. It reads text alone.

| | |
|---|---|
| backbone | `$backbone`, $stored |
| heads | $heads, each layer norm, $width to $head_hidden_size, GELU, dropout $dropout, to 1 |
| scale | r = $reward_mean + $reward_scale * head |
| predicted score of a session | the sum of r over its turns, plus $score_offset |

## From the training run

$metrics

These figures come from the sessions it was trained on and the ones that stopped the training. How good it is on
held-out sessions stands in the run's report and `evaluation.json`.

## Use

    from apportion.reward_model.model import RewardModel

    model = RewardModel.from_pretrained("PATH OF THIS FOLDER")
    model.score([{"role": "user", "content": "Is there a train?"}, {"role": "assistant", "content": "At nine."}])

It rates replies like those it was trained on, for people like those who gave the scores; outside of that its numbers
mean little. $domain A policy trained against it will find its mistakes: read samples, not only rewards.
""")

_READING = {
    "windowed": "it reads the last {history_turns} turns and the reply (at most {max_tokens}\n"
    "tokens, the oldest dropped first) and gives the reply one number",
    "pooled": "it reads the last {history_turns} turns and the reply one by one (at most {max_tokens}\n"
    "tokens of each) and gives the reply one number",
    "one_pass": "it reads the dialogue once, up to {max_tokens} tokens at a time,\n"
    "and gives each reply one number at its last token, which has seen what came before and nothing after",
}
_BESIDE = ".\nBeside it MiniLM reads the last turns and the reply, for as many heads more"


def _domain(domain: TrainingDomain | None) -> str:
    if domain is None:
        return "What those were like is not stored."
    spoken = f"languages {', '.join(domain.languages)}; " if domain.languages else ""
    return (
        f"Those were: {spoken}up to {domain.longest_turn:,} characters a turn.\n`apportion policy score` and "
        "`model.out_of_domain(messages)` flag others, and what is far from all of them."
    )


def model_card(config: RewardModelConfig, metrics: Mapping[str, float]) -> str:
    """The card as Markdown; ``metrics`` are shown as they are given, six digits each."""
    counts = {name: float(value).is_integer() for name, value in metrics.items()}
    rows = [f"| {name} | {value:{'.0f' if counts[name] else '.6g'}} |" for name, value in metrics.items()]
    numbers = ("reward_mean", "reward_scale", "score_offset")
    return _CARD.substitute(
        config.model_dump(exclude=set(numbers)),
        reading=_READING[config.scoring].format(**config.model_dump()) + (_BESIDE if config.beside else ""),
        **{name: f"{getattr(config, name):.6g}" for name in numbers},
        domain=_domain(config.domain),
        stored=_stored(config),
        metrics="\n".join(["| figure | value |", "|---|---|", *rows]) if rows else "None were recorded.",
    )


def _stored(config: RewardModelConfig) -> str:
    if config.freeze_backbone:
        return "frozen (stored by name)"
    if config.lora_rank:
        return f"frozen (stored by name) under trained adapters of rank {config.lora_rank} (in this folder)"
    return "trained (its weights are in this folder)"
