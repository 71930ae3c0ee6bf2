"""Stretches of the corpus' own dialogues as token ids, for learning from what people said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from apportion.rlhf.policy.contexts import ContextTurn, render
from apportion.rlhf.policy_settings import Window

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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
