"""tanh and the logistic function beside NumPy's, in float64."""

import numpy as np
import pytest

from apportion.rlhf.negotiation.model.loops.curves import all_tanh, logistic, tanh


def test_they_are_those_of_numpy_everywhere() -> None:
    places = np.concatenate([np.linspace(-12, 12, 4001), [-1e30, -1e-7, 0, 1e-7, 1e30, np.inf, -np.inf]])
    given = places.astype(np.float32)
    bent, exact = given.copy(), given.astype(np.float64)
    all_tanh(bent)
    assert np.abs(bent - np.tanh(exact)).max() < 3e-7
    with np.errstate(over="ignore"):
        plain = 1 / (1 + np.exp(-exact))
    assert np.abs([logistic(one) for one in given] - plain).max() < 2e-7


def test_small_numbers_keep_their_digits_and_what_is_not_finite_stays_so() -> None:
    assert tanh(np.float32(1e-4)) == pytest.approx(np.tanh(1e-4), rel=3e-7)
    assert np.isnan(tanh(np.float32(np.nan))) and np.isnan(logistic(np.float32(np.nan)))
