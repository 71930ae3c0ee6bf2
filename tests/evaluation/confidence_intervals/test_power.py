import numpy as np
from scipy.stats import norm

from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, ratio, resample, sessions_to_tell
from apportion.evaluation.settings import EvaluationSettings

SETTINGS = EvaluationSettings(bootstrap=4000)


def difference(values: np.ndarray) -> BootstrapResult:
    return resample(np.stack([values, np.ones_like(values)], axis=-1)[None], ratio, SETTINGS)


def test_agrees_with_the_textbook_number_for_a_mean():
    values = np.random.default_rng(0).normal(0.3, 1.0, 50)
    expected = ((norm.ppf(0.975) + norm.ppf(0.8)) * values.std() / values.mean()) ** 2
    found = sessions_to_tell(difference(values), SETTINGS)
    assert found is not None and abs(found / expected - 1) < 0.08


def test_no_difference_needs_no_number():
    assert sessions_to_tell(difference(np.zeros(5)), SETTINGS) is None
    assert sessions_to_tell(difference(np.array([1.0, -1.0, 1e-6])), SETTINGS) is None
