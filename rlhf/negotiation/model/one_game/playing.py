"""Two networks in a game, a seed after the other: what a seed needs stays near the processor till its game is over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from apportion.environments.negotiation.action_encoding import ACTS, SPLITS
from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.environments.negotiation.vectorized.engine import NO_ACT
from apportion.rlhf.negotiation.data.dialogues import OTHERS, OWN, START
from apportion.rlhf.negotiation.model.loops.compiled import compiled
from apportion.rlhf.negotiation.model.loops.weights import Acting, Taking, Whole
from apportion.rlhf.negotiation.model.one_game.acting import begin, hear, say
from apportion.rlhf.negotiation.model.one_game.arrays import Game
from apportion.rlhf.negotiation.model.one_game.rules import Table, do, fitting, legal_acts, settled_split
from apportion.rlhf.negotiation.model.one_game.taking import select


@compiled
def play_games(
    alice: tuple[Acting, np.float32, Game],
    bob: tuple[Acting, np.float32, Game],
    values: Whole,
    draws: NDArray[np.float64],
    table: Table,
) -> None:
    """Play a game of every seed to its end, in ``table``.

    Parameters
    ----------
    alice, bob : tuple
        Weights, the temperature, and room for what is read and said.
    values : int64 [shape=(S, 2, 3)]
        By seat.
    draws : float64 [shape=(S, 20)]
        A number in [0, 1) for every act.
    table : Table
        Games that have not begun.
    """
    fits, legal = np.empty(SPLITS, dtype=np.bool_), np.empty(ACTS, dtype=np.bool_)
    for seed in range(len(draws)):
        fitting(table.counts[seed], fits)
        begin(alice[0], seed, table.counts[seed], values[seed, 0], alice[2])
        begin(bob[0], seed, table.counts[seed], values[seed, 1], bob[2])
        act = START
        for turn in range(MOST_ACTS):
            speaker = (table.starters[seed] + turn) % 2
            legal_acts(table, seed, speaker, fits, legal)
            hear(alice[0], seed, turn, act, OWN if speaker == 0 else OTHERS, alice[2])
            hear(bob[0], seed, turn, act, OWN if speaker == 1 else OTHERS, bob[2])
            if speaker == 0:
                act = say(alice[0], seed, turn, legal, alice[1], draws[seed, turn], alice[2])
            else:
                act = say(bob[0], seed, turn, legal, bob[1], draws[seed, turn], bob[2])
            do(table, seed, speaker, act)
            if table.over[seed]:
                break


@compiled
def take_splits(acting: Acting, taking: Taking, game: Game, seat: int, table: Table) -> Whole:
    """What a seat takes of every game, which are over [shape=(S,)].

    It is what the dialogue says, else the likeliest split by the selection's network.
    """
    taken = np.empty(len(table.lengths), dtype=np.int64)
    for seed in range(len(taken)):
        taken[seed], length = settled_split(table, seed, seat), table.lengths[seed]
        if taken[seed] == NO_ACT:
            role = OWN if (table.starters[seed] + length) % 2 == seat else OTHERS
            hear(acting, seed, length, table.acts[seed, length - 1], role, game)
            taken[seed] = select(taking, seed, length, table.counts[seed], game)
    return taken
