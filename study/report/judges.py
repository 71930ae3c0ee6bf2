"""A judge that is no person: its answers as one voice, and how far it agrees with people."""

from __future__ import annotations

import numpy as np

from apportion.evaluation.human_agreement.answers import Answers
from apportion.evaluation.human_agreement.reliability import kappas_with_others
from apportion.foundation.arrays import Floats
from apportion.study.report.figures import alpha_of
from apportion.study.report.results import JudgeAgreement
from apportion.study.report.tables import CriterionAnswers, Unblinded
from apportion.study.rows import AGAIN, PREFIX

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
