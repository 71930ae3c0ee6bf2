"""The figures of one group of annotators: a table a criterion, differences to the base, pairs."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from apportion.evaluation.human_agreement.answers import Answers
from apportion.evaluation.human_agreement.comparison import SystemComparisons, compare_to
from apportion.evaluation.human_agreement.proportions import SplitMean, over_splits, share_interval
from apportion.evaluation.human_agreement.reliability import Level, krippendorff_alpha
from apportion.evaluation.human_agreement.two_way_anova import mean_of_answers
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.resampling import Sampling
from apportion.study.design.criteria import Kind
from apportion.study.report.results import SPLITS, Cell, CriterionTable, PairCell, StudyTable
from apportion.study.report.tables import CriterionAnswers, Unblinded

MARKS: dict[Kind, tuple[float, ...]] = {"select": (0.0, 1.0), "pair": (0.0, 0.5, 1.0)}
"""What a single answer may be where McNemar's test can be made of it: marked or not; preferred, or a tie."""
LEVELS: dict[Kind, Level] = {"select": "nominal", "pair": "nominal", "rating": "ordinal", "turns": "ordinal"}
"""Of Krippendorff's alpha, by kind of criterion."""


def study_table(answers: Unblinded, base: str | None, sampling: Sampling, *, mixed: bool) -> StudyTable:
    """All figures of the annotators whose answers these are.

    ``base``: the policy that others are compared to; None: no comparison. ``sampling``: of bootstraps; its confidence
    is that of all intervals. ``mixed``: whether mixed models are fitted, too.
    """
    compared, uncompared = _compared(answers, base, sampling, mixed)
    criteria = tuple(_criterion(one, sampling.confidence) for one in answers.criteria.values())
    pairs = tuple(
        cell
        for one in answers.criteria.values()
        if one.criterion.kind == "pair"
        for cell in _pairs(one, sampling.confidence)
    )
    people = len({row.annotator for row in answers.rows})
    return StudyTable(people, len(answers.rows), criteria, compared, uncompared, pairs)


def alpha_of(one: CriterionAnswers, judged: Answers | None = None) -> float | None:
    """Krippendorff's alpha of a criterion on the level of its scale, of all who judged it or of ``judged``."""
    return krippendorff_alpha((judged or one.judged).by_unit(), LEVELS[one.criterion.kind])


def _criterion(one: CriterionAnswers, confidence: float) -> CriterionTable:
    criterion = one.criterion
    cells = tuple(_cell(one, system, confidence) for system in one.answers.systems)
    return CriterionTable(
        criterion.name,
        criterion.question,
        criterion.kind,
        criterion.reversed,
        criterion.scale,
        cells,
        alpha_of(one),
    )


def _cell(one: CriterionAnswers, system: str, confidence: float) -> Cell:
    answers = one.answers
    values = answers.values[:, answers.place(system)]
    known = np.isfinite(values)
    count, items = int(known.sum()), len(np.unique(answers.items[known]))
    value, low, high = _interval(one.criterion.kind, values, answers, confidence)
    return Cell(system, value, low, high, count, items, _splits(values, answers, items))


def _interval(
    kind: Kind, values: Floats, answers: Answers, confidence: float
) -> tuple[float | None, float | None, float | None]:
    if kind in ("select", "pair"):
        return share_interval(values, answers.items, answers.annotators, confidence) or (None, None, None)
    mean = mean_of_answers(values, answers.items, answers.annotators, confidence)
    return (None, None, None) if mean is None else (mean.value, mean.low, mean.high)


def _splits(values: Floats, answers: Answers, items: int) -> SplitMean | None:
    return over_splits(values, answers.items, SPLITS) if items >= SPLITS else None


def _compared(
    answers: Unblinded, base: str | None, sampling: Sampling, mixed: bool
) -> tuple[tuple[SystemComparisons, ...], tuple[tuple[str, str], ...]]:
    """Differences to the base, and the cells that nothing compares to it."""
    if base is None:
        return (), ()
    comparable, left = {}, []
    for name, one in answers.criteria.items():
        if base not in one.answers.systems:
            continue
        met = [system for system in one.answers.systems if system != base and _meets(one, system, base)]
        left += [(name, system) for system in one.answers.systems if system not in (base, *met)]
        if met:
            comparable[name] = one.answers.of_systems([base, *met])
    apart = {name for name, one in answers.criteria.items() if one.apart}
    marks = {name for name in comparable if _is_marked(answers.criteria[name])}
    return compare_to(base, comparable, sampling, mixed=mixed, marks=marks, apart=apart), tuple(left)


def _is_marked(one: CriterionAnswers) -> bool:
    """Whether its answers are marks; a judge's mean of two answers that differ is none."""
    known = one.answers.values[np.isfinite(one.answers.values)]
    return bool(np.isin(known, MARKS.get(one.criterion.kind, ())).all())


def _meets(one: CriterionAnswers, system: str, base: str) -> bool:
    """Whether answers judge both, together or (where items show one policy alone) at all."""
    known = [np.isfinite(one.answers.values[:, one.answers.place(name)]) for name in (system, base)]
    return bool(known[0].any() and known[1].any()) if one.apart else bool((known[0] & known[1]).any())


def _pairs(one: CriterionAnswers, confidence: float) -> list[PairCell]:
    """Every system beside every other that it was shown with."""
    answers, cells = one.answers, []
    for system, other in permutations(answers.systems, 2):
        both = np.isfinite(answers.values[:, [answers.place(system), answers.place(other)]]).all(axis=1)
        values = answers.values[both, answers.place(system)]
        found = share_interval(values, answers.items[both], answers.annotators[both], confidence)
        if found is not None:
            ties = int((values == 0.5).sum())
            cells.append(PairCell(one.criterion.name, system, other, *found, int(both.sum()), ties))
    return cells
