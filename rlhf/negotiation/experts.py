"""A person in Bob's seat where Alice's act is new to him (section 5).

A person is asked by a folder of questions (`apportion.environments.negotiation.expert_queries`): what has no answer yet
ends the training there, and the same command goes on when it is answered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apportion.environments.negotiation.expert_queries import Question, Queue
from apportion.environments.negotiation.vectorized import NO_ACT, BoolArray, VectorizedGames
from apportion.rlhf.negotiation.data.dialogues import IntArray
from apportion.rlhf.negotiation.self_play import Draws, settled_split


@dataclass
class QueuePlayer:
    """Somebody who answers questions, all games of a turn at once.

    Parameters
    ----------
    queue : Queue
        Where they stand with their answers.
    said : int64 [shape=(S * G, 20)]
        What is played anyway, so that nobody is asked there.
    """

    queue: Queue
    said: IntArray

    def begin(self, games: VectorizedGames, seat: int) -> None:
        """Take a seat."""
        self.games, self.seat = games, seat

    def choose(self, legal: BoolArray, draws: Draws) -> IntArray:
        """Ask wherever it is its turn and nothing is said there already.

        Raises
        ------
        UnansweredError
            A question has no answer yet.
        """
        games = self.games
        free = self.said[np.arange(len(games)), np.minimum(games.lengths, games.most_acts - 1)] == NO_ACT
        asked = np.flatnonzero(~games.over & (games.speakers == self.seat) & free)
        acts = np.full(len(games), NO_ACT, dtype=np.int64)
        acts[asked] = self.queue.answered([self._question(int(row)) for row in asked])
        return acts

    def take(self) -> IntArray:
        """What the dialogue says, else what is answered.

        Raises
        ------
        UnansweredError
            A question has no answer yet.
        """
        taken = settled_split(self.games, self.seat)
        rows = np.flatnonzero(taken == NO_ACT)
        taken[rows] = self.queue.answered([self._question(int(row)) for row in rows])
        return taken

    def _question(self, row: int) -> Question:
        games = self.games
        one, two, three = (int(count) for count in games.pools.counts[row])
        values = tuple(int(value) for value in games.pools.values[row, self.seat])
        acts = tuple(int(act) for act in games.acts[row, : games.lengths[row]])
        return Question((one, two, three), values, self.seat, int(games.starters[row]), acts, games.most_acts)
