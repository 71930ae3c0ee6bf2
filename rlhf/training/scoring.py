"""Scores of replies, checked before anything is learned from them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from foundation.errors import UnitError
from rlhf.policy.contexts import DialogueContext
from rlhf.training.reward import Reward


def finite_scores(
    reward: Reward, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str], where: str
) -> list[float]:
    """One score a reply (N of them); ``contexts`` are what the replies answer, ``where`` the step in words.

    Raises
    ------
    UnitError
        A score that is not a finite number.
    """
    scores = reward(histories, replies)
    for context, score, reply in zip(contexts, scores, replies, strict=True):
        if not math.isfinite(score):
            raise UnitError(
                f"align: {where}: the reward model gave {score} for the reply {reply[:80]!r} to session "
                f"{context.session_id!r}, turn {context.turn}; it must be a finite number. Train the reward model "
                "again, with a lower learning rate."
            )
    return scores
