r"""A study's tables as LaTeX for a paper: each a ``table`` with ``booktabs``' rules.

They need ``\usepackage{booktabs}`` and ``\usepackage{graphicx}``, which wide tables are scaled by.
"""

from __future__ import annotations

import re

from evaluation.table import Grid
from pipeline.report.text import clean
from study.report.grids import agreement_grid, difference_grids, interval_grids, judge_grid, pair_grids, paper_grids
from study.report.results import StudyReport, StudyTable

WIDE = 6
"""Columns, from which on a table is scaled to the text's width."""
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
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "–": "--",
    "−": "$-$",
    "…": r"\ldots{}",
}
_NUMBER = re.compile(r"(?<![\w.])-(?=\d)")


def as_latex(report: StudyReport) -> str:
    """The tables of the figures, of those without flagged annotators, and of judges; not that of annotators."""
    head = [
        "% Made by apportion study report. Needs booktabs and graphicx.",
        *(f"% Note: {' '.join(clean(note, 1000).split())}" for note in report.notes),
    ]
    tables = [_table(grid, f"people-{number}") for number, grid in enumerate(_people(report), start=1)]
    if report.unflagged is not None:
        kept = f"without {len(report.flagged)} flagged annotators"
        grids = _grids(report.unflagged, report.base)
        tables += [_table(grid, f"unflagged-{n}", kept) for n, grid in enumerate(grids, start=1)]
    for place, judge in enumerate(report.judges, start=1):
        grids = [judge_grid(judge), *_grids(judge.table, report.base)]
        tables += [_table(grid, f"judge-{place}-{n}", f"judge {judge.name}") for n, grid in enumerate(grids, start=1)]
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
    return "".join(_MARKS.get(mark, mark) for mark in text)


def _people(report: StudyReport) -> list[Grid]:
    return [*paper_grids(report.people), *_grids(report.people, report.base), agreement_grid(report.people)]


def _grids(table: StudyTable, base: str | None) -> list[Grid]:
    return [*interval_grids(table), *difference_grids(table, base), *pair_grids(table)]


def _table(grid: Grid, label: str, beside: str = "") -> str:
    columns = "l" + "c" * (len(grid.header) - 1)
    caption = f"{grid.title}{f' ({beside})' if beside else ''}. {' '.join(grid.notes)}".strip()
    rows = [" & ".join(map(_cell, row)) + r" \\" for row in grid.rows]
    tabular = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(map(_cell, grid.header)) + r" \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if len(grid.header) >= WIDE:
        tabular = [r"\resizebox{\textwidth}{!}{%", *tabular, "}"]
    return "\n".join(
        [
            r"\begin{table}[t]",
            r"\centering",
            *tabular,
            rf"\caption{{{latex_text(caption)}}}",
            rf"\label{{tab:study-{label}}}",
            r"\end{table}",
        ]
    )


def _cell(text: str) -> str:
    """A cell; one that begins with a bracket would be an argument of the line break before it."""
    made = latex_text(text)
    return f"{{}}{made}" if made.startswith(("[", "*")) else made
