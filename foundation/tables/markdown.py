"""Tables in Markdown whose cells may hold anything: names and labels are somebody else's words."""

from __future__ import annotations

from collections.abc import Sequence


def escaped(cell: str) -> str:
    r"""Text that means nothing to Markdown, on one line.

    >>> print(escaped("a|b"), escaped("<b>"), escaped("![x](y)"))
    a\|b \<b\> ![x]\(y)
    """
    for mark in "\\`*_|<>":
        cell = cell.replace(mark, f"\\{mark}")
    # Brackets stay as they are where no address follows them: intervals are written with them.
    cell = " ".join(cell.split()).replace("](", "]\\(")
    return f"\\{cell}" if cell.startswith("#") else cell


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is words and whose others are figures; cells are escaped here.

    >>> print(markdown_table(("who", "score"), [("ann", "1.0")]))
    | who | score |
    | :--- | ---: |
    | ann | 1.0 |
    """
    lines = [f"| {' | '.join(escaped(cell) for cell in line)} |" for line in (header, *rows)]
    rule = f"| {' | '.join([':---', *('---:' for _ in header[1:])])} |"
    return "\n".join([lines[0], rule, *lines[1:]])
