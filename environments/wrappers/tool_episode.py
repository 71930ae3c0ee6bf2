"""One seat of an episode, played by calling a tool: what TRL's trainers take as ``environment_factory``.

TRL makes objects by a factory without arguments, calls ``reset(**row)`` before each rollout, gives the model every
public method as a tool, and asks ``get_reward()`` at the end (`trl.GRPOTrainer` of TRL 1.16). Nothing of it is imported
here::

    tasks = [Sotopia(task) for task in bundled_tasks.tasks()]
    factory = tool_episodes(tasks, Conceding(), "GOAL")
    GRPOTrainer(model, args=..., train_dataset=Dataset.from_list(tool_rows(tasks)), environment_factory=factory)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from apportion.environments.actions import Action
from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import MOST_STEPS
from apportion.environments.environment import Environment, Observation
from apportion.foundation.errors import InputError, UnitError

OVER = "It is over. Nothing more can be done."


class ToolEpisode:
    """An episode in which whoever calls `act` has one seat, and an agent each other one.

    ``environments``: What is played, by number; each rollout plays a clone. ``partner``: Who has the other seats.
    ``reward``: The dimension of the outcome that is the reward. Raises InputError: Nothing to play, or an environment
    without such a dimension.
    """

    def __init__(self, environments: Sequence[Environment], partner: Agent, reward: str) -> None:
        if not environments:
            raise InputError("no environment to play; give one at least")
        for one in environments:
            if reward not in one.scales():
                there = ", ".join(one.scales()) or "none"
                raise InputError(f"{one.kind}: no dimension {reward!r} to reward; there are {there}")
        self._environments, self._partner, self._dimension = tuple(environments), partner, reward
        self._game: Environment = self._environments[0].clone()
        self._own = self._game.agents[0]
        self._told: list[str] = []

    def reset(self, task: int = 0, seat: int = 0, seed: int | str = 0, **row: Any) -> str:
        """Begin an episode; what the agent of the seat knows when it is first asked.

        Raises InputError: there is no such task or seat.
        """
        if not 0 <= task < len(self._environments):
            raise InputError(f"task {task}: there are {len(self._environments)}, from 0")
        self._game = self._environments[task].clone()
        if not 0 <= seat < len(self._game.agents):
            raise InputError(f"seat {seat}: there are {len(self._game.agents)}, from 0")
        self._game.reset(seed)
        self._own, self._told = self._game.agents[seat], []
        self._others_act()
        return self._news()

    def act(self, kind: str, text: str) -> str:
        """Do one act, such as saying something to the other person.

        Args:
            kind: The kind of act, one of those that you may do now.
            text: What you say or do, in your own words. May be empty where the act needs no words.

        Returns:
            What was done since you were last told, or why the act was not allowed.
        """
        if self._game.over:
            return OVER
        act = self._game.in_words(self._own, str(kind), str(text))
        problem = Observation(self._game, self._own).problem(act)
        if problem is not None:
            return f"Not allowed: {problem}. Nothing was done."
        self._step(act)
        self._others_act()
        return self._news()

    def get_reward(self) -> float | None:
        """The score of the seat as it stands, though nobody called until the end; None is not known."""
        return self._game.outcome()[self._own][self._dimension]

    def _others_act(self) -> None:
        while (acting := self._game.acting()) and self._own not in acting:
            if len(self._game.steps) >= MOST_STEPS:
                raise UnitError(f"{self._game.kind}: {self._own!r} is not asked in {MOST_STEPS} steps")
            self._step(None)

    def _step(self, own: Action | None) -> None:
        game = self._game
        acts = {name: self._partner.act(Observation(game, name)) for name in game.acting() if name != self._own}
        game.step(acts if own is None else {**acts, self._own: own})

    def _news(self) -> str:
        """The lines of the observation from the first one on that was not there when the agent was last told."""
        lines = self._game.observe(self._own).split("\n")
        known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._told, lines, strict=False)))
        new = lines[known:]
        self._told = lines
        return "\n".join([*new, OVER] if self._game.over else new)


def tool_episodes(environments: Sequence[Environment], partner: Agent, reward: str) -> Callable[[], ToolEpisode]:
    """A factory of episodes for TRL; raises as `ToolEpisode`, before any training."""
    ToolEpisode(environments, partner, reward)
    return lambda: ToolEpisode(environments, partner, reward)


def tool_rows(environments: Sequence[Environment], *, repeats: int = 1, prompt: str = "") -> list[Mapping[str, Any]]:
    """Rows of a training set: every seat of every environment, ``repeats`` times with a seed each.

    All rollouts of one row, a group of GRPO, play the same task in the same seat, and draw the same.

    ``environments``: Those of the factory. ``repeats``: Rows of each seat. ``prompt``: What is said before the
    observation.
    """
    return [
        {"prompt": [{"role": "user", "content": prompt}], "task": number, "seat": seat, "seed": f"{number}/{repeat}"}
        for number, environment in enumerate(environments)
        for seat in range(len(environment.agents))
        for repeat in range(repeats)
    ]
