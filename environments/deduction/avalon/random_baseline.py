"""Random play on the rules alone: what win rates and speed are held to.

Every team of the right size has the same chance, every vote and every card that is free is a coin, and the Assassin
names any other player. Nobody's role matters but for the cards.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, product
from random import Random
from typing import TypeVar

from apportion.environments.deduction.avalon.role_assignments import all_deals
from apportion.environments.deduction.avalon.rules import QUEST, SHOT, TEAM, VOTE, Game, Options

Thing = TypeVar("Thing")


@lru_cache(maxsize=64)
def teams(players: int, size: int) -> tuple[tuple[int, ...], ...]:
    """Every team of so many seats, in order."""
    return tuple(combinations(range(players), size))


@lru_cache(maxsize=16)
def ballots(players: int) -> tuple[tuple[bool, ...], ...]:
    """Every way in which so many can vote."""
    return tuple(product((False, True), repeat=players))


@lru_cache(maxsize=4096)
def hands(team: tuple[int, ...], evil: frozenset[int]) -> tuple[tuple[bool, ...], ...]:
    """Every way in which a team may play its cards."""
    return tuple(product(*((True, False) if seat in evil else (True,) for seat in team)))


@lru_cache(maxsize=16)
def targets(players: int, assassin: int) -> tuple[int, ...]:
    """Whom the Assassin may name."""
    return tuple(seat for seat in range(players) if seat != assassin)


def random_game(options: Options, draws: Random) -> Game:
    """A game dealt and played to its end at random.

    Parameters
    ----------
    options : Options
        What is played.
    draws : Random
        What is drawn from; the same state gives the same game.
    """
    game = dealt(options, draws)
    play_randomly(game, draws)
    return game


def dealt(options: Options, draws: Random) -> Game:
    """A game at its beginning, with a deal and a first leader at random."""
    return Game(options, _one_of(all_deals(options.roles), draws), int(draws.random() * len(options.roles)))


def play_randomly(game: Game, draws: Random) -> None:
    """Play a game on to its end."""
    players = len(game.deal)
    while True:
        if game.phase == TEAM:
            game.propose(_one_of(teams(players, game.size), draws))
        elif game.phase == VOTE:
            game.vote(_one_of(ballots(players), draws))
        elif game.phase == QUEST:
            game.quest(_one_of(hands(game.team, game.evil), draws))
        elif game.phase == SHOT:
            game.shoot(_one_of(targets(players, game.assassin), draws))
        else:
            return


def _one_of(things: tuple[Thing, ...], draws: Random) -> Thing:
    return things[int(draws.random() * len(things))]  # Faster than `choice`, and the same in every version of Python.
