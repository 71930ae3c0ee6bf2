"""An agent that has to act in time: what comes later is not waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Thread
from typing import Any

from apportion.environments.agents.agent import SILENT, Agent
from apportion.environments.environment import Action, Observation

TIMED_OUT = "timed_out"
"""The key in an act's data by which a silent act says that it stands for one that came too late: the limit, in s."""


@dataclass(frozen=True)
class TimeLimitedAgent:
    """Another agent, with the silent act in place of what it does not do in time.

    What comes too late is dropped; whoever still thinks does so by itself until it has ended.

    Parameters
    ----------
    agent : Agent
        Who acts.
    limit_s : float
        Seconds for one act.
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
        """What it does, or the silent act where that is allowed; raises what it raises."""
        if SILENT not in view.legal:
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
            return Action(SILENT, "", {TIMED_OUT: self.limit_s})
        if isinstance(answer, BaseException):
            raise answer
        return answer
