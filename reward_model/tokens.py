"""Windows as token numbers: never longer than L, and the history gives way before the reply does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from reward_model.windows import Pair

HISTORY, REPLY = 0, 1


@dataclass(frozen=True)
class Encoded:
    """One window's tokens, up to L: their numbers, their segments as the model wants them, and whose text each is.

    ``part`` is HISTORY or REPLY, and None for the model's own marks.
    """

    ids: tuple[int, ...]
    segments: tuple[int, ...]
    part: tuple[int | None, ...]


class PairTokenizer:
    """Puts (history, reply) into the model's own pair format, e.g. ``[CLS] history [SEP] reply [SEP]``."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self.tokenizer = tokenizer
        self._backend = tokenizer.backend_tokenizer
        self._backend.no_padding()
        self._backend.no_truncation()
        self._room = max_tokens - self._backend.num_special_tokens_to_add(True)
        self._segments = "token_type_ids" in tokenizer.model_input_names
        # A model without special tokens would get nothing at all to read for an empty window.
        self._empty = tokenizer.eos_token_id or 0

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        """One ``Encoded`` a pair. The oldest history is cut first; only a reply longer than L loses its own end."""
        histories = self._backend.encode_batch([history for history, _ in pairs], add_special_tokens=False)
        replies = self._backend.encode_batch([reply for _, reply in pairs], add_special_tokens=False)
        encoded = []
        for history, reply in zip(histories, replies, strict=True):
            reply.truncate(self._room)
            history.truncate(self._room - len(reply), direction="left")
            both = self._backend.post_process(history, reply, add_special_tokens=True)
            encoded.append(
                Encoded(tuple(both.ids), tuple(both.type_ids), tuple(both.sequence_ids))
                if both.ids
                else Encoded((self._empty,), (0,), (None,))
            )
        return encoded

    def pad(self, encoded: Sequence[Encoded]) -> dict[str, Tensor]:
        """The model's inputs for B windows, each [shape=(B, L)] int64, padded to the longest of them."""
        longest = max(len(window.ids) for window in encoded)
        columns = {
            "input_ids": [[*w.ids, *[self._padding] * (longest - len(w.ids))] for w in encoded],
            "attention_mask": [[1] * len(w.ids) + [0] * (longest - len(w.ids)) for w in encoded],
        }
        if self._segments:
            columns["token_type_ids"] = [[*w.segments, *[0] * (longest - len(w.ids))] for w in encoded]
        return {name: torch.tensor(rows, dtype=torch.int64) for name, rows in columns.items()}

    def mask(self, encoded: Sequence[Encoded], part: int) -> Tensor:
        """Which tokens of B windows belong to ``part``, [shape=(B, L)] float32; all of a window that has none."""
        longest = max(len(window.ids) for window in encoded)
        rows = []
        for window in encoded:
            own = [float(whose == part) for whose in window.part]
            rows.append((own if any(own) else [1.0] * len(own)) + [0.0] * (longest - len(own)))
        return torch.tensor(rows)

    @property
    def _padding(self) -> int:
        number = self.tokenizer.pad_token_id
        return 0 if number is None else int(number)


def length_batches(encoded: Sequence[Encoded], size: int) -> list[list[int]]:
    """Positions of the windows in batches of up to ``size``, like lengths together, so that little is padded."""
    order = sorted(range(len(encoded)), key=lambda i: len(encoded[i].ids))
    return [order[start : start + size] for start in range(0, len(order), size)]
