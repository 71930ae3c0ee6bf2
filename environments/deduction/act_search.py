"""Strategist (Light et al., 2025, section 3): search over the exact rules with a value that self-play improves.

Each simulation draws a deal from the exact posterior of what the seat knows, chooses one of its acts by UCB1, and plays
on by habits to a position whose value self-play knows, or to the end: single-observer information-set search (Cowling
et al., 2012) one own act deep. Trees in which UCB1 chooses later own acts, too, won no more in Werewolf and less in
Avalon (docs/evidence/games.md). The value is a table: how often the first team has won from positions of one key, which
is made anew by each round of self-play (their section 3.2 lets a model write it as code). Speech is chosen among
sentences of a guide (their section 3.3), or is the guide's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
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

SIMULATIONS, MOST_SIMULATIONS = 32, 100_000
EXPLORE = 0.7
"""UCB1's constant, for wins of 0 or 1."""
FEWEST = 5.0
"""Visits from which on the value of a key is known."""


class Position(Protocol):
    """A game under one deal, by its exact rules; changed in place.

    ``game``: By the rules; has ``winner`` and ``acting()``, and seats as these count them.
    """

    game: Any

    def habit(self, seat: int, draws: Random) -> Any:
        """What one who acts tends to do, from its own role and what all know."""

    def do(self, moves: Mapping[int, Any], draws: Random) -> None:
        """Do the moves of all who act."""

    def key(self) -> str:
        """What its value depends on, where it is taken; empty: it is not taken here."""


Tried = dict[int, tuple[int, float]]
"""By option its visits, and the sum of what came of them."""


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


def searched(root: Root, worth: Worth, simulations: int, draws: Random) -> int:
    """The number of the best option of a root, by so many simulations."""
    if len(root.options) == 1:
        return 0
    tried: Tried = {}
    # Every option meets the same deals and the same chances, in the same order: they differ in what they come to alone.
    deals = spread(root.deals, root.chances, simulations, draws)
    seeds = [draws.getrandbits(32) for _ in deals]
    for _ in deals:
        option = _chosen(tried, len(root.options), draws)
        visits, won = tried.get(option, (0, 0.0))
        position, chance = root.at(deals[visits], option), Random(seeds[visits])
        given = None if root.moves is None else root.moves[option]
        result = None
        while result is None:
            acts = {}
            for one in position.game.acting():
                if one == root.seat and given is not None:
                    acts[one], given = given, None
                else:
                    acts[one] = position.habit(one, chance)
            position.do(acts, chance)
            result = worth(position)
        tried[option] = visits + 1, won + result
    mean = sum(won for _, won in tried.values()) / simulations
    scores = {option: (won + mean) / (visits + 1) for option, (visits, won) in tried.items()}
    best = max(scores.values())
    return draws.choice([option for option, score in scores.items() if score > best - 1e-12])


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


def _chosen(tried: Tried, options: int, draws: Random) -> int:
    """An option that was never tried, else the best by UCB1 (Auer et al., 2002)."""
    new = [option for option in range(options) if option not in tried]
    if new:
        return draws.choice(new)
    reach = log(sum(visits for visits, _ in tried.values()))

    def bound(option: int) -> float:
        visits, won = tried[option]
        return won / visits + EXPLORE * sqrt(reach / visits)

    return max(range(options), key=bound)


@dataclass(frozen=True)
class ActSearch(ABC):
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
    player: ActSearch, games: Sequence[Deduction], rounds: int, told: Callable[[int, float], None]
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


def _keys(game: Deduction, player: ActSearch) -> tuple[list[str], float]:
    """The keys that one game came through, played by one player in every seat, and whether the first team won."""
    keys: list[str] = []
    play(
        game,
        dict.fromkeys(game.agents, player),
        before=lambda step: keys.append(player.valued(game.facts(step[0].agent), game.deal)),
    )
    ends = {game.team_at_end(seat): bool(end[WIN]) for seat, end in enumerate(game.outcome().values(), 1)}
    return [key for key in keys if key], float(ends[player.teams[0]])
