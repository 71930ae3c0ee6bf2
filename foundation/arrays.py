"""Types of arrays that signatures name; shapes stand in the docstrings. And what a missing number counts as."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ROWS_AT_ONCE = 1 << 13
"""Rows of a table of turns that are computed on together, so that memory does not grow with a corpus."""
Null = Literal["zero", "mean"]
"""What a number that is not there counts as: zero, or the mean of those of its group that are."""


def added(total: Floats, block: Floats) -> Floats:
    """``total`` [shape=(F,)] and all rows of ``block`` [shape=(M, F)], which is changed, in this order.

    So block by block the sum has the bits that it has of all rows at once.
    """
    if not len(block):
        return total
    block[0] += total
    found: Floats = block.sum(axis=0)
    return found


def mean_and_variance(blocks: Callable[[], Iterable[Floats]], rows: int) -> tuple[Floats, Floats]:
    """Of each column of a table [shape=(rows, F)] that comes a block at a time, with the bits that numpy's have."""
    total, squares = np.zeros(1), np.zeros(1)
    for block in blocks():
        total = added(total, block)
    mean = total / rows
    for block in blocks():
        squares = added(squares, np.square(block - mean))
    return mean, squares / rows


def filled(values: Floats, group: NDArray[np.int64], null: Null) -> Floats:
    """``values`` [shape=(N,)] with each NaN replaced, and 0 where its whole ``group`` [shape=(N,)] is missing.

    >>> filled(np.array([4.0, 4.5, np.nan, np.nan]), np.array([0, 0, 0, 1]), "mean").tolist()
    [4.0, 4.5, 4.25, 0.0]
    """
    missing = np.isnan(values)
    zeros: Floats = np.where(missing, 0.0, values)
    if null == "zero" or not missing.any():
        return zeros
    means = np.bincount(group, weights=zeros) / np.maximum(np.bincount(group, weights=~missing), 1.0)
    return np.where(missing, means[group], zeros)
