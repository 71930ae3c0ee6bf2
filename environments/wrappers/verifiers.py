"""Worlds as a taskset and an environment of verifiers 0.4 (`verifiers` on PyPI, in an environment of its own).

verifiers finds a taskset by the name of a top-level module, so that a package of two lines names ours::

    # apportion_worlds.py: --env.taskset.id apportion-worlds --env.taskset.world avalon
    from apportion.environments.wrappers.verifiers import WorldEnv, WorldTaskset
    __all__ = ["WorldEnv", "WorldTaskset"]

Every seat that an agent of verifiers plays has a trace of its own, whose reward is the seat's outcome; where that is
not known the trace has failed (``trace.ok`` is false, its last error a `NoOutcomeError`). Each turn's
credit is recorded beside it with weight 0, as ``turn_0``, ..., and in ``trace.info["credit"]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

from apportion.environments.wrappers.seated_episode import SeatedEpisode
from apportion.environments.wrappers.world_tasks import world_tasks

try:
    import verifiers.v1 as vf
except ImportError as error:
    raise ImportError(f"{error}. Install it with `pip install 'verifiers>=0.4,<0.5'`.") from None

GONE = {"kind": "", "text": ""}
"""What a seat does whose run has ended before the episode, by a limit of verifiers: no act."""
PLAYER = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})
"""An agent that is asked for words and runs no code."""


class NoOutcomeError(vf.RolloutError):  # type: ignore[misc]
    """Nobody knows what a seat has come to. A trace without a reward would count as 0, so it is recorded as failed."""


class WorldTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which world is played; ``repeats``: episodes of every task and seat, each with draws of its own."""

    world: str = "sotopia"
    repeats: int = 1


class WorldData(vf.TaskData):  # type: ignore[misc]
    """One task, and the seat of `WorldEnvConfig.player`."""

    world: str
    task: int
    seat: int
    seed: str


class WorldTask(vf.Task[WorldData, vf.State, vf.TaskConfig]):  # type: ignore[misc]
    """Scored by its environment."""


class WorldTaskset(vf.Taskset[WorldTask, WorldTasksetConfig]):  # type: ignore[misc]
    """Every seat of every task of a world."""

    def load(self) -> Iterator[WorldTask]:
        """The tasks, by task, seat and repeat. Raises InputError: there is no such world."""
        world = self.config.world
        tasks = world_tasks(world)
        told = tasks.seated().instructions
        for number, environment in enumerate(tasks.environments):
            for seat in range(len(environment.agents)):
                for repeat in range(self.config.repeats):
                    name, seed = f"{world}-{number}-{seat}-{repeat}", f"{number}/{repeat}"
                    data = WorldData(name=name, system_prompt=told, world=world, task=number, seat=seat, seed=seed)
                    yield WorldTask(data, self.config.task)


class WorldEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """Who plays: ``player`` the task's seat; the others ``others``, scripts by name with commas, or ``partner``."""

    player: vf.AgentConfig = PLAYER
    partner: vf.AgentConfig = PLAYER
    others: str = ""


class WorldEnv(vf.Env[WorldEnvConfig]):  # type: ignore[misc]
    """One episode of a task."""

    async def run(self, task: WorldTask, agents: Any) -> None:
        """Play it; who is asked is told what is new to it. Raises InputError: there is no script of a name."""
        data, tasks = task.data, world_tasks(task.data.world)
        scripts = [tasks.roster.scripted(name.strip()) for name in self.config.others.split(",") if name.strip()]
        episode = SeatedEpisode(tasks.environments, scripts, tasks.reward)
        partners = [] if scripts else range(len(tasks.environments[data.task].agents))
        episode.begin(data.task, [data.seat, *(seat for seat in partners if seat != data.seat)], data.seed)
        talks: dict[str, Any] = {}
        problems: dict[str, str] = {}
        gone: set[str] = set()
        unasked = ""
        async with AsyncExitStack() as stack:
            while (name := episode.asked) is not None:
                if name not in talks:
                    agent = agents.player if name == episode.own[0] else agents.partner
                    talks[name] = await stack.enter_async_context(agent.interaction(task))
                if name not in gone:
                    legal = f"You may: {', '.join(episode.view.legal)}."
                    told = [problems.pop(name, ""), episode.news(name), legal]
                    segment = await talks[name].turn("\n".join(filter(None, told)))
                    if talks[name].trace.errors:
                        unasked = name  # That is nobody's play: there is no outcome.
                        break
                    gone |= {name} if segment.terminated else set()
                if problem := episode.act(GONE if name in gone else segment.last_reply):
                    problems[name] = problem
        for name, talk in talks.items():
            if not unasked:
                _record(talk.trace, episode, name)
            elif name != unasked:
                talk.trace.record_error(NoOutcomeError(f"the model of {unasked} cannot be asked; see its trace"))


def _record(trace: Any, episode: SeatedEpisode, name: str) -> None:
    ending = episode.ending(name)
    trace.info |= {"seat": name, **ending}
    if ending["reward"] is not None:
        trace.record_reward("outcome", ending["reward"])
    else:
        trace.record_error(NoOutcomeError(f"the outcome of {name} is not known; leave this trace out"))
    for turn, value in enumerate(ending["credit"]):
        if value is not None:
            trace.record_reward(f"turn_{turn}", value, 0.0)


__all__ = ["WorldEnv", "WorldTaskset"]
