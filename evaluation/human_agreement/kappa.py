"""Cohen's kappa: how far one annotator, or a machine, agrees with the others beyond chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from apportion.evaluation.human_agreement.answers import Answers
from apportion.foundation.arrays import Floats


def kappa(one: Floats, other: Floats) -> float | None:
    """1 less the squared distance of paired values over what it would be if each kept its values and their order not.

    Cohen (1960) where values are 0 and 1; Cohen (1968) with quadratic weights where they are ratings. A value that is
    always given agrees as by chance: 0.

    ``one``, ``other`` float64 [shape=(N,)]: two judges' values of the same responses; pairs with NaN count nowhere.
    None without a pair, or where both say one value always.

    >>> kappa(np.array([1.0, 0, 1, 0]), np.array([1.0, 0, 0, 0]))
    0.5
    """
    both = np.isfinite(one) & np.isfinite(other)
    if not both.any():
        return None
    one, other = one[both], other[both]
    expected = float(np.var(one) + np.var(other) + (one.mean() - other.mean()) ** 2)
    return None if expected == 0 else 1 - float(np.mean((one - other) ** 2)) / expected


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
