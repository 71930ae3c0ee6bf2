"""What a world by its name has for a door: what `world simulate` plays, who can play, and what is rewarded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name

from apportion.environments.agents.agent import RandomLegalAgent
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.deduction.games import GAMES, game_called
from apportion.environments.environment import Environment
from apportion.environments.worlds import WORLDS
from apportion.environments.wrappers.seated_episode import SeatedEpisode
from apportion.foundation.errors import InputError


@dataclass(frozen=True)
class WorldTasks:
    """A world's tasks whose outcome rules can tell, its agents, and the rewarded dimension.

    A game of hidden roles has one task: each seed deals anew.
    """

    environments: tuple[Environment, ...]
    roster: AgentRegistry
    reward: str

    def seated(self, others: Sequence[str] = ("random",), reward: str = "") -> SeatedEpisode:
        """Episodes with ``others``, scripts by their names, in the other seats. Raises InputError: none of a name."""
        agents = [self.roster.scripted(name) for name in others]
        return SeatedEpisode(self.environments, agents, reward or self.reward)


@cache
def world_tasks(name: str) -> WorldTasks:
    """The world of a name. Raises InputError: there is none."""
    if name in GAMES.names():
        game = game_called(name)
        return WorldTasks((game.make(game.options(), None),), game.roster, "win")
    others = {world.name: world for world in WORLDS if world.choice is not None}
    if name not in others:
        raise InputError(f"no world {name!r}; there are {', '.join([*others, *GAMES.names()])}")
    choice = resolve_name(others[name].choice or "")(("random",))
    reward, made = others[name].reward, [plan.make() for plan in choice.plans({"random": RandomLegalAgent()})]
    scored = tuple(one for one in made if one.outcome()[one.agents[0]][reward] is not None)
    return WorldTasks(scored, choice.players.roster, reward)
