"""A report's tables as text, the same for every format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apportion.evaluation.human_agreement.comparison import SystemComparisons
from apportion.foundation.tables.grid import Grid
from apportion.foundation.tables.numbers import NO_FIGURE, fixed, p_value
from apportion.study.design.criteria import Kind
from apportion.study.report.results import SPLITS, CriterionTable, Judge, StudyReport, StudyTable


@dataclass(frozen=True)
class Unit:
    """A kind of figure: what it is called, by how much it is multiplied, its decimals.

    ``difference_factor`` and ``even`` turn a difference to the base into what is told: a difference, or of pairs the
    share won against the base, of which a half is even.
    """

    title: str
    column: str
    factor: float
    decimals: int
    difference: str
    difference_factor: float
    even: float = 0.0

    def value(self, value: float | None) -> str:
        """A figure alone."""
        return NO_FIGURE if value is None else fixed(self.factor * value, self.decimals)

    def interval(self, value: float | None, low: float | None, high: float | None) -> str:
        """A figure with its interval."""
        ends = "" if low is None or high is None else f" [{self.value(low)}, {self.value(high)}]"
        return self.value(value) + ends

    def splits(self, mean: float, sd: float) -> str:
        """A mean and its deviation over splits, two decimals as the paper has them."""
        return f"{fixed(self.factor * mean, 2)} ± {fixed(self.factor * sd, 2)}"

    def told(self, difference: float) -> float:
        """A difference to the base as a number that is shown."""
        return self.even + self.difference_factor * difference

    def difference_text(self, value: float, low: float | None, high: float | None) -> str:
        """A difference to the base with its interval."""
        texts = [
            fixed(self.told(end), self.decimals, sign=not self.even) for end in (value, low, high) if end is not None
        ]
        return texts[0] + (f" [{texts[1]}, {texts[2]}]" if len(texts) == 3 else "")


_SHARE = Unit("Marked", "% of answers", 100.0, 1, "difference, points", 100.0)
_RATING = Unit("Rated", "mean", 1.0, 2, "difference", 1.0)
UNITS: dict[Kind, Unit] = {
    "select": _SHARE,
    "pair": Unit("Preferred", "% of answers, ties half", 100.0, 1, "won against the base, %", 50.0, 50.0),
    "rating": _RATING,
    "turns": Unit("Turns rated", "mean a turn", 1.0, 2, "difference", 1.0),
}
"""By kind of criterion."""


def p_text(p: float | None) -> str:
    """A p as it stands in tables."""
    return NO_FIGURE if p is None else p_value(p)


def stars(p: float | None) -> str:
    """The marks of LLM-GELI's tables, of p-values that are corrected: ``*`` below 0.05, ``**`` below 0.01.

    >>> stars(0.03), stars(0.004), stars(0.2), stars(None)
    ('*', '**', '', '')
    """
    if p is None or p >= 0.05:
        return ""
    return "**" if p < 0.01 else "*"


CONFIDENCE = "95 %"
FEW = 10
"""Of fewer items or annotators it is told how little intervals rest on."""


def paper_grids(table: StudyTable) -> list[Grid]:
    """LLM-GELI's Table 1: mean and sd over three splits, a row a system, a column a criterion."""
    grids = []
    for kind, criteria in _by_kind(table):
        unit = UNITS[kind]
        rows = []
        for place, system in enumerate(_systems(criteria)):
            cells = [one.cells[place].splits for one in criteria]
            marks = [_mark(table, one.criterion, system) for one in criteria]
            texts = [NO_FIGURE if c is None else unit.splits(c.mean, c.sd) for c in cells]
            rows.append((system, *(text + mark for text, mark in zip(texts, marks, strict=True))))
        notes = [
            f"Mean ± standard deviation over {SPLITS} splits of the answered items (the first, fourth, seventh …; the "
            "second, fifth …; the third …), as LLM-GELI's Table 1 tells it. That deviation says little of how sure a "
            "figure is: the intervals below do.",
            "* and **: differs from the base with p below 0.05 and 0.01, corrected for all comparisons (Holm)."
            if table.compared
            else "",
        ]
        grids.append(_grid(f"{unit.title}: {unit.column}, as the paper tells it", criteria, rows, notes))
    return grids


def interval_grids(table: StudyTable) -> list[Grid]:
    """The same table with intervals over items and annotators."""
    grids = []
    for kind, criteria in _by_kind(table):
        unit = UNITS[kind]
        rows = []
        for place, system in enumerate(_systems(criteria)):
            cells = [one.cells[place] for one in criteria]
            rows.append((system, *(unit.interval(cell.value, cell.low, cell.high) for cell in cells)))
        grids.append(
            _grid(f"{unit.title}: {unit.column}, with {CONFIDENCE} intervals", criteria, rows, _reversed(criteria))
        )
    return grids


