"""Several tables with what they are made of: shown, and written to a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.environments.report_tables.table import SIMULATED, Table, safe
from apportion.environments.terminal.console import printable
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.foundation.truncate import listed

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


TO_FILL = "To fill what is not there:"
NAME = "report"
"""Of the files that hold everything."""


@dataclass(frozen=True)
class Report:
    """Tables in the order of the paper, and what they are made of."""

    facts: tuple[str, ...]
    tables: tuple[Table, ...]
    head: str

    def text(self) -> str:
        """For a terminal."""
        blocks = [f"{self.head} ({SIMULATED})", "\n".join(map(printable, self.facts)), *(t.text() for t in self.tables)]
        if fills := self._fills():
            lines = (f"  {printable(f'{_why(reason, rows)} ({where}): {fill}')}" for reason, fill, rows, where in fills)
            blocks.append("\n".join([TO_FILL, *lines]))
        return "\n\n".join(blocks)

    def markdown(self) -> str:
        """As Markdown."""
        facts = "\n".join(f"- {safe(fact)}" for fact in self.facts)
        blocks = [f"# {self.head} ({SIMULATED})", facts, *(table.markdown() for table in self.tables)]
        if fills := self._fills():
            lines = [
                f"- {safe(f'{_why(why, rows)} ({where})')}: `{printable(fill)}`" for why, fill, rows, where in fills
            ]
            blocks += [f"**{TO_FILL}**", "\n".join(lines)]
        return "\n\n".join(blocks) + "\n"

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        names = ("because", "fill", "rows", "tables")
        fills = [dict(zip(names, one, strict=True)) for one in self._fills()]
        tables = [table.to_json() for table in self.tables]
        return {"simulated": True, "facts": list(self.facts), "tables": tables, "to_fill": fills}

    def _fills(self) -> list[tuple[str, str, str, str]]:
        """Why something is not there, the command that gives it, of which rows and of which tables."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for table in self.tables:
            for one in table.fills():
                found.setdefault(one, []).append(table.title.partition(":")[0])
        return [(*one, listed(list(dict.fromkeys(where)), 20)) for one, where in found.items()]

    def write(self, folder: Path) -> list[Path]:
        """Write it whole and each table as .txt, .md and .json, figures also as .svg.

        Raises InputError: the folder cannot be written to.
        """
        files = _files(NAME, self.text(), self.markdown(), self.to_json())
        for table in self.tables:
            files |= _files(table.key, table.text(), table.markdown() + "\n", table.to_json())
            if table.picture:
                files[f"{table.key}.svg"] = table.picture
        try:
            for name, content in files.items():
                write_atomically(folder / name, content)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror or error}); name another folder") from None
        return [folder / name for name in files]


def _why(reason: str, rows: str) -> str:
    return f"{rows}: {reason}" if rows else reason


def _files(name: str, text: str, markdown: str, document: dict[str, Any]) -> dict[str, str]:
    return {
        f"{name}.txt": text + "\n",
        f"{name}.md": markdown,
        f"{name}.json": json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
    }
