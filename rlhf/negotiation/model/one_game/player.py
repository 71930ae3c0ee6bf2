"""A seat in one game of every seed, which can learn of the game afterwards; and two of them at a table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.environments.negotiation.vectorized.engine import VectorizedGames
from apportion.rlhf.negotiation.model.loops.weights import Acting, Taking, Whole, acting_arrays, taking_arrays
from apportion.rlhf.negotiation.model.network import Weights
from apportion.rlhf.negotiation.model.one_game.arrays import Game
from apportion.rlhf.negotiation.model.one_game.learning import learn
from apportion.rlhf.negotiation.model.one_game.playing import play_games, take_splits
from apportion.rlhf.negotiation.model.one_game.rules import Table
from apportion.rlhf.negotiation.self_play import Draws, Played


@dataclass
class OneGamePlayer:
    """As `NetworkPlayer`, where every seed plays one game.

    Parameters
    ----------
    weights : dict of Tensor
        S seeds, float32.
    temperature : float
        Of its acts; 0: the likeliest.
    lasting : bool
        Whether its weights stay as they are as long as it plays, so that embeddings, and what they bring, are made once
        for all games.
    """

    weights: Weights
    temperature: float
    lasting: bool = False
    _acting: Acting = field(init=False)
    _taking: Taking = field(init=False)
    _game: Game = field(init=False)

    def __post_init__(self) -> None:
        self._acting, self._taking = acting_arrays(self.weights), taking_arrays(self.weights)
        self._game = Game.of(self._acting)

    def seated(self) -> tuple[Acting, np.float32, Game]:
        """What `play_games` takes of one, for a new game."""
        if not self.lasting:
            self._game.forget()
        return self._acting, np.float32(self.temperature), self._game

    def take(self, seat: int, table: Table) -> Whole:
        """What it takes of the games that it has just played in a seat, by number of the split [shape=(S,)]."""
        return np.asarray(take_splits(self._acting, self._taking, self._game, seat, table))

    def learn(self, games: VectorizedGames, paid: Draws, temperature: float, rate: float, clip: float) -> Draws:
        """One step of REINFORCE by the games just played in seat 0; ``paid`` [shape=(S, 20)] by act.

        Returns
        -------
        float64 [shape=(S,)]
            The length of each seed's gradient before it is cut; where one is not finite, its step and those of the
            seeds after it were not made.
        """
        lengths = learn(
            self._acting,
            games.acts,
            games.lengths,
            paid.astype(np.float32),
            games.pools.counts,
            np.ascontiguousarray(games.pools.values[:, 0]),
            np.float32(temperature),
            rate,
            clip,
            self._game,
        )
        return np.asarray(lengths)


def play_one_game(games: VectorizedGames, alice: OneGamePlayer, bob: OneGamePlayer, draws: Draws) -> Played:
    """As `playing.play`, of one game a seed.

    Raises
    ------
    ValueError
        The two have not as many seeds, there is not one game a seed with as many draws as the rules have acts, or one
        has begun: the loops have no room for others.
    """
    seeds = len(alice.weights["act"])
    if len(bob.weights["act"]) != seeds:
        raise ValueError(f"Alice has {seeds} seeds, Bob {len(bob.weights['act'])}; give both as many")
    if draws.shape != (len(games), MOST_ACTS) or games.lengths.any():
        raise ValueError(
            f"draws [shape={draws.shape}] for {len(games)} games, {int((games.lengths > 0).sum())} of them begun: give "
            f"{MOST_ACTS} draws a game, and games that have not begun"
        )
    if len(games) != seeds or games.most_acts != MOST_ACTS:
        raise ValueError(
            f"{len(games)} games of at most {games.most_acts} acts for {seeds} seeds: here is one game a seed, of at "
            f"most {MOST_ACTS} acts; a NetworkPlayer plays others"
        )
    table = Table.of(games)
    play_games(alice.seated(), bob.seated(), games.pools.values, draws, table)
    taken = np.stack([alice.take(0, table), bob.take(1, table)], axis=1)
    return Played(games, seeds, taken, games.points(taken))
