"""Who acts: the protocol of every agent, and scripts made of a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any, ClassVar, Protocol

from apportion.environments.actions import SILENT, TIMED_OUT
from apportion.environments.environment import Action, Observation, Step
from apportion.environments.episode_log import read_log
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError

UNREVISED = "unrevised"
"""The key in an act's data by which an agent says that its draft stands, and why no revision could be used."""
UNPREPARED = "unprepared"
"""The key in an act's data by which an agent says that it acted without a private note, and why that was of no use."""


class Agent(Protocol):
    """One who acts when it is asked; keeps nothing between steps, so that an episode can be copied, resumed, replayed.

    ``called`` names it in logs and corpora; ``paid`` says that an act costs money or a person's time, so that it is on
    the disk before it is used.
    """

    @property
    def called(self) -> str:
        """What it is called in logs and corpora."""

    @property
    def paid(self) -> bool:
        """Whether an act must never be asked for twice."""

    def act(self, view: Observation) -> Action:
        """What it does, from what it may know."""


@dataclass(frozen=True)
class ScriptedAgent:
    """An agent made of a function of its view.

    >>> ScriptedAgent("silent", lambda view: Action("none")).paid
    False
    """

    called: str
    rule: Callable[[Observation], Action]
    paid: bool = False

    def act(self, view: Observation) -> Action:
        """What the function says."""
        return self.rule(view)


@dataclass(frozen=True)
class RandomLegalAgent:
    """An agent that draws one of the allowed kinds of acts, with the same chance each and words that say so."""

    called: str = "random"
    paid: bool = False

    def act(self, view: Observation) -> Action:
        """A kind of act at random."""
        kind = view.draws.choice(view.legal)
        return Action(kind, f"(random: {kind})")


@dataclass(frozen=True)
class TimeLimitedAgent:
    """Another agent, with the act that stands for none (`Observation.stand_in`) where it does nothing in time.

    What comes too late is dropped; whoever still thinks does so by itself until it has ended.

    ``agent``: Who acts. ``limit_s``: Seconds for one act.
    """

    agent: Agent
    limit_s: float
    called: str = field(init=False)
    paid: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "called", self.agent.called)
        object.__setattr__(self, "paid", self.agent.paid)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)  # What it asks a model, for whoever counts requests.

    def act(self, view: Observation) -> Action:
        """What it does, or what stands for it where something can; raises what it raises."""
        instead = view.stand_in(TIMED_OUT, self.limit_s)
        if instead is None:
            return self.agent.act(view)
        answers: Queue[Action | BaseException] = Queue()

        def work() -> None:
            try:
                answers.put(self.agent.act(view))
            except BaseException as error:  # Raised again below, by whoever waits.
                answers.put(error)

        Thread(target=work, name=f"{self.called} acts", daemon=True).start()
        try:
            answer = answers.get(timeout=self.limit_s)
        except Empty:
            return instead
        if isinstance(answer, BaseException):
            raise answer
        return answer


@dataclass(frozen=True)
class ReplayAgent:
    """Plays the acts of one recorded episode: at each step the act of the agent of that name, whatever others do.

    Where the recorded episode has ended it is silent.

    ``called``: What it is called in logs and corpora. ``steps``: The recorded episode.
    """

    called: str
    steps: tuple[Step, ...]
    paid: bool = False
    example: ClassVar[str] = "recorded@LOG#EPISODE"

    @classmethod
    def of(cls, place: str) -> ReplayAgent:
        """The agent of ``LOG#EPISODE``, or of ``LOG`` where the log has one episode.

        Raises InputError: there is no such log or episode, or the log has several and none is named.
        """
        file, _, episode = place.partition("#")
        path = Path(file)
        if not path.is_file():
            raise InputError(f"agent 'recorded': {file!r} is no file; name an episode log, as recorded@LOG#EPISODE")
        logged = read_log(path)
        if not episode and len(logged) == 1:
            (episode,) = logged
        if episode not in logged:
            listed = f"it has {len(logged):,} episodes" + (f", {', '.join(list(logged)[:5])} …" if logged else "")
            hint = did_you_mean(episode, logged, listed) if episode else f"name one as {file}#EPISODE: {listed}"
            raise InputError(f"agent 'recorded': {path}: no episode {episode!r}: {hint}")
        return cls(f"recorded@{episode}", tuple(logged[episode].steps))

    def act(self, view: Observation) -> Action:
        """What was done at this step.

        Raises UnitError: Nobody of this agent's name acted at this step, or the episode has ended where nobody may be
        silent.
        """
        if view.place < len(self.steps):
            for move in self.steps[view.place]:
                if move.agent == view.agent:
                    return move.act
            raise UnitError(f"{self.called}: {view.agent!r} did nothing at step {view.place} there; play the same task")
        if SILENT in view.legal:
            return Action(SILENT)
        raise UnitError(f"{self.called}: ended after {len(self.steps)} steps, and {view.agent!r} may not be silent")
