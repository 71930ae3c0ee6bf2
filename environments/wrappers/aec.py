"""Any environment of ours as PettingZoo's agent-environment cycle (Terry et al., 2021); the extra `pettingzoo`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from apportion.environments.actions import Action
from apportion.environments.environment import Environment
from apportion.foundation.errors import InputError

try:
    from gymnasium import spaces
    from pettingzoo import AECEnv

    from apportion.environments.wrappers.spaces import ActionSpace, Text, Words
except ImportError as error:
    raise ImportError(f"{error}. Install it with `pip install 'apportion[pettingzoo]'`.") from None

Reward = Callable[[Mapping[str, float | None]], float | None]
"""From an agent's outcome to its reward; None is not known."""


class AEC(AECEnv):  # type: ignore[misc]
    """An environment whose agents are asked one after the other.

    An observation is ``{"observation": text, "action_mask": ...}``; an action ``{"kind": ..., "text": ...}`` or an
    `Action`. Who acts at once is asked one after the other, and none of them sees what another one does before all have
    chosen. All terminate together, with the reward; ``infos[agent]["outcome"]`` has every dimension then, None where
    it is not known (the reward is 0 there, because PettingZoo takes numbers alone).

    Parameters
    ----------
    environment : Environment
        What is played; belongs to this object from here on.
    reward : str or callable
        The dimension of the outcome that is an agent's reward, or what makes it of them.
    kinds : iterable of str, optional
        Every kind of act that there is; None: those that are legal in the first step.
    texts : mapping of str to sequence of str, optional
        By kind, words that drawn actions have, where rules read them.

    Raises
    ------
    InputError
        The environment has no such dimension.
    """

    render_mode = "ansi"

    def __init__(
        self,
        environment: Environment,
        reward: str | Reward,
        kinds: Iterable[str] | None = None,
        texts: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__()
        self.environment = environment
        name = f"apportion_{environment.kind}"
        self.metadata: dict[str, Any] = {"name": name, "render_modes": ["ansi"], "is_parallelizable": False}
        self.possible_agents = list(environment.agents)
        self._reward = reward if callable(reward) else _dimension(environment, reward)
        environment.reset(0)
        first = (kind for agent in environment.acting() for kind in environment.legal(agent))
        self._kinds = tuple(dict.fromkeys(first if kinds is None else kinds))
        # One of its own for each agent, so that seeding one of them leaves the others.
        self.observation_spaces = {
            agent: spaces.Dict({"observation": Words(), "action_mask": spaces.MultiBinary(len(self._kinds))})
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: ActionSpace(self._kinds, texts) for agent in self.possible_agents}
        self._resets = 0

    def observation_space(self, agent: str) -> Any:
        """The text, and which kinds of acts are legal."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Acts of every kind."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin anew; without a seed with the next one, the same after every equal beginning."""
        self._resets = 0 if seed is not None else self._resets + 1
        self._seed = seed if seed is not None else getattr(self, "_seed", 0)
        self.environment.reset(f"{self._seed}/{self._resets}")
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._chosen: dict[str, Action] = {}
        self._select()

    def observe(self, agent: str) -> dict[str, Any]:
        """What an agent knows now, and which kinds of acts it may do."""
        legal = self.environment.legal(agent)
        mask = np.array([kind in legal for kind in self._kinds], np.int8)
        return {"observation": Text(self.environment.observe(agent)), "action_mask": mask}

    def step(self, action: Mapping[str, Any] | Action | None) -> None:
        """Do what the selected agent does.

        Raises
        ------
        InputError
            The action is no act.
        ActError
            The rules do not allow it.
        """
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        act = self._act(agent, action)
        self.environment.check(agent, act)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._chosen[agent] = act
        if len(self._chosen) == len(self.environment.acting()):
            self.environment.step(self._chosen)
            self._chosen = {}
            if self.environment.over:
                self._end()
        self._select()
        self._accumulate_rewards()

    def render(self) -> str:
        """What was done so far, a line an act."""
        lines = (f"{agent}: [{act.kind}] {act.text}" for moves in self.environment.steps for agent, act in moves)
        return "\n".join(lines)

    def close(self) -> None:
        """Nothing is held."""

    def _act(self, agent: str, action: Mapping[str, Any] | Action | None) -> Action:
        if isinstance(action, Action):
            return action
        if not isinstance(action, Mapping) or not {"kind", "text"} <= action.keys() <= {"kind", "text", "data"}:
            raise InputError(f'an action is {{"kind": ..., "text": ...}} or an Act, this is {action!r:.200}')
        kind, text, data = str(action["kind"]), str(action["text"]), action.get("data")
        return self.environment.in_words(agent, kind, text) if data is None else Action(kind, text, data)

    def _select(self) -> None:
        waiting = [agent for agent in self.environment.acting() if agent not in self._chosen]
        self.agent_selection = waiting[0] if waiting else self.agents[0]

    def _end(self) -> None:
        for agent, values in self.environment.outcome().items():
            self.terminations[agent] = True
            self.rewards[agent] = float(self._reward(values) or 0.0)
            self.infos[agent] = {"outcome": dict(values)}


def _dimension(environment: Environment, name: str) -> Reward:
    there = environment.scales()
    if name not in there:
        raise InputError(f"{environment.kind}: no dimension {name!r} to reward; there are {', '.join(there) or 'none'}")
    return lambda values: values[name]
