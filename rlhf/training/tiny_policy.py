"""The policy ``tiny``: a small LLaMA, built on the spot and warmed up on the corpus' own dialogues.

It shows the whole chain on any machine and in any language. It is no useful dialogue model and says so in its card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from apportion.corpus.session import Episode
from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.contexts import dialogue_chunks, merge_turns
from apportion.rlhf.policy.loading import Policy, on_device
from apportion.rlhf.policy_settings import TinySettings
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.rng_state import ShuffledOrder

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PAD, BEGIN, END = "<|pad|>", "<|begin|>", "<|end|>"
ROLES = ("<|user|>", "<|assistant|>")
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
INITIALIZER_RANGE = 0.06
"""Three times LLaMA's: at this width the warm-up then needs about half the steps."""


def build_tiny(
    episodes: Sequence[Episode],
    settings: AlignSettings,
    seed: int,
    note: Callable[[int, float], None] = lambda step, loss: None,
    warmed_up: Path | None = None,
) -> Policy:
    """Train a tokenizer and a small LLaMA on dialogues.

    ``episodes``: the dialogues; the target's turns become the assistant's. Leave the test sessions out. ``seed``: of
    the weights and of the order of the dialogues. ``note(step, loss)``: nats a token. ``warmed_up``:
    a folder of weights that the same call has made before; they are read instead of trained again.
    """
    dialogues = [merge_turns(episode.turns, episode) for episode in episodes]
    texts = [message.text for dialogue in dialogues for message in dialogue]
    if not texts:
        raise UnitError(
            "no text outside the test sessions to warm the tiny policy up on. Add sessions, or name a policy."
        )
    tokenizer = train_tokenizer(texts, settings.tiny.vocabulary)
    torch.manual_seed(seed)
    if warmed_up is not None:
        model = LlamaForCausalLM.from_pretrained(
            str(warmed_up), use_safetensors=True, trust_remote_code=False, local_files_only=True
        )
        return Policy.of("tiny", on_device(model, settings.placement), tokenizer)
    model = LlamaForCausalLM(_config(settings, tokenizer))
    chunks = dialogue_chunks(dialogues, tokenizer, settings.window)
    _warm_up(model, chunks, settings.tiny, note)
    return Policy.of("tiny", on_device(model, settings.placement), tokenizer)


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerBase:
    """A byte-level BPE tokenizer with the tiny policy's chat template; any text can be written in it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[PAD, BEGIN, END, *ROLES],
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=bpe, pad_token=PAD, bos_token=BEGIN, eos_token=END, extra_special_tokens=list(ROLES)
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def _config(settings: AlignSettings, tokenizer: PreTrainedTokenizerBase) -> LlamaConfig:
    size = settings.tiny
    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden,
        intermediate_size=3 * size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.hidden // 32,
        num_key_value_heads=size.hidden // 32,
        max_position_embeddings=settings.window.tokens,
        tie_word_embeddings=True,
        initializer_range=INITIALIZER_RANGE,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )


def _warm_up(model: Any, chunks: Sequence[Tensor], settings: TinySettings, note: Callable[[int, float], None]) -> None:
    # A plain loop: TRL's SFTTrainer took 1.8 times as long for the same steps at this size (it also measures entropy
    # and accuracy over the vocabulary), and that time is most of the demo's alignment.
    # Both sides' words are learned from: a corpus that is small enough for this policy has none to spare.
    if not chunks:
        raise UnitError("no dialogue outside the test sessions answers anybody. Add sessions, or name a policy.")
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.warmup_lr, betas=(0.9, 0.98), weight_decay=0.1)
    steps = settings.warmup_steps
    # In ten steps or less a tenth is no step to rise in; at ten, torch would divide by its length of zero.
    rise = 0.1 if steps > 10 else 0.0
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.warmup_lr, total_steps=steps, pct_start=rise)
    order = ShuffledOrder(len(chunks))
    model.train()
    for step in range(1, steps + 1):
        batch = [chunks[next(order)] for _ in range(settings.warmup_batch)]
        loss = _next_token_loss(model, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        if step == 1 or step % 10 == 0 or step == steps:
            note(step, loss.item())


def _next_token_loss(model: Any, chunks: Sequence[Tensor]) -> Tensor:
    ids = torch.nn.utils.rnn.pad_sequence(list(chunks), batch_first=True, padding_value=model.config.pad_token_id)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(chunk) for chunk in chunks], batch_first=True)
    loss: Tensor = model(input_ids=ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)).loss
    return loss
