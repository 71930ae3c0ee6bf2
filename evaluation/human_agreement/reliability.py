"""Do annotators agree beyond chance: Krippendorff's alpha of all, Cohen's kappa of one with the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from apportion.evaluation.human_agreement.answers import Answers
from apportion.foundation.arrays import Floats

Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: Floats, level: Level = "nominal") -> float | None:
    """Krippendorff's alpha: 1 where all agree, 0 where they agree as by chance.

    ``ratings`` float64 [shape=(U, A)]: U units (an item's response, say) by A annotators; NaN where an annotator said
    nothing. ``level``: ``nominal`` (also for yes and no), ``ordinal`` or ``interval``. None where no unit has two
    ratings or all of them are the same value, so that there is nothing that could differ.

    >>> round(krippendorff_alpha(np.array([[1, 1], [0, 0], [1, 0], [1, np.nan]])), 4)
    0.4444
    """
    from krippendorff import alpha

    known = np.isfinite(ratings)
    paired = np.where(known & (known.sum(axis=1, keepdims=True) > 1), ratings, np.nan)
    if len(np.unique(paired[np.isfinite(paired)])) < 2:
        return None
    return float(alpha(reliability_data=paired.T, level_of_measurement=level))


def kappa(one: Floats, other: Floats) -> float | None:
    """Cohen's kappa of two judges, with quadratic weights where values are ratings (1960, 1968).

    ``one``, ``other`` float64 [shape=(N,)]: values of the same responses; pairs with NaN count nowhere. A value that is
    always given agrees as by chance: 0. None without a pair, or where both say one value always.

    >>> kappa(np.array([1.0, 0, 1, 0]), np.array([1.0, 0, 0, 0]))
    0.5
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    both = np.isfinite(one) & np.isfinite(other)
    values, codes = np.unique(np.stack([one[both], other[both]]), return_inverse=True)
    if len(values) < 2:
        return None
    table = np.zeros((len(values), len(values)))
    np.add.at(table, tuple(codes.reshape(2, -1)), 1)
    return float(cohens_kappa(table, weights=values, wt="quadratic", return_results=False))


def kappas_with_others(criteria: Mapping[str, Answers]) -> dict[int, float | None]:
    """Every annotator's kappa with all others who judged the same responses.

    A mean over criteria, each weighing by its pairs. None: nobody else judged what this one judged, or there was
    nothing to disagree about.

    ``criteria``: the annotators' numbers mean the same in all of them.
    """
    sums: dict[int, list[float]] = {}
    for answers in criteria.values():
        for annotator, own, others in _paired(answers):
            total = sums.setdefault(annotator, [0.0, 0.0])
            found = kappa(own, others)
            if found is not None:
                total[0] += found * len(own)
                total[1] += len(own)
    return {annotator: total / pairs if pairs else None for annotator, (total, pairs) in sorted(sums.items())}


def _paired(answers: Answers) -> Iterator[tuple[int, Floats, Floats]]:
    """Each annotator with the values given and the others' of the same responses, a pair an entry."""
    people = np.unique(answers.annotators)
    units = answers.by_unit()
    for column, annotator in enumerate(people):
        own = units[:, column]
        judged = np.isfinite(own)
        others = np.delete(units[judged], column, axis=1)
        there = np.isfinite(others)
        yield int(annotator), np.repeat(own[judged], there.sum(axis=1)), others[there]
