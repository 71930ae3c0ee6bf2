"""Values of one dialogue on the scale that all sources share, and how far two sources say the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apportion.decompose.ensembling.component import Component
from apportion.foundation.arrays import Floats

ALIKE = 1e-9
"""Values of one dialogue whose spread is below this share of their size are alike: the rest is rounding."""
APART = 0.05
"""How far two sources are taken to differ at least, so that near copies share their weight instead of fighting."""


def standardised(values: Floats) -> Floats:
    """Distances from the mean of what is known, in its standard deviations; 0 where nothing differs or is known."""
    known = values[np.isfinite(values)]
    if not known.size or known.std() <= ALIKE * max(1.0, float(np.abs(known).max())):
        return np.zeros(len(values))
    distances: Floats = np.where(np.isfinite(values), (values - known.mean()) / known.std(), 0.0)
    return distances


def agreement(sources: Sequence[Component]) -> Floats:
    """C [shape=(K, K)]: the correlation of two sources' standardised values over the dialogues that both know.

    Neither scores nor labels are looked at. 0 where no dialogue is known to both; off the diagonal it is taken a little
    nearer to 0 than it is, and the whole to the nearest matrix that correlations can have.
    """
    found = np.eye(len(sources))
    shown = [{key: standardised(of) for key, of in source.values.items()} for source in sources]
    for i, one in enumerate(shown):
        for j, other in enumerate(shown[:i]):
            both = [key for key in one if key in other and one[key].any() and other[key].any()]
            if both:
                mine, theirs = (np.concatenate([of[key] for key in both]) for of in (one, other))
                found[i, j] = found[j, i] = (1 - APART) * (mine @ theirs) / np.sqrt((mine @ mine) * (theirs @ theirs))
    values, vectors = np.linalg.eigh(found)
    nearest: Floats = (vectors * np.maximum(values, APART)) @ vectors.T
    return nearest if values.min() < APART else found
