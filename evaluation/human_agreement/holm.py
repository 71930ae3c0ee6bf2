"""Holm's correction: of many tests, one false one in how many."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from apportion.foundation.arrays import Floats


def holm(p_values: ArrayLike) -> Floats:
    """Adjusted p-values: rejecting those below a level errs in any of them with at most that probability.

    Holm (1979), "A simple sequentially rejective multiple test procedure"; whatever the tests have to do with each
    other. A test that could not be made (NaN) is no test and stays NaN.

    ``p_values`` float64 [any shape].

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given: Floats = np.asarray(p_values, np.float64)
    adjusted = np.full(given.size, np.nan)
    flat = given.ravel()
    made = np.flatnonzero(np.isfinite(flat))
    order = made[np.argsort(flat[made], kind="stable")]
    left = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(flat[order] * left))
    return adjusted.reshape(given.shape)
