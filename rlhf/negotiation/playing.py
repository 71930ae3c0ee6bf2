"""S seeds playing G games each at once: who sits where, what they say, what they take.

Seat 0 is Alice, seat 1 Bob. Games stand one seed after the other: game g of seed s is row s * G + g. All seeds move
together; the columns of a batch in which all games are over are left out as soon as enough are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from environments.negotiation.batched.engine import KEPT, NO_ACT, BatchedGames, Flags
from environments.negotiation.codes import ACTS
from rlhf.negotiation.data.dialogues import START, Dialogues, Whole
from rlhf.negotiation.network import (
    NEVER,
    Weights,
    act_scores,
    embeddings,
    gru_step,
    read,
    read_context,
    split_scores,
    taken_scores,
)

Draws = NDArray[np.float64]
LESS = 0.7
"""Columns are left out when so few of them are still played, as a share."""
ALMOST_ONE = 1 - 2.0**-20


class Player(Protocol):
    """One side of S times G games, who may remember what was said."""

    def begin(self, games: BatchedGames, seat: int) -> None:
        """Sit down."""

    def keep(self, columns: Whole) -> None:
        """Go on with some columns only, by their places among those of now [shape=(S, W)]."""

    def choose(self, rows: Whole, legal: Flags, draws: Draws) -> Whole:
        """An act for each of the rows [shape=(S, W)], of ``legal`` [shape=(S, W, 253)], by ``draws`` [shape=(S, W)].

        What is chosen where the other speaks is passed over.
        """

    def take(self) -> Whole:
        """What it takes in every game, by number of the split [shape=(S * G,)]."""


@dataclass(frozen=True)
class Played:
    """Games that are over.

    Parameters
    ----------
    games : BatchedGames
        Of all seeds, S * G of them.
    seeds : int
        S.
    taken : int64 [shape=(S * G, 2)]
        What the seats take, by number of the split.
    points : int64 [shape=(S * G, 2)]
        What they have of it.
    legal : bool [shape=(S * G, 20, 253)], optional
        What was allowed at every act, where it was asked for.
    """

    games: BatchedGames
    seeds: int
    taken: Whole
    points: Whole
    legal: Flags | None = None

    @property
    def agreed(self) -> Flags:
        """Whether the two took what adds up to the pool [shape=(S * G,)]."""
        return np.asarray(self.taken.sum(1) == self.games.all_of_it)

    def seen_by(self, seat: int) -> Dialogues:
        """The dialogues from one seat; arrays begin with the seeds [shape=(S, G, ...)]."""
        flat = seen(self.games, seat)
        both = np.concatenate([KEPT[self.taken[:, seat]], KEPT[self.taken[:, 1 - seat]]], axis=1)
        taken = np.where(self.agreed[:, None], both, -1)
        whole = Dialogues(flat.acts, flat.roles, flat.counts, flat.values, taken)
        return whole.chosen(np.arange(len(self.games)).reshape(self.seeds, -1))


def seen(games: BatchedGames, seat: int) -> Dialogues:
    """The dialogues so far, as one seat knows them."""
    turns = np.arange(games.acts.shape[1])
    roles = ((games.starters[:, None] + turns) % 2 != seat).astype(np.int64)
    nothing = np.full((len(games), 6), -1, dtype=np.int64)
    return Dialogues(games.acts, roles, games.pools.counts, games.pools.values[:, seat], nothing)


def settled_split(games: BatchedGames, seat: int) -> Whole:
    """What a seat takes by the dialogue alone, -1 where that does not say it [shape=(G,)].

    The consistency check of the selection (section 4): the standing proposal was agreed to, or the partner ended right
    after one's own. Else what is taken is up to the player, also for who ends right after the other's proposal.
    """
    said_so = games.settled | (games.proposer == seat)
    return np.where(said_so, games.meant(seat), NO_ACT)


@dataclass
class NetworkPlayer:
    """A player for each seed, its network reading along.

    Parameters
    ----------
    weights : dict of Tensor
        S seeds.
    temperature : float
        Of its acts; 0: the likeliest.
    """

    weights: Weights
    temperature: float
    _state: Tensor = field(init=False)

    def begin(self, games: BatchedGames, seat: int) -> None:
        """Read the contexts."""
        self.games, self.seat = games, seat
        self.seeds = int(self.weights["act"].shape[0])
        self._table = embeddings(self.weights)
        pools = games.pools
        shape = (self.seeds, -1, 3)
        counts = torch.from_numpy(pools.counts).view(shape)
        values = torch.from_numpy(np.ascontiguousarray(pools.values[:, seat])).view(shape)
        context = read_context(self.weights, counts, values)
        size = self.weights["act"].shape[-1]
        whole = self.weights["gru.in"]
        bias = self.weights["gru.in_bias"][:, None]
        self._beside = torch.baddbmm(bias, context, whole[:, size:])
        self._whole = whole[:, :size].contiguous()
        self._many = counts.shape[1] >= TABLE_FROM
        if self._many:
            self._brings = torch.bmm(self._table, self._whole)
            self._role_brings = torch.bmm(self.weights["role"], self._whole)
        self._state = torch.zeros(self.seeds, counts.shape[1], self.weights["gru.state"].shape[1])
        self._offset = torch.arange(self.seeds)[:, None]

    def keep(self, columns: Whole) -> None:
        """Forget the other columns."""
        index = torch.from_numpy(columns)[..., None]
        self._state = torch.gather(self._state, 1, index.expand(-1, -1, self._state.shape[-1]))
        self._beside = torch.gather(self._beside, 1, index.expand(-1, -1, self._beside.shape[-1]))

    def hear(self, rows: Whole) -> None:
        """Read the last act of every row, or the beginning."""
        games, flat = self.games, rows.ravel()
        lengths = games.lengths[flat]
        last = np.where(lengths > 0, games.acts[flat, lengths - 1], START)
        tokens = torch.from_numpy(last.reshape(rows.shape))
        roles = torch.from_numpy((games.speakers[flat] != self.seat).astype(np.int64).reshape(rows.shape))
        if self._many:
            brought = self._brings[self._offset, tokens] + self._role_brings[self._offset, roles]
            brought = brought + self._beside
        else:
            embedded = self._table[self._offset, tokens] + self.weights["role"][self._offset, roles]
            brought = torch.baddbmm(self._beside, embedded, self._whole)
        self._state = gru_step(self.weights, "gru", brought, self._state)

    def choose(self, rows: Whole, legal: Flags, draws: Draws) -> Whole:
        """Draw an act where it is its turn, or take the likeliest."""
        self.hear(rows)
        own = self.games.speakers[rows.ravel()].reshape(rows.shape) == self.seat
        picked = _columns(own)
        acts = np.full(rows.shape, NO_ACT, dtype=np.int64)
        if picked.shape[1]:
            index = torch.from_numpy(picked)
            states = torch.gather(self._state, 1, index[..., None].expand(-1, -1, self._state.shape[-1]))
            scores = act_scores(self.weights, self._table, states)
            allowed = torch.from_numpy(np.take_along_axis(legal, picked[..., None], axis=1))
            chosen = drawn_acts(scores, allowed, self.temperature, np.take_along_axis(draws, picked, axis=1))
            np.put_along_axis(acts, picked, chosen, axis=1)
        return acts

    def take(self) -> Whole:
        """What the dialogue says, else the likeliest split by the selection's network."""
        taken = settled_split(self.games, self.seat)
        open_rows = (taken == NO_ACT).reshape(self.seeds, -1)
        picked = _columns(open_rows)
        if picked.shape[1]:
            rows = picked + np.arange(self.seeds)[:, None] * open_rows.shape[1]
            dialogues = seen(self.games, self.seat).chosen(rows).cut()
            reading = read(self.weights, dialogues)
            heads = taken_scores(self.weights, reading, torch.from_numpy(dialogues.lengths))
            best = split_scores(heads, torch.from_numpy(dialogues.counts)).argmax(-1).numpy()
            asked = np.take_along_axis(open_rows, picked, axis=1)
            taken[rows[asked]] = best[asked]
        return taken


