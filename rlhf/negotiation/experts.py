"""Who answers in Bob's seat where Alice's act is new to him (section 5), besides a network: a script, or a person.

A person is asked by a folder of questions (`apportion.environments.negotiation.expert_queries`): what has no answer yet
ends the training there, and the same command goes on when it is answered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apportion.environments.negotiation.expert_queries import Question, Queue
from apportion.environments.negotiation.vectorized.engine import NO_ACT, Flags, VectorizedGames
from apportion.environments.negotiation.vectorized.scripts import Asker, Drawing, seated
from apportion.rlhf.negotiation.data.dialogues import Whole
from apportion.rlhf.negotiation.self_play import Draws, settled_split


@dataclass
class ScriptPlayer:
    """A script of `apportion.environments.negotiation.vectorized.scripts` in the games of all seeds."""

    name: str

    def begin(self, games: VectorizedGames, seat: int) -> None:
        """Sit down."""
        self._script: Asker | Drawing = seated(self.name, games, seat)

    def keep(self, columns: Whole) -> None:
        """It reads the games themselves."""

    def choose(self, rows: Whole, legal: Flags, draws: Draws) -> Whole:
        """What the script does."""
        flat = rows.ravel()
        script = self._script
        acts = script.acts(flat, draws.ravel()) if isinstance(script, Drawing) else script.acts(flat)
        return acts.reshape(rows.shape)

    def take(self) -> Whole:
        """What the script takes."""
        return self._script.take()


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
    said: Whole

    def begin(self, games: VectorizedGames, seat: int) -> None:
        """Sit down."""
        self.games, self.seat = games, seat

    def keep(self, columns: Whole) -> None:
        """It reads the games themselves."""

    def choose(self, rows: Whole, legal: Flags, draws: Draws) -> Whole:
        """Ask wherever it is its turn and nothing is said there already.

        Raises
        ------
        UnansweredError
            A question has no answer yet.
        """
        flat, games = rows.ravel(), self.games
        free = self.said[flat, np.minimum(games.lengths[flat], games.most_acts - 1)] == NO_ACT
        asked = ~games.over[flat] & (games.speakers[flat] == self.seat) & free
        acts = np.full(len(flat), NO_ACT, dtype=np.int64)
        acts[asked] = self.queue.answered([self._question(int(row)) for row in flat[asked]])
        return acts.reshape(rows.shape)

    def take(self) -> Whole:
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
