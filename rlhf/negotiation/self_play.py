"""S seeds playing G games each at once: who sits where, what they say, what they take.

Seat 0 is Alice, seat 1 Bob. Games stand one seed after the other: game g of seed s is row s * G + g. All seeds move
together; the columns of a batch in which all games are over are left out as soon as enough are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from apportion.environments.negotiation.action_encoding import ACTS
from apportion.environments.negotiation.vectorized.engine import KEPT, NO_ACT, Flags, VectorizedGames
from apportion.rlhf.negotiation.data.dialogues import Dialogues, Whole

Draws = NDArray[np.float64]
LESS = 0.7
"""Columns are left out when so few of them are still played, as a share."""


class Player(Protocol):
    """One side of S times G games, who may remember what was said."""

    def begin(self, games: VectorizedGames, seat: int) -> None:
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
    games : VectorizedGames
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

    games: VectorizedGames
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


def seen(games: VectorizedGames, seat: int) -> Dialogues:
    """The dialogues so far, as one seat knows them."""
    turns = np.arange(games.acts.shape[1])
    roles = ((games.starters[:, None] + turns) % 2 != seat).astype(np.int64)
    nothing = np.full((len(games), 6), -1, dtype=np.int64)
    return Dialogues(games.acts, roles, games.pools.counts, games.pools.values[:, seat], nothing)


def settled_split(games: VectorizedGames, seat: int) -> Whole:
    """What a seat takes by the dialogue alone, -1 where that does not say it [shape=(G,)].

    The consistency check of the selection (section 4): the standing proposal was agreed to, or the partner ended right
    after one's own. Else what is taken is up to the player, also for who ends right after the other's proposal.
    """
    said_so = games.settled | (games.proposer == seat)
    return np.where(said_so, games.meant(seat), NO_ACT)


def filled_columns(wanted: Flags) -> Whole:
    """Where ``wanted`` [shape=(S, W)] is true, a row a seed, filled up to one length with its other columns."""
    width = int(wanted.sum(1).max(initial=0))
    return np.argsort(~wanted, axis=1, kind="stable")[:, :width]


@torch.no_grad()
def play(
    games: VectorizedGames,
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
    games : VectorizedGames
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
            left = filled_columns(playing)
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