TABLE_FROM = 64
"""From so many games a seed on, what each act brings to the GRU is worked out once for all of them."""


def _columns(wanted: Flags) -> Whole:
    """Where ``wanted`` [shape=(S, W)] is true, a row a seed, filled up to one length with its other columns."""
    width = int(wanted.sum(1).max(initial=0))
    return np.argsort(~wanted, axis=1, kind="stable")[:, :width]


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


@torch.no_grad()
def play(
    games: BatchedGames,
    seeds: int,
    players: tuple[Player, Player],
    draws: Draws,
    *,
    said: Whole | None = None,
    with_legal: bool = False,
) -> Played:
    """Play all games to their end.

    Parameters
    ----------
    games : BatchedGames
        Of all seeds, not begun.
    seeds : int
        S; the games of a seed stand together.
    players : tuple of Player
        Alice and Bob.
    draws : float64 [shape=(S * G, 20)]
        A number in [0, 1) for every act.
    said : int64 [shape=(S * G, 20)], optional
        Acts that are played whatever the players would do; -1 from where they are free.
    with_legal : bool
        Whether to keep what was allowed.
    """
    for seat, player in enumerate(players):
        player.begin(games, seat)
    width = len(games) // seeds
    first = np.arange(seeds)[:, None] * width
    columns = np.tile(np.arange(width), (seeds, 1))
    kept = np.zeros((len(games), games.most_acts, ACTS), dtype=np.bool_) if with_legal else None
    for turn in range(games.most_acts):
        playing = ~games.over[first + columns]
        if not playing.any():
            break
        if playing.sum(1).max() <= LESS * columns.shape[1]:
            left = _columns(playing)
            columns = np.take_along_axis(columns, left, axis=1)
            for player in players:
                player.keep(left)
        rows = first + columns
        flat = rows.ravel()
        legal = games.legal(flat)
        if kept is not None:
            kept[flat, turn] = legal
        shaped = legal.reshape(*rows.shape, ACTS)
        chances = draws[flat, turn].reshape(rows.shape)
        choices = [player.choose(rows, shaped, chances).ravel() for player in players]
        acts = np.full(len(games), NO_ACT, dtype=np.int64)
        acts[flat] = np.where(games.speakers[flat] == 0, choices[0], choices[1])
        if said is not None:
            acts = np.where(said[:, turn] != NO_ACT, said[:, turn], acts)
        games.do(acts)
    taken = np.stack([player.take() for player in players], axis=1)
    return Played(games, seeds, taken, games.points(taken), kept)
