"""Log-probabilities of many token sequences that begin alike: what they share goes through the model once.

The sequences are a tree whose branches part where the sequences do. Keys and values of a shared part stay in the cache
for all that grows from it, so that 2K replies to n utterances cost the context once, each utterance once, each reply
once.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from apportion.decompose.influence.scorer import common_length
from apportion.foundation.arrays import Floats

WORTH_IT = 16
"""Tokens that a pass of its own has to save: fewer are cheaper computed again in a batch."""
TOKENS_AT_ONCE = 2048
"""Tokens of a batch, its padding among them: what comes out has the width of the vocabulary."""


@dataclass(frozen=True)
class Sequenced:
    """Token ids [shape=(L,)] of a prompt and its reply; the reply's begin at ``start`` (1 or more)."""

    ids: tuple[int, ...]
    start: int


@dataclass
class _Node:
    """Where sequences part: ``depth`` tokens are in the ``cache``, ``after`` [shape=(V,)] tells what comes next."""

    depth: int
    cache: Any
    after: Tensor | None


@dataclass
class SharedPrefixes:
    """Reads sequences with one causal model.

    - ``model`` (PreTrainedModel): A causal language model, without dropout.
    - ``share`` (bool): Compute what sequences share once; else each sequence goes through the model whole (the slow way
      that the fast one is held to, and the one for models whose memory of a text is no cache of keys and values).
    - ````computed`` counts the tokens that went through the model so far``, ``the padding of batches among them.``
    """

    model: Any
    share: bool = True
    computed: int = field(default=0, init=False)

    @torch.inference_mode()
    def log_probabilities(self, sequences: Sequence[Sequenced]) -> list[Floats]:
        """Of each sequence the log-probabilities of its reply's tokens [shape=(L - start,)], in nats."""
        found = [np.full(len(one.ids) - one.start, np.nan) for one in sequences]
        rows = list(range(len(sequences)))
        if self.share:
            self._read(sequences, rows, _Node(0, None, None), found)
        else:
            for row in rows:
                self._leaves(sequences, [row], _Node(0, None, None), found)
        return found

    def _read(self, all_: Sequence[Sequenced], rows: list[int], node: _Node, found: list[Floats]) -> None:
        """Read ``rows`` from ``node`` on: what they share in one pass, then each branch."""
        shared = common_length([all_[row].ids for row in rows])
        if shared > node.depth and len(rows) > 1:
            node = self._extended(all_, rows, node, shared, found)
        branches: dict[int, list[int]] = {}
        for row in rows:
            if len(all_[row].ids) > node.depth:
                branches.setdefault(all_[row].ids[node.depth], []).append(row)
        leaves: list[int] = []
        for branch in branches.values():
            longer = common_length([all_[row].ids for row in branch]) - node.depth
            if len(branch) > 1 and longer * (len(branch) - 1) >= WORTH_IT:
                self._read(all_, branch, node, found)
            else:
                leaves += branch
        self._leaves(all_, leaves, node, found)

    def _extended(
        self, all_: Sequence[Sequenced], rows: Sequence[int], node: _Node, end: int, found: list[Floats]
    ) -> _Node:
        """The node after the tokens up to ``end`` that ``rows`` share."""
        ids = all_[rows[0]].ids[node.depth : end]
        wanted = max(node.depth, min(min(all_[row].start for row in rows), end))
        # What comes after the last token is always wanted, for the branches.
        skipped = max(wanted - 1 - node.depth, 0)
        logits, cache = self._forward([ids], node.cache, len(ids) - skipped)
        logs = torch.log_softmax(logits[0].float(), dim=-1)
        told = logs if wanted > node.depth or node.after is None else torch.cat([node.after[None], logs])
        for row in rows:
            first = max(all_[row].start, node.depth)
            _note(told[first - wanted :], all_[row].ids[first:end], found[row], first - all_[row].start)
        return _Node(end, cache, logs[-1])

    def _leaves(self, all_: Sequence[Sequenced], rows: Sequence[int], node: _Node, found: list[Floats]) -> None:
        """Read what each of ``rows`` has alone, in batches of like length."""
        for batch in _batches(sorted(rows, key=lambda row: len(all_[row].ids)), all_, node.depth):
            # What the last token would tell is of no token.
            tails = [all_[row].ids[node.depth : -1] for row in batch]
            skipped = min(max(all_[row].start - 1 - node.depth, 0) for row in batch)
            longest = max(map(len, tails))
            logs: Tensor | None = None
            if longest > skipped:
                logs = torch.log_softmax(self._forward(tails, node.cache, longest - skipped)[0].float(), dim=-1)
            for place, row in enumerate(batch):
                first = max(all_[row].start, node.depth)
                if first >= len(all_[row].ids):
                    continue
                told = [] if node.after is None or first > node.depth else [node.after[None]]
                if logs is not None:
                    told.append(logs[place, max(first - 1 - node.depth - skipped, 0) :])
                _note(torch.cat(told), all_[row].ids[first:], found[row], first - all_[row].start)

    def _forward(self, rows: Sequence[Sequence[int]], cache: Any, kept: int) -> tuple[Tensor, Any]:
        """Logits [shape=(rows, kept or L, V)] after each token of ``rows``, and the cache that they leave.

        Shorter rows are filled up at their end, where a causal model's earlier tokens see nothing of it.
        """
        longest = max(map(len, rows))
        ids = torch.zeros((len(rows), longest), dtype=torch.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = torch.tensor(row, dtype=torch.int64)
        self.computed += ids.numel()
        out = self.model(
            input_ids=ids.to(self.model.device),
            past_key_values=_forked(cache, len(rows)),
            use_cache=self.share,
            logits_to_keep=kept,
        )
        return out.logits, out.get("past_key_values")


def _note(told: Tensor, ids: Sequence[int], found: Floats, place: int) -> None:
    """Put what ``told`` [shape=(L or more, V)] says of tokens ``ids`` [shape=(L,)] into ``found`` from ``place`` on."""
    if ids:
        wanted = torch.tensor(ids, device=told.device)[:, None]
        found[place : place + len(ids)] = told[: len(ids)].gather(1, wanted)[:, 0].double().cpu().numpy()


def can_share(model: Any) -> bool:
    """Whether the model remembers a text by keys and values alone, so that texts can grow from one memory."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    layers = DynamicCache(config=model.config).layers
    return all(type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in layers)


def _batches(rows: Sequence[int], all_: Sequence[Sequenced], depth: int) -> list[list[int]]:
    """``rows``, sorted by length, in batches of at most `TOKENS_AT_ONCE` tokens or one row."""
    batches: list[list[int]] = []
    for row in rows:
        length = len(all_[row].ids) - depth
        if batches and (len(batches[-1]) + 1) * length <= TOKENS_AT_ONCE:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _forked(cache: Any, rows: int) -> Any:
    """The cache for ``rows`` that grow from it, each on its own; what it holds is not copied, and it stays as it is."""
    if cache is None:
        return None
    forked = copy.copy(cache)
    forked.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in forked.layers:
        if layer.keys is not None:  # Layers that use another's have none.
            layer.keys = layer.keys.expand(rows, *layer.keys.shape[1:])
            layer.values = layer.values.expand(rows, *layer.values.shape[1:])
    return forked
