"""How much memory PPO needs on each GPU, from the policy's sizes.

`python -m apportion.rlhf.training.memory_estimate` prints the table.

What is counted, in bytes (w of a frozen weight: 4, or 2 with bfloat16; b responses of S = prompt + reply tokens go
through the model at once, in each process):

- the frozen weights: all of them, or with FSDP and DeepSpeed a process' part, two layers that are brought together,
  and the embeddings and the head;
- adapters and value head: weight, gradient and AdamW's two moments, 4 bytes each;
- sampling: keys and values of all layers for the process' share of ``batch``, and one layer's work on the prompts;
- an update: what autograd keeps of each layer and token (3 m + 4 h in w: the three wide products, and query, key, value
  and attention's result; 8 h for the two norms; for each target of the adapters its input, 4 h; S in w for the
  attention mask), or with ``gradient_checkpointing`` its input alone
  and one whole layer; and what is larger of one layer's gradients and the vocabulary's part, the logits of the replies
  in w and four arrays in float32.

- the reward model, which reads where the policy is: its backbone's weights in 4 bytes; and while it scores, 8 texts at
  once, one layer's work on each token: its wide product and 8 d, of 4 bytes.

Peak: weights, adapters, the reward model, and the largest of sampling, scoring and update. Not counted: CUDA itself and
what its allocator cannot use (1 to 2 GB).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apportion.reward_model.network.backbones import TEXTS_AT_ONCE
from apportion.rlhf.settings import AlignSettings

GB = 1e9


@dataclass(frozen=True)
class Shape:
    """Sizes of a LLaMA: width h, width m of the feed-forward network, layers, heads, vocabulary.

    ``tied``: the head is the embeddings.
    """

    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    vocabulary: int
    tied: bool = False

    @classmethod
    def of(cls, config: Any) -> Shape:
        """The sizes in a model's configuration; GPT-2 and OPT call some otherwise, or leave them out."""
        hidden, heads = config.hidden_size, config.num_attention_heads
        wide = (getattr(config, name, None) for name in ("intermediate_size", "ffn_dim", "n_inner"))
        return cls(
            hidden,
            next((width for width in wide if width), 4 * hidden),
            config.num_hidden_layers,
            heads,
            getattr(config, "num_key_value_heads", None) or heads,
            config.vocab_size,
            bool(getattr(config, "tie_word_embeddings", False)),
        )

    @property
    def kv_width(self) -> int:
        """Width of a token's keys, and of its values."""
        return self.hidden // self.heads * self.kv_heads

    @property
    def layer_weights(self) -> int:
        """Weights of one layer."""
        h = self.hidden
        return 2 * h * h + 2 * h * self.kv_width + 3 * h * self.intermediate + 2 * h

    @property
    def outer_weights(self) -> int:
        """Weights of embeddings, head and last norm."""
        return (1 if self.tied else 2) * self.vocabulary * self.hidden + self.hidden

    def adapter_weights(self, settings: AlignSettings) -> int:
        """Weights of the adapters on attention's and the feed-forward network's layers, and of the value head."""
        h, m, kv = self.hidden, self.intermediate, self.kv_width
        widths = {"q_proj": h + h, "o_proj": h + h, "k_proj": h + kv, "v_proj": h + kv,
                  "gate_proj": h + m, "up_proj": h + m, "down_proj": h + m}  # fmt: skip
        widest = sum(widths.get(target, h + m) for target in settings.lora.targets)
        return self.layers * settings.lora.r * widest + h + 1


@dataclass(frozen=True)
class Reader:
    """Sizes of a reward model's backbone (BERT, or BART's encoder): width d, width of the feed-forward network, layers,
    vocabulary, further embeddings (positions, segments), and tokens that it reads at once."""

    hidden: int
    intermediate: int
    layers: int
    vocabulary: int
    further: int
    tokens: int

    @property
    def weights(self) -> int:
        """Weights of embeddings, layers and norms."""
        d, m = self.hidden, self.intermediate
        layer = 4 * (d * d + d) + 2 * d * m + m + d + 4 * d
        return (self.vocabulary + self.further) * d + 2 * d + self.layers * layer

    @property
    def scoring(self) -> int:
        """Bytes that scoring adds."""
        return TEXTS_AT_ONCE * self.tokens * (self.intermediate + 8 * self.hidden) * 4


