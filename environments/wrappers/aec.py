"""Any environment of ours as PettingZoo's agent-environment cycle (Terry et al., 2021); the extra `pettingzoo`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion.environments.actions import Action
from apportion.environments.environment import Environment
from apportion.environments.wrappers.seated_episode import Reward, SeatedEpisode
from apportion.foundation.errors import InputError

try:
    from gymnasium import spaces
    from pettingzoo import AECEnv
except ImportError as error:
    raise ImportError(f"{error}. Install it with `pip install 'apportion[pettingzoo]'`.") from None

MOST_LETTERS = 40
"""Letters of a text that is drawn; those that are said may have `MOST_CHARACTERS`."""
MOST_CHARACTERS = 1_000_000


class Text(str):
    """A text as an observation: PettingZoo asks every observation for the ``dtype`` of its space."""

    __slots__ = ()
    dtype = np.dtype(str)


class Words(spaces.Text):  # type: ignore[misc]
    """Any text in any language; `sample` draws a few letters."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(MOST_CHARACTERS, min_length=0, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether it is a text of a length that anybody reads."""
        return isinstance(x, str) and len(x) <= MOST_CHARACTERS

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A few letters."""
        text: str = super().sample(mask=(int(self.np_random.integers(1, MOST_LETTERS + 1)), None))
        return text


class ActionSpace(spaces.Space):  # type: ignore[misc]
    """Acts as ``{"kind": ..., "text": ...}``, with ``data`` where an act has any.

    ``kinds``: Every kind of act that there is, in the order of the action masks. ``texts``: By kind the words that
    `sample` draws from now, where the rules read them; a few letters elsewhere.
    """

    def __init__(
        self, kinds: Sequence[str], texts: Mapping[str, Sequence[str]] | None = None, seed: int | None = None
    ) -> None:
        self.kinds, self.texts = tuple(kinds), texts or {}
        self._words = Words()
        super().__init__(None, None, seed)

    def seed(self, seed: int | None = None) -> Any:
        """Begin the draws anew."""
        self._words.seed(seed)
        return super().seed(seed)

    def sample(self, mask: NDArray[np.int8] | None = None, probability: Any = None) -> dict[str, Any]:
        """An act of one of the kinds whose ``mask`` is 1 (None: of any), the same chance each."""
        allowed = [kind for number, kind in enumerate(self.kinds) if mask is None or mask[number]]
        kind = allowed[int(self.np_random.integers(len(allowed)))]
        words = self.texts.get(kind)
        return {
            "kind": kind,
            "text": words[int(self.np_random.integers(len(words)))] if words else self._words.sample(),
        }

    def contains(self, x: Any) -> bool:
        """Whether it is an act of one of the kinds; whether the rules allow it now is another question."""
        return (
            isinstance(x, dict)
            and {"kind", "text"} <= x.keys() <= {"kind", "text", "data"}
            and x["kind"] in self.kinds
            and self._words.contains(x["text"])
        )

    @property
    def is_np_flattenable(self) -> bool:
        """Words are no fixed number of numbers."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionSpace) and self.kinds == other.kinds

    def __repr__(self) -> str:
        return f"Acts({list(self.kinds)})"


def observed(environment: Environment, agent: str) -> dict[str, Any]:
    """What an agent knows now, and by kind of act whether it may do one."""
    legal = environment.legal(agent)
    mask = np.array([kind in legal for kind in environment.kinds], np.int8)
    return {"observation": Text(environment.observe(agent)), "action_mask": mask}


def observations(kinds: Sequence[str]) -> Any:
    """The space of what is `observed`."""
    return spaces.Dict({"observation": Words(), "action_mask": spaces.MultiBinary(len(kinds))})


def check_action(action: Any) -> Action | Mapping[str, Any]:
    """An action of a caller; raises InputError where it is none whatever the rules say."""
    if isinstance(action, Action) or (
        isinstance(action, Mapping) and {"kind", "text"} <= action.keys() <= {"kind", "text", "data"}
    ):
        return action
    raise InputError(f'an action is {{"kind": ..., "text": ...}} or an Action, this is {action!r:.200}')


class AEC(AECEnv):  # type: ignore[misc]
    """An environment whose agents are asked one after the other.

    An observation is ``{"observation": text, "action_mask": ...}``, whose mask has a place for every kind of act that
    there is; an action ``{"kind": ..., "text": ...}`` or an `Action`. What an act is aimed at stands in its words;
    those of drawn acts are allowed now (`Environment.examples`). Who acts at once is asked one after the other, and
    none of them sees what another one does before all have chosen. Where the rules do not allow an act,
    ``infos[agent]["problem"]`` says why, and the agent is asked again (`SeatedEpisode`). All terminate together, with
    the reward; ``infos[agent]["outcome"]`` has every dimension then, None where it is not known (the reward is 0 there,
    because PettingZoo takes numbers alone).

    ``environment``: What is played. ``reward``: The dimension of the outcome that is an agent's reward, or what makes
    it of them. Raises InputError: The environment has no such dimension.
    """

    render_mode = "ansi"

    def __init__(self, environment: Environment, reward: str | Reward) -> None:
        super().__init__()
        self._episode = SeatedEpisode([environment], (), reward)
        name = f"apportion_{environment.kind}"
        self.metadata: dict[str, Any] = {"name": name, "render_modes": ["ansi"], "is_parallelizable": False}
        self.possible_agents = list(environment.agents)
        # One of its own for each agent, so that seeding one of them leaves the others.
        self.observation_spaces = {agent: observations(environment.kinds) for agent in self.possible_agents}
        self.action_spaces = {agent: ActionSpace(environment.kinds) for agent in self.possible_agents}
        self._resets = 0

    @property
    def environment(self) -> Environment:
        """What is played now."""
        return self._episode.game

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
        self._episode.begin(0, range(len(self.possible_agents)), f"{self._seed}/{self._resets}")
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._select()

    def observe(self, agent: str) -> dict[str, Any]:
        """What an agent knows now, and which kinds of acts it may do."""
        return observed(self.environment, agent)

    def step(self, action: Mapping[str, Any] | Action | None) -> None:
        """Do what the selected agent does. Raises InputError: The action is no act."""
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        problem = self._episode.act(check_action(action))
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self.infos[agent] = {} if problem is None else {"problem": problem}
        if self._episode.asked is None:
            self._end()
        self._select()
        self._accumulate_rewards()

    def render(self) -> str:
        """What was done so far, a line an act."""
        lines = (f"{agent}: [{act.kind}] {act.text}" for moves in self.environment.steps for agent, act in moves)
        return "\n".join(lines)

    def close(self) -> None:
        """Nothing is held."""

    def _select(self) -> None:
        asked = self._episode.asked
        self.agent_selection = agent = asked or self.agents[0]
        self.action_spaces[agent].texts = self.environment.examples(agent) if asked else {}

    def _end(self) -> None:
        for agent in self.agents:
            self.terminations[agent] = True
            self.rewards[agent] = float(self._episode.reward(agent) or 0.0)
            self.infos[agent] |= {"outcome": self._episode.outcome(agent)}
