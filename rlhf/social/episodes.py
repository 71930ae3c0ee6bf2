"""Episodes of bundled bargains with an agent in a seat: what it read and said, and what it reached by the rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from random import Random

import numpy as np

from apportion.environments.actions import MOST_UNUSABLE
from apportion.environments.agents.agent import Agent
from apportion.environments.environment import Action, AgentAction, Environment, Observation
from apportion.environments.sotopia.sources.bundled_tasks import scenarios
from apportion.evaluation.human_agreement.paired import item_bootstrap
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.estimate import IntervalEstimate
from apportion.foundation.intervals.resampling import Sampling
from apportion.rlhf.sampling.environment_partner import BatchAgent, Start
from apportion.rlhf.sampling.starts import SotopiaStarts, starts_of

GOAL = "GOAL"
HIGHEST = 10.0
"""Of the goal score; the lowest is 0."""
AT_ONCE = 8
"""Episodes whose acts are asked for at once, of agents that act in many."""


@dataclass(frozen=True)
class SocialTasks:
    """Both seats of each task: those that are learned from, and held-out ones."""

    training: tuple[Start, ...]
    held_out: tuple[Start, ...]


def task_of(start: Start) -> str:
    """The name of a start's task, which both of its seats share."""
    return start.name.rsplit("-", 2)[0]


def split_tasks(seed: int, pairs: int, held_out: float, most_acts: int) -> SocialTasks:
    """Every bundled scenario in which something is agreed on, for two characters of each of ``pairs`` pairs.

    ``held_out``: the share of tasks (a scenario and a pair, both seats together) that is held out, drawn by ``seed``.
    Held-out tasks have other people in the scenarios that are trained on. Raises InputError: one of both has no task.
    """
    bargains = tuple(one.name for one in scenarios() if one.terms is not None and one.terms.deal is not None)
    starts = starts_of(SotopiaStarts(scenarios=bargains, pairs=pairs, most_acts=most_acts), seed)
    names = list(dict.fromkeys(map(task_of, starts)))
    Random(f"{seed}/held-out").shuffle(names)
    aside = set(names[: round(held_out * len(names))])
    if not 0 < len(aside) < len(names):
        raise InputError(f"held_out = {held_out:g} of {len(names)} tasks holds out {len(aside)}; leave some for both")
    kept = [[start for start in starts if (task_of(start) in aside) == apart] for apart in (False, True)]
    return SocialTasks(tuple(kept[0]), tuple(kept[1]))


@dataclass(frozen=True)
class SeatStep:
    """One act of the seat's agent. ``before``: a copy of the episode as it stood, from which others can play on."""

    before: Environment
    agent: str
    act: Action

    @property
    def view(self) -> Observation:
        """What was known when it acted."""
        return Observation(self.before, self.agent)

    @property
    def said(self) -> str:
        """The act as the policy says it and others hear it."""
        return self.before.said(AgentAction(self.agent, self.act)) or ""


@dataclass(frozen=True)
class SocialEpisode:
    """An episode at its end, in one seat. ``steps``: the seat's own acts that were played here, in order."""

    start: Start
    game: Environment
    steps: tuple[SeatStep, ...]

    @property
    def score(self) -> float:
        """The exact goal score of the seat, from 0 to 10; 0 where too many of its acts could not be used."""
        unusable = sum(step.act.stands for step in self.steps)
        value = self.game.outcome()[self.start.agent][GOAL]
        return 0.0 if value is None or unusable > MOST_UNUSABLE * len(self.steps) else value


def play_all(
    starts: Sequence[Start], agent: Agent, partner: Agent, *, draws: int = 1, tag: str = ""
) -> list[SocialEpisode]:
    """``draws`` episodes of each start, ``agent`` in its seat and ``partner`` in the other.

    ``tag``: another one draws other random numbers. Equal agents, draws and tags give the same.
    """
    begun = []
    for start in starts:
        for draw in range(draws):
            game = start.make()
            game.reset(f"{game.seed}/{tag}/{draw}")
            begun.append((start, game))
    return play_on(begun, agent, partner)


