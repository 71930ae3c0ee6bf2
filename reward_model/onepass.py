"""One pass: a causal model reads a dialogue once, and what it knows at each target turn's last token is scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from corpus.errors import InputError
from corpus.session import Episode
from reward_model.backbones import TEXTS_AT_ONCE, Backbone
from reward_model.windows import OTHER_MARK, TARGET_MARK, Pair, history_text, reply_text

Line = tuple[bool, str]
"""One turn: is it the target's, and its text."""
TOKENS_AT_ONCE = 8192
"""Padded tokens a forward pass, so that a batch of long dialogues fits into memory."""


@dataclass(frozen=True)
class DialogueTokens:
    """A dialogue of L tokens with T scored turns: ``ids`` (L), and ``ends`` (T), the place of each one's last token."""

    ids: tuple[int, ...]
    ends: tuple[int, ...]


class CausalBackbone(Backbone):
    """A causal language model that reads each dialogue once: O(L) tokens for T turns, not T windows.

    The hidden state at the last token of a turn's line has seen the dialogue up to there and nothing after it, so it
    equals what reading that prefix alone would give; ``width`` d is the hidden size. A dialogue of more than
    ``max_tokens`` tokens is read in blocks that overlap by half, so that every later turn has at least that much
    history.

    Raises
    ------
    InputError
        The model looks ahead: with it, a turn's score would depend on the reply to it.
    """

    def __init__(self, model: Any, tokenizer: Any, max_tokens: int) -> None:
        super().__init__(model, tokenizer, max_tokens)
        self.width = int(model.config.hidden_size)
        self.limit = max_tokens
        self.config.use_cache = False
        if model.config.is_encoder_decoder or not self._is_causal():
            raise InputError(
                f"train_reward.scoring = 'one_pass': a {type(model).__name__} reads what comes after a turn, too, and "
                "would score it by its reply. Name a causal language model (GPT-2, Llama, Qwen, ...), or set scoring "
                "to 'windowed'."
            )

    def encode(self, said: Sequence[Line], scored: Sequence[int]) -> DialogueTokens:
        """The lines ``B: …`` (the target) and ``A: …`` as tokens; ``scored`` (T) are the places of those to score.

        Every line is tokenized by itself, so that a turn's tokens do not depend on what follows.
        """
        backend = self.tokens.tokenizer.backend_tokenizer
        begin, last = self.tokens.tokenizer.bos_token_id, max(scored, default=-1)
        ids: list[int] = [] if begin is None else [begin]
        ends = {}
        texts = [history_text([line]) for line in said[: last + 1]]
        for place, line in enumerate(backend.encode_batch(texts, add_special_tokens=False)):
            ids += line.ids
            ends[place] = max(0, len(ids) - 1)
        return DialogueTokens(tuple(ids or [0]), tuple(ends[place] for place in scored))

    def encode_episode(self, episode: Episode) -> DialogueTokens:
        """The episode's dialogue, its target turns (T) to be scored."""
        said = [(turn.speaker == episode.rating.target, turn.text) for turn in episode.turns]
        return self.encode(said, episode.target_positions)

    def forward(self, encoded: Sequence[Any]) -> Tensor:
        """Embeddings [shape=(N, d)] of all scored turns of some `DialogueTokens`, one dialogue after the other."""
        blocks = [block for dialogue in encoded for block in _blocks(dialogue, self.limit)]
        found: list[Tensor] = [torch.empty(0)] * len(blocks)
        for batch in _batches(blocks):
            states = self._states([blocks[i].ids for i in batch])
            for row, i in enumerate(batch):
                found[i] = states[row, torch.tensor(blocks[i].ends, device=states.device)]
        return torch.cat(found) if found else torch.zeros(0, self.width)

    @torch.inference_mode()
    def embed_dialogues(self, encoded: Sequence[DialogueTokens]) -> Tensor:
        """`forward` [shape=(N, d)] float32, dropout off and without gradients."""
        self.eval()
        return self.forward(encoded).float()

    def embed(self, pairs: Sequence[Pair]) -> Tensor:
        """Embeddings [shape=(N, d)] float32 of N replies, each after its own history."""
        dialogues = []
        for history, reply in pairs:
            said = [*_lines(history), (True, reply_text(reply))]
            dialogues.append(self.encode(said, [len(said) - 1]))
        return self.embed_dialogues(dialogues)

    def _states(self, rows: Sequence[tuple[int, ...]]) -> Tensor:
        """Hidden states (B, L, d). No mask: padding stands at the end, where a causal model has not looked yet."""
        longest = max(len(row) for row in rows)
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], dtype=torch.int64)
        states: Tensor = self.encoder(input_ids=ids).last_hidden_state
        return states

    @torch.inference_mode()
    def _is_causal(self) -> bool:
        self.eval()
        ids = tuple(range(1, min(9, int(self.config.vocab_size) - 1)))
        one, other = self._states([ids])[:, :-1], self._states([(*ids[:-1], 0)])[:, :-1]
        return torch.allclose(one, other, rtol=0, atol=1e-6 * max(1.0, float(one.abs().max())))


def _blocks(dialogue: DialogueTokens, limit: int) -> list[DialogueTokens]:
    """The dialogue in parts of up to ``limit`` tokens that overlap by half; each scored turn is in one of them."""
    blocks = []
    start, waiting = 0, list(dialogue.ends)
    while waiting:
        stop = start + limit
        ends = [end for end in waiting if end < stop]
        if ends:
            waiting = waiting[len(ends) :]
            blocks.append(DialogueTokens(dialogue.ids[start : ends[-1] + 1], tuple(end - start for end in ends)))
        start = stop - limit // 2
    return blocks


def _batches(blocks: Sequence[DialogueTokens]) -> list[list[int]]:
    """Places of the blocks in batches of like length."""
    batches: list[list[int]] = []
    for i in sorted(range(len(blocks)), key=lambda i: len(blocks[i].ids)):
        size = len(batches[-1]) + 1 if batches else 0
        if not batches or size > TEXTS_AT_ONCE or size * len(blocks[i].ids) > TOKENS_AT_ONCE:
            batches.append([])
        batches[-1].append(i)
    return batches


def _lines(history: str) -> list[Line]:
    """The turns of `reward_model.windows.history_text`."""
    marks = {f"{TARGET_MARK}: ": True, f"{OTHER_MARK}: ": False}
    return [(marks[line[:3]], line[3:]) for line in history.splitlines() if line[:3] in marks]
