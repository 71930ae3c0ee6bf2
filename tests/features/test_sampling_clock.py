import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from apportion.features.sampling_clock import Clock, hold_s, interval
from apportion.features.settings import DescriptorSettings, FeatureSettings


def test_it_ticks_at_the_first_moment_of_each_interval():
    clock = Clock(5.0)
    assert [clock.ticks(time_s) for time_s in (0.0, 0.1, 0.19, 0.2, 0.39, 0.61, 0.79, 0.8)] == [
        True, False, False, True, False, True, False, True,
    ]  # fmt: skip
    assert interval(0.19999, 5.0) == 1
    assert interval(0.199, 5.0) == 0


@given(st.lists(st.floats(0, 100), max_size=30), st.floats(0.1, 60))
def test_to_ask_whether_it_is_due_changes_nothing(times_s: list[float], rate_hz: float):
    asked, plain = Clock(rate_hz), Clock(rate_hz)
    for time_s in times_s:
        due = asked.due(time_s)
        assert asked.due(time_s) == due == plain.ticks(time_s) == asked.ticks(time_s)
        assert not asked.due(time_s)


def test_a_sample_counts_for_no_gap():
    assert hold_s([], 5.0) == hold_s([1.0], 5.0) == 0.5
    assert hold_s([0.0, 0.5, 1.0], 5.0) == 1.25
    assert hold_s([0.0, 60.0], 5.0) == 2.5


def test_settings_are_described_and_the_ceiling_is_above_the_floor():
    for model in (FeatureSettings, type(DescriptorSettings().thresholds)):
        assert all(field.description for field in model.model_fields.values())
        model()
    with pytest.raises(ValidationError, match=r"pitch_ceiling_hz = 100 must be above pitch_floor_hz = 200"):
        FeatureSettings(pitch_floor_hz=200.0, pitch_ceiling_hz=100.0)
