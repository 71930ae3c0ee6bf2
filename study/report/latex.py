r"""A study's tables as LaTeX for a paper: each a ``table`` with ``booktabs``' rules.

They need ``\usepackage{booktabs}`` and ``\usepackage{graphicx}``, which wide tables are scaled by, and no package for
fonts: a letter that pdfTeX does not know by itself is told by its number there, and set as it is by XeTeX and LuaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from apportion.foundation.html.text import clean
from apportion.foundation.tables.grid import Grid
from apportion.study.report.grids import agreement_grid, figure_grids, judge_grid, paper_grids
from apportion.study.report.results import StudyReport

MOST_ROWS = 36
"""Rows that a page has room for; a longer table is set in parts."""
LONG = 45
"""Characters, from which on the texts of a last column are broken into lines."""
OWN_WIDTH = r"\ifdim\width>\textwidth\textwidth\else\width\fi"
"""A table is scaled down to the text's width, and never up."""
_OTHER_LETTERS = r"""% A letter of another script: itself where the engine has it, else its number.
\DeclareRobustCommand{\studyletter}[1]{\ifdefined\Umathchar\symbol{"#1}\else{\ttfamily U+#1}\fi}"""
_MARKS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"''",
    "±": r"$\pm$",
    "–": "--",
    "−": "$-$",
    "…": r"\ldots{}",
}
_LATIN = frozenset(map(chr, (*range(0xA1, 0xAD), *range(0xAE, 0x180)))) - frozenset("«»ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲųſ")
_KNOWN = _LATIN | frozenset("‘’“”—†‡•€™→")
"""Beyond ASCII, what pdfTeX sets in its own encoding (OT1) without a package."""
_NUMBER = re.compile(r"(?<![\w.])-(?=\d)")


def as_latex(report: StudyReport) -> str:
    """The tables of the figures, of those without flagged annotators, and of judges; not that of annotators."""
    head = [
        "% Made by apportion study report. Needs booktabs and graphicx.",
        *(f"% Note: {' '.join(clean(note, 1000).split())}" for note in report.notes),
        _OTHER_LETTERS,
    ]
    tables = _tables(_people(report), "people")
    if report.unflagged is not None:
        kept = f"without {len(report.flagged)} flagged annotators"
        tables += _tables(figure_grids(report.unflagged, report.base), "unflagged", kept)
    for place, judge in enumerate(report.judges, start=1):
        grids = [judge_grid(judge), *figure_grids(judge.table, report.base)]
        tables += _tables(grids, f"judge-{place}", f"judge {judge.name}")
    if report.simulated:
        tables = [table.replace("\\caption{", "\\caption{Simulated annotators, no people. ", 1) for table in tables]
    return "\n\n".join(["\n".join(head), *tables]) + "\n"


def latex_text(text: str) -> str:
    r"""Text that means nothing to LaTeX, on one line.

    >>> print(latex_text("50 % of a_b"))
    50 \% of a\_b
    """
    text = " ".join(clean(text, 2000).split())
    text = _NUMBER.sub("−", text)
    return "".join(_MARKS.get(mark) or _letter(mark) for mark in text)


def _letter(mark: str) -> str:
    return mark if mark.isascii() or mark in _KNOWN else rf"\studyletter{{{ord(mark):04X}}}"


def _people(report: StudyReport) -> list[Grid]:
    return [*paper_grids(report.people), *figure_grids(report.people, report.base), agreement_grid(report.people)]


def _tables(grids: Iterable[Grid], label: str, beside: str = "") -> list[str]:
    """Each grid as a table, or as several where it is too long for a page."""
    tables = []
    for number, grid in enumerate(grids, start=1):
        caption = f"{grid.title}{f' ({beside})' if beside else ''}. {' '.join(grid.notes)}".strip()
        parts = [grid.rows[start : start + MOST_ROWS] for start in range(0, len(grid.rows), MOST_ROWS)] or [()]
        for place, rows in enumerate(parts):
            named = caption if place == 0 else f"{grid.title}, continued."
            tables.append(_table(grid.header, rows, named, f"{label}-{number}{f'-{place + 1}' if place else ''}"))
    return tables


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    is_long = any(len(row[-1]) >= LONG for row in rows)
    columns = "l" + "c" * (len(header) - 2) + (r"p{0.55\textwidth}" if is_long else "c")
    return "\n".join(
        [
            r"\begin{table}[t]",
            r"\centering",
            rf"\resizebox{{{OWN_WIDTH}}}{{!}}{{%",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(_cell, header)) + r" \\",
            r"\midrule",
            *(" & ".join(map(_cell, row)) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}}",
            rf"\caption{{{latex_text(caption)}}}",
            rf"\label{{tab:study-{label}}}",
            r"\end{table}",
        ]
    )


def _cell(text: str) -> str:
    """A cell; one that begins with a bracket would be an argument of the line break before it."""
    made = latex_text(text)
    return f"{{}}{made}" if made.startswith(("[", "*")) else made
