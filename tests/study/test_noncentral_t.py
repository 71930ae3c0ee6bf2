import numpy as np
import pytest
from scipy.stats import nct, t

from apportion.study.power import MANY, noncentral_t_above


@pytest.mark.parametrize("freedom", [1, 2, 5, 29, 128, 299, MANY, MANY + 1, 5_000, 50_000])
@pytest.mark.parametrize("level", [0.05, 0.05 / 8, 0.05 / 63])
def test_it_is_that_of_scipy_where_scipy_has_one(freedom, level):
    bound = t.isf(level / 2, freedom)
    shifts = np.linspace(0, 8, 17)
    expected = nct.sf(bound, freedom, shifts)
    assert np.isfinite(expected).all()
    found = [noncentral_t_above(bound, freedom, shift) for shift in shifts]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_without_a_shift_both_tails_are_students():
    for freedom in (1, 7, 400, 900):
        assert noncentral_t_above(2.5, freedom, 0.0) == pytest.approx(t.sf(2.5, freedom), rel=1e-9)


def test_the_tail_that_scipy_does_not_tell_is_next_to_nothing():
    bound = t.isf(0.05 / 63 / 2, 128)
    assert np.isnan(nct.cdf(-bound, 128, 5.5))  # Once scipy tells it, this file is needed no more.
    assert 0 <= noncentral_t_above(bound, 128, -5.5) < 1e-15
    assert noncentral_t_above(bound, 128, -20.0) == 0.0
