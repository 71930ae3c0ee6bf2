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
from typing import Any

from apportion.environments.agents.agent import Agent
from apportion.environments.environment import Environment
from apportion.environments.wrappers.seated_episode import SeatedEpisode

OVER = "It is over. Nothing more can be done."


class ToolEpisode:
    """An episode in which whoever calls `act` has one seat, and an agent each other one.

    Arguments and errors as of `apportion.environments.wrappers.seated_episode.SeatedEpisode`.
    """

    def __init__(self, environments: Sequence[Environment], partner: Agent, reward: str) -> None:
        self._episode = SeatedEpisode(environments, (partner,), reward)
        self._own = ""

    def reset(self, task: int = 0, seat: int = 0, seed: int | str = 0, **row: Any) -> str:
        """Begin an episode; what the agent of the seat knows when it is first asked.

        Raises InputError: there is no such task or seat.
        """
        self._episode.begin(task, (seat,), seed)
        (self._own,) = self._episode.own
        return self._episode.news(self._own)

    def act(self, kind: str, text: str) -> str:
        """Do one act, such as saying something to the other person.

        Args:
            kind: The kind of act, one of those that you may do now.
            text: What you say or do, in your own words. May be empty where the act needs no words.

        Returns:
            What was done since you were last told, or why the act was not allowed.
        """
        if self._episode.asked is None:
            return OVER
        steps = len(self._episode.game.steps)
        told = self._episode.act({"kind": kind, "text": text})
        if told is not None and len(self._episode.game.steps) == steps:
            return told
        news = self._episode.news(self._own)
        return "\n".join([*filter(None, (told, news)), *([OVER] if self._episode.asked is None else [])])

    def get_reward(self) -> float | None:
        """The score of the seat as it stands, though nobody called until the end; None is not known."""
        return self._episode.reward(self._own)


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
