from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.rlhf.training.reward import ScoreNorm

BATCHES = st.lists(st.lists(st.floats(-100, 100), min_size=1, max_size=8), min_size=1, max_size=6)


@given(BATCHES)
def test_moments_grown_by_batches_are_those_of_all_scores(batches):
    norm = ScoreNorm()
    for batch in batches:
        norm.update(batch)
    everything = [score for batch in batches for score in batch]
    assert norm.mean == pytest.approx(statistics.fmean(everything), abs=1e-9)
    assert norm.deviation == pytest.approx(statistics.pstdev(everything), abs=1e-6)


def test_scores_come_out_in_deviations_from_the_mean():
    norm = ScoreNorm()
    norm.update([1.0, 3.0])
    assert norm([1.0, 2.0, 5.0]) == [-1.0, 0.0, 3.0]


def test_scores_that_never_differ_become_zero():
    norm = ScoreNorm()
    assert norm.deviation == 0.0
    norm.update([0.1] * 3)
    assert norm([0.1]) == [0.0]
