"""Rows of a paper's table that nobody has played, each with the commands that fill it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from apportion.environments.agents.wrappers import unwrapped
from apportion.environments.report_tables.table import Cell
from apportion.foundation.intervals.estimate import Missing

NOT_PLAYED = "it has not played"
THEN = " && "
"""Between commands, as a shell has it."""
CHOOSERS = frozenset({"sla", "lspo", "rl-ins"})
"""What stands around an agent and chooses what it does, so that it is the method, whoever proposes."""


@dataclass(frozen=True)
class PaperRow:
    """A row of a paper's table.

    ``name``: The method, as `method_of` calls who plays it. ``agent``: As ``--agents`` names it; empty: no agent.
    ``made``: The commands that make what stands behind its @, in order. ``told``: What the table has to be told of it.
    """

    name: str
    agent: str
    made: tuple[str, ...] = ()
    told: str = ""


@dataclass(frozen=True)
class PaperRows:
    """The rows of one table, and the commands that play all of them, in order.

    ``{agents}`` in these are the agents, ``{told}`` what the table has to be told of them.
    """

    rows: tuple[PaperRow, ...]
    play: tuple[str, ...]

    def commands(self, row: PaperRow) -> tuple[str, ...]:
        """What fills a row: what makes its agent, then what plays it beside those that nothing has to make."""
        return (*row.made, *self._played([one for one in self.rows if one == row or not one.made]))

    @property
    def pool(self) -> tuple[str, ...]:
        """What plays all rows together, once their agents are made."""
        return self._played(self.rows)

    def _played(self, rows: Sequence[PaperRow]) -> tuple[str, ...]:
        agents, told = ",".join(filter(None, (one.agent for one in rows))), "".join(one.told for one in rows)
        return tuple(command.replace("{agents}", agents).replace("{told}", told) for command in self.play)

    def missing(self, agents: Iterable[str], figures: int) -> tuple[tuple[Cell, ...], ...]:
        """The rows that nobody has played; ``agents``: Who has. ``figures``: Columns behind the name."""
        played = set(map(method_of, agents))
        left = [row for row in self.rows if row.name not in played]
        return tuple((row.name, *[Missing(NOT_PLAYED, THEN.join(self.commands(row)))] * figures) for row in left)


def method_of(agent: str) -> str:
    """An agent's name without models, files and folders; a policy in a folder is what that folder is called.

    >>> method_of("react@qwen3+8b+refiner@runs/r"), method_of("react@qwen3+sla@sla.json+refiner@runs/r")
    ('react+refiner', 'sla+refiner')
    >>> method_of("policy@runs/sdpo"), method_of("policy@savoir/policy"), method_of("ppdpp@runs/p")
    ('sdpo', 'savoir', 'ppdpp')
    """
    wrapped = unwrapped(agent)
    if wrapped is not None and wrapped.wrapper not in CHOOSERS:
        return f"{method_of(wrapped.inner)}+{wrapped.wrapper}"
    if wrapped is not None:
        return wrapped.wrapper
    name, _, of = agent.partition("@")
    if name != "policy":
        return name
    place = PurePath(of)
    return place.parent.name if place.name == "policy" else place.name
