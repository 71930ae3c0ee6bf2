"""Holm's correction for how many tests there are."""

from __future__ import annotations

import numpy as np

from apportion.foundation.arrays import Floats


def holm(p: Floats) -> Floats:
    """p-values corrected by Holm (1979) [any shape]: what is below alpha stands though all were made; NaN is no test.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    made = np.isfinite(p)
    order = np.argsort(p[made], kind="stable")
    stepped = np.maximum.accumulate(p[made][order] * np.arange(len(order), 0, -1))
    corrected = np.full(p.shape, np.nan)
    corrected[made] = np.minimum(stepped, 1.0)[np.argsort(order)]
    return corrected
