"""Replies whose random numbers are their own: drawn by what is answered, so that they can be drawn again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from apportion.foundation.files import canonical_json
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy_settings import Window
from apportion.rlhf.sampling.rollout import finite_probabilities, sample_replies

if TYPE_CHECKING:
    from apportion.rlhf.policy.loading import Policy


def drawn_replies(
    policy: Policy, model: Any, contexts: Sequence[DialogueContext], window: Window, seed: Any, greedy: bool = False
) -> list[str]:
    """One reply to each context (B of them), on one line; random numbers outside are left alone.

    Parameters
    ----------
    policy : Policy
        Tokenizer and control tokens.
    model : PreTrainedModel or PeftModel
        Who answers.
    contexts : sequence of DialogueContext
        What is answered, all at once.
    window : Window
        How long a reply may be, and its temperature.
    seed : JSON value
        With the prompts it decides what is drawn.
    greedy : bool
        The most likely tokens instead.

    Raises
    ------
    UnitError
        Probabilities that are no finite numbers.
    """
    asked = canonical_json([seed, [list(context.prompt) for context in contexts]])
    device = model.device
    with torch.random.fork_rng([device] if device.type == "cuda" else []), finite_probabilities():
        torch.manual_seed(int.from_bytes(hashlib.sha256(asked.encode()).digest()[:7], "big"))
        rollout = sample_replies(
            policy,
            model,
            contexts,
            max_new_tokens=window.max_new_tokens,
            temperature=None if greedy else window.temperature,
        )
    return [" ".join(text.split()) for text in rollout.texts]
