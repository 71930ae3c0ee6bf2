"""Replies of the policy before and after its training, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import pyarrow as pa
from peft import PeftModel

from apportion.rlhf.policy.contexts import ContextTurn, DialogueContext
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.sampling.multi_turn import sample_dialogues
from apportion.rlhf.sampling.partner import Partner
from apportion.rlhf.sampling.rollout import Rollout, sample_replies
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.reward import Reward

SAMPLES = pa.schema(
    [
        ("context", pa.string()),
        ("before", pa.string()),
        ("after", pa.string()),
        ("reward_before", pa.float64()),
        ("reward_after", pa.float64()),
    ]
)


def compare_replies(
    policy: Policy, model: PeftModel, contexts: Sequence[DialogueContext], reward: Reward, settings: AlignSettings
) -> pa.Table:
    """The most likely reply to each context with the adapters off (before) and on (after), and their rewards.

    Returns
    -------
    pa.Table
        ``context`` (the dialogue that the policy read), ``before``, ``after``, ``reward_before``, ``reward_after``
        (null where nobody scores).
    """
    if not contexts:
        return SAMPLES.empty_table()
    with model.disable_adapter():
        before, reward_before = _answers(policy, model, contexts, reward, settings)
    after, reward_after = _answers(policy, model, contexts, reward, settings)
    shown = ["\n".join(f"{_whose(message)}: {message.text}" for message in context.messages) for context in contexts]
    return pa.table([shown, before, after, reward_before, reward_after], schema=SAMPLES)


def compare_episodes(
    policy: Policy,
    model: PeftModel,
    contexts: Sequence[DialogueContext],
    partner: Partner,
    reward: Reward,
    settings: AlignSettings,
) -> pa.Table:
    """As `compare_replies`, of whole dialogues in an environment, the most likely words each time.

    ``before`` and ``after`` hold what the policy said, a line a turn; the rewards are the means over these turns.
    """
    if not contexts:
        return SAMPLES.empty_table()
    with model.disable_adapter():
        before = sample_dialogues(policy, model, contexts, partner, settings, greedy=True)
    after = sample_dialogues(policy, model, contexts, partner, settings, greedy=True)
    shown = ["\n".join(f"{_whose(message)}: {message.text}" for message in context.messages) for context in contexts]
    rows = [_spoken(rollout, contexts, reward) for rollout in (before, after)]
    columns = [shown, *(texts for texts, _ in rows), *(means for _, means in rows)]
    return pa.table(columns, schema=SAMPLES)


def _spoken(
    rollout: Rollout, contexts: Sequence[DialogueContext], reward: Reward
) -> tuple[list[str], list[float | None]]:
    rows = rollout.turn_ends[:, 0].tolist()
    scores = reward([contexts[row] for row in rows], rollout.histories, rollout.texts)
    said: list[list[str]] = [[] for _ in contexts]
    scored: list[list[float]] = [[] for _ in contexts]
    for row, text, score in zip(rows, rollout.texts, scores, strict=True):
        said[row].append(text)
        scored[row].append(score)
    means = [sum(each) / len(each) for each in scored]
    return ["\n".join(texts) for texts in said], [mean if isfinite(mean) else None for mean in means]


def _whose(message: ContextTurn) -> str:
    return f"{message.role} ({message.speaker})" if message.speaker else message.role


def _answers(
    policy: Policy, model: PeftModel, contexts: Sequence[DialogueContext], reward: Reward, settings: AlignSettings
) -> tuple[list[str], list[float | None]]:
    replies: list[str] = []
    for start in range(0, len(contexts), settings.batch_size):
        rollout = sample_replies(
            policy,
            model,
            contexts[start : start + settings.batch_size],
            max_new_tokens=settings.max_new_tokens,
            temperature=None,
        )
        replies.extend(rollout.texts)
    scores = reward(contexts, [context.history for context in contexts], replies)
    return replies, [score if isfinite(score) else None for score in scores]
