"""All systems on all criteria against a base, corrected for how many comparisons that makes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from apportion.evaluation.holm import holm
from apportion.evaluation.human_agreement.answers import Answers
from apportion.evaluation.human_agreement.mixed_model import MixedMean, mixed_mean
from apportion.evaluation.human_agreement.paired import McNemar, item_bootstrap, mcnemar, unpaired_bootstrap
from apportion.evaluation.human_agreement.two_way_anova import MeanOfAnswers, difference_of_means, mean_of_answers
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.resampling import Sampling


@dataclass(frozen=True)
class SystemComparisons:
    """One system less the base on one criterion.

    ``p_holm`` is corrected over all comparisons of the table; ``bootstrap`` draws items alone; ``marks`` is None where
    answers are no marks; ``mixed`` where it was not asked for, or cannot be had.
    """

    criterion: str
    system: str
    difference: MeanOfAnswers
    p_holm: float | None
    bootstrap: tuple[float, float] | tuple[None, None]
    marks: McNemar | None
    mixed: MixedMean | None = None


def compare_to(
    base: str,
    criteria: Mapping[str, Answers],
    sampling: Sampling | None = None,
    *,
    mixed: bool = False,
    marks: Collection[str] = (),
    apart: Collection[str] = (),
) -> tuple[SystemComparisons, ...]:
    """Every other system less ``base`` on every criterion, in the answers that judge both.

    - ``sampling``: of the bootstrap beside; its confidence is that of all intervals.
    - ``mixed``: whether to fit a mixed model of each difference beside, which takes longer than all else together.
    - ``marks``: criteria whose answers are yes and no (1 and 0), or a preference, of which a tie is a half; McNemar's
      test is of those. It cannot be told from the values: ratings may all be 0 or 1, too.
    - ``apart``: criteria whose answers judge one system each (items are what is comparable of them): the systems' means
      are over all of their own answers, without McNemar's test and mixed model.

    Raises InputError: a criterion without the base, or without any answer that judges the base and a system (in
    ``apart``: either).
    """
    how = sampling or Sampling()
    found = []
    for criterion, answers in criteria.items():
        for system in answers.systems:
            if system == base:
                continue
            compared = (
                _compared_apart(criterion, system, base, answers, how)
                if criterion in apart
                else _compared(criterion, system, base, answers, how, mixed, criterion in marks)
            )
            if compared is None:
                raise InputError(
                    f"criterion {criterion!r}: no answer judges both {system!r} and the base {base!r}. Leave the "
                    "system out, or name another base."
                )
            found.append(compared)
    corrected = holm(np.array([np.nan if one.difference.p is None else one.difference.p for one in found]))
    return tuple(
        replace(one, p_holm=float(p) if np.isfinite(p) else None) for one, p in zip(found, corrected, strict=True)
    )


def _compared(
    criterion: str, system: str, base: str, answers: Answers, how: Sampling, mixed: bool, are_marks: bool
) -> SystemComparisons | None:
    values, of_base = (answers.values[:, answers.place(name)] for name in (system, base))
    data = (values - of_base, answers.items, answers.annotators, how.confidence)
    difference = mean_of_answers(*data)
    if difference is None:
        return None
    marks = mcnemar(values, of_base) if are_marks else None
    bootstrap = item_bootstrap(values - of_base, answers.items, how)
    return SystemComparisons(
        criterion, system, difference, None, bootstrap, marks, mixed_mean(*data) if mixed else None
    )


def _compared_apart(
    criterion: str, system: str, base: str, answers: Answers, how: Sampling
) -> SystemComparisons | None:
    values, of_base = (answers.values[:, answers.place(name)] for name in (system, base))
    difference = difference_of_means(values, of_base, answers.items, answers.annotators, how.confidence)
    if difference is None:
        return None
    bootstrap = unpaired_bootstrap(values, of_base, answers.items, how)
    return SystemComparisons(criterion, system, difference, None, bootstrap, None)
