from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.decompose.projection import are_equal, min_max


def test_appendix_b_s_worked_figures() -> None:
    raw = np.array([0.4, 0.8, 1.5, 0.3])
    assert raw.sum() == pytest.approx(8.0 - 5.0)
    assert min_max(raw).round(2).tolist() == [0.83, 4.17, 10.0, 0.0]


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8))
def test_it_keeps_the_order_within_0_and_10(values: list[float]) -> None:
    raw = np.array(values)
    scaled = min_max(raw)
    if are_equal(raw):
        assert set(scaled) == {5.0}
    else:
        assert (scaled.min(), scaled.max()) == (0.0, 10.0)
        assert (np.diff(scaled[np.argsort(raw)]) >= 0).all()


@pytest.mark.parametrize("values", [[], [3.0], [0.1, 0.1 + 1e-17], [-2.0, -2.0]])
def test_equal_values_are_all_5(values: list[float]) -> None:
    assert are_equal(np.array(values)) and min_max(np.array(values)).tolist() == [5.0] * len(values)
