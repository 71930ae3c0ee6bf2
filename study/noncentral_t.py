"""How often a t statistic passes a bound where there is a true difference: the noncentral t distribution's tail."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from apportion.foundation.arrays import Floats

NODES = 400
"""Of the Gauss-Legendre quadrature."""
FAR = 9.0
"""Standard deviations beyond which a normal number counts for nothing (less than 1e-18)."""
MANY = 500
"""Degrees of freedom from which on the denominator, narrow by then, is integrated over, and not the numerator."""


def noncentral_t_above(bound: float, freedom: float, shift: float) -> float:
    """The probability that (Z + shift) / sqrt(V / freedom) > bound, Z normal and V chi-squared with ``freedom``.

    scipy's own (`scipy.stats.nct`) is not a number in its far tail at some values, such as that below -3.5 of 128
    degrees of freedom shifted by 5; it is what this is held to elsewhere.

    ``bound``: above 0. ``freedom``: above 0.

    >>> round(noncentral_t_above(2.0, 10, 0.0), 6)
    0.036694
    """
    from scipy.stats import chi, chi2, norm

    nodes, weights = _quadrature()
    if freedom > MANY:
        half = (FAR + 1) / math.sqrt(2 * freedom)
        scale = 1 + half * nodes  # Of sqrt(V / freedom), which is about 1.
        density = chi.pdf(scale * math.sqrt(freedom), freedom) * math.sqrt(freedom)
        return float(half * (weights * density) @ norm.cdf(shift - bound * scale))
    low = max(-FAR, -shift)
    if low >= FAR:
        return 0.0
    half = (FAR - low) / 2
    numerator = (FAR + low) / 2 + half * nodes
    below = chi2.cdf(freedom * ((numerator + shift) / bound) ** 2, freedom)
    return float(half * (weights * norm.pdf(numerator)) @ below)


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Places from -1 to 1, and what each weighs."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return nodes, weights
