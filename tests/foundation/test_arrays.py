"""Sums over blocks of rows."""

import numpy as np
import pytest

from apportion.foundation.arrays import added, mean_and_variance


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_the_sum_of_blocks_has_the_bits_of_the_whole(size):
    rows = np.random.default_rng(3).normal(size=(1000, 33)) * 10.0 ** np.arange(33)
    total = np.zeros(33)
    for start in range(0, len(rows), size):
        total = added(total, rows[start : start + size].copy())
    assert np.array_equal(total, rows.sum(axis=0))
    assert np.array_equal(added(total, np.zeros((0, 33))), total)
    mean, variance = mean_and_variance(lambda: (rows[at : at + size].copy() for at in range(0, 1000, size)), 1000)
    assert np.array_equal(mean, rows.mean(axis=0)) and np.array_equal(variance, rows.var(axis=0))
