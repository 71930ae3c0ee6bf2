"""An agent that does again what was done in its place in an episode of a log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from apportion.environments.agents.agent import SILENT
from apportion.environments.environment import Action, Observation, Step
from apportion.environments.episode_log import read_log
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError


@dataclass(frozen=True)
class ReplayAgent:
    """Plays the acts of one recorded episode: at each step the act of the agent of that name, whatever others do.

    Where the recorded episode has ended it is silent.

    Parameters
    ----------
    called : str
        What it is called in logs and corpora.
    steps : tuple of Step
        The recorded episode.
    """

    called: str
    steps: tuple[Step, ...]
    paid: bool = False
    example: ClassVar[str] = "recorded@LOG#EPISODE"

    @classmethod
    def of(cls, place: str) -> ReplayAgent:
        """The agent of ``LOG#EPISODE``, or of ``LOG`` where the log has one episode.

        Raises
        ------
        InputError
            There is no such log or episode, or the log has several and none is named.
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

        Raises
        ------
        UnitError
            Nobody of this agent's name acted at this step, or the episode has ended where nobody may be silent.
        """
        if view.place < len(self.steps):
            for move in self.steps[view.place]:
                if move.agent == view.agent:
                    return move.act
            raise UnitError(f"{self.called}: {view.agent!r} did nothing at step {view.place} there; play the same task")
        if SILENT in view.legal:
            return Action(SILENT)
        raise UnitError(f"{self.called}: ended after {len(self.steps)} steps, and {view.agent!r} may not be silent")
