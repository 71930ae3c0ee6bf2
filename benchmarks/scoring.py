"""Claim: scoring a dialogue in one pass is many times faster than reading a window, or the whole prefix, for each turn.

160 turns of 20 tokens; all of them scored, then every second one. The three read with the same causal network (random
weights; the shape is told); `one_pass` and the prefixes are the same function, and their largest difference is told.
On one thread, in CPU seconds, so that other work on the machine does not enter.
Run: python benchmarks/scoring.py [--layers 4 --width 256]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

# In place of this folder: `features` is a package of ours, and a benchmark.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor
from transformers import GPT2Config, GPT2Model, PreTrainedTokenizerFast

from benchmarks.measure import tell
from reward_model.onepass import CausalBackbone, DialogueTokens

TURNS, TURN_TOKENS, WINDOW = 160, 20, 1024


def backbone(layers: int, width: int) -> CausalBackbone:
    words = {f"w{i}": i for i in range(500)} | {"A": 500, "B": 501, ":": 502, "<unk>": 503}
    plain = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    config = GPT2Config(
        vocab_size=504,
        n_embd=width,
        n_layer=layers,
        n_head=width // 64,
        n_positions=TURNS * TURN_TOKENS,
        bos_token_id=None,
        eos_token_id=None,
    )
    torch.manual_seed(0)
    model = GPT2Model(config).eval()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="<unk>")
    return CausalBackbone(model, tokenizer, TURNS * TURN_TOKENS)


def dialogue(reader: CausalBackbone, every: int) -> DialogueTokens:
    generator = torch.Generator().manual_seed(1)
    numbers = torch.randint(500, (TURNS, TURN_TOKENS - 2), generator=generator).tolist()
    said = [(True, " ".join(f"w{number}" for number in turn)) for turn in numbers]
    tokens = reader.encode(said, range(every - 1, TURNS, every))
    assert len(tokens.ids) == TURNS * TURN_TOKENS
    return tokens


def again(tokens: DialogueTokens, at_most: int) -> list[DialogueTokens]:
    """One reading for each scored turn: the last ``at_most`` tokens up to its end."""
    found = []
    for end in tokens.ends:
        ids = tokens.ids[max(0, end + 1 - at_most) : end + 1]
        found.append(DialogueTokens(ids, (len(ids) - 1,)))
    return found


def seconds(work: Callable[[], Tensor], times: int) -> tuple[float, Tensor]:
    taken = []
    for _ in range(times):
        started = time.process_time()
        result = work()
        taken.append(time.process_time() - started)
    return statistics.median(taken), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    reader = backbone(chosen.layers, chosen.width)
    shape = f"GPT-2, {chosen.layers} layers of {chosen.width}, random weights, 1 thread"
    for every in (1, 2):
        tokens = dialogue(reader, every)
        name = f"{len(tokens.ends)} of {TURNS} turns"
        reader.embed_dialogues([tokens])
        once, found = seconds(lambda tokens=tokens: reader.embed_dialogues([tokens]), 5)
        tell(f"one_pass, {name}", once, "s", model=shape)
        prefixes, windows = again(tokens, len(tokens.ids)), again(tokens, WINDOW)
        taken, same = seconds(lambda read=prefixes: reader.embed_dialogues(read), 1)
        difference = float((found - same).abs().max())
        tell(f"prefix re-encoding, {name}", taken, "s", ratio=round(taken / once, 1), largest_difference=difference)
        taken, _ = seconds(lambda read=windows: reader.embed_dialogues(read), 1)
        tell(f"windows of {WINDOW}, {name}", taken, "s", ratio=round(taken / once, 1))


if __name__ == "__main__":
    main()
