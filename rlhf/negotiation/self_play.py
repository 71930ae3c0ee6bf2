"""S seeds playing G games each at once: who sits where, what they say, what they take.

Seat 0 is Alice, seat 1 Bob. Games stand one seed after the other: game g of seed s is row s * G + g.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from apportion.environments.negotiation.vectorized import KEPT, NO_ACT, BoolArray, IntArray, VectorizedGames
from apportion.rlhf.negotiation.data.dialogues import Dialogues

Draws = NDArray[np.float64]


class Player(Protocol):
    """One side of S times G games, who may remember what was said."""

    def begin(self, games: VectorizedGames, seat: int) -> None:
        """Take a seat."""

    def choose(self, legal: BoolArray, draws: Draws) -> IntArray:
        """An act for each game [shape=(S * G,)], of ``legal`` [shape=(S * G, 253)], by ``draws`` [shape=(S * G,)].

        What is chosen where the other speaks, or the game is over, is passed over.
        """

    def take(self) -> IntArray:
        """What it takes in every game, by number of the split [shape=(S * G,)]."""


@dataclass(frozen=True)
class Played:
    """Games that are over.

    ``games``: Of all seeds, S * G of them. ``seeds``: S. ``taken`` int64 [S * G, 2]: What the seats take, by number of
    the split. ``points`` int64 [S * G, 2]: What they have of it.
    """

    games: VectorizedGames
    seeds: int
    taken: IntArray
    points: IntArray

    @property
    def agreed(self) -> BoolArray:
        """Whether the two took what adds up to the pool [shape=(S * G,)]."""
        return np.asarray(self.taken.sum(1) == self.games.all_of_it)

    def seen_by(self, seat: int) -> Dialogues:
        """The dialogues from one seat; arrays begin with the seeds [shape=(S, G, ...)]."""
        flat = seen(self.games, seat)
        both = np.concatenate([KEPT[self.taken[:, seat]], KEPT[self.taken[:, 1 - seat]]], axis=1)
        taken = np.where(self.agreed[:, None], both, -1)
        return replace(flat, taken=taken).by_seed(self.seeds)


def seen(games: VectorizedGames, seat: int) -> Dialogues:
    """The dialogues so far, as one seat knows them."""
    turns = np.arange(games.acts.shape[1])
    roles = ((games.starters[:, None] + turns) % 2 != seat).astype(np.int64)
    nothing = np.full((len(games), 6), -1, dtype=np.int64)
    return Dialogues(games.acts, roles, games.pools.counts, games.pools.values[:, seat], nothing)


def settled_split(games: VectorizedGames, seat: int) -> IntArray:
    """What a seat takes by the dialogue alone, -1 where that does not say it [shape=(G,)].

    The consistency check of the selection (section 4): the standing proposal was agreed to, or the partner ended right
    after one's own. Else what is taken is up to the player, also for who ends right after the other's proposal.
    """
    said_so = games.settled | (games.proposer == seat)
    return np.where(said_so, games.meant(seat), NO_ACT)


@torch.no_grad()
def play(
    games: VectorizedGames,
    seeds: int,
    players: tuple[Player, Player],
    draws: Draws,
    *,
    said: IntArray | None = None,
) -> Played:
    """Play all games to their end.

    ``games``: Of all seeds, not begun. ``seeds``: S; the games of a seed stand together. ``players``: Alice and Bob.
    ``draws`` float64 [S * G, 20]: A number in [0, 1) for every act. ``said`` int64 [S * G, 20]: Acts that are played
    whatever the players would do; -1 from where they are free.
    """
    for seat, player in enumerate(players):
        player.begin(games, seat)
    for turn in range(games.most_acts):
        if games.over.all():
            break
        legal = games.legal()
        choices = [player.choose(legal, draws[:, turn]) for player in players]
        acts = np.where(games.speakers == 0, *choices)
        if said is not None:
            acts = np.where(said[:, turn] != NO_ACT, said[:, turn], acts)
        games.do(acts)
    taken = np.stack([player.take() for player in players], axis=1)
    return Played(games, seeds, taken, games.points(taken))
