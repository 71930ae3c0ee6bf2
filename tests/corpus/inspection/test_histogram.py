import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.inspection.inspect import Bin, draw, histogram


@given(st.lists(st.floats(0, 1)), st.integers(-50, 50), st.floats(0.5, 200))
def test_every_score_is_in_one_bin_that_holds_it(parts, low, width):
    high = low + width
    scores = [low + part * width for part in parts]
    bins = histogram(scores, float(low), high)
    assert sum(bin_.count for bin_ in bins) == len(scores)
    assert bins[0].low <= low and bins[-1].high >= high - 1e-6


def test_a_short_scale_has_a_bin_a_step():
    assert [bin_.count for bin_ in histogram([1, 1.4, 1.5, 5], 1, 5)] == [2, 1, 0, 0, 1]


def test_a_long_scale_has_ten():
    assert [bin_.count for bin_ in histogram([0, 5, 99, 100], 0, 100)] == [2, 0, 0, 0, 0, 0, 0, 0, 0, 2]


def test_a_scale_without_width():
    assert histogram([3.0], 3, 3) == (Bin(3, 3, 1),)


@pytest.mark.parametrize("count", [1, 8, 1000])
def test_bars_end_at_the_largest_bin_and_show_the_smallest(count):
    lines = draw([Bin(0, 1, count * 1000), Bin(1, 2, 1), Bin(2, 3, 0)])
    assert lines[0].count("█") == 40 and "▏" in lines[1] and not set("▏█") & set(lines[2])
    assert lines[0].endswith(f"{count * 1000:,}")
