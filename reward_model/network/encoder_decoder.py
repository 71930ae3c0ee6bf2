"""How an encoder-decoder (BART, T5) reads a text: as transformers' BartForSequenceClassification does.

The encoder is given the text, the decoder the same text shifted right, and the decoder's last state at the text's end
token stands for the whole of it (Lewis et al., 2020, section 3.1).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from apportion.foundation.errors import InputError
from apportion.reward_model.network.tokens import Tokens


def decoder_inputs(inputs: dict[str, Tensor], config: Any) -> dict[str, Any]:
    """The inputs of the whole network for those of its encoder, ``input_ids`` and ``attention_mask`` [shape=(B, L)].

    The decoder sees no later token, so what pads a row on its right changes nothing before it.
    """
    ids = inputs["input_ids"]
    start = torch.full_like(ids[:, :1], config.decoder_start_token_id)
    shifted = torch.cat([start, ids[:, :-1]], dim=1)
    # T5's decoder has a configuration of its own, so the cache is turned off here.
    return {
        "input_ids": ids,
        "attention_mask": inputs["attention_mask"],
        "decoder_input_ids": shifted,
        "use_cache": False,
    }


def end_places(inputs: dict[str, Tensor], config: Any) -> Tensor:
    """Where the last end token of each text stands [shape=(B,)] int64."""
    ends = (inputs["input_ids"] == config.eos_token_id) & inputs["attention_mask"].bool()
    places: Tensor = (ends * torch.arange(ends.shape[1])).amax(dim=1)
    return places


def check_end_token(name: str, config: Any, text: Tokens) -> None:
    """Raise InputError where the encoder-decoder ``name`` says not how a text begins or ends; ``text``: any tokens."""
    if not isinstance(getattr(config, "decoder_start_token_id", None), int):
        raise InputError(
            f"backbone {name!r}: its config.json names no decoder_start_token_id, so nothing says what its decoder "
            "begins with. Write the token's number there (BART's is 2, T5's 0), or name another model."
        )
    if config.eos_token_id not in text.ids:
        raise InputError(
            f"backbone {name!r}: its tokenizer does not end a text with the end token of config.json "
            f"(eos_token_id = {config.eos_token_id!r}), where an encoder-decoder is read. Put the tokenizer there that "
            "the model was trained with."
        )
