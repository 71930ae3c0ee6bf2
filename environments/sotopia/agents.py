"""Who can play a character, by name."""

from __future__ import annotations

from collections.abc import Mapping

from environments.agents.agent import Agent
from foundation.registry import Registry

AGENTS = Registry(
    what="agent",
    group="apportion.agents",
    must_be="an environments.agents.agent.Agent, or a class that is made without arguments",
    fits=lambda thing: callable(getattr(thing, "act", None)),
    ours={
        "conceding": "environments.sotopia.scripts:Conceding",
        "random": "environments.agents.agent:AnyLegal",
    },
)


def agents_of(names: list[str]) -> Mapping[str, Agent]:
    """The agents of these names, each made once.

    Raises
    ------
    InputError
        There is none of a name.
    """
    found = {name: AGENTS.find(name) for name in names}
    return {name: agent() if isinstance(agent, type) else agent for name, agent in found.items()}
