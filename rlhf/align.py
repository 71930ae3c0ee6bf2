"""The stage ``align``: from dialogues and a reward model to a fine-tuned policy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import torch
from peft import PeftModel
from torch import Tensor

from corpus.session import Episode
from corpus.settings import SPLITS
from foundation.errors import UnitError
from foundation.processes import Team
from rlhf.policy.card import PolicyFacts, policy_card
from rlhf.policy.contexts import (
    ContextSet,
    DialogueContext,
    HistoryText,
    choose_contexts,
    make_contexts,
    merge_turns,
    of_targets,
)
from rlhf.policy.dialogue_chunks import dialogue_windows
from rlhf.policy.loading import Policy, check_device, load_policy
from rlhf.policy.lora import attach_adapter, trained_weights
from rlhf.policy.out_of_memory import memory_advice
from rlhf.policy.sharding import attach_to_dealt_out, sharding_asked
from rlhf.policy.window_file import write_window
from rlhf.policy.writing import write_policy
from rlhf.ppo.checkpoints import Checkpoints
from rlhf.ppo.ppo import PPO
from rlhf.sampling.before_after import compare_replies
from rlhf.sampling.partner import Partner, RecordedPartner
from rlhf.settings import AlignSettings
from rlhf.training.checkpoint_folders import StepFolders
from rlhf.training.isolation import own_randomness, quiet_transformers
from rlhf.training.metrics import History
from rlhf.training.reward import ModelReward, Reward
from rlhf.training.run import Progress, Run, Watcher


def align(
    episodes: Sequence[Episode],
    splits: pa.Table,
    reward_model: Path,
    settings: AlignSettings,
    seed: int,
    out: Path,
    progress: Progress,
    checkpoints: Path | None = None,
    watch: Sequence[Watcher] = (),
    team: Team | None = None,
) -> tuple[pa.Table, pa.Table]:
    """Fine-tune a policy with LoRA against a reward model of turns (LLM-GELI, section 5.3), or on its own turns.

    The policy answers in the target's place. Its contexts come from the sessions of the ``policy`` split, which the
    reward model was not trained on; those of ``sft``, which asks no reward model, from all sessions but the test ones.
    The samples before and after come from ``test``, where there are such sessions.

    Parameters
    ----------
    episodes : sequence of Episode
        Every session of the corpus, seen through one rating.
    splits : pa.Table
        ``session_id`` and ``split`` (schema SPLITS).
    reward_model : Path
        The folder of a saved reward model.
    settings : AlignSettings
        Policy, algorithm and LoRA.
    seed : int
        Of everything random; with the same number of torch threads the same seed gives the same bytes.
    out : Path
        Receives adapters, tokenizer, card and, for ``tiny``, the base model.
    progress : callable
        ``progress(done, total, text)`` after every step.
    checkpoints : Path or None
        A folder of this run alone, for what a killed run needs to go on to the same bytes; None keeps nothing.
    watch : sequence of callable
        Each ``watcher(step, metrics)`` after every step.
    team : Team or None
        The processes that this one belongs to; without it, ``settings.processes`` of them are started.

    Returns
    -------
    history, samples : pa.Table
        ``step`` (from 1), ``metric``, ``value``; and ``context``, ``before``, ``after``, ``reward_before``,
        ``reward_after``.

    Raises
    ------
    InputError
        A policy or reward model that cannot be loaded, or a setting that does not fit the policy.
    UnitError
        No usable contexts, a reward or loss that is not finite, an alarm, no memory left, or a damaged checkpoint.
    """
    if settings.processes > 1 and team is None:
        from rlhf.launch.job import Job
        from rlhf.launch.parent import align_together

        threads, parent = torch.get_num_threads(), os.getpid()
        job = Job(tuple(episodes), splits, reward_model, settings, seed, out, checkpoints, threads, parent)
        return align_together(job, progress, watch)
    reward = ModelReward(reward_model)
    return align_with(reward, reward.history, episodes, splits, settings, seed, out, progress, checkpoints, watch, team)


def align_with(
    reward: Reward,
    history_text: HistoryText,
    episodes: Sequence[Episode],
    splits: pa.Table,
    settings: AlignSettings,
    seed: int,
    out: Path,
    progress: Progress,
    checkpoints: Path | None = None,
    watch: Sequence[Watcher] = (),
    team: Team | None = None,
) -> tuple[pa.Table, pa.Table]:
    """`align` against any reward: ``history_text`` writes histories as that reward reads them."""
    check_device(settings)
    episodes = of_targets(episodes, settings.targets)
    split_of = dict(zip(splits["session_id"].to_pylist(), splits["split"].to_pylist(), strict=True))
    parts = {name: [e for e in episodes if split_of.get(e.session_id) == name] for name in SPLITS}
    run = Run(settings, seed, History(), progress, checkpoints, tuple(watch), team or Team())
    with own_randomness(seed), quiet_transformers(), memory_advice(settings):
        learned_from = [e for e in episodes if split_of.get(e.session_id) != "test"]
        policy = _policy(learned_from, run)
        answered = learned_from if settings.algorithm == "sft" else parts["policy"]
        contexts = _contexts(answered, policy, history_text, settings)
        if not contexts.contexts:
            raise UnitError(
                f"align: {contexts}, in {len(answered)} episodes{_of_split(settings)}. Raise split.policy or "
                "align.max_context_tokens."
            )
        unseen = _contexts(parts["test"], policy, history_text, settings)
        shown = choose_contexts(unseen.contexts or contexts.contexts, settings.samples)
        base_weights = policy.model.num_parameters()
        partner = RecordedPartner(answered, history_text) if settings.reply_turns > 1 else None
        model = _train(policy, contexts.contexts, reward, partner, learned_from, run)
        samples = compare_replies(policy, model, shown, reward, settings)
        facts = PolicyFacts(
            base=policy.name,
            base_weights=base_weights,
            adapter_weights=trained_weights(model),
            seed=seed,
            contexts=contexts,
            first=run.history.at(1),
            last=run.history.at(settings.steps),
        )
        if run.team.rank == 0:
            write_policy(out, policy, model, policy_card(facts, settings))
            write_window(out, settings)
    return run.history.table(), samples


def _train(
    policy: Policy,
    contexts: Sequence[DialogueContext],
    reward: Reward,
    partner: Partner | None,
    learned_from: Sequence[Episode],
    run: Run,
) -> PeftModel:
    """The model with its trained adapters. TRL takes seconds to import, so that it is only where it is used."""
    if run.settings.algorithm == "sft":
        from rlhf.trainers.supervised import train_supervised

        return train_supervised(policy, contexts, learned_from, run)
    if run.settings.algorithm != "ppo":
        from rlhf.trainers.groups import train_groups

        return train_groups(policy, contexts, reward, run, partner)
    by = sharding_asked(run.team)
    if by:
        model = attach_to_dealt_out(policy.model, run.settings, run.team, by)
    else:
        model = attach_adapter(policy.model, run.settings.lora)
    dialogues = _dialogues(learned_from, policy, run.settings)
    kept = Checkpoints(run.checkpoints) if run.checkpoints else None
    ppo = PPO(policy, model, contexts, reward, run.settings, partner, dialogues, run.team)
    if run.team.rank:
        # Each process samples other replies.
        torch.manual_seed(run.seed + run.team.rank)
    ppo.run(run.history, run.progress, kept, run.watch)
    return model


def _of_split(settings: AlignSettings) -> str:
    return " outside the test sessions" if settings.algorithm == "sft" else " of the split 'policy'"


def _policy(episodes: Sequence[Episode], run: Run) -> Policy:
    if run.settings.policy != "tiny":
        return load_policy(run.settings)
    from rlhf.training.tiny_policy import build_tiny

    kept = StepFolders(run.checkpoints) if run.checkpoints else None
    base = kept.base if kept else None
    policy = build_tiny(episodes, run.settings, run.seed, run.history, base)
    if kept and base is None and run.team.rank == 0:
        kept.save_base(policy.model)
    return policy


def _dialogues(episodes: Sequence[Episode], policy: Policy, settings: AlignSettings) -> list[Tensor]:
    """What the term of Eq. 8 learns from: the corpus' own dialogues."""
    if not settings.pretrain_coefficient:
        return []
    merged = [merge_turns(episode.turns, episode.rating.target) for episode in episodes]
    windows = dialogue_windows(merged, policy.tokenizer, settings)
    if not windows:
        raise UnitError(
            "align.pretrain_coefficient: no dialogue outside the test sessions answers anybody, so there is nothing "
            "for that term to learn from. Add sessions, or set it to 0."
        )
    return windows


def _contexts(
    episodes: Sequence[Episode], policy: Policy, history_text: HistoryText, settings: AlignSettings
) -> ContextSet:
    return make_contexts(
        episodes,
        policy.tokenizer,
        history_text,
        context_turns=settings.context_turns,
        max_context_tokens=settings.max_context_tokens,
        most=settings.episode_contexts,
    )
