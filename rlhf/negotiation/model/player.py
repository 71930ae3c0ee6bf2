"""A network as a player, in S times G games at once: it reads along, acts, and takes a split at the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from apportion.environments.negotiation.action_encoding import ACTS
from apportion.environments.negotiation.vectorized import NO_ACT, Flags, VectorizedGames, Whole
from apportion.rlhf.negotiation.data.dialogues import START
from apportion.rlhf.negotiation.model.network import (
    NEVER,
    Weights,
    act_logits,
    embeddings,
    encode,
    encode_context,
    gate_inputs,
    gru_step,
    lookup,
    selection_logprobs,
    split_logprobs,
)
from apportion.rlhf.negotiation.self_play import Draws, seen, settled_split

ALMOST_ONE = 1 - 2.0**-20


@dataclass
class NetworkPlayer:
    """A player for each seed.

    Parameters
    ----------
    weights : dict of Tensor
        S seeds.
    temperature : float
        Of its acts; 0: the likeliest.
    """

    weights: Weights
    temperature: float

    def begin(self, games: VectorizedGames, seat: int) -> None:
        """Take a seat."""
        self.games, self.seat = games, seat
        self._shape = len(self.weights["act"]), -1
        counts, values = (
            torch.from_numpy(np.ascontiguousarray(known)).view(*self._shape, 3)
            for known in (games.pools.counts, games.pools.values[:, seat])
        )
        self._context = encode_context(self.weights, counts, values)
        self._table = embeddings(self.weights)
        self._state = torch.zeros(*counts.shape[:2], self.weights["gru.state"].shape[1])

    def choose(self, legal: Flags, draws: Draws) -> Whole:
        """Read the last acts, and give an act for each game [shape=(S * G,)]."""
        games, rows = self.games, np.arange(len(self.games))
        last = np.where(games.lengths > 0, games.acts[rows, games.lengths - 1], START)
        roles = (games.speakers != self.seat).astype(np.int64)
        embedded = self._lookup(self._table, last) + self._lookup(self.weights["role"], roles)
        inputs = gate_inputs(self.weights, embedded[:, :, None], self._context)[:, :, 0]
        self._state = gru_step(self.weights, "gru", inputs, self._state)
        logits = act_logits(self.weights, self._table, self._state[:, :, None]).view(len(rows), ACTS)
        return draw_acts(logits, torch.from_numpy(legal), self.temperature, draws)

    def take(self) -> Whole:
        """What the dialogue says, else the likeliest split by the selection's network."""
        settled = settled_split(self.games, self.seat)
        if (settled != NO_ACT).all():
            return settled
        dialogues = seen(self.games, self.seat).by_seed(self._shape[0]).cut()
        selection = selection_logprobs(
            self.weights, encode(self.weights, dialogues), torch.from_numpy(dialogues.lengths)
        )
        best = split_logprobs(selection, torch.from_numpy(dialogues.counts)).argmax(-1)
        return np.where(settled == NO_ACT, best.numpy().ravel(), settled)

    def _lookup(self, table: Tensor, index: Whole) -> Tensor:
        return lookup(table, torch.from_numpy(index).view(self._shape))


def draw_acts(logits: Tensor, allowed: Tensor, temperature: float, draws: Draws) -> Whole:
    """An act for each row of logits [shape=(N, 253)], by numbers in [0, 1) [shape=(N,)]; temperature 0: the likeliest.

    Where nothing is allowed, in a game that is over, the number says nothing.
    """
    if not temperature:
        best: Whole = logits.masked_fill(~allowed, NEVER).argmax(-1).numpy()
        return best
    sums = torch.softmax((logits / temperature).masked_fill(~allowed, NEVER), dim=-1).cumsum(-1)
    wanted = torch.from_numpy(np.minimum(draws, ALMOST_ONE).astype(np.float32))[..., None] * sums[..., -1:]
    found: Whole = (sums <= wanted).sum(-1).clamp(max=ACTS - 1).numpy()
    return found
