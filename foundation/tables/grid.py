"""A table of text: one for every format that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from apportion.foundation.tables.columns import columns, padded
from apportion.foundation.tables.markdown import escaped, markdown_table


@dataclass(frozen=True)
class Grid:
    """A title, a header, rows of as many cells (the first names the row), and notes that go below.

    HTML pages render it by ``foundation/html/parts.html``, LaTeX by `apportion.study.report.latex`.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Aligned columns below the title, the notes after them."""
        rule = ["-" * len(cell) for cell in padded([self.header, *self.rows])[0]]
        return "\n".join([self.title, "", *columns([self.header, rule, *self.rows]), *self.notes])

    def markdown(self) -> str:
        """The table alone; its first column is words, the others are figures."""
        return markdown_table(self.header, self.rows)

    def markdown_notes(self) -> str:
        """The notes as a list."""
        return "\n".join(f"- {escaped(note)}" for note in self.notes)

    def cells(self, change: Callable[[str], str]) -> Grid:
        """The same with every cell but those of the first column changed."""
        return replace(self, rows=tuple((name, *map(change, cells)) for name, *cells in self.rows))
