import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from apportion.corpus.checks.scores import score_variance_warning
from apportion.corpus.power import sessions_needed, smallest_gain, too_few_sessions_warning
from apportion.corpus.splits.settings import SPLITS, SplitSettings
from apportion.corpus.splits.splits import counts_if_enough


@pytest.mark.parametrize("gain", [0.1, 0.3])
def test_the_number_of_sessions_gives_the_power_it_promises(gain):
    """Simulation: the share of paired t-tests that find the gain is 80 %, within its sampling error."""
    rng = np.random.default_rng(0)
    n, trials = sessions_needed(gain), 3000
    predicted = rng.normal(0, np.sqrt(gain), (trials, n))
    error = rng.normal(0, np.sqrt(1 - gain), (trials, n))
    difference = (predicted + error) ** 2 - error**2
    found = stats.ttest_1samp(difference, 0, axis=1).pvalue < 0.05
    assert 0.76 < found.mean() < 0.84


def test_known_number_and_its_inverse():
    assert sessions_needed(0.1) == 299
    assert smallest_gain(299) == pytest.approx(0.1, abs=5e-4)


@pytest.mark.parametrize("gain", [0.0, -0.1, 1.5])
def test_gain_must_be_a_share(gain):
    with pytest.raises(ValueError, match="above 0 and up to 1"):
        sessions_needed(gain)


def test_warnings_say_the_number_that_would_do():
    assert "all 3 scores are 4" in score_variance_warning([4.0, 4.0, 4.0])
    assert "the only score is 4" in score_variance_warning([4.0])
    assert score_variance_warning([4.0, 3.0]) is None and score_variance_warning([]) is None
    warning = too_few_sessions_warning(1000, SplitSettings())
    assert "1000 rated sessions give 200 test sessions" in warning
    assert "299 test sessions (1,495 in all)" in warning and "15% below the Mean's" in warning
    assert "1 rated session gives 0 test sessions" in too_few_sessions_warning(1, SplitSettings())
    assert "no difference is likely" in too_few_sessions_warning(4, SplitSettings())
    assert too_few_sessions_warning(1600, SplitSettings()) is None
    assert too_few_sessions_warning(2, SplitSettings(train=0.9, test=0.0, policy=0.0)) is None


@given(st.integers(1, 2000), st.sampled_from([(0.6, 0.1, 0.2, 0.1), (0.8, 0.0, 0.2, 0.0), (0.5, 0.1, 0.33, 0.07)]))
def test_the_number_of_test_sessions_is_that_of_the_split(sessions, shares):
    settings = SplitSettings(**dict(zip(SPLITS, shares, strict=True)))
    warning = too_few_sessions_warning(sessions, settings)
    sizes = counts_if_enough(sessions, settings)
    if warning:
        assert re.search(r"gives? (\d+) test", warning)[1] == str(sizes["test"] if sizes else 0)
    else:
        assert sizes["test"] >= sessions_needed()
