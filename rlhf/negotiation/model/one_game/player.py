"""A seat in one game of every seed, which can learn of the game afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from environments.negotiation.batched.engine import NO_ACT, BatchedGames, Flags
from environments.negotiation.rules import MOST_ACTS
from rlhf.negotiation.data.dialogues import START, Whole
from rlhf.negotiation.model.network import Weights
from rlhf.negotiation.model.one_game.acting import begin, choose
from rlhf.negotiation.model.one_game.arrays import Acting, Game, Taking, acting_arrays, taking_arrays
from rlhf.negotiation.model.one_game.learning import learn
from rlhf.negotiation.model.one_game.taking import select
from rlhf.negotiation.playing import Draws, settled_split


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
        Whether its weights stay as they are as long as it plays, so that embeddings are made once for all games.
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

    def begin(self, games: BatchedGames, seat: int) -> None:
        """Read the contexts.

        Raises
        ------
        ValueError
            More than a game a seed, or games of more acts than the rules have: the loops have no room for them.
        """
        seeds = len(self._acting.act)
        if len(games) != seeds or games.most_acts > MOST_ACTS:
            raise ValueError(
                f"{len(games)} games of at most {games.most_acts} acts for {seeds} seeds: here is one game a seed, of "
                f"at most {MOST_ACTS} acts; a NetworkPlayer plays others"
            )
        self.games, self.seat, self._turn = games, seat, 0
        self._values = np.ascontiguousarray(games.pools.values[:, seat])
        if not self.lasting:
            self._game.ready.fill(False)
        begin(self._acting, games.pools.counts, self._values, self._game)

    def keep(self, columns: Whole) -> None:
        """Nothing: there is one column."""

    def choose(self, rows: Whole, legal: Flags, draws: Draws) -> Whole:
        """Hear what was said last; say something where it is its turn."""
        games, turn = self.games, self._turn
        last = games.acts[:, turn - 1] if turn else np.full(len(games), START)
        chosen = choose(
            self._acting,
            turn,
            np.ascontiguousarray(last),
            self._roles(),
            ~games.over,
            legal[:, 0],
            np.float32(self.temperature),
            np.ascontiguousarray(draws[:, 0]),
            self._game,
        )
        self._turn += 1
        return np.asarray(chosen)[:, None]

    def _roles(self) -> Whole:
        return np.asarray(self.games.speakers != self.seat, dtype=np.int64)

    def take(self) -> Whole:
        """What the dialogue says, else the likeliest split by the selection's network."""
        games, taken = self.games, settled_split(self.games, self.seat)
        asked = taken == NO_ACT
        if asked.any():
            last = games.acts[np.arange(len(games)), games.lengths - 1]
            found = select(
                self._acting, self._taking, asked, games.lengths, last, self._roles(), games.pools.counts, self._game
            )
            taken = np.where(asked, found, taken)
        return taken

    def learn(self, paid: Draws, temperature: float, rate: float, clip: float) -> Draws:
        """One step of REINFORCE by the game just played; ``paid`` [shape=(S, 20)] by act.

        Returns
        -------
        float64 [shape=(S,)]
            The length of each seed's gradient before it is cut; where one is not finite, its step and those of the
            seeds after it were not made.
        """
        games = self.games
        lengths = learn(
            self._acting,
            games.acts,
            games.lengths,
            paid.astype(np.float32),
            games.pools.counts,
            self._values,
            np.float32(temperature),
            rate,
            clip,
            self._game,
        )
        return np.asarray(lengths)
