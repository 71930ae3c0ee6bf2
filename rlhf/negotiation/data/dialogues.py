"""Dialogues of acts as arrays, each seen by one of its two people: what the network reads and is trained on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from apportion.environments.negotiation.action_encoding import ACTS, SPLITS
from apportion.environments.negotiation.vectorized import KEPT, NO_ACT, IntArray
from apportion.foundation.errors import InputError

UNKNOWN, START = ACTS, ACTS + 1
"""Besides the 253 acts the network reads something that was no act, and the beginning."""
TOKENS = ACTS + 2
OWN, OTHERS = 0, 1
"""Who says an act, seen by the one whose values are known."""
NOT_TAKEN = -1


@dataclass(frozen=True)
class Dialogues:
    """B dialogues of at most T acts, each from one seat.

    ``acts`` int64 [B, T]: Numbers of acts; `UNKNOWN` for what was said and is no act; -1 after the end. ``roles`` int64
    [B, T]: Who says it: `OWN` or `OTHERS`. ``counts``, ``values`` int64 [B, 3]: The pool, and what a single one of each
    is worth to the one who sees it. ``taken`` int64 [B, 6]: How many of each item the seat takes at the end, then how
    many the other; -1: nothing was agreed on.
    """

    acts: IntArray
    roles: IntArray
    counts: IntArray
    values: IntArray
    taken: IntArray

    def __len__(self) -> int:
        return len(self.acts)

    @property
    def lengths(self) -> IntArray:
        """Acts of each [shape=(B,)]."""
        return np.asarray((self.acts != NO_ACT).sum(-1))

    def chosen(self, rows: Any) -> Dialogues:
        """Those of some rows, an index of NumPy; the arrays then begin with its shape."""
        return Dialogues(self.acts[rows], self.roles[rows], self.counts[rows], self.values[rows], self.taken[rows])

    def cut(self) -> Dialogues:
        """Without the columns that no dialogue fills."""
        longest = max(1, int((self.acts != NO_ACT).sum(-1).max(initial=1)))
        return Dialogues(self.acts[..., :longest], self.roles[..., :longest], self.counts, self.values, self.taken)

    def flat(self) -> Dialogues:
        """Arrays that begin with seeds, as one row after the other [shape=(S * B, ...)]."""
        return self.chosen(np.ones(self.counts.shape[:-1], dtype=np.bool_))

    def by_seed(self, seeds: int) -> Dialogues:
        """Rows that stand one seed after the other, as arrays that begin with the seeds [shape=(S, B / S, ...)]."""
        return self.chosen(np.arange(len(self)).reshape(seeds, -1))

    @property
    def inputs(self) -> IntArray:
        """What is read before each act and after the last: `START`, then the acts [shape=(B, T + 1)]."""
        begun = np.full((*self.acts.shape[:-1], 1), START, dtype=np.int64)
        read = np.concatenate([begun, self.acts], axis=-1)
        return np.where(read == NO_ACT, UNKNOWN, read)

    @property
    def next_roles(self) -> IntArray:
        """Who acts after each of `inputs` [shape=(B, T + 1)]; after the last act, the other."""
        after = OTHERS - self.roles[..., -1:]
        return np.concatenate([self.roles, after], axis=-1)

    def targets(self) -> IntArray:
        """The acts that the context allows, -1 for all else: what no player could do is no example [shape=(B, T)]."""
        split = np.where(self.acts < 2 * SPLITS, self.acts % SPLITS, 0)
        fits = (KEPT[split] <= self.counts[..., None, :]).all(-1)
        known = (self.acts != NO_ACT) & (self.acts != UNKNOWN)
        return np.where(known & (fits | (self.acts >= 2 * SPLITS)), self.acts, NO_ACT)


def joined(several: Iterable[Dialogues]) -> Dialogues:
    """One after the other, padded to the longest."""
    parts = list(several)
    if not parts:
        raise InputError("no dialogues to put together; give at least one group of them")
    longest = max(part.acts.shape[-1] for part in parts)

    def padded(array: IntArray, fill: int) -> IntArray:
        return np.pad(array, ((0, 0), (0, longest - array.shape[-1])), constant_values=fill)

    return Dialogues(
        np.concatenate([padded(part.acts, NO_ACT) for part in parts]),
        np.concatenate([padded(part.roles, OWN) for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.taken for part in parts]),
    )
