"""G negotiations at once, as arrays: the rules of `rules`, acts by their numbers, and scripts that play them.

`rules` says what is legal when; a test plays both side by side. Who starts and what is played come from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from apportion.environments.negotiation.action_encoding import ACTS, AGREE, DISAGREE, END, INSIST, SPLIT_OF, SPLITS
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.observation import PrivateInformation
from apportion.environments.negotiation.pareto import solve
from apportion.environments.negotiation.rules import MOST_ACTS
from apportion.environments.negotiation.scripts import SCRIPTS, selection
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
NO_ACT = -1
KEPT: IntArray = np.array(SPLIT_OF, dtype=np.int64)
"""By number of a split, what it keeps of each item [shape=(125, 3)]."""


class BatchError(UnitError):
    """An act or a selection that the rules do not allow, in one of the games."""


@dataclass(frozen=True)
class Pools:
    """The contexts of G games as arrays.

    ``counts`` int64 [G, 3]: How many there are of each item. ``values`` int64 [G, 2, 3]: By seat, points for a single
    one of each.
    """

    counts: IntArray
    values: IntArray

    @classmethod
    def of(cls, contexts: Sequence[Context]) -> Pools:
        """The arrays of some contexts."""
        counts = np.array([context.counts for context in contexts], dtype=np.int64).reshape(-1, 3)
        return cls(counts, np.array([context.values for context in contexts], dtype=np.int64).reshape(-1, 2, 3))

    def __len__(self) -> int:
        return len(self.counts)

    def chosen(self, rows: IntArray | BoolArray) -> Pools:
        """Those of some rows."""
        return Pools(self.counts[rows], self.values[rows])

    @property
    def all_of_it(self) -> IntArray:
        """The number of the split that keeps the whole pool [shape=(G,)]."""
        return np.asarray(self.counts @ np.array([25, 5, 1]))

    def fitting(self) -> BoolArray:
        """Which splits are splits of the pool [shape=(G, 125)]."""
        return np.asarray((KEPT[None] <= self.counts[:, None]).all(-1))

    def worth(self, seat: int, taken: IntArray) -> IntArray:
        """Points to a seat of what it takes, ``taken`` being numbers of splits [shape=(G,)]."""
        return np.asarray((self.values[:, seat] * KEPT[taken]).sum(1))


class VectorizedGames:
    """G negotiations that are played side by side; a game that is over waits for the others.

    ``pools``: What is shared out. ``starters`` int64 [G]: The seat that acts first, 0 or 1. ``most_acts``: After so
    many a game is over, as after ``end``.
    """

    def __init__(self, pools: Pools, starters: IntArray, most_acts: int = MOST_ACTS) -> None:
        self.pools, self.starters, self.most_acts = pools, np.asarray(starters, dtype=np.int64), most_acts
        games = len(pools)
        self.acts: IntArray = np.full((games, most_acts), NO_ACT, dtype=np.int64)
        self.lengths: IntArray = np.zeros(games, dtype=np.int64)
        self.over: BoolArray = np.zeros(games, dtype=np.bool_)
        self.standing: IntArray = np.full(games, NO_ACT, dtype=np.int64)
        """The split of the proposal that stands, by number, as its speaker said it; -1: none yet."""
        self.proposer: IntArray = np.full(games, NO_ACT, dtype=np.int64)
        self.settled: BoolArray = np.zeros(games, dtype=np.bool_)
        self.all_of_it: IntArray = pools.all_of_it
        """The number of the split that keeps the whole pool [shape=(G,)]."""
        self._fitting = np.zeros((games, ACTS), dtype=np.bool_)
        self._fitting[:, :SPLITS] = self._fitting[:, INSIST : INSIST + SPLITS] = pools.fitting()

    def __len__(self) -> int:
        return len(self.pools)

    @property
    def speakers(self) -> IntArray:
        """The seat whose turn it is, or would be [shape=(G,)]."""
        return (self.starters + self.lengths) % 2

    def legal(self, rows: IntArray | None = None) -> BoolArray:
        """The acts that are allowed now in some games, all without ``rows`` [shape=(G, 253)]; none where it is over."""
        rows = np.arange(len(self)) if rows is None else rows
        begun = self.lengths[rows] > 0
        legal = self._fitting[rows]
        legal[:, INSIST : INSIST + SPLITS] &= begun[:, None]
        legal[:, AGREE] = begun & ((self.proposer[rows] != self.speakers[rows]) | self.settled[rows])
        legal[:, DISAGREE] = legal[:, END] = begun
        legal[self.over[rows]] = False
        return legal

    def do(self, acts: IntArray) -> None:
        """One act in every game that is not over [shape=(G,)]; what stands at one that is, is passed over.

        Raises BatchError: One of them is not allowed; nothing was done then, in no game.
        """
        playing = ~self.over
        self._check(acts, playing)
        rows = np.flatnonzero(playing)
        done = acts[rows]
        self.acts[rows, self.lengths[rows]] = done
        offers = done < AGREE
        offered = rows[offers]
        self.standing[offered] = done[offers] % SPLITS
        self.proposer[offered] = self.speakers[offered]
        self.settled[rows] = np.where(offers | (done == DISAGREE), False, self.settled[rows] | (done == AGREE))
        self.lengths[rows] += 1
        self.over[rows] = (done == END) | (self.lengths[rows] >= self.most_acts)

    def replayed(self, acts: IntArray) -> tuple[VectorizedGames, BoolArray]:
        """The same games from their start by ``acts`` [shape=(G, most_acts)], and what was legal at each of them.

        The latter has shape (G, most_acts, 253).
        """
        games = VectorizedGames(self.pools, self.starters, self.most_acts)
        legal = np.zeros((len(games), games.most_acts, ACTS), dtype=np.bool_)
        for turn in range(games.most_acts):
            if games.over.all():
                break
            legal[:, turn] = games.legal()
            games.do(acts[:, turn])
        return games, legal

    def _check(self, acts: IntArray, playing: BoolArray) -> None:
        codes = np.where((acts >= 0) & (acts < ACTS), acts, 0)
        begun = self.lengths > 0
        fine = (codes == acts) & (begun | (codes < INSIST))
        fine &= np.where(codes < AGREE, self._fitting[np.arange(len(self)), codes], begun)
        fine &= (codes != AGREE) | (self.proposer != self.speakers) | self.settled
        wrong = np.flatnonzero(playing & ~fine)
        if len(wrong):
            game = int(wrong[0])
            raise BatchError(
                f"game {game}, act {int(self.lengths[game])}: {int(acts[game])} is not allowed there "
                f"({len(wrong)} such games); ask `legal` which numbers are"
            )

    def meant(self, seat: int) -> IntArray:
        """What a seat takes by the words of games that are over, -1 where nothing was agreed on [shape=(G,)].

        As `rules.Game.meant`: the standing proposal where it is settled, or where the other ended right after it.
        """
        rows = np.arange(len(self))
        ends = (self.lengths > 1) & (self.acts[rows, self.lengths - 1] == END)
        before = self.acts[rows, np.maximum(self.lengths - 2, 0)]
        known = (self.settled | (ends & (before < AGREE))) & (self.standing >= 0)
        return np.where(known, np.where(self.proposer == seat, self.standing, self.all_of_it - self.standing), NO_ACT)

    def points(self, taken: IntArray) -> IntArray:
        """Points of both seats from what they take, numbers of splits by game and seat [shape=(G, 2)].

        Raises BatchError: A game is not over, or a selection is no split of its pool.
        """
        if not self.over.all():
            game = int(np.flatnonzero(~self.over)[0])
            raise BatchError(f"game {game}: not over after {int(self.lengths[game])} acts; nothing is taken before")
        inside = (taken >= 0) & (taken < SPLITS)
        fits = inside & np.take_along_axis(self.pools.fitting(), np.where(inside, taken, 0), axis=1)
        if not fits.all():
            game, seat = map(int, np.argwhere(~fits)[0])
            raise BatchError(f"game {game}: seat {seat} takes {int(taken[game, seat])}, which is no split of its pool")
        agreed = taken.sum(1) == self.all_of_it
        worth = np.stack([self.pools.worth(seat, taken[:, seat]) for seat in (0, 1)], axis=1)
        return np.where(agreed[:, None], worth, 0)


@dataclass(frozen=True)
class ParetoOptima:
    """What the deals of G games could have come to (`solver`), by number of what seat 0 takes.

    ``pareto`` bool [G, 125]: Deals that no deal weakly dominates. ``joint`` int64 [G]: The most points of both
    together.
    """

    pareto: BoolArray
    joint: IntArray

    @classmethod
    def of(cls, contexts: Sequence[Context]) -> ParetoOptima:
        """Of some contexts."""
        pareto = np.zeros((len(contexts), SPLITS), dtype=np.bool_)
        for row, context in enumerate(contexts):
            pareto[row, list(solve(context).front)] = True
        return cls(pareto, np.array([solve(context).joint for context in contexts], dtype=np.int64))

    def chosen(self, rows: IntArray | BoolArray) -> ParetoOptima:
        """Those of some rows."""
        return ParetoOptima(self.pareto[rows], self.joint[rows])


@dataclass
class ScriptPlayer:
    """One side of G games, played by a script of `scripts` by its name.

    Raises InputError: There is no such script.
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in SCRIPTS:
            hint = did_you_mean(self.name, SCRIPTS, "allowed: " + ", ".join(SCRIPTS))
            raise InputError(f"no script {self.name!r}; {hint}")
        self._script = SCRIPTS[self.name]()

    def begin(self, games: VectorizedGames, seat: int) -> None:
        """Take a seat."""
        self.games, self.seat = games, seat

    def choose(self, legal: BoolArray, draws: NDArray[np.float64]) -> IntArray:
        """The acts where it is its turn [shape=(G,)], `NO_ACT` elsewhere; ``draws`` are in [0, 1) [shape=(G,)]."""
        acts = np.full(len(self.games), NO_ACT, dtype=np.int64)
        for row in np.flatnonzero(~self.games.over & (self.games.speakers == self.seat)):
            facts = self._facts(int(row), tuple(np.flatnonzero(legal[row]).tolist()))
            acts[row] = self._script.code(facts, Random(float(draws[row])))
        return acts

    def take(self) -> IntArray:
        """The splits that it takes in games that are over [shape=(G,)]."""
        meant = self.games.meant(self.seat)
        return np.array([selection(self._facts(row, (), int(agreed))) for row, agreed in enumerate(meant)])

    def _facts(self, row: int, legal: tuple[int, ...], meant: int = NO_ACT) -> PrivateInformation:
        games, seat = self.games, self.seat
        a, b, c = games.pools.counts[row].tolist()
        return PrivateInformation(
            seat, (a, b, c), tuple(games.pools.values[row, seat].tolist()),
            games.acts[row, : games.lengths[row]].tolist(), int(games.starters[row]), int(games.standing[row]),
            int(games.proposer[row]), bool(games.settled[row]), legal, bool(games.over[row]),
            None if meant < 0 else meant, 0, (),
            games.most_acts,
        )  # fmt: skip
