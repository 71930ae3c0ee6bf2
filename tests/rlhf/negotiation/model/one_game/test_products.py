"""Vectors with matrices beside NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.rlhf.negotiation.model.loops.vectors import add, dot
from apportion.rlhf.negotiation.model.one_game.products import add_product, add_turned, descend, squared_length

sizes = st.integers(1, 40)


@given(rows=sizes, columns=sizes, steps=st.integers(0, 6), seed=st.integers(0, 99))
def test_they_are_numpys(rows: int, columns: int, steps: int, seed: int) -> None:
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    matrix, came, back = drawn(rows, columns), drawn(steps, rows), drawn(steps, columns)
    one, other = drawn(rows), drawn(columns)
    out, turned, added, moved = other.copy(), one.copy(), one.copy(), matrix.copy()
    add_product(one, matrix, out)
    add_turned(matrix, other, turned)
    add(one, np.float32(0.5), added)
    descend(moved, came, back, np.float32(0.1))
    gradient = came.T @ back
    close = {"rel": 1e-4, "abs": 1e-4}
    assert out == pytest.approx(other + one @ matrix, **close)
    assert turned == pytest.approx(one + matrix @ other, **close)
    assert added == pytest.approx(1.5 * one, **close)
    assert moved == pytest.approx(matrix - 0.1 * gradient, **close)
    assert dot(one, one) == pytest.approx(one @ one, **close)
    assert squared_length(came, back) == pytest.approx(float((gradient.astype(float) ** 2).sum()), rel=1e-3, abs=1e-3)


def test_what_is_not_finite_stays_so() -> None:
    rows = np.array([[1, np.nan]], dtype=np.float32)
    assert not np.isfinite(squared_length(rows, rows))
    rows = np.array([[1, np.inf]], dtype=np.float32)
    assert not np.isfinite(squared_length(rows, rows))
