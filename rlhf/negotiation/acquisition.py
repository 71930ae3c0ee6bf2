"""Targeted data acquisition (section 5): what was most novel to Bob is answered by an expert, and Bob learns of it.

Where the paper is silent: the expert converses with Alice as she is after the epoch; games are read by Bob as he was in
it. Both sides' views of an annotated game are learned from, as of the human ones ("each dialogue is converted into two
training examples", section 4). A game whose novel act is its last has nothing left to answer but what is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apportion.environments.negotiation.expert_queries import Question, Queue
from apportion.environments.negotiation.vectorized import NO_ACT, BoolArray, IntArray, VectorizedGames
from apportion.rlhf.negotiation.data.dialogues import Dialogues, joined
from apportion.rlhf.negotiation.model.network import Weights
from apportion.rlhf.negotiation.novelty import likely, scores
from apportion.rlhf.negotiation.rng import chances
from apportion.rlhf.negotiation.self_play import Draws, Played, Player, play, settled_split
from apportion.rlhf.negotiation.settings import AcquisitionSettings


@dataclass(frozen=True)
class AcquiredQueries:
    """The games of an epoch that the expert is asked about.

    ``rows`` int64 [S, k]: Which of a seed's games. ``turns`` int64 [S, k]: The novel act of each, one of Alice's.
    """

    rows: IntArray
    turns: IntArray


def pick(
    games: VectorizedGames, bob: Weights, seeds: tuple[int, ...], settings: AcquisitionSettings, epoch: int
) -> AcquiredQueries:
    """The k most novel games of every seed, by Bob's model.

    Raises InputError: k is more than the games in which Alice acted.
    """
    found = scores(settings.novelty, likely(bob, games, len(seeds)), seeds, epoch)
    rows = found.most_novel(settings.asked)
    return AcquiredQueries(rows, np.take_along_axis(found.turn, rows, axis=1))


def begun(games: VectorizedGames, picked: AcquiredQueries) -> tuple[VectorizedGames, IntArray]:
    """The picked games once more, not begun, and what was said in them up to the novel act [shape=(S * k, 20)]."""
    seeds = len(picked.rows)
    rows = (picked.rows + np.arange(seeds)[:, None] * (len(games) // seeds)).ravel()
    fresh = VectorizedGames(games.pools.chosen(rows), games.starters[rows], games.most_acts)
    kept = np.arange(games.most_acts) <= picked.turns.reshape(-1, 1)
    return fresh, np.where(kept, games.acts[rows], NO_ACT)


def annotate(
    fresh: VectorizedGames, said: IntArray, alice: Player, expert: Player, seeds: tuple[int, ...], epoch: int
) -> Played:
    """The games gone on with by Alice and the expert, who has Bob's seat from the novel act on."""
    draws = chances(seeds, len(fresh) // len(seeds), fresh.most_acts, "expert", epoch)
    return play(fresh, len(seeds), (alice, expert), draws, said=said)


def both_views(played: Played) -> Dialogues:
    """Every game from both seats, 2 k of every seed [shape=(S, 2 k, ...)]."""
    one, other = played.seen_by(0), played.seen_by(1)
    whole = joined([one.flat(), other.flat()])
    seeds, count = one.counts.shape[:2]
    rows = np.arange(2 * seeds * count).reshape(2, seeds, count)
    return whole.chosen(np.concatenate([rows[0], rows[1]], axis=1))


@dataclass
class QueuePlayer:
    """A person in Bob's seat, asked by a folder of questions, all games of a turn at once.

    What has no answer yet ends the training there; the same command goes on when it is answered.

    ``queue``: Where they stand with their answers. ``said`` int64 [S * G, 20]: What is played anyway, so that nobody is
    asked there.
    """

    queue: Queue
    said: IntArray

    def begin(self, games: VectorizedGames, seat: int) -> None:
        """Take a seat."""
        self.games, self.seat = games, seat

    def choose(self, legal: BoolArray, draws: Draws) -> IntArray:
        """Ask wherever it is its turn and nothing is said there already.

        Raises UnansweredError: A question has no answer yet.
        """
        games = self.games
        free = self.said[np.arange(len(games)), np.minimum(games.lengths, games.most_acts - 1)] == NO_ACT
        asked = np.flatnonzero(~games.over & (games.speakers == self.seat) & free)
        acts = np.full(len(games), NO_ACT, dtype=np.int64)
        acts[asked] = self.queue.answered([self._question(int(row)) for row in asked])
        return acts

    def take(self) -> IntArray:
        """What the dialogue says, else what is answered.

        Raises UnansweredError: A question has no answer yet.
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
