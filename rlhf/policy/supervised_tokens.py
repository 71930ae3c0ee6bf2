"""What people said, as the tokens that a policy would have written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.contexts import ContextTurn, render
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy_settings import Window

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def answer_tokens(policy: Policy, messages: Sequence[ContextTurn], reply: ContextTurn) -> tuple[int, ...]:
    """Token ids of ``reply`` after ``messages``, up to and with its end mark.

    Raises InputError: a chat template that writes prompts differently once they are answered.
    """
    prompt = render(messages, policy.tokenizer, reply_follows=True)
    whole = render((*messages, reply), policy.tokenizer, reply_follows=False)
    if whole[: len(prompt)] != prompt:
        raise InputError(
            f"policy {policy.name!r}: its chat template writes a prompt differently once it is answered, so "
            "what was said cannot be learned from. Choose another model, or another algorithm."
        )
    tokens = whole[len(prompt) :]
    end = next((place for place, token in enumerate(tokens) if token in policy.eos_ids), None)
    # Templates go on behind the end mark (a line break, say), or have none.
    return (*tokens, policy.eos_ids[0]) if end is None else tokens[: end + 1]


def dialogue_chunks(
    dialogues: Iterable[Sequence[ContextTurn]], tokenizer: PreTrainedTokenizerBase, window: Window
) -> list[Tensor]:
    """Token ids [shape=(L,)] of stretches as long as a context and its reply, the user first as in a prompt."""
    length = window.context_turns + 1 + (window.context_turns + 1) % 2
    chunks = []
    for dialogue in dialogues:
        opening = 1 if dialogue and dialogue[0].role == "assistant" else 0
        for start in range(opening, len(dialogue), length):
            ids = render(dialogue[start : start + length], tokenizer, reply_follows=False)
            chunks.append(torch.tensor(ids[: window.tokens]))
    return chunks
