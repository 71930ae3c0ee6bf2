"""Small dialogues, a small policy and rewards that are known."""

from collections.abc import Sequence

import pyarrow as pa
import torch
from peft import PeftModel
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from apportion.corpus.schema import SPLITS
from apportion.corpus.session import Episode, Rating, Turn
from apportion.foundation.lazy import load_named
from apportion.rlhf.policy.contexts import DialogueContext, make_contexts
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy_settings import AlarmSettings, LoraSettings, TinySettings
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.tiny_policy import train_tokenizer
from apportion.rlhf.training_data import TrainingData

QUESTIONS = ("where is the train", "when does it leave", "is it late again", "may I take a dog along")
ANSWERS = ("at nine", "with pleasure on track four", "no", "yes of course")
RATING = Rating("ann", "bot", "mood", 3.0, 1.0, 5.0)

SMALL = AlignSettings(
    steps=2,
    batch_size=4,
    mini_batch_size=2,
    max_context_tokens=64,
    max_new_tokens=6,
    samples=2,
    alarms=AlarmSettings(self_similarity_rise=0),  # Of four replies of six tokens it is noise.
    lora=LoraSettings(r=2, alpha=4),
    tiny=TinySettings(hidden=32, layers=1, vocabulary=320, warmup_steps=3, warmup_batch=2),
)
SMALL.model_fields_set.discard("alarms")  # As if not given: a trainer that reads none does not mind.


def episode(session_id: str, lines: Sequence[tuple[str, str]], rating: Rating = RATING) -> Episode:
    return Episode(session_id, tuple(Turn(i, who, text) for i, (who, text) in enumerate(lines)), rating)


def chats(count: int) -> list[Episode]:
    made = []
    for number in range(count):
        lines = []
        for turn in range(3):
            lines += [("ann", QUESTIONS[(number + turn) % 4]), ("bot", ANSWERS[(number * turn) % 4])]
        made.append(episode(f"chat-{number}", lines))
    return made


def splits(**sessions: Sequence[str]) -> pa.Table:
    rows = [{"session_id": name, "split": part} for part, names in sessions.items() for name in names]
    return pa.Table.from_pylist(rows, schema=SPLITS.arrow)


def no_history(episode: Episode, position: int) -> str:
    return f"{episode.session_id} {position}"


class Scored:
    """A reward out of a function of contexts, histories and replies."""

    history = staticmethod(no_history)

    def __init__(self, score) -> None:
        self._score = score

    def __call__(self, contexts, histories, replies):
        return self._score(contexts, histories, replies)


def small_policy(seed: int = 0, dtype: torch.dtype = torch.float32) -> Policy:
    tokenizer = train_tokenizer([*QUESTIONS, *ANSWERS], 300)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=128,
        initializer_range=0.2,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return Policy.of("small", LlamaForCausalLM(config).to(dtype).eval(), tokenizer)


SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 128}
_LLAMA = {**SIZES, "intermediate_size": 64, "num_key_value_heads": 1, "initializer_range": 0.2}
SHAPES = {
    "llama": {**_LLAMA, "attention_dropout": 0.3},
    "qwen2": {**_LLAMA, "attention_dropout": 0.3},
    # Its layers drop activations in training, as few models of today do.
    "opt": {
        **SIZES, "word_embed_proj_dim": 32, "ffn_dim": 64, "init_std": 0.2, "dropout": 0.3, "attention_dropout": 0.3,
    },
    "gpt2": {
        "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 128, "initializer_range": 0.2, "resid_pdrop": 0.3,
        "embd_pdrop": 0.3, "attn_pdrop": 0.3,
    },
    "gemma": {**_LLAMA, "head_dim": 16, "attention_dropout": 0.3},
}  # fmt: skip
"""Families of models, tiny; of each the layers of `layers_of` get an adapter."""


def layers_of(kind: str) -> tuple[str, ...]:
    return ("c_attn", "c_fc") if kind == "gpt2" else ("q_proj", "v_proj")


def shaped_policy(kind: str) -> Policy:
    """A policy of the family ``kind``, with dropout in training."""
    small = small_policy()
    torch.manual_seed(0)
    ends = {"bos_token_id": small.tokenizer.bos_token_id, "eos_token_id": small.eos_ids[0]}
    config = AutoConfig.for_model(
        kind, vocab_size=len(small.tokenizer), pad_token_id=small.pad_id, **ends, **SHAPES[kind]
    )
    return Policy.of(kind, AutoModelForCausalLM.from_config(config), small.tokenizer)


def contexts(policy: Policy, count: int = 4) -> tuple[DialogueContext, ...]:
    return make_contexts(
        chats(count), policy.tokenizer, no_history, context_turns=3, max_context_tokens=SMALL.max_context_tokens
    ).contexts


def train(data: TrainingData, run: Run) -> PeftModel:
    """What the trainer of ``run.settings.algorithm`` makes."""
    return load_named(run.settings.trainer.train, "trainer", "")(data, run)


def quiet(done: int, total: int, text: str) -> None:
    pass


def token_contexts(policy: Policy) -> tuple[DialogueContext, ...]:
    """One short question, for tasks in which the reply alone counts."""
    ask = episode("ask", [("ann", QUESTIONS[0]), ("bot", ANSWERS[0])])
    return make_contexts([ask], policy.tokenizer, no_history, context_turns=1, max_context_tokens=64).contexts
