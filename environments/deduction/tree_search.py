"""Strategist (Light et al., 2025, section 3): tree search over the exact rules with a value that self-play improves.

Each simulation draws a deal from the exact posterior of what the seat knows, and walks one tree that all deals share:
the seat's own nodes, by what everybody sees, choose by UCB1; the others act by habit. That is single-observer
information-set search (Cowling et al., 2012); choosing it is ours. After `DEPTH` own acts the value of the position is
taken, where self-play knows it; else it is played on to its end. The value is a table: how often the first team has won
from positions of one key, which is made anew by each round of self-play (their section 3.2 lets a model write it as
code). Speech is chosen among sentences of a guide (their section 3.3), or is the guide's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import log, sqrt
from random import Random
from typing import Any, ClassVar, Protocol, Self

from apportion.environments.collect_episodes import play
from apportion.environments.deduction.base_game import WIN, Deduction
from apportion.environments.deduction.events import Deal
from apportion.environments.deduction.learned_table import LearnedTable, cast_of
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.environment import Action, Observation
from apportion.foundation.errors import InputError

SIMULATIONS, MOST_SIMULATIONS, DEPTH = 32, 100_000, 1
EXPLORE = 0.7
"""UCB1's constant, for wins of 0 or 1."""
FEWEST = 5.0
"""Visits from which on the value of a key is known."""


class Position(Protocol):
    """A game under one deal, by its exact rules; changed in place.

    ``game``: By the rules; has ``winner`` and ``acting()``, and seats as these count them.
    """

    game: Any

    def moves(self, seat: int) -> Sequence[Any]:
        """What one who acts may do."""

    def habit(self, seat: int, draws: Random) -> Any:
        """What one who acts tends to do, from its own role and what all know."""

    def do(self, moves: Mapping[int, Any], draws: Random) -> None:
        """Do the moves of all who act."""

    def seen(self) -> Hashable:
        """What everybody sees of it, for a node of the tree."""

    def key(self) -> str:
        """What its value depends on, where it is taken; empty: it is not taken here."""


Node = dict[Any, tuple[int, float]]
"""By move its visits, and the sum of what came of them."""


@dataclass(frozen=True)
class Root:
    """What one seat searches from.

    ``options``: Its acts; each is a move at once (``moves``), or speech, after which the game goes on. ``deals``,
    ``chances``: What it knows of the roles. ``at``: The position under a deal, after an option (its number). ``seat``:
    As the rules count it.
    """

    options: Sequence[Action]
    moves: Sequence[Any] | None
    deals: Sequence[Any]
    chances: Sequence[float]
    at: Callable[[Any, int], Position]
    seat: int


Worth = Callable[[Position], float | None]
"""Of a position for the seat's team, in 0 to 1; None: not known, it is played on."""


def searched(root: Root, worth: Worth, simulations: int, draws: Random, depth: int = DEPTH) -> int:
    """The number of the best option of a root, by so many simulations."""
    if len(root.options) == 1:
        return 0
    tree: dict[Hashable, Node] = {}
    top: Node = {}
    # Every option meets the same deals and the same chances, in the same order: they differ in what they come to alone.
    deals = spread(root.deals, root.chances, simulations, draws)
    seeds = [draws.getrandbits(32) for _ in deals]
    for _ in deals:
        first = _chosen(top, range(len(root.options)), draws)
        met = top.get(first, (0,))[0]
        position, path, chance = root.at(deals[met], first), [(top, first)], Random(seeds[met])
        given = None if root.moves is None else root.moves[first]
        result = None
        while result is None:
            acts = {}
            for one in position.game.acting():
                if one == root.seat and given is not None:
                    acts[one], given = given, None
                elif one == root.seat and len(path) < depth:
                    node = tree.setdefault((first, position.seen()), {})
                    acts[one] = _chosen(node, position.moves(one), chance)
                    path.append((node, acts[one]))
                else:
                    acts[one] = position.habit(one, chance)
            position.do(acts, chance)
            result = worth(position) if position.game.winner or len(path) >= depth else None
        for node, move in path:
            visits, won = node.get(move, (0, 0.0))
            node[move] = visits + 1, won + result
    mean = sum(won for _, won in top.values()) / simulations
    scores = {move: (won + mean) / (visits + 1) for move, (visits, won) in top.items()}
    best = max(scores.values())
    found: int = draws.choice([move for move, score in scores.items() if score > best - 1e-12])
    return found


def spread(things: Sequence[Any], chances: Sequence[float], count: int, draws: Random) -> list[Any]:
    """So many things, each as often as its chance says, or once more or less, in an order that is drawn.

    >>> sorted(spread("ab", (0.75, 0.25), 4, Random(1)))
    ['a', 'a', 'a', 'b']
    """
    steps = sum(chances) / count
    ends, at = list(accumulate(chances)), draws.random()
    found = [things[min(bisect(ends, (number + at) * steps), len(things) - 1)] for number in range(count)]
    draws.shuffle(found)
    return found


