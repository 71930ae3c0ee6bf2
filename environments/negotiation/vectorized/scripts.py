"""The scripted negotiators of `scripts` on arrays: the same acts in the same games, G games at once.

The one that draws has other draws than the single one's, and the same distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from apportion.environments.negotiation.action_encoding import AGREE, DISAGREE, END, INSIST, SPLITS
from apportion.environments.negotiation.contexts import WORTH
from apportion.environments.negotiation.vectorized.engine import KEPT, NO_ACT, Pools, VectorizedGames, Whole
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError

LEAST = 4
"""Points below which nobody here concedes."""


def asking(pools: Pools, seat: int) -> Whole:
    """By game and points wanted, the split to ask for [shape=(G, 11)].

    The one that is worth as much to the seat, or as little more as there is, with the fewest items.
    """
    worth = pools.values[:, seat] @ KEPT.T
    order = (worth * 16 + KEPT.sum(1)) * SPLITS + np.arange(SPLITS)
    never = np.iinfo(np.int64).max
    fitting = pools.fitting()
    return np.stack(
        [np.where(fitting & (worth >= wanted), order, never).argmin(1) for wanted in range(WORTH + 1)], axis=1
    )


class Asker:
    """Wants so many points, asks for them, insists where it wants no less than before, agrees to as much, then ends.

    Parameters
    ----------
    games : BatchedGames
        Where it sits.
    seat : int
        0 or 1.
    wanted : callable
        From the number of its own proposals so far and the points that the other has given beyond its first offer
        [shape=(G,)], the points that it would be content with.
    """

    def __init__(self, games: VectorizedGames, seat: int, wanted: Callable[[Whole, Whole], Whole]) -> None:
        self.games, self.seat, self.wanted = games, seat, wanted
        self._asking = asking(games.pools, seat)
        count = len(games)
        self._last = np.full(count, NO_ACT, dtype=np.int64)
        self._asked, self._first = np.zeros(count, dtype=np.int64), np.full(count, NO_ACT, dtype=np.int64)
        self._best, self._heard = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)

    def acts(self, rows: Whole | None = None) -> Whole:
        """What it would do now in some games, all without ``rows``; only where it is its turn does that count."""
        rows = np.arange(len(self.games)) if rows is None else rows
        self._hear(rows)
        games = self.games
        given = np.where(self._first[rows] >= 0, self._best[rows] - self._first[rows], 0)
        wanted = self.wanted(self._asked[rows], given)
        split = self._asking[rows, wanted]
        asks = split + np.where(self._last[rows] == split, INSIST, 0)
        offered = games.all_of_it[rows] - games.standing[rows]
        there = (games.standing[rows] >= 0) & (games.proposer[rows] != self.seat)
        fine = there & (self._worth(rows, np.where(there, offered, 0)) >= wanted)
        return np.asarray(np.where(games.settled[rows], END, np.where(fine, AGREE, asks)))

    def take(self) -> Whole:
        """What was agreed on; where nothing was, what it proposed last, or everything [shape=(G,)]."""
        rows = np.arange(len(self.games))
        self._hear(rows)
        meant, whole = self.games.meant(self.seat), self.games.all_of_it
        return np.asarray(np.where(meant >= 0, meant, np.where(self._last >= 0, self._last, whole)))

    def _worth(self, rows: Whole, split: Whole) -> Whole:
        return np.asarray((self.games.pools.values[rows, self.seat] * KEPT[split]).sum(1))

    def _hear(self, rows: Whole) -> None:
        """Go on to the last act; at most a few steps, since it is asked every time."""
        games = self.games
        while True:
            late = rows[self._heard[rows] < games.lengths[rows]]
            if not len(late):
                return
            turn = self._heard[late]
            acts = games.acts[late, turn]
            own = (games.starters[late] + turn) % 2 == self.seat
            offers = acts < AGREE
            said = late[own & offers]
            self._last[said] = acts[own & offers] % SPLITS
            self._asked[said] += 1
            heard = late[~own & offers]
            worth = self._worth(heard, games.all_of_it[heard] - acts[~own & offers] % SPLITS)
            self._first[heard] = np.where(self._first[heard] < 0, worth, self._first[heard])
            self._best[heard] = np.maximum(self._best[heard], worth)
            self._heard[late] += 1


def _greedy(asked: Whole, given: Whole) -> Whole:
    return np.full_like(asked, WORTH)


def _fair(asked: Whole, given: Whole) -> Whole:
    return np.full_like(asked, WORTH // 2)


def _conceding(asked: Whole, given: Whole) -> Whole:
    return np.asarray(np.maximum(WORTH - asked, LEAST))


def _tit_for_tat(asked: Whole, given: Whole) -> Whole:
    return np.asarray(np.maximum(WORTH - (asked > 0) - given, LEAST))


WANTED: Mapping[str, Callable[[Whole, Whole], Whole]] = MappingProxyType(
    {"greedy": _greedy, "fair": _fair, "conceding": _conceding, "tit-for-tat": _tit_for_tat}
)
RANDOM = "random"
NAMES = (*WANTED, RANDOM)


class Drawing:
    """Any allowed kind of act with the same chance each, and any split of the pool."""

    def __init__(self, games: VectorizedGames, seat: int) -> None:
        self.games, self.seat = games, seat
        fitting = games.pools.fitting()
        self._splits = np.argsort(~fitting, axis=1, kind="stable")
        self._many = fitting.sum(1)

    def acts(self, rows: Whole, draws: NDArray[np.float64]) -> Whole:
        """An act of each game by a number in [0, 1) [shape=(G,)]: its kind, and with what is left of it its split."""
        games = self.games
        begun = games.lengths[rows] > 0
        may_agree = begun & ((games.proposer[rows] != games.speakers[rows]) | games.settled[rows])
        kinds = np.where(begun, 4 + may_agree, 1)
        kind = np.minimum((draws * kinds).astype(np.int64), kinds - 1)
        left = draws * kinds - kind
        many = self._many[rows]
        split = self._splits[rows, np.minimum((left * many).astype(np.int64), many - 1)]
        of_kind = np.stack([split, split + INSIST, *(np.full_like(split, code) for code in (DISAGREE, END, AGREE))])
        return np.asarray(of_kind[kind, np.arange(len(rows))])

    def take(self) -> Whole:
        """What was agreed on; where nothing was, what it proposed last, or everything."""
        games = self.games
        turns = np.arange(games.acts.shape[1])
        own = (games.starters[:, None] + turns) % 2 == self.seat
        offers = own & (games.acts >= 0) & (games.acts < AGREE)
        last = np.where(offers, turns, -1).max(1)
        split = np.take_along_axis(games.acts, np.maximum(last, 0)[:, None], axis=1)[:, 0] % SPLITS
        meant = games.meant(self.seat)
        return np.where(meant >= 0, meant, np.where(last >= 0, split, games.all_of_it))


def seated(name: str, games: VectorizedGames, seat: int) -> Asker | Drawing:
    """The script of a name, at a seat.

    Raises
    ------
    InputError
        There is none.
    """
    if name == RANDOM:
        return Drawing(games, seat)
    if name not in WANTED:
        raise InputError(f"no script {name!r}; {did_you_mean(name, NAMES, 'allowed: ' + ', '.join(NAMES))}")
    return Asker(games, seat, WANTED[name])


def play_scripts(games: VectorizedGames, names: tuple[str, str], draws: NDArray[np.float64]) -> Whole:
    """Play games to their end and give what both take [shape=(G, 2)]; ``draws`` is a number an act [shape=(G, 20)]."""
    players = [seated(name, games, seat) for seat, name in enumerate(names)]
    for turn in range(games.most_acts):
        rows = np.flatnonzero(~games.over)
        if not len(rows):
            break
        acts = np.full(len(games), NO_ACT, dtype=np.int64)
        for seat, player in enumerate(players):
            own = rows[games.speakers[rows] == seat]
            acts[own] = player.acts(own, draws[own, turn]) if isinstance(player, Drawing) else player.acts(own)
        games.do(acts)
    return np.stack([player.take() for player in players], axis=1)
