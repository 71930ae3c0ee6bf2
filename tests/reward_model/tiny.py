"""Very small models with random weights, and episodes with a planted signal, for the tests of this folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoModel,
    BartConfig,
    BertConfig,
    GPT2Config,
    LlamaConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
    T5Config,
)

from apportion.corpus.schema import EPISODE_KEY, REWARDS, SPLITS
from apportion.corpus.session import Episode, Rating, Turn
from apportion.reward_model.history_windows import history_windows
from apportion.reward_model.network.embed import embedding_table
from apportion.reward_model.settings import RewardModelSettings

WORDS = [
    *("good", "bad", "train", "hotel", "at", "nine", "yes", "no", "A", "B", ":", ".", "?"),
    *(f"w{i}" for i in range(40)),
]
SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"]
SIZES: dict[str, Any] = {
    "vocab_size": len(WORDS) + len(SPECIALS),
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
CONFIGS: dict[str, Any] = {
    "bert": lambda: BertConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        **SIZES,
    ),
    "roberta": lambda: RobertaConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=65,
        **SIZES,
    ),
    "bart": lambda: BartConfig(
        init_std=0.3,  # At its end a decoder of 0.02 has little but the last token.
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=64,
        **SIZES,
    ),
    "t5": lambda: T5Config(d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0, **SIZES),
    "gpt2": lambda: GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=64, **SIZES),
    "llama": lambda: LlamaConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        **SIZES,
    ),
}


CAUSAL = ("gpt2", "llama")


def tokenizer(special: bool = True, segments: bool = False) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate([*SPECIALS, *WORDS])}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if segments else [])]
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        model_input_names=names,
    )


def save_tiny(folder: Path, kind: str = "bert", **shape: int) -> Path:
    """A checkpoint of one architecture in ``folder``, as people download them; ``shape`` changes its configuration."""
    config = CONFIGS[kind]()
    config.update(shape)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        AutoModel.from_config(config).save_pretrained(folder)
    tokenizer(special=kind not in CAUSAL, segments=kind == "bert").save_pretrained(folder)
    return folder


def small(backbone: Path | str = "minilm", **changes: Any) -> RewardModelSettings:
    values = {"max_tokens": 32, "heads": 1, "head_hidden_size": 8, "epochs": 3, "batch_size": 4, "lr": 0.01, **changes}
    return RewardModelSettings(backbone=str(backbone), **values)


def episode(session_id: str, said: Sequence[tuple[str, str]], score: float = 3.0) -> Episode:
    turns = tuple(Turn(i, who, text) for i, (who, text) in enumerate(said))
    return Episode(session_id, turns, Rating("user", "bot", "liked", score, 1.0, 5.0))


def planted(count: int, seed: int = 0) -> list[Episode]:
    """Dialogues whose score is 3 plus 0.3 for every reply with "good" and minus 0.3 for every one with "bad"."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        words = rng.choice(["good", "bad", "train"], size=int(rng.integers(2, 7)))
        said = [turn for word in words for turn in (("user", "hotel ?"), ("bot", f"yes {word} ."))]
        score = 3.0 + 0.3 * float(np.sum(words == "good")) - 0.3 * float(np.sum(words == "bad"))
        found.append(episode(f"s{number:03d}", said, score))
    return found


def values_of(episodes: Sequence[Episode]) -> list[float]:
    """The planted reward of every target turn."""
    texts = [e.turns[position].text for e in episodes for position in e.target_positions]
    return [0.3 if "good" in text else -0.3 if "bad" in text else 0.0 for text in texts]


def signal_embeddings(episodes: Sequence[Episode], width: int = 6) -> pa.Table:
    """Embeddings in which the planted word of a reply can be read; no model is needed."""
    windows = history_windows(episodes, 3)
    vectors = np.random.default_rng(1).normal(size=(len(windows.turns), width))
    vectors[:, 0] = [10.0 * value for value in values_of(episodes)]
    vectors = np.concatenate([vectors, np.zeros((len(vectors), width // 2))], axis=1)  # No head reads the turn before.
    return embedding_table(windows, vectors.astype(np.float32))


def splits_of(episodes: Sequence[Episode], train: float = 0.6, validation: float = 0.2) -> pa.Table:
    """The first sessions to train, then validation, the rest to test."""
    ids = [e.session_id for e in episodes]
    cuts = [round(train * len(ids)), round((train + validation) * len(ids))]
    names = ["train" if i < cuts[0] else "validation" if i < cuts[1] else "test" for i in range(len(ids))]
    return pa.table([ids, names], schema=SPLITS.arrow)


def rewards_of(
    episodes: Sequence[Episode], values: Sequence[float | None], method: str = "llm", seed: int = 5
) -> pa.Table:
    keys = [(e.key, turn) for e in episodes for turn in e.target_turns]
    rows = [
        {**dict(zip(EPISODE_KEY, key, strict=True)), "turn": turn, "method": method, "seed": seed, "reward": value}
        for (key, turn), value in zip(keys, values, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=REWARDS.arrow)


def ignore(done: int, total: int, text: str) -> None:
    """A progress callback for tests that do not look at it."""