BART_LARGE = Reader(1024, 4096, 12, 50_265, 1024 + 2, 1024)
LLAMA_2_7B = Shape(4096, 11_008, 32, 32, 32, 32_000)


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes in each process: what stays (``weights``, ``adapters``, ``reward``), and what sampling, scoring and an
    update add to it."""

    weights: float
    adapters: float
    sampling: float
    update: float
    reward: float = 0.0
    scoring: float = 0.0

    @property
    def peak(self) -> float:
        """The most that is needed at once."""
        return self.weights + self.adapters + self.reward + max(self.sampling, self.scoring, self.update)


def estimate(shape: Shape, settings: AlignSettings, reader: Reader | None = None) -> MemoryEstimate:
    """Bytes that PPO with ``settings`` needs in each process for a policy of ``shape``; the module says what counts.

    ``reader`` is the reward model's backbone; None counts none.
    """
    w = 2 if settings.placement.dtype == "bfloat16" else 4
    tokens = settings.max_context_tokens + settings.max_new_tokens
    share = -(-settings.batch_size // settings.processes)
    minibatch = -(-settings.mini_batch_size // settings.processes)
    once = min(settings.micro_batch_size or settings.mini_batch_size, minibatch)
    wide = (3 * shape.intermediate + 4 * shape.hidden) * w
    kept, last = _kept(shape, settings, wide, tokens * w)
    # Of a response: its logits, and the log-probabilities and entropies made from them.
    logits = settings.max_new_tokens * shape.vocabulary * (w + 16)
    cache = 2 * shape.layers * shape.kv_width * share * tokens * w
    return MemoryEstimate(
        weights=_weights(shape, settings) * w,
        adapters=shape.adapter_weights(settings) * 16,
        sampling=cache + share * settings.max_context_tokens * wide,
        update=once * (tokens * kept + max(tokens * (last + wide), logits)),
        reward=reader.weights * 4 if reader else 0,
        scoring=reader.scoring if reader else 0,
    )


def _weights(shape: Shape, settings: AlignSettings) -> float:
    if settings.accelerate not in ("fsdp", "deepspeed") or settings.processes == 1:
        return shape.layers * shape.layer_weights + shape.outer_weights
    sharded = shape.layers * shape.layer_weights / settings.processes
    return sharded + 2 * shape.layer_weights + shape.outer_weights


def _kept(shape: Shape, settings: AlignSettings, wide: int, mask: int) -> tuple[int, int]:
    """Bytes a token that all layers keep for the gradient, and that the one being computed again adds to them."""
    layer = wide + 8 * shape.hidden + len(settings.lora.targets) * 4 * shape.hidden + mask
    if not settings.gradient_checkpointing:
        return shape.layers * layer, 0
    return shape.layers * shape.hidden * (2 if settings.placement.dtype == "bfloat16" else 4), layer


def table() -> list[str]:
    """The Markdown table of docs/evidence/alignment.md: LLaMA-2-7B in bfloat16, BART-large as reward model."""
    from apportion.rlhf.settings import PAPER

    plain = {"device": "cuda", "dtype": "bfloat16"}
    short = {"max_context_tokens": 192, "max_new_tokens": 64}
    keeping = {"gradient_checkpointing": False}
    four = {"processes": 4}
    sharded = {**four, "accelerate": "fsdp"}
    rows: list[tuple[str, dict[str, Any]]] = [
        ("one card", {}),
        ("one card, `gradient_checkpointing = false`", keeping),
        ("one card, `gradient_checkpointing = false`, `micro_batch_size = 4`", {**keeping, "micro_batch_size": 4}),
        ("one card, prompts of 192, replies of 64", short),
        ("four cards, `data_parallel`", four),
        ("four cards, `data_parallel`, `gradient_checkpointing = false`", {**four, **keeping}),
        ("four cards, `fsdp` or `deepspeed`", sharded),
    ]
    lines = ["| GB on each card | weights | adapters | reward model | sampling | update | peak |", f"|{'---|' * 7}"]
    for title, changes in rows:
        memory = estimate(LLAMA_2_7B, PAPER.model_copy(update={**plain, **changes}), BART_LARGE)
        parts = (memory.weights, memory.adapters, memory.reward, memory.sampling, memory.update, memory.peak)
        lines.append(f"| {title} | {' | '.join(f'{part / GB:.1f}' for part in parts)} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
