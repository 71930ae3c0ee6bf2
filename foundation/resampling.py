"""Resamples of a bootstrap: how often each unit is drawn, the same for everything that is compared."""

from __future__ import annotations

import numpy as np

from foundation.arrays import Floats


def drawn_counts(units: int, resamples: int, seed: int) -> Floats:
    """How often each of U units is drawn, with replacement, in each of B resamples.

    Returns
    -------
    float64 [shape=(B, U)]
        Rows sum to U; read-only.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, units, size=(resamples, units))
    offsets = np.arange(resamples)[:, None] * units
    counts = np.bincount((drawn + offsets).ravel(), minlength=resamples * units)
    result = counts.reshape(resamples, units).astype(np.float64)
    result.flags.writeable = False
    return result
