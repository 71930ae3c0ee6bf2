"""Mean and spread of whatever numbers a corpus holds: no sum on the way is too large for a float."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, pstdev

DOWN = 512
"""Binary digits by which numbers are made smaller where a sum, or a sum of squares, would be beyond any float."""


def mean(values: Sequence[float]) -> float:
    """The mean (N,); not a number where the values hold one that is none, or both infinities.

    >>> mean([1e308, 1e308])
    1e+308
    """
    try:
        return fmean(values)
    except OverflowError:  # The sum is beyond any float, the mean is not.
        return math.ldexp(fmean([math.ldexp(value, -DOWN) for value in values]), DOWN)
    except ValueError:  # Both infinities.
        return math.nan


def spread(values: Sequence[float]) -> float:
    """The standard deviation (N,) of finite values, of the population.

    >>> spread([1.0, 5.0]), spread([-1e308, 1e308])
    (2.0, 1e+308)
    """
    try:
        return pstdev(values)
    except OverflowError:
        return math.ldexp(pstdev([math.ldexp(value, -DOWN) for value in values]), DOWN)


def total(values: Sequence[float]) -> float:
    """The sum (N,) of finite values; infinite where it is beyond any float."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf
