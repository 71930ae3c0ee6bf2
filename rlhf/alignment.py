"""One process' alignment: contexts, policy and trainer put together, and the policy written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
from peft import PeftModel

from apportion.corpus.session import Episode
from apportion.corpus.splits.settings import SPLITS
from apportion.foundation.distributed import Processes
from apportion.foundation.errors import UnitError
from apportion.foundation.lazy import load_named
from apportion.foundation.progress import Progress, silent
from apportion.rlhf.gold import CONTEXTS, TEST_CONTEXTS, Asked, GoldWatch
from apportion.rlhf.policy.card import PolicyFacts, policy_card
from apportion.rlhf.policy.contexts import (
    ContextSet,
    DialogueContext,
    HistoryText,
    choose_contexts,
    make_contexts,
    of_targets,
)
from apportion.rlhf.policy.folder import write_policy, write_window
from apportion.rlhf.policy.loading import Policy, check_device, load_policy, oom_advice
from apportion.rlhf.policy.lora import trained_weights
from apportion.rlhf.sampling.multi_turn import compare_episodes, compare_replies
from apportion.rlhf.sampling.partner import Partner
from apportion.rlhf.sampling.policy_agent import PolicyAgent
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.checkpoint_folders import StepFolders
from apportion.rlhf.training.job import GoldModels, Job, Run, Watcher
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training.refreshed_reward import RefreshedReward
from apportion.rlhf.training.reward import ModelReward, Reward, SessionReward
from apportion.rlhf.training.rng_state import quiet_transformers, seeded_rng
from apportion.rlhf.training_data import TrainingData

GOLD_FILE = "gold.json"
"""Beside a policy: what gold says of it, its curve and best-of-n's (`apportion.rlhf.gold_report.GoldReport`)."""


def align_here(
    job: Job,
    reward: SessionReward,
    processes: Processes | None = None,
    progress: Progress = silent,
    watch: Sequence[Watcher] = (),
) -> tuple[pa.Table, pa.Table]:
    """`apportion.rlhf.align.align` in this process, against any reward.

    ``job``: what is to be aligned; its ``reward_model`` is not opened. ``reward``: scores replies, and writes histories
    as it reads them. ``processes``: those that this one shares the work with; None where it is alone. ``progress``,
    ``watch``: as in `apportion.rlhf.align.align`.
    """
    job = replace(job, settings=job.settings.placed)
    settings = job.settings
    check_device(settings.placement)
    episodes = of_targets(job.episodes, settings.targets)
    split_of = dict(zip(job.splits["session_id"].to_pylist(), job.splits["split"].to_pylist(), strict=True))
    parts = {name: [e for e in episodes if split_of.get(e.session_id) == name] for name in SPLITS}
    run = Run(settings, job.seed, Metrics(), progress, job.checkpoints, tuple(watch), processes or Processes())
    with seeded_rng(job.seed), quiet_transformers(), oom_advice(settings.placement, _what_to_lower(settings)):
        learned_from = [e for e in episodes if split_of.get(e.session_id) != "test"]
        policy = _policy(learned_from, run)
        prompts = () if settings.trainer.from_record else job.prompts
        answered = (prompts or parts["policy"]) if settings.trainer.needs_reward else learned_from
        base_weights = policy.model.num_parameters()
        with _other_side(job, policy, answered, reward.history) as (contexts, partner):
            if not contexts.contexts:
                raise UnitError(f"{contexts}, in {len(answered)} {_answered(job)}, or raise max_context_tokens.")
            run = replace(run, settings=epoch_steps(settings, contexts.contexts, answered))
            gold, told = _gold(job, policy, reward, parts, run)
            run = replace(run, gold=gold)
            # TRL takes seconds to import, so that a trainer is imported where it is used.
            train = load_named(settings.trainer.train, repr(settings.algorithm), "Correct its row in rlhf.algorithms.")
            live = _live(reward, parts, run)
            data = TrainingData(policy, contexts.contexts, live, partner, learned_from, job.thumbs)
            model: PeftModel = train(data, run)
            report = None if gold is None else gold.finish(model, run.metrics, told)
            if settings.environment is not None and partner is not None:
                shown = choose_contexts(contexts.contexts, settings.samples)
                samples = compare_episodes(policy, model, shown, partner, reward, settings)
            else:
                unseen = _contexts(parts["test"], policy, reward.history, settings)
                shown = choose_contexts(unseen.contexts or contexts.contexts, settings.samples)
                samples = compare_replies(policy, model, shown, reward, settings)
        facts = PolicyFacts(
            base=policy.name,
            base_weights=base_weights,
            adapter_weights=trained_weights(model),
            seed=job.seed,
            contexts=contexts,
            step=report.kept if report else run.settings.steps,
            first=run.metrics.at(1),
            last=run.metrics.at(report.kept if report else run.settings.steps),
            gold=f"{report.verdict} {report.told}" if report else told,
        )
        if run.processes.rank == 0:
            write_policy(job.out, policy, model, policy_card(facts, run.settings))
            write_window(job.out, settings.window)
            if report or told:
                document = report.to_json() if report else {"verdict": told}
                (job.out / GOLD_FILE).write_text(json.dumps(document, indent=1, sort_keys=True), encoding="utf-8")
    return run.metrics.table(), samples


