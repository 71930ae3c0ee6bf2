"""The worlds that there are, a row each: from it the simulators, the games and the commands take what they list."""

from __future__ import annotations

from dataclasses import dataclass

SIMULATE, PLAY, TOURNAMENT, TABLES = COMMANDS = ("simulate", "play", "tournament", "tables")
"""What a user may do with a world, as the commands are called."""


@dataclass(frozen=True)
class World:
    """One world; places are written ``module:attribute`` and are imported when they are first asked for.

    ``name``: As in commands and logs. ``title``: What is played, in a line. ``simulator``: The place of what restores
    its sessions, an `apportion.environments.episode_restorer.Simulator`. ``game``: The place of its
    `apportion.environments.deduction.games.GameKind` (rules' options, environment, agents), if it is a game of hidden
    roles; its commands are made of it. ``choice``: The place of its `apportion.environments.simulation.Simulation`, if
    it is none. ``reward``: The dimension of its outcome that is rewarded where nobody says another. ``commands``: Which
    of `COMMANDS` know it.
    """

    name: str
    title: str
    simulator: str
    game: str | None = None
    choice: str | None = None
    reward: str = "win"
    commands: tuple[str, ...] = (SIMULATE, PLAY, TOURNAMENT)


def _negotiation(name: str, title: str, folder: str, choice: str) -> World:
    place = f"apportion.environments.negotiation.{folder}simulation"
    return World(name, title, f"{place}:SIMULATOR", choice=f"{place}:{choice}", reward="points")


def hidden_roles(name: str, title: str, module: str) -> World:
    """The row of a game of hidden roles, whose module has ``GAME`` and ``SIMULATOR``."""
    return World(name, title, f"{module}:SIMULATOR", f"{module}:GAME")


_DEDUCTION = "apportion.environments.deduction"
WORLDS: tuple[World, ...] = (
    World(
        "sotopia",
        "social episodes",
        "apportion.environments.sotopia.simulator:SIMULATOR",
        choice="apportion.environments.sotopia.simulation:SimulationChoice",
        reward="GOAL",
        commands=COMMANDS,
    ),
    _negotiation("negotiation", "two share out books, hats and balls", "", "NegotiationChoice"),
    _negotiation("bargaining", "a buyer and a seller", "bargaining.", "BargainingChoice"),
    _negotiation("casino", "two share out food, water and firewood", "casino.", "CasinoChoice"),
    hidden_roles(
        "werewolf", "Werewolf: two werewolves, a seer, a guardian and three villagers", f"{_DEDUCTION}.werewolf.game"
    ),
    hidden_roles(
        "avalon",
        "Avalon: Merlin, two servants, the minion and the assassin send each other on quests",
        f"{_DEDUCTION}.avalon.game",
    ),
    hidden_roles(
        "onuw", "One Night Ultimate Werewolf: five players, seven cards, a night and a vote", f"{_DEDUCTION}.onuw.game"
    ),
)
"""All of them, in the order of lists."""
