"""A network as a player, in S times G games at once: it reads along, acts, and takes a split at the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from apportion.environments.negotiation.action_encoding import ACTS
from apportion.environments.negotiation.vectorized import NO_ACT, BoolArray, IntArray, VectorizedGames
from apportion.rlhf.negotiation.data.dialogues import START, UNKNOWN
from apportion.rlhf.negotiation.model.network import (
    NEVER,
    Encoding,
    Weights,
    act_logits,
    context_gates,
    embeddings,
    encode_context,
    gate_inputs,
    gru_step,
    lookup,
    selection_logprobs,
    split_logprobs,
)
from apportion.rlhf.negotiation.self_play import Draws, settled_split

ALMOST_ONE = 1 - 2.0**-20


@dataclass
class NetworkPlayer:
    """A player for each seed.

    ``weights``: S seeds. ``temperature``: Of its acts; 0: the likeliest.
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
        self._context, self._table = encode_context(self.weights, counts, values), embeddings(self.weights)
        self._gates = context_gates(self.weights, self._context)
        self._embedded: list[Tensor] = []
        self._states = [torch.zeros(*counts.shape[:2], self.weights["gru.state"].shape[1])]

    def choose(self, legal: BoolArray, draws: Draws) -> IntArray:
        """Read on, and give an act for each game [shape=(S * G,)]."""
        self._read_on()
        logits = act_logits(self.weights, self._table, self._states[-1][:, :, None]).view(len(self.games), ACTS)
        return draw_acts(logits, torch.from_numpy(legal), self.temperature, draws)

    def take(self) -> IntArray:
        """What the dialogue says, else the likeliest split by the selection's network."""
        settled = settled_split(self.games, self.seat)
        if (settled != NO_ACT).all():
            return settled
        self._read_on()
        embedded, states = torch.stack(self._embedded, dim=2), torch.stack(self._states[1:], dim=2)
        encoding = Encoding(embedded, states, self._context, self._table)
        lengths = torch.from_numpy(self.games.lengths).view(self._shape)
        counts = torch.from_numpy(self.games.pools.counts).view(*self._shape, 3)
        best = split_logprobs(selection_logprobs(self.weights, encoding, lengths), counts).argmax(-1)
        return np.where(settled == NO_ACT, best.numpy().ravel(), settled)

    def _read_on(self) -> None:
        """Read to the last act of the longest game; what comes after the end of one is masked."""
        games, shape = self.games, self._shape
        while (turn := len(self._embedded)) <= games.lengths.max():
            acts = games.acts[:, turn - 1] if turn else np.full(len(games), START)
            tokens = torch.from_numpy(np.where(acts == NO_ACT, UNKNOWN, acts)).view(shape)
            roles = torch.from_numpy(((games.starters + turn) % 2 != self.seat).astype(np.int64)).view(shape)
            embedded = lookup(self._table, tokens) + lookup(self.weights["role"], roles)
            inputs = gate_inputs(self.weights, embedded[:, :, None], self._gates)[:, :, 0]
            self._embedded.append(embedded)
            self._states.append(gru_step(self.weights, "gru", inputs, self._states[-1]))


def draw_acts(logits: Tensor, allowed: Tensor, temperature: float, draws: Draws) -> IntArray:
    """An act for each row of logits [shape=(N, 253)], by numbers in [0, 1) [shape=(N,)]; temperature 0: the likeliest.

    Where nothing is allowed, in a game that is over, the number says nothing.
    """
    if not temperature:
        best: IntArray = logits.masked_fill(~allowed, NEVER).argmax(-1).numpy()
        return best
    sums = torch.softmax((logits / temperature).masked_fill(~allowed, NEVER), dim=-1).cumsum(-1)
    wanted = torch.from_numpy(np.minimum(draws, ALMOST_ONE).astype(np.float32))[..., None] * sums[..., -1:]
    found: IntArray = (sums <= wanted).sum(-1).clamp(max=ACTS - 1).numpy()
    return found
