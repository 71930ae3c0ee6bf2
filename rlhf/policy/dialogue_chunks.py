"""Stretches of the corpus' own dialogues as token ids, for learning from what people said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rlhf.policy.contexts import Message, render
from rlhf.settings import AlignSettings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def dialogue_windows(
    dialogues: Iterable[Sequence[Message]], tokenizer: PreTrainedTokenizerBase, settings: AlignSettings
) -> list[Tensor]:
    """Token ids [shape=(L,)] of stretches as long as a context and its reply, the user first as in a prompt."""
    length = settings.context_turns + 1 + (settings.context_turns + 1) % 2
    limit = settings.max_context_tokens + settings.max_new_tokens
    windows = []
    for dialogue in dialogues:
        opening = 1 if dialogue and dialogue[0].role == "assistant" else 0
        for start in range(opening, len(dialogue), length):
            ids = render(dialogue[start : start + length], tokenizer, reply_follows=False)
            windows.append(torch.tensor(ids[:limit]))
    return windows
