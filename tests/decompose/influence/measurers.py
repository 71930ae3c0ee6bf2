"""Small causal language models that tests make: random weights, a tokenizer trained on the spot."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from apportion.decompose.influence.local_scorer import LocalMeasurer
from apportion.rlhf.training.tiny_policy import train_tokenizer

SAID = (
    "I think that player three is the werewolf, vote with me.",
    "Player 3 was very quiet, and I am the seer!",
    "No, I trust player three; player five lied about the night.",
)


@cache
def tokenizer() -> Any:
    return train_tokenizer(SAID, 320)


def small_model(kind: str = "llama", seed: int = 0, positions: int = 2048) -> Any:
    torch.manual_seed(seed)
    size: dict[str, Any] = {"vocab_size": len(tokenizer()), "hidden_size": 32, "num_hidden_layers": 2}
    size |= {"intermediate_size": 64, "num_attention_heads": 2, "max_position_embeddings": positions}
    size |= {"initializer_range": 0.3}
    if kind == "gpt2":
        return GPT2LMHeadModel(
            GPT2Config(vocab_size=len(tokenizer()), n_embd=32, n_layer=2, n_head=2, n_positions=positions)
        ).eval()
    if kind == "sliding":
        return MistralForCausalLM(MistralConfig(**size, num_key_value_heads=1, sliding_window=24)).eval()
    return LlamaForCausalLM(LlamaConfig(**size, num_key_value_heads=1)).eval()


def measurer(kind: str = "llama", **how: Any) -> LocalMeasurer:
    return LocalMeasurer(small_model(kind), tokenizer(), **how)
