"""Playing a session on: what an environment lends to whoever asks what an act was worth.

The protocols stand here and not beside the methods that use them: an environment has to be able to name what it
fulfils, and stands below `decompose`, which can name it too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from apportion.corpus.session import Session
from apportion.environments.role_assignment import RoleAssignment
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings


@dataclass(frozen=True)
class TerminalState:
    """How one play of a session ended.

    ``scores`` has the target's score in each dimension, in the dimension's own units; None where its judge failed,
    with ``problem`` why; ``ranges`` the lowest and the highest value of each, where they are known.
    ``acts`` counts those that were played on, ``dropped`` those of the history that the rules did not allow without the
    acts that were left out.
    """

    scores: Mapping[str, float | None]
    acts: int = 0
    dropped: int = 0
    problem: str | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class Rollable(Protocol):
    """A session that an environment made, opened to be played again. Safe to use from several threads at once."""

    def play_on(self, target: str, kept: Collection[int], seeds: Sequence[int]) -> Sequence[TerminalState]:
        """How the session ends, once for each of ``seeds`` (J of them), after a history with some acts left out.

        The history H(S) of SAVOIR, section 3.2: of ``target``'s acts those of the turns ``kept`` alone, in their
        order, each with the replies that follow it, after what was said before the first of them. A history that has
        ended is scored as it stands. The same seed draws the same whatever was kept.

        Raises InputError: No play can succeed before a person changes something. Raises StoppedError: The budget of
        what is asked is used up. Raises UnitError: This history cannot be played on.
        """
        ...

    def as_it_stands(self, target: str, kept: Collection[int]) -> TerminalState:
        """The score of the same history when nobody goes on; raises as `play_on`."""
        ...


@runtime_checkable
class Simulator(Protocol):
    """An environment, as those see it who play its sessions on."""

    def identity(self, session: Session, corpus: Path) -> Mapping[str, Any] | None:
        """What decides how ``session`` plays on, as plain JSON values; None where another made it.

        Its name, a version of its rules, its agents, and the content of what it reads of the folder ``corpus``: all
        of it enters the key of finished work.
        """
        ...

    def open(self, session: Session, corpus: Path, complete: Complete) -> Rollable:
        """A session of its own, ready to be played on; ``complete`` asks the language model that the run lends.

        Raises UnitError: what the environment kept of the session cannot be read.
        """
        ...


@runtime_checkable
class SupportsAgentReplacement(Simulator, Protocol):
    """A simulator whose sessions others can play on, and other judges score; the run lends it its language model."""

    def recast(self, cast: RoleAssignment) -> Self:
        """The same, whose `identity` and `open` mean sessions played on and scored by ``cast``.

        Raises InputError: there is no such agent or judge.
        """
        ...

    def asked(self, session: Session, corpus: Path) -> tuple[LLMSettings, ...]:
        """The language models that playing ``session`` on may ask, each once; none where scripts play and rules score.

        A session that cannot be opened asks none.
        """
        ...
