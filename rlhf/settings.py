"""How a policy is made, fine-tuned with LoRA, and sampled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from apportion.foundation.errors import InputError
from apportion.foundation.files import found_from, last_name
from apportion.foundation.model_hub.names import model_found_from
from apportion.foundation.settings import Preset, PresetSettings
from apportion.rlhf.algorithms import ALGORITHMS, Algorithm, AlgorithmName, listed, readers, unrewarded
from apportion.rlhf.plugins import CREDIT, ENVIRONMENTS, OUTCOME, PARTNERS, RECORDED, REWARD_MODEL, REWARDS, Plugin
from apportion.rlhf.policy_settings import (
    AlarmSettings,
    ContextTurns,
    Device,
    Dtype,
    LoraSettings,
    MaxContextTokens,
    MaxNewTokens,
    PenaltySettings,
    Placement,
    Temperature,
    TinySettings,
    Window,
)
from apportion.rlhf.presets import PAPER_KL, PAPER_LR, PRESETS
from apportion.rlhf.resolve_paths import tables_placed

TINY_LR = 3e-3
TINY_KL = 0.3

RECORD = readers("epochs", "or")
"""The trainers that learn from what was said."""
CHOSEN = (
    *("reward", "reward_settings", "reward_ensemble", "reward_join", "partner", "partner_settings", "prompts"),
    *("environment", "environment_settings", "epochs", "warmup", "scale_rewards", "preference_margin", "penalties"),
    *("refresh_fit", "role_baseline"),
)
"""What enters the key by what it is, and only where it is not what it always was."""


class AlignSettings(PresetSettings):
    """How a policy is fine-tuned: PPO, GRPO, RLOO, RAFT, DPO or KTO by a reward model, or SFT on the target's turns."""

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset({"enabled", "anyway", "reward_model", "stop", *CHOSEN})
    PRESETS: ClassVar[Mapping[str, Preset]] = PRESETS

    enabled: bool = Field(default=True, description="whether a run fine-tunes a policy at all")
    preset: Literal["paper", "paper-kl", "savoir", "savoir-sft"] | None = Field(
        default=None,
        description="settings by name, which the other keys go before: paper is LLM-GELI's, with the gamma of its "
        "appendix E as the discount; paper-kl has it as the weight of the divergence; savoir is SAVOIR's GRPO "
        "(appendix D), savoir-sft what goes before it",
    )
    algorithm: AlgorithmName = Field(
        default=next(iter(ALGORITHMS)),
        description=f"{listed(f'{row.name} ({row.paper})' for row in ALGORITHMS.values() if row.needs_reward)} raise "
        f"the reward; {unrewarded()} learns the target's own turns",
    )

    policy: str = Field(
        default="tiny",
        min_length=1,
        description="tiny (a small LLaMA built and warmed up on the spot), smollm2 (fetched), or the name or folder "
        "of a Hugging Face causal language model with a chat template",
    )
    reward_method: str | None = Field(
        default=None,
        description="the method whose reward model is used, or that model's name, e.g. rrd-direct; none takes "
        "decompose.method's",
    )
    reward_model: Path | None = Field(
        default=None,
        description="the folder of a reward model that another run has trained, in place of this run's: for a corpus "
        "without scores, or to learn from another corpus' scores",
    )
    reward_ensemble: tuple[str, ...] = Field(
        default=(),
        description="in place of reward_method several, as there: the reward models of all of them, with each of the "
        "run's seeds, score together; each one's scores count in sds of what it pays recorded turns",
    )
    reward_join: Literal["mean", "min"] = Field(
        default="mean",
        description="what a reply is paid by reward_ensemble: the mean of its scores, less sd_penalty times their sd "
        "(a lower bound), or the least",
    )
    anyway: bool = Field(
        default=False,
        description="whether a policy is trained though its reward model agrees with people no more than a control "
        "that judges no turn (evaluation.json)",
    )
    reward: str = Field(
        default=REWARD_MODEL,
        min_length=1,
        description="what scores the replies: reward_model (a run's), outcome (what the environment's rules say at an "
        "episode's end), credit (what of it each turn has brought), or the name of a reward that a package brings",
    )
    reward_settings: dict[str, Any] = Field(
        default={},
        description="settings of that reward, as a table: docs/guides/reward-model-and-alignment.md names the keys",
    )
    prompts: Path | None = Field(
        default=None,
        description="a JSON Lines file of prompts that are answered, in place of the policy split's contexts",
    )
    device: Device = "auto"
    dtype: Dtype = "auto"
    stop: Literal["gold", "none"] | None = Field(
        default=None,
        description="gold: two reward models from the policy split's scored sessions, which the reward never learned "
        "from, end the training and choose its step; none: the last step is kept; not given: gold where there are "
        "enough such sessions",
    )
    generation: Literal["transformers", "vllm"] = Field(
        default="transformers",
        description=f"what samples the replies of {readers('generation')}; vllm is an extra, for GPUs",
    )
    steps: int = Field(default=25, ge=1, description=f"rounds of sampling and updates; of {RECORD}, updates")
    epochs: int | None = Field(
        default=None,
        ge=1,
        description=f"{readers('epochs')}: passes over what the target said, in place of steps; none takes steps",
    )
    batch_size: int = Field(
        default=24, ge=2, description=f"replies sampled a step; of {RECORD}, turns learned from a step"
    )
    num_generations: int = Field(
        default=8,
        ge=2,
        description=f"{readers('num_generations')}: replies to one context that are compared; batch_size holds whole "
        "groups",
    )
    mini_batch_size: int = Field(
        default=24, ge=1, description="replies an optimizer step; lower it where memory is short"
    )
    micro_batch_size: int | None = Field(
        default=None,
        ge=1,
        description="replies a forward pass in each process; the gradients of a minibatch are summed over them. none "
        "takes mini_batch_size",
    )
    group_by_length: bool = Field(
        default=False, description="minibatches of replies of like length, cut to the longest: less padding"
    )
    gradient_checkpointing: bool = Field(
        default=False, description="less memory for activations, about a third more time an update"
    )
    ppo_epochs: int = Field(default=2, ge=1, description="passes over the replies of a step")
    lr: float | None = Field(
        default=None, gt=0, description=f"learning rate; none takes {PAPER_LR:g}, and {TINY_LR:g} for tiny"
    )
    value_lr: float | None = Field(default=None, gt=0, description="learning rate of the value head; none takes lr")
    lr_schedule: Literal["linear", "cosine", "constant"] = Field(
        default="linear",
        description="linear and cosine lower the learning rates to 0 after the last update, cosine slowly at both ends",
    )
    warmup: int | None = Field(
        default=None,
        ge=0,
        description=f"updates (of {readers('value_lr')}: steps) in which the learning rates rise from 0 before that; "
        "none is 0",
    )
    clip: float = Field(default=0.2, gt=0, lt=1, description="clip range of the probability ratio")
    value_clip: float = Field(default=0.2, gt=0, description="clip range of a value around its old one")
    value_coefficient: float = Field(default=0.1, ge=0, description="weight of the value loss")
    max_gradient_norm: float = Field(default=1.0, gt=0, description="gradients are scaled down to this norm")
    beta: float | None = Field(
        default=None,
        ge=0,
        description="weight of the divergence from the policy at the start, in the reward (Eq. 1) and in the unit of "
        "the scores: the best policy of ppo, grpo and rloo is as reference * exp(score / beta); none takes "
        f"{PAPER_KL:g}, and {TINY_KL:g} for tiny, which else gives one reply to everything within a few steps",
    )
    kl_controller: Literal["fixed", "adaptive"] = Field(
        default="fixed", description="adaptive raises and lowers beta to hold the divergence at kl_target"
    )
    kl_target: float = Field(default=6.0, gt=0, description="nats a reply that the adaptive controller aims at")
    kl_horizon: int = Field(default=10_000, ge=1, description="replies over which the adaptive controller acts")
    kl_clip: float | None = Field(
        default=None, gt=0, description="largest divergence of a token, either way, that the reward charges for"
    )
    reward_clip: float | None = Field(
        default=None, gt=0, description="largest score, either way, after score_norm where that is on"
    )
    sd_penalty: float = Field(
        default=0.0,
        ge=0,
        description="what a reply is paid less for each sd of the reward model's heads on it; of reward_ensemble's "
        "models",
    )
    refresh_fit: int = Field(
        default=0,
        ge=0,
        description="steps after which the reward model's sense of context learns from the policy's own replies, as "
        "ones that do not fit elsewhere, and again after as many; 0 is never",
    )
    target_kl: float | None = Field(
        default=None, gt=0, description="nats a token from the sampled policy at which a step's updates end early"
    )
    pretrain_coefficient: float = Field(
        default=0.0, ge=0, description="weight of the likelihood of the corpus' own dialogues (Eq. 8's gamma)"
    )
    pretrain_batch_size: int = Field(default=6, ge=1, description="dialogue windows an optimizer step for that term")
    gamma: float = Field(default=1.0, ge=0, le=1, description="discount from token to token")
    gae_lambda: float = Field(default=0.95, ge=0, le=1, description="lambda of the advantage estimate")
    score_norm: bool = Field(
        default=True, description="scores less their running mean, divided by their running deviation"
    )
    scale_rewards: bool = Field(
        default=False,
        description=f"{readers('scale_rewards')}: as published, advantages in deviations of their group and the "
        "divergence in the loss, so that beta is in those deviations; false is Dr. GRPO's form (Liu et al., 2025)",
    )
    preference_margin: float = Field(
        default=0.0,
        ge=0,
        description=f"{readers('preference_margin')}: least difference of the best and the worst reply's score, after "
        "score_norm; nearer ones teach nothing",
    )
    context_turns: ContextTurns = 3
    targets: tuple[str, ...] = Field(
        default=(),
        description="in whose place the policy answers: names, or first and second to speak in a session; none given: "
        "everybody who was rated, and in sessions without a score whom the others' scores credit",
    )
    episode_contexts: int | None = Field(
        default=None,
        ge=1,
        description="most contexts of one rated speaker in one session, spread evenly, so that long sessions do not "
        "outweigh short ones; none takes all",
    )
    max_context_tokens: MaxContextTokens = 192
    max_new_tokens: MaxNewTokens = 32
    temperature: Temperature = 0.7
    max_turns: int = Field(
        default=1, ge=1, description="turns that the policy answers in a row, the partner in between"
    )
    partner: str = Field(
        default=RECORDED,
        min_length=1,
        description="the other side of max_turns: recorded (says what it said then), language-model, policy, or the "
        "name of one that a package brings",
    )
    partner_settings: dict[str, Any] = Field(
        default={},
        description="settings of that partner, as a table: docs/guides/reward-model-and-alignment.md names the keys",
    )
    environment: str | None = Field(
        default=None,
        min_length=1,
        description=f"{readers('environment')}: dialogues are played live in this environment "
        f"({', '.join(ENVIRONMENTS.ours)}), in place of the policy split's contexts, until its rules end them; a group "
        "is episodes of one task and seat",
    )
    environment_settings: dict[str, Any] = Field(
        default={},
        description="settings of that environment: docs/guides/reward-model-and-alignment.md names the keys",
    )
    role_baseline: float | None = Field(
        default=None,
        ge=0,
        lt=1,
        description=f"{readers('role_baseline')}, in an environment: decay of a running mean of returns by role, which "
        "is taken off an episode's return (SPIRAL: 0.95); none takes nothing off",
    )
    reward_placement: Literal["turn", "response"] = Field(
        default="turn", description="where a response of several turns is paid: each turn its score, or all at its end"
    )
    processes: int = Field(
        default=1,
        ge=1,
        le=64,
        description="processes that share each step, a GPU each with device = cuda; through accelerate",
    )
    accelerate: str = Field(
        default="data_parallel",
        min_length=1,
        description="with several processes: data_parallel (each holds the whole policy), fsdp or deepspeed (frozen "
        "weights are dealt out), or the file of an accelerate config",
    )
    samples: int = Field(default=8, ge=0, description="contexts that are answered before and after, for the report")
    penalties: PenaltySettings = PenaltySettings()
    alarms: AlarmSettings = AlarmSettings()
    lora: LoraSettings = LoraSettings()
    tiny: TinySettings = TinySettings()

    @classmethod
    def preset_beside(cls, preset: Preset, values: Mapping[str, Any]) -> Preset:
        """Beside `tiny`, a stand-in of a ten-thousandth of the size, not the learning rate nor its rise: own ones."""
        left = ("lr", "warmup") if values.get("policy") == "tiny" else ()
        return {name: given for name, given in preset.items() if name not in left}

    @model_validator(mode="after")
    def _sizes_fit(self) -> AlignSettings:
        for part, whole in (("mini_batch_size", "batch_size"), ("micro_batch_size", "mini_batch_size")):
            size, limit = getattr(self, part), getattr(self, whole)
            if size is not None and size > limit:
                raise ValueError(f"{part} {size} is larger than {whole} {limit}; lower it")
        if self.processes > self.batch_size:
            raise ValueError(f"processes {self.processes} is more than batch_size {self.batch_size}; lower it")
        return self

    @model_validator(mode="after")
    def _chosen_by_name(self) -> AlignSettings:
        named = [name for name in ("reward_model", "reward_method", "reward_ensemble") if getattr(self, name)]
        if len(named) > 1:
            raise ValueError(f"{' and '.join(named)} name one each; take one of them out")
        if self.reward_join == "min" and (self.sd_penalty or not self.reward_ensemble):
            why = "takes no sd_penalty; take that out" if self.reward_ensemble else "joins reward_ensemble; name that"
            raise ValueError(f"reward_join = 'min' {why}")
        try:
            self.reward_by.checked(self.reward_settings)
            self.partner_by.checked(self.partner_settings)
            if self.environment_by is not None:
                self.environment_by.checked(self.environment_settings)
        except InputError as error:
            raise ValueError(str(error)) from None
        if self.reward != REWARD_MODEL and named:
            rest = ", or reward_ensemble" if self.reward_ensemble else ""
            raise ValueError(
                f"reward = {self.reward!r} asks no reward model; take out reward_model and reward_method{rest}"
            )
        if self.reward != REWARD_MODEL and self.sd_penalty:
            raise ValueError(f"reward = {self.reward!r} has no sd; take out sd_penalty")
        if self.partner != RECORDED and self.max_turns == 1:
            raise ValueError(f"partner = {self.partner!r} answers between turns, max_turns is 1; raise that")
        if self.prompts is not None and self.max_turns > 1 and not self.partner_by.live:
            raise ValueError(f"partner = {self.partner!r} has recorded nothing after prompts; choose another one")
        return self

    @model_validator(mode="after")
    def _plays(self) -> AlignSettings:
        if self.environment is None:
            if self.reward in (OUTCOME, CREDIT):
                raise ValueError(
                    f"reward = {self.reward!r} is what the rules of an environment say; name an environment"
                )
            if self.reward == REWARD_MODEL and self.reward_settings.get("outcome"):
                raise ValueError("reward_settings.outcome weighs what an environment's rules say; name an environment")
            if self.environment_settings:
                raise ValueError("environment_settings are given, and no environment; name one, or take them out")
            if self.role_baseline is not None:
                raise ValueError("role_baseline is of roles in an environment; name one, or take it out")
            return self
        if "environment" not in self.trainer.reads:
            fit = readers("environment")
            raise ValueError(f"environment = {self.environment!r} is for {fit}, not for {self.algorithm}; take it out")
        for name in ("max_turns", "partner", "prompts", "generation"):
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(
                    f"{name} and environment = {self.environment!r}: the environment says what is answered, how often "
                    f"and by whom; take out {name}"
                )
        if self.reward == CREDIT:
            self._credits()
        return self

    def _credits(self) -> None:
        by: Any = self.reward_by.checked(self.reward_settings)
        assert self.environment_by is not None
        try:
            by.player_in(self.environment_by.checked(self.environment_settings))
        except InputError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _suits_the_algorithm(self) -> AlignSettings:
        reads = self.trainer.reads
        if self.trainer.by_trl:
            self._divides_evenly()
        if "num_generations" in reads and self.batch_size % (group := self.num_generations):
            size = f"batch_size {self.batch_size}"
            raise ValueError(f"{size} holds no whole number of groups of {group}; change num_generations")
        if self.trainer.keeps_best and self.at_once % self.num_generations:
            raise ValueError(
                f"{self.algorithm}: a forward pass of {self.at_once} replies holds no whole number of groups of "
                f"{self.num_generations}; change micro_batch_size or num_generations"
            )
        contexts = self.batch_size // self.num_generations
        if "preference_margin" in reads and contexts % self.processes:
            raise ValueError(
                f"{self.algorithm}: batch_size {self.batch_size} / num_generations {self.num_generations} is no "
                f"multiple of processes {self.processes}; change one"
            )
        if self.trainer.takes_thumbs and self.at_once < 2:
            raise ValueError(
                f"{self.algorithm}: a forward pass of 1 turn does not tell how far the policy has gone; raise "
                f"{'mini_batch_size' if self.micro_batch_size is None else 'micro_batch_size'}"
            )
        if "max_turns" not in reads and self.max_turns > 1:
            fit = readers("max_turns", "or")
            raise ValueError(f"{self.algorithm} answers one turn, max_turns is {self.max_turns}; take {fit}, or 1 turn")
        if self.trainer.by_trl and "lm_head" in self.lora.targets:
            raise ValueError(f"{self.algorithm}: TRL trains no adapter on lm_head; take it out of lora.targets")
        if self.generation == "vllm":
            self._suits_vllm()
        return self

    @property
    def asks_gold(self) -> bool:
        """Whether gold stops the training where there are enough sessions for it."""
        return self._without_gold is None and self.stop != "none" and self.trainer.needs_reward

    @property
    def _without_gold(self) -> str | None:
        """The setting beside which gold is never asked."""
        if self.processes > 1:
            return f"processes = {self.processes}"
        return None if self.environment is None else f"environment = {self.environment!r}"

    @model_validator(mode="after")
    def _gold_is_there(self) -> AlignSettings:
        if self.stop == "gold" and self._without_gold is not None:
            raise ValueError(f"stop = 'gold' does not go with {self._without_gold}; take one of them out")
        return self

    @model_validator(mode="after")
    def _fit_is_refreshed(self) -> AlignSettings:
        other = self._without_gold or ("reward_ensemble" if self.reward_ensemble else None)
        if self.reward != REWARD_MODEL:
            other = f"reward = {self.reward!r}"
        if self.refresh_fit and other is not None:
            raise ValueError(f"refresh_fit = {self.refresh_fit} does not go with {other}; take one of them out")
        return self

    def _divides_evenly(self) -> None:
        name = "batch_size" if self.trainer.from_record else "mini_batch_size"
        update: int = getattr(self, name)
        share = update // self.processes
        each = "mini_batch_size" if self.processes == 1 else f"each process' part of {name},"
        for whole, total, part, size in (
            ("batch_size", self.batch_size, "mini_batch_size", update),
            (name, update, "processes", self.processes),
            (each, share, "micro_batch_size", self.at_once),
        ):
            if total % size:
                raise ValueError(f"{self.algorithm}: {whole} {total} is no multiple of {part} {size}; change one")

    def _suits_vllm(self) -> None:
        if "generation" not in self.trainer.reads:
            raise ValueError(f"generation = 'vllm' is for {readers('generation')}, not for {self.algorithm}")
        if self.policy == "tiny" or self.placement.device != "cuda":
            raise ValueError("generation = 'vllm' needs device = 'cuda' and a named policy, not tiny")
        if self.max_turns > 1:
            raise ValueError(f"generation = 'vllm' samples single turns; max_turns is {self.max_turns}")

    def found_from(self, base: Path) -> Self:
        """A copy whose policy, reward model, prompts and tables of settings are found from ``base``."""
        paths = {"prompts": self.prompts, "reward_model": self.reward_model}
        changes: dict[str, Any] = {name: found_from(base, path) for name, path in paths.items() if path is not None}
        if self.policy != "tiny":
            changes["policy"] = model_found_from(base, self.policy)
        return self.model_copy(update=changes | self._tables(lambda path: str(found_from(base, path))))

    def shown(self) -> dict[str, Any]:
        """As plain JSON values, files and folders by their last names."""
        paths = {"prompts": self.prompts, "reward_model": self.reward_model}
        names = {name: path.name for name, path in paths.items() if path is not None}
        return self.plain() | names | {"policy": last_name(self.policy)} | self._tables(last_name)

    def _tables(self, place: Callable[[str], str]) -> dict[str, Any]:
        tables = {"partner_settings": self.partner_settings, "environment_settings": self.environment_settings}
        return dict(tables_placed(tables, place))

    def consented(self, host: str | None) -> Self:
        """A copy whose partner may send text to ``host``, where it asks a language model and nothing else is said."""
        if host is None:
            return self
        changes: dict[str, Any] = {}
        if self.partner_by.asks and self.partner_settings.get("allow_host") is None:
            changes["partner_settings"] = {**self.partner_settings, "allow_host": host}
        asked = self.environment_settings.get("llm")
        if isinstance(asked, dict) and asked.get("allow_host") is None:
            changes["environment_settings"] = {**self.environment_settings, "llm": {**asked, "allow_host": host}}
        return self.model_copy(update=changes)

    @property
    def trainer(self) -> Algorithm:
        """The row of ``algorithm``."""
        return ALGORITHMS[self.algorithm]

    @property
    def reward_by(self) -> Plugin:
        """What scores the replies; raises InputError where it cannot be found."""
        named: Plugin = REWARDS.find(self.reward)
        return named

    @property
    def partner_by(self) -> Plugin:
        """The other side of responses of several turns; raises InputError where it cannot be found."""
        named: Plugin = PARTNERS.find(self.partner)
        return named

    @property
    def environment_by(self) -> Plugin | None:
        """What is played live, if anything is; raises InputError where it cannot be found."""
        named: Plugin | None = None if self.environment is None else ENVIRONMENTS.find(self.environment)
        return named

    @property
    def response_turns(self) -> int:
        """Most turns of a response: ``max_turns``, and in an environment as many as its rules allow."""
        return self.max_turns if self.environment is None else sys.maxsize

    @property
    def chosen(self) -> dict[str, Any]:
        """What of `CHOSEN` is not as always, by what it is, for a key or a card."""
        chosen: dict[str, Any] = {}
        if self.reward != REWARD_MODEL or self.reward_settings:
            chosen["reward"] = self.reward_by.identity(self.reward_settings)
        if self.partner != RECORDED:
            chosen["partner"] = self.partner_by.identity(self.partner_settings)
        if self.prompts is not None:
            chosen["prompts"] = self.prompts.name
        if self.environment_by is not None:
            chosen["environment"] = self.environment_by.identity(self.environment_settings)
        if "scale_rewards" in self.trainer.reads and not self.scale_rewards:
            # What GRPO was before there was a choice.
            chosen["scale_rewards"] = False
        if self.trainer.needs_reward and self.reward_ensemble:
            chosen["reward_ensemble"] = [self.reward_join, *self.reward_ensemble]
        if "penalties" in self.trainer.reads and self.penalties != PenaltySettings():
            chosen["penalties"] = self.penalties.plain()
        named = ("epochs", "warmup", "preference_margin", "refresh_fit")
        if self.role_baseline is not None:
            chosen["role_baseline"] = self.role_baseline
        return {**chosen, **{name: value for name in named if (value := getattr(self, name))}}

    @property
    def joined(self) -> str:
        """What joins the reward models of which methods, in words; empty where one scores alone."""
        how = "minimum" if self.reward_join == "min" else "lower bound" if self.sd_penalty else "mean"
        return f"{how} of {listed(self.reward_ensemble)}, every seed" if self.reward_ensemble else ""

    @property
    def window(self) -> Window:
        """What the policy reads, and how its replies are sampled."""
        return Window.of(self)

    @property
    def placement(self) -> Placement:
        """Where the policy runs: ``auto`` is what is here, and of `tiny`, which takes seconds, the CPU and float32."""
        auto = {"device": "cpu", "dtype": "float32"} if self.policy == "tiny" else {"device": "auto", "dtype": "auto"}
        given = {"device": self.device, "dtype": self.dtype}
        return Placement.model_validate(given | {name: auto[name] for name, value in given.items() if value == "auto"})

    @property
    def placed(self) -> Self:
        """A copy that names the device and the number format where they are ``auto``."""
        return self.model_copy(update=dict(self.placement))

    def plain(self) -> dict[str, Any]:
        """As `Settings.plain`, for keys too; by what ``auto`` is here."""
        return {**super().plain(), **self.placement.plain()}

    @property
    def adapter(self) -> LoraSettings:
        """The adapters as they are trained: without dropout where two policies' log-probabilities are compared."""
        return self.lora if "lora.dropout" in self.trainer.reads else self.lora.model_copy(update={"dropout": 0.0})

    @property
    def unread(self) -> tuple[str, ...]:
        """Settings that were given and that the algorithm does not read, in order of the alphabet."""
        given = self.model_fields_set - self.brought
        optional = frozenset[str]().union(*(row.reads for row in ALGORITHMS.values()))
        unread = list(given & optional - self.trainer.reads)
        if self.adapter != self.lora and "dropout" in self.lora.model_fields_set and "lora.dropout" not in self.brought:
            unread.append("lora.dropout")
        return tuple(sorted(unread))

    @property
    def at_once(self) -> int:
        """Replies that go through the model at once in an update, in each process."""
        return self.micro_batch_size or max(1, self.mini_batch_size // self.processes)

    @property
    def learning_rate(self) -> float:
        """The learning rate that is used: as set, else one that suits the size of the policy."""
        return self.lr or (TINY_LR if self.policy == "tiny" else PAPER_LR)

    @property
    def divergence_weight(self) -> float:
        """``beta`` as it is used: as set, else one that suits the learning rate that the policy gets."""
        fitting = TINY_KL if self.policy == "tiny" else PAPER_KL
        return fitting if self.beta is None else self.beta


PAPER = AlignSettings(preset="paper")
