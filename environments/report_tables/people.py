"""Which agents of a log are people."""

from __future__ import annotations

from collections.abc import Sequence

HUMANS = ("person", "human")
"""What a person who plays is called as an agent; behind it may follow ``:``, ``@`` or ``-`` and more."""


def is_human(agent: str | None, called: Sequence[str] = ()) -> bool:
    """Whether an agent is a person, by its name: one of `HUMANS`, or of ``called``.

    >>> is_human("person"), is_human("human-7"), is_human("gpt-4"), is_human("ann", ["ann"])
    (True, True, False, True)
    """
    if agent is None:
        return False
    first = agent.casefold()
    for mark in ":@- ":
        first = first.split(mark)[0]
    return first in HUMANS or agent in called