def difference_grids(table: StudyTable, base: str | None) -> list[Grid]:
    """Every system beside the base: clustered interval, p and Holm's, mixed model, bootstrap, McNemar."""
    grids = []
    for kind, criteria in _by_kind(table):
        unit, names = UNITS[kind], {one.criterion for one in criteria}
        found = [one for one in table.compared if one.criterion in names]
        if not found:
            continue
        header = ("criterion", "system", unit.difference, "p", "p, corrected", "mixed model", "bootstrap of items")
        marks = any(one.marks is not None for one in found)
        rows = tuple(_difference(one, unit, marks) for one in found)
        left = [f"{system} on {criterion}" for criterion, system in table.uncompared if criterion in names]
        notes = [
            f"{unit.title}: intervals hold {CONFIDENCE}; the first is over items and annotators, the mixed model has "
            "both as random effects, the bootstrap draws items alone.",
            f"Corrected by Holm for all {len(table.compared)} comparisons of this report.",
            _freedom(found),
            "McNemar: answers for the system alone / the base alone, exact p. It takes answers for independent."
            if marks
            else "",
            f"No answer judges beside the base: {', '.join(left)}." if left else "",
        ]
        grids.append(
            Grid(f"Compared to {base}", (*header, *(("McNemar",) if marks else ())), rows, tuple(filter(None, notes)))
        )
    return grids


def _freedom(found: Iterable[SystemComparisons]) -> str:
    """What is to be known of intervals where there are few of what they are over; nothing where there are enough."""
    fewest = min(min(one.difference.items, one.difference.annotators) for one in found)
    if not 1 < fewest < FEW:
        return ""
    return (
        f"With {fewest} items or annotators a t has {fewest - 1} degree{'s' if fewest > 2 else ''} of freedom: "
        "intervals are wide, and may reach beyond what a difference can be."
    )


def pair_grids(table: StudyTable) -> list[Grid]:
    """Who was preferred to whom: a row a system, a column the other one; only where there are more than two."""
    grids = []
    for criterion in dict.fromkeys(cell.criterion for cell in table.pairs):
        cells = {(cell.system, cell.other): cell for cell in table.pairs if cell.criterion == criterion}
        systems = list(dict.fromkeys(system for system, _ in cells))
        if len(systems) < 3:
            continue
        rows = []
        for system in systems:
            texts = [
                UNITS["pair"].interval(cell.value, cell.low, cell.high) + f" ({cell.answers})"
                if (cell := cells.get((system, other)))
                else NO_FIGURE
                for other in systems
            ]
            rows.append((system, *texts))
        ties = sum(cell.ties for cell in cells.values()) // 2
        answers = sum(cell.answers for cell in cells.values()) // 2
        grids.append(
            Grid(
                f"{criterion}: % of answers in which the row was preferred to the column, ties half",
                ("preferred", *systems),
                tuple(rows),
                (f"With {CONFIDENCE} intervals, and the number of answers. {ties} of {answers} answers are ties.",),
            )
        )
    return grids


def figure_grids(table: StudyTable, base: str | None) -> list[Grid]:
    """The figures of all systems and how they compare: what is told of part of the answers, too."""
    return [*interval_grids(table), *difference_grids(table, base), *pair_grids(table)]


def agreement_grid(table: StudyTable) -> Grid:
    """Whether annotators agree, a row a criterion."""
    rows = tuple(
        (
            one.criterion,
            NO_FIGURE if one.alpha is None else fixed(one.alpha, 2),
            f"{max((cell.answers for cell in one.cells), default=0):,}",
            one.question + (" (reversed)" if one.reversed else ""),
        )
        for one in table.criteria
    )
    note = (
        "Krippendorff's alpha: 1 where all agree, 0 where they agree as by chance; nominal for marks and preferences, "
        "ordinal for ratings. Answers: of the system that has the most."
    )
    return Grid("Do annotators agree", ("criterion", "alpha", "answers", "what was asked"), rows, (note,))


