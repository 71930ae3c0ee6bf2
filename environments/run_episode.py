"""One episode from where it stands to its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apportion.environments.agents.agent import Agent
from apportion.environments.environment import Environment, Observation, Step
from apportion.foundation.errors import InputError, UnitError

MOST_STEPS = 10_000
"""Rules that never end are a fault of the rules."""


def play(
    environment: Environment,
    agents: Mapping[str, Agent],
    *,
    before: Callable[[Step], None] | None = None,
    most_steps: int = MOST_STEPS,
) -> int:
    """Let the agents act until the episode is over.

    Parameters
    ----------
    environment : Environment
        Where it stands (begun, replayed, or a clone); is played to its end.
    agents : mapping of str to Agent
        By the environment's agents, who acts for each.
    before : callable, optional
        Told the moves of a step before they are done, so that they can be written down first.
    most_steps : int
        Steps in all after which the rules are said never to end.

    Returns
    -------
    steps : int
        How many were played here.

    Raises
    ------
    InputError
        Nobody acts for one of the agents.
    UnitError
        The episode does not end, or an act is not allowed.
    """
    for name in environment.agents:
        if name not in agents:
            raise InputError(f"{environment.kind}: nobody acts for {name!r}; agents are given for {', '.join(agents)}")
    begun = len(environment.steps)
    while acting := environment.acting():
        if len(environment.steps) >= most_steps:
            raise UnitError(f"{environment.kind}: not over after {most_steps} steps; the rules or the agents never end")
        moves = environment.allowed({name: agents[name].act(Observation(environment, name)) for name in acting})
        if before is not None:
            before(moves)
        environment.advance(moves)
    return len(environment.steps) - begun
