"""Algorithm 1's last step: the values of one dialogue from 0 to 10 (SAVOIR, section 3.4)."""

from __future__ import annotations

import numpy as np

from apportion.foundation.arrays import Floats

HIGHEST, MIDDLE = 10.0, 5.0
SAME = 1e-9
"""Values that differ by less than this part of their size differ by rounding only."""


def min_max(values: Floats) -> Floats:
    """``values`` [shape=(n,)] with the lowest as 0 and the highest as 10; all 5 where they are equal.

    Equal values leave the paper's step undefined (0 / 0). Sign and size are lost: a dialogue in which every act did
    harm looks like one in which every act helped.

    >>> min_max(np.array([0.4, 0.8, 1.5, 0.3])).round(2).tolist()
    [0.83, 4.17, 10.0, 0.0]
    """
    if are_equal(values):
        return np.full(values.shape, MIDDLE)
    return np.asarray(HIGHEST * ((values - values.min()) / np.ptp(values)))


def are_equal(values: Floats) -> bool:
    """Whether ``values`` [shape=(n,)] differ by no more than rounding; so does a single one, and none."""
    return not values.size or float(np.ptp(values)) <= SAME * max(1.0, float(np.max(np.abs(values))))
