"""The figures of one group of annotators: a table a criterion, differences to the base, pairs."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from apportion.evaluation.human_agreement.answers import Answers
from apportion.evaluation.human_agreement.comparison import SystemComparisons, compare_to
from apportion.evaluation.human_agreement.proportions import SplitMean, over_splits, share_interval
from apportion.evaluation.human_agreement.reliability import Level, kappas_with_others, krippendorff_alpha
from apportion.evaluation.human_agreement.two_way_anova import mean_of_answers
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.resampling import Sampling
from apportion.study.design.criteria import Kind
from apportion.study.report.results import SPLITS, Cell, CriterionTable, JudgeAgreement, PairCell, StudyTable
from apportion.study.report.tables import CriterionAnswers, Unblinded
from apportion.study.rows import AGAIN, PREFIX

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


JUDGE = -1
"""The judge's number among annotators, who are counted from 0."""
LEAST_SYSTEMS = 3
"""A correlation of two systems' means is 1 or -1 whatever they are."""


def judge_of(annotator: str) -> str:
    """The judge whose answers stand under an id.

    >>> judge_of("judge:a-model#2")
    'a-model'
    """
    return annotator.removeprefix(PREFIX).partition(AGAIN)[0]


def as_one_voice(answers: Unblinded) -> Unblinded:
    """A judge's several answers to an item as their mean, and each item as if somebody else had answered it.

    Intervals are over items then: a judge is asked again as often as one likes and does not become several people.
    """
    criteria = {
        name: CriterionAnswers(one.criterion, _averaged(one.answers), _averaged(one.judged))
        for name, one in answers.criteria.items()
    }
    return Unblinded(criteria, answers.annotators, answers.rows)


def agreement_with_people(judge: Unblinded, people: Unblinded) -> tuple[JudgeAgreement, ...]:
    """How far a judge (`as_one_voice`) agrees with people, criterion by criterion.

    Where the judge's own answers to a response differ, their mean stands for it, and agrees with nobody wholly.
    """
    return tuple(_agreement(name, one, people.criteria[name]) for name, one in judge.criteria.items())


def _agreement(name: str, judge: CriterionAnswers, people: CriterionAnswers) -> JudgeAgreement:
    both = _with_judge(judge.judged, people.judged)
    among = [found for found in kappas_with_others({name: people.judged}).values() if found is not None]
    means = np.stack([_means(one.answers) for one in (judge, people)])
    known = np.isfinite(means).all(axis=0)
    pearson, spearman = _correlations(*means[:, known])
    return JudgeAgreement(
        name,
        kappas_with_others({name: both}).get(JUDGE),
        float(np.mean(among)) if among else None,
        alpha_of(people, both),
        alpha_of(people),
        pearson,
        spearman,
        int(known.sum()),
    )


def _averaged(answers: Answers) -> Answers:
    items = np.unique(answers.items)
    values = np.full((len(items), len(answers.systems)), np.nan)
    for place, item in enumerate(items):
        own = answers.values[answers.items == item]
        known = np.isfinite(own)
        values[place] = np.where(known.any(axis=0), np.nansum(own, axis=0) / np.maximum(known.sum(axis=0), 1), np.nan)
    return Answers(answers.systems, items, items.copy(), values)


def _with_judge(judge: Answers, people: Answers) -> Answers:
    """People's answers, and those of the judge as one more annotator."""
    return Answers(
        people.systems,
        np.concatenate([judge.items, people.items]),
        np.concatenate([np.full(len(judge.items), JUDGE), people.annotators]),
        np.concatenate([judge.values, people.values]),
    )


def _means(answers: Answers) -> Floats:
    """Each system's mean [shape=(K,)]; NaN without an answer."""
    known = np.isfinite(answers.values)
    counts = known.sum(axis=0)
    means: Floats = np.where(counts, np.nansum(answers.values, axis=0) / np.maximum(counts, 1), np.nan)
    return means


def _correlations(one: Floats, other: Floats) -> tuple[float | None, float | None]:
    from scipy.stats import pearsonr, spearmanr

    if len(one) < LEAST_SYSTEMS or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None, None
    return float(pearsonr(one, other).statistic), float(spearmanr(one, other).statistic)
