"""Replies of the policy before and after its training, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import pyarrow as pa
from peft import PeftModel

from rlhf.policy.contexts import DialogueContext, Said
from rlhf.policy.loading import Policy
from rlhf.sampling.rollout import sample_replies
from rlhf.settings import AlignSettings
from rlhf.training.reward import Reward

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


def _whose(message: Said) -> str:
    return f"{message.role} ({message.speaker})" if message.speaker else message.role


def _answers(
    policy: Policy, model: PeftModel, contexts: Sequence[DialogueContext], reward: Reward, settings: AlignSettings
) -> tuple[list[str], list[float | None]]:
    replies: list[str] = []
    for start in range(0, len(contexts), settings.batch):
        rollout = sample_replies(
            policy,
            model,
            contexts[start : start + settings.batch],
            max_new_tokens=settings.max_new_tokens,
            temperature=None,
        )
        replies.extend(rollout.texts)
    scores = reward(contexts, [context.history for context in contexts], replies)
    return replies, [score if isfinite(score) else None for score in scores]