def annotator_grid(report: StudyReport) -> Grid:
    """Everybody who answered, flagged ones first."""
    ordered = sorted(report.annotators, key=lambda one: (not one.flags, one.annotator))
    rows = tuple(
        (
            one.annotator + (" (simulated)" if one.simulated else ""),
            f"{one.items}",
            f"{one.failed} of {one.checks}",
            NO_FIGURE if one.seconds is None else fixed(one.seconds, 1),
            f"{one.focus_lost}",
            NO_FIGURE if one.kappa is None else fixed(one.kappa, 2),
            "; ".join(one.flags) or "none",
        )
        for one in ordered
    )
    header = ("annotator", "items", "checks failed", "seconds an item", "focus lost", "kappa", "flags")
    note = "Seconds: the median. Kappa: agreement with the others on the same responses, 0 as by chance."
    return Grid("Annotators", header, rows, (note,))


def judge_grid(judge: Judge) -> Grid:
    """How far a judge agrees with people, a row a criterion."""
    columns = ("kappa", "people_kappa", "alpha_with", "alpha_people", "correlation", "rank_correlation")
    rows = tuple(
        (
            one.criterion,
            *(NO_FIGURE if (value := getattr(one, name)) is None else fixed(value, 2) for name in columns),
            f"{one.systems}",
        )
        for one in judge.agreement
    )
    header = (
        "criterion", "kappa with people", "people's own", "alpha with the judge", "without", "correlation of means",
        "of ranks", "systems",
    )  # fmt: skip
    note = (
        "Kappa with people beside what people reach among themselves; alpha of people with the judge as one more "
        "annotator and without; Pearson's and Spearman's correlation of the systems' means, of three systems at least."
    )
    return Grid(f"Does {judge.name} agree with people", header, rows, (note,))


def facts(report: StudyReport) -> list[tuple[str, str]]:
    """The size of a study in a few words."""
    times = report.times
    told = [
        ("items answered", f"{report.answered_items:,} of {report.items:,}"),
        ("answers", f"{report.people.answers:,}"),
        ("annotators", f"{report.people.annotators:,}"),
        ("flagged", f"{len(report.flagged):,}"),
        ("attention checks failed", f"{report.failed_checks:,} of {report.checks:,}"),
        ("reasons in words", f"{report.reasons:,}"),
    ]
    if times is not None:
        told.append(("seconds an item (quartiles)", f"{times.median_s:.0f} ({times.low_s:.0f} to {times.high_s:.0f})"))
        told.append(("minutes an annotator", f"{times.annotator_minutes:.0f}"))
        told.append(("times the page lost the focus", f"{times.focus_lost:,}"))
    return told


def _difference(one: SystemComparisons, unit: Unit, marks: bool) -> tuple[str, ...]:
    fitted = one.mixed
    low, high = one.bootstrap
    texts = [
        one.criterion,
        one.system,
        unit.difference_text(one.difference.value, one.difference.low, one.difference.high),
        p_text(one.difference.p),
        p_text(one.p_holm) + stars(one.p_holm),
        NO_FIGURE if fitted is None else unit.difference_text(fitted.value, fitted.low, fitted.high),
        NO_FIGURE if low is None else unit.difference_text(one.difference.value, low, high).partition(" ")[2],
    ]
    if marks:
        found = one.marks
        texts.append(NO_FIGURE if found is None else f"{found.only_first} / {found.only_other}, p {p_text(found.p)}")
    return tuple(texts)


def _by_kind(table: StudyTable) -> list[tuple[Kind, list[CriterionTable]]]:
    kinds = dict.fromkeys(one.kind for one in table.criteria)
    return [(kind, [one for one in table.criteria if one.kind == kind]) for kind in kinds]


def _systems(criteria: list[CriterionTable]) -> list[str]:
    return [cell.system for cell in criteria[0].cells]


def _reversed(criteria: list[CriterionTable]) -> list[str]:
    """What of these is told the other way round than it was asked."""
    names = [one.criterion for one in criteria if one.reversed]
    how = "100 - % marked" if criteria[0].kind == "select" else "mirrored on their scale"
    scales = sorted({f"{one.scale[0]} to {one.scale[1]}" for one in criteria}) if not criteria[0].is_share else []
    return [
        f"Reversed ({how}), so that more is better: {', '.join(names)}." if names else "",
        f"Scale: {', '.join(scales)}." if scales else "",
    ]


def _mark(table: StudyTable, criterion: str, system: str) -> str:
    found = table.difference(criterion, system)
    return "" if found is None else stars(found.p_holm)


def _grid(title: str, criteria: Iterable[CriterionTable], rows: list[tuple[str, ...]], notes: list[str]) -> Grid:
    return Grid(title, ("system", *(one.criterion for one in criteria)), tuple(rows), tuple(filter(None, notes)))
