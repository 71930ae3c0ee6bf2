"""How a Refiner is trained (section 4.1): the defaults are the paper's, and where it is silent the note says so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from apportion.foundation.settings import Settings
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.prompt_logprobs import Way
from apportion.rlhf.policy_settings import Device, Dtype
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.stackelberg.dialogues import Stages
from apportion.rlhf.stackelberg.instances.asking import K
from apportion.rlhf.stackelberg.instances.sources import INSTANCES

Form = Literal["printed", "released"]
Side = Literal["both", "positive", "negative"]
FREE_WORDS, LONGEST_WORDS, PENALTY = 100, 200, 10.0
"""The released code takes nothing off a speech of up to 100 words, and 10 off one of 200 or more."""
REFINER, MEASURER = "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-72B-Instruct"
"""Section 4.1 and 3.3."""
REWARD = "stackelberg"
"""The name of our reward among those of an alignment (`apportion.rlhf.plugins.REWARDS`)."""
PAPER_ALIGN: Mapping[str, Any] = {
    "policy": REFINER,
    "num_generations": 8,
    "clip": 0.2,
    "beta": 0.04,
    "lr": 1e-6,
    "ppo_epochs": 1,
    "batch_size": 64,
    "mini_batch_size": 64,
    "micro_batch_size": 8,
    "score_norm": False,
    "scale_rewards": True,
    "temperature": 1.0,
    "max_context_tokens": 4096,
    "max_new_tokens": 512,
    "dtype": "bfloat16",
    "lora": {
        "r": 16,
        "alpha": 32,
        "targets": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    },
}
"""n, epsilon, beta, the learning rate and the rank are section 4.1's, and advantages are Eq. 7's alone; batch, passes
over it, temperature, alpha, the layers and lengths are not said there, and are usual ones for a model of 7B."""
OURS = (
    *("algorithm", "reward", "reward_settings", "reward_model", "reward_method", "prompts", "environment"),
    *(
        "environment_settings",
        "max_turns",
        "partner",
        "partner_settings",
        "reward_placement",
        "steps",
        "epochs",
        "enabled",
    ),
)
"""Settings of an alignment that follow from those of the training, and are not given."""


class MeasurerSettings(Settings):
    """The frozen model that stands for the follower (Eq. 6), here or at a server."""

    model: str = Field(
        default=MEASURER, min_length=1, description="a causal language model of this machine, by name or folder"
    )
    server: LLMSettings | None = Field(
        default=None,
        description="in its place a model at a server that tells the probabilities of a prompt (vLLM), as a table with "
        "model, base_url, allow_host and whatever else asks a language model",
    )
    endpoint: Way = Field(
        default="chat", description="of that server: chat (vLLM's prompt_logprobs) or completions (echo with logprobs)"
    )
    budget_usd: float | None = Field(
        default=None, gt=0, description="US dollars that everything ever paid for probabilities may not pass"
    )
    device: Device = "cpu"
    dtype: Dtype = "float32"
    context_tokens: int | None = Field(
        default=None, ge=8, description="most tokens of the follower's prompt and an answer; none: what the model reads"
    )


class ImpactSettings(Settings):
    """The reward of a speech (Eq. 5)."""

    form: Form = Field(
        default="printed",
        description="printed: nats, summed over an answer's tokens (Eq. 5 and 6); released: as the released code has "
        "it, nats a token, held to +-50",
    )
    side: Side = Field(
        default="both", description="positive or negative: Table 2's rewards of desired or undesired answers alone"
    )
    length_penalty: bool | None = Field(
        default=None,
        description="from 0 to -10 between free_words and longest_words; none: with released alone, as published",
    )
    free_words: int = Field(default=FREE_WORDS, ge=0, description="words that cost nothing")
    longest_words: int = Field(default=LONGEST_WORDS, ge=1, description="words from which on a speech costs 10")

    @model_validator(mode="after")
    def _some_room(self) -> ImpactSettings:
        if self.longest_words <= self.free_words:
            raise ValueError(f"longest_words {self.longest_words} is not above free_words {self.free_words}; raise it")
        return self

    @property
    def penalised(self) -> bool:
        """Whether long speeches cost something."""
        return self.form == "released" if self.length_penalty is None else self.length_penalty


class RewardSettings(Settings):
    """The reward ``stackelberg`` of an alignment: the turns, who stands for their followers, and how it is counted."""

    instances: Path = Field(description="the file of turns, with intents, that `train refiner-data` wrote")
    k: int = Field(default=K, ge=1, description="desired and undesired answers of each turn that are counted")
    stages: Stages = Field(
        default="two", description="two: a Refiner rewrites what was said; one: the policy itself speaks"
    )
    measurer: MeasurerSettings = MeasurerSettings()
    impact: ImpactSettings = ImpactSettings()


class RefineSettings(Settings):
    """A training of a Refiner, as a file."""

    instances: tuple[Path, ...] = Field(min_length=1, description="files of turns with intents, one game or several")
    output: Path = Field(default=Path("refiner"), description="the folder of the trained Refiner")
    seed: int = Field(default=0, ge=0, description="of everything random")
    epochs: int = Field(default=3, ge=1, description="passes over the turns that are learned from")
    count: int = Field(default=INSTANCES, ge=1, description="turns of each game that are learned from (Figure 10)")
    held_out: float = Field(
        default=0.1, ge=0, lt=1, description="share of the sessions whose turns are not learned from, for the curve"
    )
    samples: int = Field(default=2, ge=1, description="replies to each held-out turn, after each epoch")
    most_held_out: int = Field(default=200, ge=1, description="held-out turns that are replied to, at most")
    k: int = Field(default=K, ge=1, description="desired and undesired answers that are counted (Figure 4)")
    stages: Stages = "two"
    impact: ImpactSettings = ImpactSettings()
    measurer: MeasurerSettings = MeasurerSettings()
    align: dict[str, Any] = Field(
        default={},
        description="what else `align` takes; what is not given is the paper's (docs/explanations/stackelberg.md)",
    )

    @model_validator(mode="after")
    def _leaves_ours(self) -> RefineSettings:
        given = sorted(set(self.align) & set(OURS))
        if given:
            raise ValueError(f"align.{given[0]} follows from the training itself; take it out")
        return self

    @property
    def aligned(self) -> dict[str, Any]:
        """What an alignment gets of ``align``, filled up with the paper's; beside ``tiny`` with rates of its own."""
        left = ("policy", "lr", "beta", "dtype", "max_context_tokens", "max_new_tokens")
        tiny = self.align.get("policy") == "tiny"
        paper = {name: value for name, value in PAPER_ALIGN.items() if not (tiny and name in left)}
        lora = {**paper["lora"], **self.align.get("lora", {})}
        return {**paper, **self.align, "lora": lora, "algorithm": "grpo"}

    def align_settings(self, instances: Path, steps: int) -> AlignSettings:
        """The alignment of ``steps`` steps that learns from the turns in the file ``instances``.

        Raises pydantic.ValidationError: a value that is not allowed.
        """
        reward = RewardSettings(
            instances=instances, k=self.k, stages=self.stages, measurer=self.measurer, impact=self.impact
        )
        return AlignSettings(**self.aligned, reward=REWARD, reward_settings=reward.model_dump(mode="json"), steps=steps)
