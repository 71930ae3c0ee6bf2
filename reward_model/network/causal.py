"""Whether a network looks at what comes later: reading in one pass would then leak the future."""

from __future__ import annotations

from typing import Any

import torch

from apportion.foundation.errors import InputError

TOKENS = 8
LARGEST_DIFFERENCE = 1e-5
"""Of states of about 1; a causal network's are equal but for rounding, others differ by thousandths and more."""


def check_causal(name: str, encoder: Any, vocabulary: int) -> None:
    """Read two texts whose second halves differ: in a causal network, the states of the first half are the same.

    Asking the network itself holds for every architecture; a list of names would not.

    Raises
    ------
    InputError
        It is not causal.
    """
    text = torch.arange(TOKENS).unsqueeze(0) % vocabulary
    other = text.clone()
    other[:, TOKENS // 2 :] = (text[:, TOKENS // 2 :] + 1 + TOKENS) % vocabulary
    seen = torch.ones_like(text)
    encoder.eval()
    with torch.inference_mode():
        states = [encoder(input_ids=ids, attention_mask=seen).last_hidden_state for ids in (text, other)]
    first, again = (state[:, : TOKENS // 2].float() for state in states)
    if float((first - again).abs().max()) > LARGEST_DIFFERENCE * max(1.0, float(first.abs().max())):
        raise InputError(
            f"train_reward.scoring = 'one_pass': the backbone {name!r} ({type(encoder).__name__}) is bidirectional, so "
            "a turn's reward would depend on what was said after it. Name a causal language model (GPT-2, LLaMA, "
            "Qwen, …), or set scoring to 'windowed'."
        )
