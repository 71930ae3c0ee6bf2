"""What an agent does in one step, and how it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from apportion.foundation.errors import UnitError


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
