"""What every social training is lent: a policy with adapters that go on learning, playing, and two ways to learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from pydantic import Field

from apportion.corpus.session import Episode, Turn
from apportion.environments.agents.agent import Agent
from apportion.environments.environment import Observation
from apportion.environments.sotopia.agents import ROSTER
from apportion.foundation.errors import UnitError
from apportion.foundation.model_hub.names import model_folder
from apportion.foundation.settings import Settings
from apportion.rlhf.policy.contexts import ContextTurn, DialogueContext, answer_tokens, known_messages, known_words
from apportion.rlhf.policy.folder import BASE, base_of, check_policy, open_policy
from apportion.rlhf.policy.loading import ADAPTER, Policy
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings, Placement, TinySettings, Window
from apportion.rlhf.sampling.policy_agent import BEGIN, PolicyAgent, episode_seen, live_context
from apportion.rlhf.sampling.starts import ITSELF
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.social.episodes import (
    Scores,
    SeatStep,
    SocialEpisode,
    SocialTasks,
    evaluate,
    play_all,
    play_on,
    split_tasks,
)
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.tiny_policy import build_tiny

if TYPE_CHECKING:
    from peft import PeftModel

TINY = "tiny"
WARM_UP = "conceding"
"""Whose episodes `tiny` reads before everything where the expert, or the partner, is itself."""
IGNORED = -100
EVALUATED = 2
"""Episodes of each held-out task and seat, before and after."""
Hint = Callable[[Observation], str]


class SocialSettings(Settings):
    """What a social training is told; a method names which of these it reads."""

    partner: str = Field(default="conceding", description="who has the other seat: a script, policy@FOLDER, or self")
    expert: str = Field(default="conceding", description="whose episodes are cloned; of dsi may be self")
    pairs: int = Field(default=5, ge=1, description="pairs of characters a scenario")
    held_out: float = Field(default=0.4, gt=0, lt=1, description="share of the tasks that is only evaluated on")
    most_acts: int = Field(default=20, ge=2, description="acts of both after which an episode ends")
    draws: int = Field(default=2, ge=1, description="episodes of each task and seat that are played to learn from")
    rounds: int = Field(default=1, ge=0, description="rounds of playing and learning")
    cloning: bool = Field(default=True, description="whether the expert's episodes are cloned before the rounds")
    top: int = Field(default=1, ge=1, description="episodes of each task and seat that are learned from, by score")
    least: float = Field(default=5.0, ge=0, le=10, description="the goal score that they have at least")
    epochs: int = Field(default=3, ge=1, description="passes over what is learned from")
    batch_size: int = Field(default=8, ge=1, description="episodes, or pairs, an update")
    lr: float = Field(default=1e-3, gt=0, description="learning rate")
    beta: float = Field(default=0.1, ge=0, description="weight of the divergence in DPO")
    resamples: int = Field(default=5, ge=1, description="continuations from a turn that are drawn")
    segment: int = Field(default=3, ge=1, description="turns of a segment, at most")
    temperature: float = Field(default=0.7, ge=0.001, le=5, description="of what the policy says when it is evaluated")
    explore: float = Field(default=1.3, ge=0.001, le=5, description="of what it says when it is to learn from that")
    tokens: int = Field(default=1024, ge=64, description="an episode as the policy reads it has at most")
    warmup: int = Field(default=400, ge=1, description="of tiny: steps on the expert's episodes before everything")

    @property
    def window(self) -> Window:
        """What the policy reads of an episode: all of it, or it fails; and how it is sampled."""
        return Window(
            context_turns=2 * self.most_acts,
            max_context_tokens=self.tokens,
            max_new_tokens=32,
            temperature=self.temperature,
        )


@dataclass
class SocialRun:
    """One training. ``model``: the policy's, with adapters; `learn` and `prefer` change it. ``tell``: is told lines."""

    settings: SocialSettings
    seed: int
    policy: Policy
    model: PeftModel
    tasks: SocialTasks
    tell: Callable[[str], None] = field(default=lambda line: None)

    def agent(self, hint: Hint | None = None, explore: bool = False) -> PolicyAgent:
        """The policy as it is now, in a seat.

        ``hint``: what is told to it alone, at each of its turns. ``explore``: whether it draws more freely.
        """
        window = self.settings.window
        if explore:
            window = window.model_copy(update={"temperature": self.settings.explore})
        return PolicyAgent(self.policy.name, self.policy, self.model, window, self.seed, hint=hint)

    @property
    def partner(self) -> Agent:
        """Who has the other seat; itself, as it is now, where that is asked for."""
        chosen = self.settings.partner
        return self.agent() if chosen == ITSELF else ROSTER.scripted(chosen)

    @property
    def expert(self) -> Agent:
        """Whose episodes are cloned."""
        return ROSTER.scripted(self.settings.expert)

    def evaluate(self, agent: Agent) -> Scores:
        """What an agent scores on the held-out tasks."""
        return evaluate(agent, self.tasks.held_out, self.partner, EVALUATED)

    def play(self, agent: Agent, tag: str) -> list[SocialEpisode]:
        """``settings.draws`` episodes of each training task and seat; each round has a ``tag`` of its own."""
        return play_all(self.tasks.training, agent, self.partner, draws=self.settings.draws, tag=tag)

    def play_on(self, step: SeatStep, episode: SocialEpisode, agent: Agent, times: int) -> list[SocialEpisode]:
        """``times`` continuations of an episode from before one of its steps, each with other random numbers."""
        begun = []
        for number in range(times):
            game = step.before.clone()
            game.reseed(f"{game.seed}/again/{number}")
            begun.append((episode.start, game))
        return play_on(begun, agent, self.partner)

    def learn(self, episodes: Sequence[Sequence[SeatStep]], tag: str) -> None:
        """Supervised fine-tuning on the seat's words in each of the episodes (their steps)."""
        rows = [turn_tokens(self.policy, steps, self.settings.window).labelled for steps in episodes]
        self.learn_rows(rows, f"{len(rows)} episodes", tag)

    def learn_rows(self, rows: Sequence[dict[str, list[int]]], what: str, tag: str) -> None:
        """The same of rows of ``input_ids`` and ``labels``; ``what`` they are, in words."""
        from apportion.rlhf.trainers.supervised import train_on

        self._update("sft", train_on, rows, self.settings.batch_size, f"{tag}: learned from {what}")

    def prefer(self, pairs: Sequence[dict[str, Any]], tag: str) -> None:
        """DPO on ``pairs`` as `apportion.rlhf.trainers.preferences.train_on_pairs` takes them."""
        from apportion.rlhf.trainers.preferences import train_on_pairs

        batch = 2 * self.settings.batch_size  # Both sides of each pair.
        self._update("dpo", train_on_pairs, pairs, batch, f"{tag}: learned from {len(pairs)} pairs")

    def _update(self, algorithm: str, train: Any, rows: Sequence[dict[str, Any]], batch: int, told: str) -> None:
        settings, at_once = self.settings, 2 if batch % 2 == 0 else 1
        sizes = {"batch_size": batch, "mini_batch_size": batch, "micro_batch_size": at_once, "num_generations": 2}
        steps = max(-(-len(rows) * settings.epochs // settings.batch_size), 1)
        align = AlignSettings(
            algorithm=algorithm, steps=steps, lr=settings.lr, beta=settings.beta, stop=None, samples=0, **sizes
        )
        run = Run(align, self.seed)
        self.model = train(self.policy, rows, run, self.model)
        first, last = (run.metrics.at(step).get("loss", float("nan")) for step in (1, steps))
        self.tell(f"{told}, loss {first:.3f} at first, {last:.3f} at last")


@dataclass(frozen=True)
class TurnTokens:
    """Some turns of an episode as the policy reads them: one row, in which only its own words count.

    ``prompt``: ids before its first word. ``reply``: ids from there on. ``mask``: by id of the reply, 1 where it is the
    seat's own, its end marks with them; 0 in others' turns and in acts that stand for what could not be used.
    """

    prompt: tuple[int, ...]
    reply: tuple[int, ...]
    mask: tuple[int, ...]

    @property
    def labelled(self) -> dict[str, list[int]]:
        """The row for supervised fine-tuning: ids, and labels that are ignored where nothing counts."""
        labels = [token if counts else IGNORED for token, counts in zip(self.reply, self.mask, strict=True)]
        return {"input_ids": [*self.prompt, *self.reply], "labels": [IGNORED] * len(self.prompt) + labels}


def context_of(view: Observation, policy: Policy, window: Window, cue: str = "") -> DialogueContext:
    """What a policy reads before an act, with a cue at its end."""
    return live_context(episode_seen(view, view.agent), policy.tokenizer, window.max_context_tokens, cue)


def turn_tokens(policy: Policy, steps: Sequence[SeatStep], window: Window) -> TurnTokens:
    """The seat's ``steps``, which follow one another, as one row of tokens.

    Raises UnitError: they do not fit into the window, or a chat template writes a turn differently once it is answered.
    """
    ids: tuple[int, ...] = ()
    mask: list[int] = []
    begin = 0
    for step in steps:
        context = context_of(step.view, policy, window)
        begin = begin or len(context.prompt)
        if ids != context.prompt[: len(ids)]:
            raise UnitError(
                f"{step.agent!r}: what the policy read at one turn is not what it reads at the next; raise tokens = "
                f"{window.max_context_tokens}, or take a policy whose chat template writes turns alike"
            )
        said = answer_tokens(policy, context.messages, ContextTurn("assistant", step.said))
        mask += [0] * (len(context.prompt) - len(ids)) + [int(not step.act.stands)] * len(said)
        ids = (*context.prompt, *said)
    return TurnTokens(ids[:begin], ids[begin:], tuple(mask[begin:]))


def begin_run(
    policy: str, settings: SocialSettings, seed: int, tell: Callable[[str], None] = lambda line: None
) -> SocialRun:
    """A run with its policy opened and adapters on it.

    ``policy``: `tiny`, which is built here and warmed up on the expert's episodes in the training tasks; a model's name
    or folder; or the folder that another training wrote, whose adapters then go on learning. Raises InputError: there
    is no such policy, partner or expert, or it cannot read so long an episode.
    """
    tasks = split_tasks(seed, settings.pairs, settings.held_out, settings.most_acts)
    for name in {settings.partner, settings.expert} - {ITSELF}:
        ROSTER.scripted(name)
    if policy == TINY:
        opened = _tiny(settings, seed, tasks)
    else:
        check_policy(policy, settings.window)
        opened = open_policy(policy, settings.window, Placement(), policy)
        opened = replace(opened, name=_base_name(policy))
    model: Any = opened.model
    if not hasattr(model, "peft_config"):
        torch.manual_seed(seed)
        model = attach_adapter(model, LoraSettings(r=16, alpha=32, dropout=0.0, targets=_targets(model)))
    for name, weight in model.named_parameters():
        weight.requires_grad_("lora_" in name)
    return SocialRun(settings, seed, opened, model, tasks, tell)


def _targets(model: Any) -> tuple[str, ...]:
    """All projections of a LLaMA's blocks; what a model of another kind has is its queries and values."""
    from apportion.rlhf.policy.lora import adaptable_layers

    wanted = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    found = adaptable_layers(model)
    return tuple(name for name in wanted if name in found) or LoraSettings().targets


def _base_name(policy: str) -> str:
    """What adapters of the policy ``policy`` name as their base; `tiny` where that lies in their folder."""
    folder = model_folder(policy)
    if not (folder / ADAPTER).is_file():
        return policy
    base = base_of(folder)
    return TINY if Path(base) == folder / BASE else base


def _tiny(settings: SocialSettings, seed: int, tasks: SocialTasks) -> Policy:
    """A small LLaMA that has read the expert's episodes in the form in which it will read its own."""
    expert, partner = (
        ROSTER.scripted(WARM_UP if name == ITSELF else name) for name in (settings.expert, settings.partner)
    )
    played = play_all(tasks.training, expert, partner, draws=settings.draws, tag="warm-up")
    align = AlignSettings(**dict(settings.window), tiny=TinySettings(warmup_steps=settings.warmup))
    return build_tiny([_as_read(episode) for episode in played], align, seed)


def _as_read(episode: SocialEpisode) -> Episode:
    """An episode whose first words are those of the other side, with what was known before them."""
    seen = episode_seen(Observation(episode.game, episode.start.agent), episode.start.name)
    turns = [(turn.speaker, turn.text) for turn in seen.turns]
    if turns[0][0] == seen.rating.target:
        other = next((speaker for speaker, _ in turns if speaker != seen.rating.target), "other")
        turns.insert(0, (other, BEGIN))
    known = known_words(known_messages(seen))
    turns[0] = (turns[0][0], known + turns[0][1])
    return replace(seen, turns=tuple(Turn(number, *turn) for number, turn in enumerate(turns)), backgrounds=())
