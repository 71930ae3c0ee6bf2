"""What a judge says of one person."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.sotopia_eval import OVERALL, OVERALL_RANGE, RANGES
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS, CharacterScores, DimensionScore, off_range

GIVEN = st.fixed_dictionaries(
    {name: st.none() | st.integers(int(RANGES[name][0]), int(RANGES[name][1])) for name in DIMENSIONS}
)


@given(GIVEN)
def test_overall_is_the_mean_of_seven_and_missing_as_soon_as_one_is(scores: dict[str, int | None]) -> None:
    verdict = CharacterScores("s", "j", "ann", {name: DimensionScore(score) for name, score in scores.items()})
    known = [score for score in scores.values() if score is not None]
    rated = verdict.scores()
    assert set(verdict.missing) == {name for name, score in scores.items() if score is None}
    if len(known) == 7:
        assert math.isclose(rated[OVERALL][0], math.fsum(known) / 7, abs_tol=1e-12)
        assert OVERALL_RANGE[0] <= rated[OVERALL][0] <= OVERALL_RANGE[1]
    else:
        assert verdict.overall is None and OVERALL not in rated and len(rated) == len(known)


def test_the_dimensions_are_those_of_the_table() -> None:
    assert set(DIMENSIONS) == set(RANGES) and all(a != b for a, b in pairwise(DIMENSIONS))


@pytest.mark.parametrize("score", [7.5, 11, -1, "7", True, None, [7], math.nan, math.inf, 10**400])
def test_what_is_no_whole_number_of_the_range_is_told(score: object) -> None:
    assert off_range("GOAL", score) == "a whole number from 0 to 10 is needed"


@pytest.mark.parametrize("score", [0, 10, 7.0])
def test_a_whole_number_of_the_range_is_right(score: object) -> None:
    assert off_range("GOAL", score) is None
