"""What an agent does in one step, and how it is written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from apportion.foundation.errors import UnitError

SILENT = "none"
"""The kind of act by which one does nothing, where an environment has one."""
UNUSABLE = "unusable"
"""The key in an act's data that says that it stands for what could not be used, and why."""
TIMED_OUT = "timed_out"
"""The key in an act's data that says that it stands for one that came too late: the limit, in s."""
_READ = "act"
"""The key beside them of what the rules read, where the act that stands has data."""
MOST_UNUSABLE = 0.25
"""Share of a seat's acts above which nobody's score of a session says anything."""


class InvalidActionError(UnitError):
    """An act that the rules do not allow here."""


class Action(NamedTuple):
    """One act: its kind, its words, and what the rules read of it.

    ``data`` is a JSON value (an offer, a vote), None where the words are all. Rules read ``kind`` and ``data``; where
    they read ``text``, the environment says how.

    >>> Action("speak", "Hello, Bob!").record()
    ['speak', 'Hello, Bob!']
    >>> Action.of(["propose", "", [1, 0, 2]])
    Action(kind='propose', text='', data=[1, 0, 2])
    """

    kind: str
    text: str = ""
    data: Any = None

    def record(self) -> list[Any]:
        """The act as JSON: ``[kind, text]``, or ``[kind, text, data]``."""
        return [self.kind, self.text] if self.data is None else [self.kind, self.text, self.data]

    @classmethod
    def of(cls, record: Any) -> Action:
        """Read what `record` has written.

        Raises ValueError: the record is no list of a kind, words and perhaps data.
        """
        if not isinstance(record, list) or not 2 <= len(record) <= 3 or not all(isinstance(v, str) for v in record[:2]):
            raise ValueError(f"an act is [kind, text] or [kind, text, data], this is {record!r:.200}")
        return cls(*record)

    @property
    def stands(self) -> bool:
        """Whether it stands for what an agent did not do: no act that could be used, or none in time."""
        return isinstance(self.data, dict) and (UNUSABLE in self.data or TIMED_OUT in self.data)

    @property
    def plain(self) -> Action:
        """The act as the rules read it, without the mark of `marked`."""
        return self._replace(data=self.data.get(_READ)) if self.stands else self

    def marked(self, why: str, told: Any) -> Action:
        """The act with a mark (`UNUSABLE`, `TIMED_OUT`) that says for what it stands."""
        return self._replace(data={why: told} | ({} if self.data is None else {_READ: self.data}))


class AgentAction(NamedTuple):
    """Who acts, and how."""

    agent: str
    act: Action


Step = tuple[AgentAction, ...]
"""What is done at once: one move, or one of every agent that acts simultaneously, in the environment's order."""


def in_order(acts: Mapping[str, Action], acting: tuple[str, ...]) -> Step:
    """The moves of one step, one of every agent whose turn it is.

    Raises InvalidActionError: somebody acts out of turn, or does not act.
    """
    if len(acting) == 1 == len(acts) and acting[0] in acts:
        return (AgentAction(acting[0], acts[acting[0]]),)
    for agent in acts:
        if agent not in acting:
            raise InvalidActionError(
                f"{agent!r} acts out of turn; it is the turn of {', '.join(acting) or 'nobody: it is over'}"
            )
    for agent in acting:
        if agent not in acts:
            raise InvalidActionError(f"{agent!r} has to act in this step, and does not")
    return tuple(AgentAction(agent, acts[agent]) for agent in acting)


def unusable_of(steps: Iterable[Step]) -> dict[str, tuple[int, int]]:
    """By agent how many of its acts stand for what it did not do, and how many there are."""
    moves = [move for step in steps for move in step]
    acts, stand = Counter(move.agent for move in moves), Counter(move.agent for move in moves if move.act.stands)
    return {agent: (stand[agent], count) for agent, count in acts.items()}


def unrated(steps: Iterable[Step], most: float = MOST_UNUSABLE) -> str | None:
    """Why an episode has no score, in words; None where no seat's unusable acts are a share above ``most``."""
    for agent, (stand, acts) in unusable_of(steps).items():
        if stand > most * acts:
            return f"{stand:,} of {acts:,} acts of {agent} are unusable, a share above {most:g}"
    return None
