"""What a saved reward model says of itself: its config.json and its README.md."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Any, Literal

from pydantic import Field

from apportion.foundation.settings import Settings
from apportion.reward_model.settings import RewardModelSettings, Scoring


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
    heads: int = Field(ge=1)
    """E, whose mean is the reward and whose spread its sd."""
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
        shared = cls.model_fields.keys() & type(settings).model_fields.keys()
        values: dict[str, Any] = {name: getattr(settings, name) for name in shared}
        return cls(**values, width=width, reward_mean=mean, reward_scale=scale, score_offset=score_offset)


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
mean little. A policy trained against it will find its mistakes: read samples, not only rewards.
""")

_READING = {
    "windowed": "it reads the last {history_turns} turns and the reply (at most {max_tokens}\n"
    "tokens, the oldest dropped first) and gives the reply one number",
    "pooled": "it reads the last {history_turns} turns and the reply one by one (at most {max_tokens}\n"
    "tokens of each) and gives the reply one number",
    "one_pass": "it reads the dialogue once, up to {max_tokens} tokens at a time,\n"
    "and gives each reply one number at its last token, which has seen what came before and nothing after",
}


def model_card(config: RewardModelConfig, metrics: Mapping[str, float]) -> str:
    """The card as Markdown; ``metrics`` are shown as they are given, six digits each."""
    rows = [
        f"| {name} | {f'{value:.0f}' if value == round(value) else f'{value:.6g}'} |" for name, value in metrics.items()
    ]
    numbers = ("reward_mean", "reward_scale", "score_offset")
    return _CARD.substitute(
        config.model_dump(exclude=set(numbers)),
        reading=_READING[config.scoring].format(**config.model_dump()),
        **{name: f"{getattr(config, name):.6g}" for name in numbers},
        stored=_stored(config),
        metrics="\n".join(["| figure | value |", "|---|---|", *rows]) if rows else "None were recorded.",
    )


def _stored(config: RewardModelConfig) -> str:
    if config.freeze_backbone:
        return "frozen (stored by name)"
    if config.lora_rank:
        return f"frozen (stored by name) under trained adapters of rank {config.lora_rank} (in this folder)"
    return "trained (its weights are in this folder)"