def _chosen(node: Node, moves: Sequence[Any], draws: Random) -> Any:
    """A move that was never tried here, else the best by UCB1 (Auer et al., 2002)."""
    new = [move for move in moves if move not in node]
    if new:
        return draws.choice(new)
    reach = log(sum(node[move][0] for move in moves))

    def bound(move: Any) -> float:
        visits, won = node[move]
        return won / visits + EXPLORE * sqrt(reach / visits)

    return max(moves, key=bound)


@dataclass(frozen=True)
class TreeSearch(ABC):
    """Plays by `searched`; a game says by `root` what is searched.

    ``value``: What self-play has learned; without it every simulation is played to its end. ``simulations``: For each
    act. ``strategist``, ``strategist@SIMULATIONS``, ``strategist@FILE`` and ``strategist@FILE#SIMULATIONS``.
    """

    value: LearnedTable | None = None
    simulations: int = SIMULATIONS
    called: str = "strategist"
    paid: ClassVar[bool] = False
    example: ClassVar[str] = "strategist@FILE#SIMULATIONS"
    alone: ClassVar[bool] = True
    teams: ClassVar[tuple[str, str]]

    @classmethod
    def of(cls, made_of: str) -> Self:
        """Of what stands behind the @. Raises InputError: no such file, or no number of simulations."""
        alone = not made_of.strip("-0123456789")
        file, mark, number = (
            ("", "", made_of) if alone else made_of.rpartition("#") if "#" in made_of else (made_of, "", "")
        )
        told = number or ("" if mark else str(SIMULATIONS))
        if not told.isdecimal() or not 1 <= int(told) <= MOST_SIMULATIONS:
            raise InputError(
                f"agent 'strategist@{made_of}': {number or 'no number of'} simulations; 1 to {MOST_SIMULATIONS:,}, as "
                f"strategist@{SIMULATIONS}, or strategist@FILE#{SIMULATIONS}"
            )
        value = LearnedTable.read(file, "strategist") if file else None
        return cls(value, int(told), f"strategist@{made_of}" if made_of else "strategist")

    def act(self, view: Observation) -> Action:
        """The best of its options by search."""
        if self.value is not None:
            self.value.check(view)
        root = self.root(view)
        if isinstance(root, Action):
            return root
        rows, team = self.value.rows if self.value is not None else {}, view.facts.team

        def worth(position: Position) -> float | None:
            if position.game.winner:
                return float(position.game.winner == team)
            won, visits = rows.get(position.key(), (0.0, 0.0))
            if visits < FEWEST:
                return None
            return won / visits if team == self.teams[0] else 1 - won / visits

        return root.options[searched(root, worth, self.simulations, view.draws)]

    @abstractmethod
    def valued(self, facts: PrivateInformation, deal: Deal) -> str:
        """The key of the position that a player is in, under the true deal: for whoever learns, and knows it."""

    @abstractmethod
    def root(self, view: Observation) -> Root | Action:
        """What is searched, or what is done where nothing is."""


def self_play(
    player: TreeSearch, games: Sequence[Deduction], rounds: int, told: Callable[[int, float], None]
) -> LearnedTable:
    """The value table after so many rounds, each played in every seat by the table of the round before.

    ``games``: Of one game and cast, each begun anew in each round by a seed of its own. ``told``: The round, and
    Brier's score of its table before it learned from the round's games (of no table: 0.25).
    """
    table = LearnedTable("strategist", games[0].kind, cast_of(games[0].rules))
    for number in range(rounds):
        rows = {key: (won / 2, visits / 2) for key, (won, visits) in table.rows.items()}
        errors: list[float] = []
        for game in games:
            game.reset(f"{game.seed}/{number}")
            keys, won = _keys(game, replace(player, value=table))
            for key in keys:
                (before, met), (sums, visits) = (found.get(key, (0.0, 0.0)) for found in (table.rows, rows))
                errors.append(((before + 0.5) / (met + 1) - won) ** 2)
                rows[key] = sums + won, visits + 1.0
        told(number, sum(errors) / len(errors))
        table = replace(table, rows=rows)
    return table


def _keys(game: Deduction, player: TreeSearch) -> tuple[list[str], float]:
    """The keys that one game came through, played by one player in every seat, and whether the first team won."""
    keys: list[str] = []
    play(
        game,
        dict.fromkeys(game.agents, player),
        before=lambda step: keys.append(player.valued(game.facts(step[0].agent), game.deal)),
    )
    ends = {game.team_at_end(seat): bool(end[WIN]) for seat, end in enumerate(game.outcome().values(), 1)}
    return [key for key in keys if key], float(ends[player.teams[0]])
