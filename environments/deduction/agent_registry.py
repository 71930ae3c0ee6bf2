"""Who can play a game, by name: scripts, a package's agents, and language models."""

from __future__ import annotations

from collections.abc import Mapping

from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.agents.replay import ReplayAgent
from apportion.environments.deduction.language_model import FORM
from apportion.foundation.registry import Registry


def roster_of(game: str, ours: Mapping[str, str], elsewhere: Mapping[str, str]) -> AgentRegistry:
    """The roster of a game: ``random``, ``recorded@LOG#EPISODE``, the game's own scripts, a package's, and models.

    Parameters
    ----------
    game : str
        Its kind; packages bring agents as entry points of ``apportion.GAME_agents``.
    ours : mapping of str to str
        By name the place of the game's own scripts.
    elsewhere : mapping of str to str
        Published methods with which the Stackelberg Speaker is compared, by the names under which packages bring them.
    """
    registry = Registry(
        what="agent",
        group=f"apportion.{game}_agents",
        must_be="an apportion.environments.agents.agent.Agent, or a class that is made without arguments, or with what "
        "stands "
        "behind an @ by its `of`",
        fits=lambda thing: callable(getattr(thing, "act", None)),
        ours={
            "random": "apportion.environments.deduction.scripts:Random",
            **ours,
            "recorded": "apportion.environments.agents.replay:ReplayAgent",
        },
    )
    return AgentRegistry(registry, FORM, (ReplayAgent.example,), elsewhere)
