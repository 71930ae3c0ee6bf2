"""What people are asked."""

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.evaluation.human_ratings.sheet import ASKED, asked_line
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS


def test_each_dimension_is_asked_with_its_range() -> None:
    assert tuple(ASKED) == DIMENSIONS
    for name, (low, high) in RANGES.items():
        assert f", {low:g} to {high:g} (" in asked_line(name)
