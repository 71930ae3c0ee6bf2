"""A network as a player: what it hears, what it says, what it takes, in S times G games at once.

What was heard while it played is kept, so that nothing is read again where the selection's network is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from apportion.environments.negotiation.action_encoding import ACTS
from apportion.environments.negotiation.vectorized.engine import NO_ACT, Flags, VectorizedGames
from apportion.rlhf.negotiation.data.dialogues import START, Whole
from apportion.rlhf.negotiation.model.network import (
    NEVER,
    Weights,
    act_scores,
    context_brings,
    embeddings,
    looked_up,
    read_context,
    selection_scores,
    split_scores,
    ways_matrix,
)
from apportion.rlhf.negotiation.model.recurrent import gru_step
from apportion.rlhf.negotiation.self_play import Draws, filled_columns, settled_split

ALMOST_ONE = 1 - 2.0**-20
TABLE_FROM = 64
"""From so many games a seed on, what follows from the weights alone is worked out once for all of them."""


@dataclass(frozen=True)
class Tables:
    """What follows from weights alone: every input has its row, so that no embedding is multiplied in play.

    Parameters
    ----------
    acting : float32 [shape=(S, TOKENS * 2, 3H)]
        What each token in each role brings to the gates of the GRU over acts, without its biases.
    taking : float32 [shape=(S, TOKENS * 2, 6A)]
        The same to the two ways of the selection, biases with it.
    out : float32 [shape=(S, H, 253)]
        From the state to the scores of acts: the two layers as one.
    out_bias : float32 [shape=(S, 1, 253)]
        Their biases.
    """

    acting: Tensor
    taking: Tensor
    out: Tensor
    out_bias: Tensor

    @classmethod
    def of(cls, weights: Weights) -> Tables:
        """Those of S seeds."""
        table, size = embeddings(weights), weights["role"].shape[-1]
        inputs = (table[:, :, None] + weights["role"][:, None]).flatten(1, 2)
        _, embedded, bias = ways_matrix(weights)
        turned = table[:, :ACTS].transpose(1, 2)
        return cls(
            torch.bmm(inputs, weights["gru.in"][:, :size]),
            torch.baddbmm(bias, inputs, embedded),
            torch.bmm(weights["out.weight"], turned),
            torch.baddbmm(weights["act.bias"][:, None], weights["out.bias"][:, None], turned),
        )


@dataclass(frozen=True)
class _Heard:
    """The states after one act, of the columns that were still played, and where a game stands among them."""

    states: Tensor
    place: Whole


@dataclass
class NetworkPlayer:
    """A player for each seed, its network reading along.

    Parameters
    ----------
    weights : dict of Tensor
        S seeds.
    temperature : float
        Of its acts; 0: the likeliest.
    lasting : bool
        Whether its weights stay as they are as long as it plays, so that its tables are made once for all games.
    """

    weights: Weights
    temperature: float
    lasting: bool = False
    _state: Tensor = field(init=False)
    _tables: Tables | None = field(init=False, default=None)

    def begin(self, games: VectorizedGames, seat: int) -> None:
        """Read the contexts."""
        self.games, self.seat = games, seat
        self.seeds = int(self.weights["act"].shape[0])
        pools = games.pools
        shape = (self.seeds, -1, 3)
        counts = torch.from_numpy(pools.counts).view(shape)
        values = torch.from_numpy(np.ascontiguousarray(pools.values[:, seat])).view(shape)
        self._context = read_context(self.weights, counts, values)
        self._beside, self._matrix = context_brings(self.weights, self._context)
        if not self.lasting:
            self._tables = None
        if self._tables is None and (self.lasting or counts.shape[1] >= TABLE_FROM):
            self._tables = Tables.of(self.weights)
        self._table = embeddings(self.weights) if self._tables is None else None
        self._state = torch.zeros(self.seeds, counts.shape[1], self.weights["gru.state"].shape[1])
        self._heard: list[_Heard] = []
        self._place = np.tile(np.arange(counts.shape[1]), (self.seeds, 1))
        self._columns = self._place

    def keep(self, columns: Whole) -> None:
        """Forget the other columns."""
        index = torch.from_numpy(columns)[..., None]
        self._state = torch.gather(self._state, 1, index.expand(-1, -1, self._state.shape[-1]))
        self._beside = torch.gather(self._beside, 1, index.expand(-1, -1, self._beside.shape[-1]))
        self._columns = np.take_along_axis(self._columns, columns, axis=1)
        self._place = np.zeros_like(self._place)
        np.put_along_axis(self._place, self._columns, np.arange(columns.shape[1])[None], axis=1)

    def hear(self, rows: Whole) -> None:
        """Read the last act of every row, or the beginning."""
        games, flat = self.games, rows.ravel()
        lengths = games.lengths[flat]
        last = np.where(lengths > 0, games.acts[flat, lengths - 1], START).reshape(rows.shape)
        roles = (games.speakers[flat] != self.seat).astype(np.int64).reshape(rows.shape)
        self._state = self._after(last, roles, self._beside, self._state)
        self._heard.append(_Heard(self._state, self._place))

    def _after(self, tokens: Whole, roles: Whole, beside: Tensor, state: Tensor) -> Tensor:
        """The state after one more act, what comes next being said in a role."""
        if self._tables is not None:
            brought = looked_up(self._tables.acting, torch.from_numpy(tokens * 2 + roles)) + beside
        else:
            brought = torch.baddbmm(beside, self._embedded(tokens, roles), self._matrix)
        return gru_step(self.weights["gru.state"], self.weights["gru.state_bias"], brought, state)

    def _embedded(self, tokens: Whole, roles: Whole) -> Tensor:
        assert self._table is not None
        return looked_up(self._table, torch.from_numpy(tokens)) + looked_up(
            self.weights["role"], torch.from_numpy(roles)
        )

    def choose(self, rows: Whole, legal: Flags, draws: Draws) -> Whole:
        """Draw an act where it is its turn, or take the likeliest."""
        self.hear(rows)
        own = self.games.speakers[rows.ravel()].reshape(rows.shape) == self.seat
        picked = filled_columns(own)
        acts = np.full(rows.shape, NO_ACT, dtype=np.int64)
        if rows.shape[1] == 1 == picked.shape[1]:  # One game a seed: there is nothing to pick.
            return drawn_acts(self._scores(self._state), torch.from_numpy(legal), self.temperature, draws)
        if picked.shape[1]:
            index = torch.from_numpy(picked)
            states = torch.gather(self._state, 1, index[..., None].expand(-1, -1, self._state.shape[-1]))
            allowed = torch.from_numpy(np.take_along_axis(legal, picked[..., None], axis=1))
            chances = np.take_along_axis(draws, picked, axis=1)
            chosen = drawn_acts(self._scores(states), allowed, self.temperature, chances)
            np.put_along_axis(acts, picked, chosen, axis=1)
        return acts

    def _scores(self, states: Tensor) -> Tensor:
        if self._tables is not None:
            return torch.baddbmm(self._tables.out_bias, states, self._tables.out)
        assert self._table is not None
        return act_scores(self.weights, self._table, states)

    def take(self) -> Whole:
        """What the dialogue says, else the likeliest split by the selection's network."""
        taken = settled_split(self.games, self.seat)
        open_rows = (taken == NO_ACT).reshape(self.seeds, -1)
        picked = filled_columns(open_rows)
        if picked.shape[1]:
            asked = np.take_along_axis(open_rows, picked, axis=1)
            rows = picked + np.arange(self.seeds)[:, None] * open_rows.shape[1]
            taken[rows[asked]] = self._selected(picked, rows)[asked]
        return taken

    def _selected(self, picked: Whole, rows: Whole) -> Whole:
        """The likeliest split of games that are over, by their columns and their rows [shape=(S, P)]."""
        games = self.games
        index = torch.from_numpy(picked)[..., None]
        context = torch.gather(self._context, 1, index.expand(-1, -1, self._context.shape[-1]))
        lengths = games.lengths[rows]
        acts = games.acts[rows][..., : lengths.max()]
        tokens = np.concatenate([np.full((*rows.shape, 1), START), np.where(acts == NO_ACT, 0, acts)], axis=-1)
        roles = ((games.starters[rows][..., None] + np.arange(tokens.shape[-1])) % 2 != self.seat).astype(np.int64)
        states = self._states_of(picked, lengths, tokens, roles, context)
        heard, matrix, bias = ways_matrix(self.weights)
        if self._tables is not None:
            brought = looked_up(self._tables.taking, torch.from_numpy(tokens * 2 + roles)).flatten(1, 2)
        else:
            brought = torch.baddbmm(bias, self._embedded(tokens, roles).flatten(1, 2), matrix)
        brought = torch.baddbmm(brought, states.flatten(1, 2), heard).view(*tokens.shape, -1)
        heads = selection_scores(self.weights, brought, context, torch.from_numpy(lengths))
        best: Whole = split_scores(heads, torch.from_numpy(games.pools.counts[rows])).argmax(-1).numpy()
        return best

    def _states_of(self, picked: Whole, lengths: Whole, tokens: Whole, roles: Whole, context: Tensor) -> Tensor:
        """The states of some columns after every act [shape=(S, P, T + 1, H)]; what was said last is heard now."""
        units = self._state.shape[-1]
        states = torch.zeros(*tokens.shape, units)
        for turn, heard in enumerate(self._heard[: tokens.shape[-1]]):
            place = torch.from_numpy(np.take_along_axis(heard.place, picked, axis=1))[..., None]
            states[:, :, turn] = torch.gather(heard.states, 1, place.expand(-1, -1, units))
        end = torch.from_numpy(lengths)[..., None, None].expand(-1, -1, 1, units)
        before = torch.gather(states, 2, end - 1)[:, :, 0]
        said, role = (np.take_along_axis(one, lengths[..., None], axis=-1)[..., 0] for one in (tokens, roles))
        beside, _ = context_brings(self.weights, context)
        return states.scatter_(2, end, self._after(said, role, beside, before)[:, :, None])


def masked(scores: Tensor, allowed: Tensor, temperature: float = 1.0) -> Tensor:
    """Log probabilities of the allowed acts [shape=(..., 253)]; of others, next to nothing."""
    return torch.log_softmax((scores / temperature).masked_fill(~allowed, NEVER), dim=-1)


def drawn_acts(scores: Tensor, allowed: Tensor, temperature: float, draws: Draws) -> Whole:
    """An act for each row of scores [shape=(S, N, 253)], by numbers in [0, 1) [shape=(S, N)]; 0 is the likeliest.

    Where nothing is allowed, in a game that is over, the number says nothing.
    """
    if not temperature:
        best: Whole = scores.masked_fill(~allowed, NEVER).argmax(-1).numpy()
        return best
    sums = torch.softmax((scores / temperature).masked_fill(~allowed, NEVER), dim=-1).cumsum(-1)
    wanted = torch.from_numpy(np.minimum(draws, ALMOST_ONE).astype(np.float32))[..., None] * sums[..., -1:]
    found: Whole = (sums <= wanted).sum(-1).clamp(max=ACTS - 1).numpy()
    return found
