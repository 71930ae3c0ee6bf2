"""The rules of `batched.engine` for a single game, act by act; its arrays are filled in place."""

from __future__ import annotations

from typing import NamedTuple

from apportion.environments.negotiation.action_encoding import AGREE, DISAGREE, END, INSIST, SPLITS
from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.environments.negotiation.vectorized.engine import KEPT, NO_ACT, VectorizedGames
from apportion.rlhf.negotiation.model.loops.compiled import compiled, within
from apportion.rlhf.negotiation.model.loops.weights import Flags, Whole


class Table(NamedTuple):
    """The arrays of a `VectorizedGames`, a game a seed, by their names there."""

    acts: Whole
    lengths: Whole
    over: Flags
    standing: Whole
    proposer: Whole
    settled: Flags
    all_of_it: Whole
    starters: Whole
    counts: Whole

    @classmethod
    def of(cls, games: VectorizedGames) -> Table:
        """Views: who plays here plays there."""
        return cls(
            games.acts,
            games.lengths,
            games.over,
            games.standing,
            games.proposer,
            games.settled,
            games.all_of_it,
            games.starters,
            games.pools.counts,
        )


@compiled
def fitting(counts: Whole, out: Flags) -> None:
    """Which splits are splits of the pool [shapes=(3,), (125,)]."""
    for split in range(SPLITS):
        out[split] = True
        for item in range(3):
            out[split] &= KEPT[split, item] <= counts[item]


@within
def legal_acts(table: Table, seed: int, speaker: int, fits: Flags, out: Flags) -> None:
    """What the speaker may say now [shape=(253,)], ``fits`` being the splits of the pool [shape=(125,)]."""
    begun = table.lengths[seed] > 0
    for split in range(SPLITS):
        out[split] = fits[split]
        out[INSIST + split] = fits[split] and begun
    out[AGREE] = begun and (table.proposer[seed] != speaker or table.settled[seed])
    out[DISAGREE] = out[END] = begun


@within
def do(table: Table, seed: int, speaker: int, act: int) -> None:
    """One act that is legal."""
    turn = table.lengths[seed]
    table.acts[seed, turn] = act
    table.lengths[seed] = turn + 1
    if act < AGREE:
        table.standing[seed], table.proposer[seed] = act % SPLITS, speaker
    if act < AGREE or act == DISAGREE:
        table.settled[seed] = False
    elif act == AGREE:
        table.settled[seed] = True
    table.over[seed] = act == END or turn + 1 >= MOST_ACTS


@within
def settled_split(table: Table, seed: int, seat: int) -> int:
    """What a seat takes by the dialogue alone, -1 where that does not say it (`playing.settled_split`)."""
    standing, own, length = table.standing[seed], table.proposer[seed] == seat, table.lengths[seed]
    if standing < 0 or not (table.settled[seed] or own):
        return NO_ACT
    ended = length > 1 and table.acts[seed, length - 1] == END and table.acts[seed, length - 2] < AGREE
    if not (table.settled[seed] or ended):
        return NO_ACT
    return int(standing if own else table.all_of_it[seed] - standing)
