import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from apportion.evaluation.human_agreement.holm import holm


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(max_examples=25)  # statsmodels takes longer than all else here
def test_holm_equals_statsmodels(p_values):
    assert np.allclose(holm(p_values), multipletests(p_values, method="holm")[1], rtol=0, atol=1e-14)


def test_a_test_that_was_not_made_costs_the_others_nothing():
    adjusted = holm([[0.01, np.nan], [0.04, 0.03]])
    assert np.isnan(adjusted[0, 1])
    assert adjusted[np.isfinite(adjusted)].tolist() == holm([0.01, 0.04, 0.03]).tolist()
