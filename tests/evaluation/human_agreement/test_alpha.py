import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from apportion.evaluation.human_agreement.alpha import krippendorff_alpha

KNOWN = arrays(
    np.float64, st.tuples(st.integers(2, 12), st.integers(2, 5)), elements=st.sampled_from([0, 1, 2, 4, np.nan])
)


@given(KNOWN, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_equals_the_package_of_that_name(ratings, level):
    ours = krippendorff_alpha(ratings, level)
    paired = np.isfinite(ratings) & (np.isfinite(ratings).sum(axis=1, keepdims=True) > 1)
    if len(np.unique(ratings[paired])) < 2:
        assert ours is None
        return
    kept = np.where(paired, ratings, np.nan)
    theirs = krippendorff.alpha(reliability_data=kept.T, level_of_measurement=level)
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_annotators_who_agree_and_who_disagree():
    same = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    assert krippendorff_alpha(same) == 1.0
    assert krippendorff_alpha(np.array([[1.0, 0.0], [0.0, 1.0]])) == pytest.approx(-0.5)


@pytest.mark.parametrize("ratings", [np.ones((4, 3)), np.array([[1.0, np.nan], [np.nan, 0.0]]), np.zeros((0, 2))])
def test_nothing_that_could_differ_has_no_alpha(ratings):
    assert krippendorff_alpha(ratings) is None
