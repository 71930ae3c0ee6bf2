"""Targeted data acquisition (section 5): what was most novel to Bob is answered by an expert, and Bob learns of it.

Where the paper is silent: the expert converses with Alice as she is after the epoch; games are read by Bob as he was in
it. Both sides' views of an annotated game are learned from, as of the human ones ("each dialogue is converted into two
training examples", section 4). A game whose novel act is its last has nothing left to answer but what is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apportion.environments.negotiation.vectorized import NO_ACT, VectorizedGames
from apportion.rlhf.negotiation.data.dialogues import Dialogues, IntArray, joined
from apportion.rlhf.negotiation.model.network import Weights
from apportion.rlhf.negotiation.novelty import likely, scores
from apportion.rlhf.negotiation.rng import chances
from apportion.rlhf.negotiation.self_play import Played, Player, play
from apportion.rlhf.negotiation.settings import AcquisitionSettings


@dataclass(frozen=True)
class AcquiredQueries:
    """The games of an epoch that the expert is asked about.

    Parameters
    ----------
    rows : int64 [shape=(S, k)]
        Which of a seed's games.
    turns : int64 [shape=(S, k)]
        The novel act of each, one of Alice's.
    """

    rows: IntArray
    turns: IntArray


def pick(
    games: VectorizedGames, bob: Weights, seeds: tuple[int, ...], settings: AcquisitionSettings, epoch: int
) -> AcquiredQueries:
    """The k most novel games of every seed, by Bob's model.

    Raises
    ------
    InputError
        k is more than the games in which Alice acted.
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
