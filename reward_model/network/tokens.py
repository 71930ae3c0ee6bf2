"""Windows as token numbers: never longer than L, and the history gives way before the reply does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from apportion.reward_model.history_windows import Pair, fair_shares, split_known


@dataclass(frozen=True)
class Tokens:
    """One text for the model, up to L tokens: their numbers, and the segment of each (0 history, 1 reply)."""

    ids: tuple[int, ...]
    segments: tuple[int, ...]


@dataclass(frozen=True)
class Encoded:
    """One window in two readings: history and reply together, and the reply by itself."""

    window: Tokens
    reply: Tokens


class PairTokenizer:
    """Puts (history, reply) into the model's own pair format, e.g. ``[CLS] history [SEP] reply [SEP]``."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self.tokenizer = tokenizer
        self._backend = tokenizer.backend_tokenizer
        self._backend.no_padding()
        self._backend.no_truncation()
        self._room = max_tokens - self._backend.num_special_tokens_to_add(True)
        self.reads_segments = "token_type_ids" in tokenizer.model_input_names
        # A model without special tokens would get nothing at all to read for an empty window.
        self._empty = tokenizer.eos_token_id or 0

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        """One ``Encoded`` a pair. The oldest history is cut first; only a reply longer than L loses its own end.

        Of what was known before the dialogue as much is kept as half of the room for the history holds.
        """
        windows = self._tokens(pairs)
        replies = self.alone([reply for _, reply in pairs])
        return [Encoded(window, reply) for window, reply in zip(windows, replies, strict=True)]

    def alone(self, texts: Sequence[str]) -> list[Tokens]:
        """Texts without any history, one ``Tokens`` each; what is longer than L loses its end."""
        return self._tokens([("", text) for text in texts])

    def pad(self, texts: Sequence[Tokens]) -> dict[str, Tensor]:
        """The model's inputs for B texts, each [shape=(B, L)] int64, padded to the longest of them."""
        longest = max(len(text.ids) for text in texts)
        columns = {
            "input_ids": [[*text.ids, *[self._padding] * (longest - len(text.ids))] for text in texts],
            "attention_mask": [[1] * len(text.ids) + [0] * (longest - len(text.ids)) for text in texts],
        }
        if self.reads_segments:
            columns["token_type_ids"] = [[*text.segments, *[0] * (longest - len(text.ids))] for text in texts]
        return {name: torch.tensor(rows, dtype=torch.int64) for name, rows in columns.items()}

    def _tokens(self, pairs: Sequence[Pair]) -> list[Tokens]:
        parts = [split_known(history) for history, _ in pairs]
        histories = self._backend.encode_batch([dialogue for _, dialogue in parts], add_special_tokens=False)
        replies = self._backend.encode_batch([reply for _, reply in pairs], add_special_tokens=False)
        tokens = []
        for (known, _), history, reply in zip(parts, histories, replies, strict=True):
            reply.truncate(self._room)
            if known:
                history = self._after(known, history, self._room - len(reply))
            else:
                history.truncate(self._room - len(reply), direction="left")
            both = self._backend.post_process(history, reply, add_special_tokens=True)
            tokens.append(Tokens(tuple(both.ids), tuple(both.type_ids)) if both.ids else Tokens((self._empty,), (0,)))
        return tokens

    def _after(self, known: Sequence[str], history: Any, room: int) -> Any:
        """What was known, in at most half of ``room``, and the newest of the history after it."""
        whole = self._backend.encode_batch(list(known), add_special_tokens=False)
        shares = fair_shares([len(line) for line in whole], room // 2)
        lines = [self._cut(*each) for each in zip(known, whole, shares, strict=True)]
        history.truncate(room - sum(map(len, lines)), direction="left")
        return type(history).merge([*lines, history], growing_offsets=False)

    def _cut(self, text: str, whole: Any, most: int) -> Any:
        """The beginning of a line in at most ``most`` tokens.

        Its text is cut, since what `Encoding.truncate` takes off stays with it, and merging several that were cut
        makes every combination of their pieces.
        """
        line = whole
        for kept in range(most, -1, -1):
            if len(line) <= most:
                break
            # The beginning by itself may be more tokens than it was in the whole.
            end = whole.offsets[kept - 1][1] if kept else 0
            line = self._backend.encode(text[:end], add_special_tokens=False)
        return line

    @property
    def _padding(self) -> int:
        number = self.tokenizer.pad_token_id
        return 0 if number is None else int(number)


def length_batches(texts: Sequence[Tokens], size: int) -> list[list[int]]:
    """Positions of the texts in batches of up to ``size``, like lengths together, so that little is padded."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i].ids))
    return [order[start : start + size] for start in range(0, len(order), size)]