def _gold(
    job: Job, policy: Policy, reward: SessionReward, parts: Mapping[str, Sequence[Episode]], run: Run
) -> tuple[GoldWatch | None, str]:
    """What measures the policy by gold, and what it is; None, and why there is nothing, where it cannot be."""
    if not isinstance(job.gold, GoldModels):
        return None, job.gold
    settings = run.settings
    by_choice, by_report = (
        ModelReward(folder, settings.placement.device) for folder in (job.gold.choice, job.gold.report)
    )
    asked = Asked.of(parts["validation"], policy, settings, CONTEXTS, (reward, by_choice))
    tested = Asked.of(parts["test"], policy, settings, TEST_CONTEXTS, (reward, by_choice, by_report))
    for name, found in (("validation", asked), ("test", tested)):
        if len(found.contexts) < 2:
            few = f"the {name} split has {len(found.contexts)} contexts"
            told = f"No gold reward tells whether the policy has gained: {few}"
            if settings.stop == "gold":
                raise UnitError(f"stop = 'gold': {told}. Give that split more sessions, or set stop = 'none'.")
            return None, f"{told}."
    folder = run.checkpoints / "gold" if run.checkpoints else None
    return GoldWatch(policy, settings, run.seed, asked, tested, folder), job.gold.told


def _live(reward: SessionReward, parts: Mapping[str, Sequence[Episode]], run: Run) -> Reward:
    """What scores the replies that are learned from: ``reward``, which learns from them too where that is asked."""
    every = run.settings.refresh_fit if "refresh_fit" in run.settings.trainer.reads else 0
    return RefreshedReward(reward, parts, every, run.seed) if every else reward


def epoch_steps(
    settings: AlignSettings, contexts: Sequence[DialogueContext], episodes: Sequence[Episode]
) -> AlignSettings:
    """``settings`` with as many steps as ``epochs`` passes over the ``contexts`` of ``episodes`` are.

    The last step takes the first turns of another pass where a pass is no whole number of batches.
    """
    if not settings.trainer.from_record or settings.epochs is None:
        return settings
    said = {
        (episode.session_id, episode.turns[position].turn)
        for episode in episodes
        for position in episode.target_positions
        if episode.turns[position].text.strip()
    }
    learned = sum((context.session_id, context.turn) in said for context in contexts)
    return settings.model_copy(update={"steps": max(1, math.ceil(settings.epochs * learned / settings.batch_size))})


def _what_to_lower(settings: AlignSettings) -> str:
    return (
        f"mini_batch_size (now {settings.mini_batch_size}), max_context_tokens ({settings.max_context_tokens}), "
        f"max_new_tokens ({settings.max_new_tokens}), batch_size ({settings.batch_size}), or take a smaller policy "
        f"({settings.policy})"
    )


def _answered(job: Job) -> str:
    if not job.settings.trainer.needs_reward:
        return "episodes outside the test sessions. Add sessions"
    if job.prompts and not job.settings.trainer.from_record:
        return "prompts. Give prompts that say something"
    return "episodes of the split 'policy'. Give that split more sessions"


@contextmanager
def _other_side(
    job: Job, policy: Policy, answered: Sequence[Episode], history: HistoryText
) -> Iterator[tuple[ContextSet, Partner | None]]:
    """What is answered, and the other side of it: of a corpus, or of an environment that is played."""
    settings, environment = job.settings, job.settings.environment_by
    if environment is None:
        last_alone = answered is job.prompts
        contexts = _contexts(answered, policy, history, settings, last_alone)
        with _partner(job, answered, history) as partner:
            yield contexts, partner
        return
    with environment.make(job, environment.checked(settings.environment_settings), history) as (starts, stage):
        speaker = PolicyAgent(policy.name, policy, policy.model, settings.window)
        unopened = [DialogueContext(start.name, 0, (), (), "") for start in starts]
        yield ContextSet(tuple(stage.begin(unopened, speaker))), stage


@contextmanager
def _partner(job: Job, answered: Sequence[Episode], history: HistoryText) -> Iterator[Partner | None]:
    """The other side of the dialogues, by the name in the settings; None where a response is one turn."""
    if job.settings.max_turns == 1:
        yield None
        return
    named = job.settings.partner_by
    partner: Partner = named.make(job, named.checked(job.settings.partner_settings), answered, history)
    try:
        yield partner
    finally:
        close = getattr(partner, "close", None)
        if close is not None:
            close()


def _policy(episodes: Sequence[Episode], run: Run) -> Policy:
    if run.settings.policy != "tiny":
        return load_policy(run.settings.policy, run.settings.window, run.settings.placement)
    from apportion.rlhf.training.tiny_policy import build_tiny

    checkpoints = StepFolders(run.checkpoints) if run.checkpoints else None
    base = checkpoints.base if checkpoints else None
    policy = build_tiny(
        episodes, run.settings, run.seed, lambda step, loss: run.metrics.add(step, {"warmup_loss": loss}), base
    )
    if checkpoints and base is None and run.processes.rank == 0:
        checkpoints.save_base(policy.model)
    return policy


def _contexts(
    episodes: Sequence[Episode],
    policy: Policy,
    history_text: HistoryText,
    settings: AlignSettings,
    last_alone: bool = False,
) -> ContextSet:
    return make_contexts(
        episodes,
        policy.tokenizer,
        history_text,
        context_turns=settings.context_turns,
        max_context_tokens=settings.max_context_tokens,
        most=settings.episode_contexts,
        last_alone=last_alone,
    )