def play_on(begun: Sequence[tuple[Start, Environment]], agent: Agent, partner: Agent) -> list[SocialEpisode]:
    """Each episode from where it stands to its end; what is given is left as it is.

    The acts of agents that act in many episodes at once are asked for together, `AT_ONCE` of them at most.
    """
    games = [game.clone() for _, game in begun]
    seats = [start.agent for start, _ in begun]
    steps: list[list[SeatStep]] = [[] for _ in begun]
    while going := [number for number, game in enumerate(games) if not game.over]:
        own = [number for number in going if seats[number] in games[number].acting()]
        others = [number for number in going if number not in own]
        for number, act in zip(own, _acts(agent, games, own), strict=True):
            steps[number].append(SeatStep(games[number].clone(), seats[number], act))
            games[number].do(act)
        for number, act in zip(others, _acts(partner, games, others), strict=True):
            games[number].do(act)
    return [SocialEpisode(start, game, tuple(own)) for (start, _), game, own in zip(begun, games, steps, strict=True)]


def _acts(agent: Agent, games: Sequence[Environment], asked: Sequence[int]) -> list[Action]:
    views = [Observation(games[number], games[number].acting()[0]) for number in asked]
    if not isinstance(agent, BatchAgent):
        return [agent.act(view) for view in views]
    return [act for first in range(0, len(views), AT_ONCE) for act in agent.act_all(views[first : first + AT_ONCE])]


def grouped(
    episodes: Iterable[SocialEpisode], by: Callable[[Start], str] = attrgetter("name")
) -> dict[str, list[SocialEpisode]]:
    """Episodes of one task and seat, or of one task (`task_of`), in order."""
    found = defaultdict[str, list[SocialEpisode]](list)
    for episode in episodes:
        found[by(episode.start)].append(episode)
    return found


def best_of_each(episodes: Sequence[SocialEpisode], top: int, least: float) -> list[SocialEpisode]:
    """The filter: of each task and seat the ``top`` best episodes, the earliest of equal ones, that score ``least``."""
    kept = [one for group in grouped(episodes).values() for one in sorted(group, key=lambda one: -one.score)[:top]]
    return [episode for episode in kept if episode.score >= least]


def worst_of_each(episodes: Sequence[SocialEpisode], below: float) -> list[SocialEpisode]:
    """Of each task and seat the worst episode, the earliest of equal ones, that scores less than ``below``."""
    worst = [min(group, key=lambda one: one.score) for group in grouped(episodes).values()]
    return [episode for episode in worst if episode.score < below]


@dataclass(frozen=True)
class Scores:
    """Mean goal scores by task, over both seats and all draws. ``agreed``: the share of episodes that scored above 0.

    Intervals hold 95 % of bootstrap resamples of the tasks.
    """

    by_task: Mapping[str, float]
    agreed: float

    @property
    def mean(self) -> IntervalEstimate:
        """Over tasks."""
        return _estimate(list(self.by_task.values()))

    def less(self, other: Scores) -> IntervalEstimate:
        """The paired difference to ``other`` in the same tasks. Raises InputError: they are not the same."""
        if self.by_task.keys() != other.by_task.keys():
            raise InputError("scores of different tasks are not paired; evaluate both on the same")
        return _estimate([value - other.by_task[task] for task, value in self.by_task.items()])

    @classmethod
    def of(cls, episodes: Sequence[SocialEpisode]) -> Scores:
        """The scores of episodes."""
        tasks = grouped(episodes, task_of).items()
        agreed = sum(episode.score > 0 for episode in episodes) / len(episodes)
        return cls({task: sum(one.score for one in group) / len(group) for task, group in tasks}, agreed)


def evaluate(agent: Agent, starts: Sequence[Start], partner: Agent, draws: int = 1) -> Scores:
    """What an agent scores in ``starts``; every agent meets the same draws of chance and of the partner."""
    return Scores.of(play_all(starts, agent, partner, draws=draws, tag="evaluation"))


def _estimate(values: Sequence[float]) -> IntervalEstimate:
    found = np.array(values, dtype=np.float64)
    low, high = item_bootstrap(found, np.arange(len(found)), Sampling())
    return IntervalEstimate(float(found.mean()), low, high)
