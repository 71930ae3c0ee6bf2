import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.verbalization.zscore import Baseline, Measure, baselines


def test_mean_and_sample_deviation_unless_too_few_or_all_alike():
    found = baselines([{"f0_hz": Measure(v, 1.0)} for v in (100.0, 110.0, 120.0)], 3)
    assert found == {"f0_hz": Baseline(110.0, 10.0)}
    assert found["f0_hz"].distance(125.0) == 1.5
    assert baselines([{"smile": Measure(0.2, 1.0)}, {"smile": Measure(0.4, 1.0)}], 3) == {}
    assert baselines([{"smile": Measure(1 / 3, 1.0)}] * 5, 3) == {}
    assert baselines([{"smile": Measure(None, 0.0)}] * 5, 3) == {}
    assert baselines([], 2) == {}


@given(st.lists(st.integers(-100, 100), min_size=3, max_size=20))
def test_distances_of_the_utterances_have_mean_0(values):
    found = baselines([{"x": Measure(float(v), 1.0)} for v in values], 3)
    if len(set(values)) > 1:
        assert sum(found["x"].distance(v) for v in values) == pytest.approx(0.0, abs=1e-6)
    else:
        assert found == {}
