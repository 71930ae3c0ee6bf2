"""Many episodes: played beside each other, logged, gone on with after a kill."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from apportion.corpus.builder import SkippedSession
from apportion.environments.actions import MOST_UNUSABLE, unrated, unusable_of
from apportion.environments.agents.agent import Agent
from apportion.environments.environment import Environment, Observation, Step
from apportion.environments.episode_log import MOST, UNRATED, EpisodeLog, LoggedEpisode, check_same, read_log
from apportion.foundation.errors import InputError, StoppedError, UnitError
from apportion.foundation.files import locked

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

    ``environment``: Where it stands (begun, replayed, or a clone); is played to its end. ``agents``: By the
    environment's agents, who acts for each. ``before``: Told the moves of a step before they are done, so that they can
    be written down first. ``most_steps``: Steps in all after which the rules are said never to end. Returns: How many
    were played here. Raises InputError: Nobody acts for one of the agents. Raises UnitError: The episode does not end,
    or an act is not allowed.
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


@dataclass(frozen=True)
class EpisodePlan:
    """One episode that is to be played.

    ``name``: Its id in the log and in the corpus; each once. ``make``: Gives the environment; called once, when the
    episode is played. ``agents``: By the environment's agents, who acts for each. ``seed``: Of everything that is drawn
    in it. ``about``: What else makes it this episode (task, visibility, …), as JSON; a log is refused where it holds
    another. ``most_unusable``: The share of a seat's acts that may be unusable before the episode has no score.
    """

    name: str
    make: Callable[[], Environment]
    agents: Mapping[str, Agent]
    seed: int | str = 0
    about: Mapping[str, Any] | None = None
    most_unusable: float = MOST_UNUSABLE

    def opening(self, environment: Environment) -> dict[str, Any]:
        """What the log says when the episode begins."""
        seats = [[name, self.agents[name].called] for name in environment.agents if name in self.agents]
        return {"environment": environment.kind, "seed": self.seed, "agents": seats, "about": dict(self.about or {})}


@dataclass(frozen=True)
class CollectedEpisode:
    """An episode at its end."""

    plan: EpisodePlan
    environment: Environment

    @property
    def unrated(self) -> str | None:
        """Why it has no score, in words; None where it has one."""
        return unrated(self.environment.steps, self.plan.most_unusable)

    @property
    def closing(self) -> dict[str, Any]:
        """What the log says at its end."""
        closing = {"steps": len(self.environment.steps), "outcome": self.environment.outcome()}
        stand = any(some for some, _ in unusable_of(self.environment.steps).values())
        share = self.plan.most_unusable if stand else None
        more = {"counted": self.environment.counted(), UNRATED: self.unrated, MOST: share}
        return closing | {name: told for name, told in more.items() if told not in (None, {})}


@dataclass(frozen=True)
class CollectionResult:
    """Episodes in the order in which they were planned, and those that failed."""

    played: tuple[CollectedEpisode, ...]
    failed: tuple[SkippedSession, ...] = ()


_Work = Callable[[], CollectedEpisode | SkippedSession]


def simulate(
    plans: Sequence[EpisodePlan],
    log: Path | None = None,
    *,
    concurrency: int = 1,
    progress: Callable[[int], None] | None = None,
) -> CollectionResult:
    """Play episodes; what the log holds is played again from it, and nobody is asked for it twice.

    ``plans``: In the order of the corpus. ``log``: The log's file; its folder is there. None keeps nothing. A step with
    an agent that is ``paid`` is on the disk before the next one; of others only the end of the batch is, because their
    acts can be played again. ``concurrency``: Episodes at the same time. More than one pays where agents wait for
    somebody. ``progress``: Told the number of episodes that have just ended. Raises InputError: Two plans of one name,
    a damaged log, another process at it, or no agent for a seat. Raises StoppedError: A budget of an agent is spent;
    the log keeps what was played.
    """
    names = [plan.name for plan in plans]
    for name, times in Counter(names).items():
        if times > 1:
            raise InputError(f"{times} episodes are called {name!r}; give each a name of its own")
    if log is None:
        return _all(plans, {}, None, concurrency, progress)
    with locked(log.with_name(log.name + ".lock"), f"another process plays at {log}", InputError):
        logged = read_log(log, mend=True)
        with EpisodeLog(log) as writer:
            return _all(plans, logged, writer, concurrency, progress)


def _all(
    plans: Sequence[EpisodePlan],
    logged: Mapping[str, LoggedEpisode],
    writer: EpisodeLog | None,
    concurrency: int,
    progress: Callable[[int], None] | None,
) -> CollectionResult:
    ended: dict[str, CollectedEpisode | SkippedSession] = {}
    stop = threading.Event()
    work = [partial(_one, plan, logged.get(plan.name), writer, stop) for plan in plans]
    for result in _results(work, concurrency, stop):
        ended[result.plan.name if isinstance(result, CollectedEpisode) else result.session_id] = result
        if progress is not None:
            progress(1)
    results = [ended[plan.name] for plan in plans]
    return CollectionResult(
        tuple(result for result in results if isinstance(result, CollectedEpisode)),
        tuple(result for result in results if isinstance(result, SkippedSession)),
    )


def _results(
    work: Sequence[_Work], concurrency: int, stop: threading.Event
) -> Iterator[CollectedEpisode | SkippedSession]:
    """What comes of each piece of work, as it ends. Whatever ends this early ends each episode after its next step."""
    if concurrency <= 1:
        yield from (one() for one in work)
        return
    waiting = iter(work)
    with ThreadPoolExecutor(concurrency) as pool:
        running = {pool.submit(one) for one in islice(waiting, concurrency)}
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
                running |= {pool.submit(one) for one in islice(waiting, len(done))}
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _one(
    plan: EpisodePlan, logged: LoggedEpisode | None, writer: EpisodeLog | None, stop: threading.Event
) -> CollectedEpisode | SkippedSession:
    try:
        environment = plan.make()
        _go_on(plan, environment, logged, writer, stop)
    except UnitError as error:
        return SkippedSession(plan.name, str(error))
    return CollectedEpisode(plan, environment)


def _go_on(
    plan: EpisodePlan,
    environment: Environment,
    logged: LoggedEpisode | None,
    writer: EpisodeLog | None,
    stop: threading.Event,
) -> None:
    opening = plan.opening(environment)
    if logged is None:
        environment.reset(plan.seed)
        if writer is not None:
            writer.begin(plan.name, opening)
    else:
        check_same(plan.name, logged, opening)
        environment.replay(plan.seed, logged.steps)
        if logged.closing is not None:
            return

    def written(moves: Step) -> None:
        if writer is not None:
            paid = any(plan.agents[move.agent].paid for move in moves)
            writer.moves(plan.name, len(environment.steps), moves, sync=paid)
        if stop.is_set():
            raise StoppedError(f"episode {plan.name!r}: stopped; what was played is in the log")

    play(environment, plan.agents, before=written)
    if writer is not None:
        writer.end(plan.name, CollectedEpisode(plan, environment).closing)
