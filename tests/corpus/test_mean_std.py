from __future__ import annotations

import math
from statistics import fmean, pstdev

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.annotators import computed_labels, is_computed, peoples_labels
from apportion.corpus.mean_std import mean, spread, total
from apportion.corpus.schema import TURN_LABELS

numbers = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20)


@given(numbers)
def test_between_the_least_and_the_most(values):
    slack = 1e-9 * max(map(abs, values))
    assert min(values) - slack <= mean(values) <= max(values) + slack
    assert 0 <= spread(values) <= max(values) / 2 - min(values) / 2 + slack
    assert not math.isnan(total(values))


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=20))
def test_ordinary_numbers_are_the_librarys(values):
    assert (mean(values), spread(values), total(values)) == (fmean(values), pstdev(values), math.fsum(values))


def test_both_infinities_have_no_mean_and_the_largest_numbers_have_one():
    assert math.isnan(mean([math.inf, -math.inf]))
    assert total([1e308, 1e308]) == math.inf
    assert mean([1.5e308, 1.7e308]) == pytest.approx(1.6e308)


@pytest.mark.parametrize(
    ("annotator", "computed"),
    [("computed:rollouts", True), ("computed:", True), ("computed", False), ("ann", False), (None, False), ("", False)],
)
def test_who_labels(annotator: str | None, computed: bool) -> None:
    assert is_computed(annotator) is computed


def test_every_row_is_peoples_or_of_one_computation() -> None:
    by = ["ann", "computed:b", None, "computed:a", "computed:b", "computed:b"]
    rows = [
        {"session_id": "s", "turn": i, "annotator": who, "name": "q" if i != 5 else "r", "value": float(i)}
        for i, who in enumerate(by)
    ]
    table = pa.Table.from_pylist(rows, schema=TURN_LABELS.arrow)
    assert peoples_labels(table)["turn"].to_pylist() == [0, 2]
    found = {key: of["turn"].to_pylist() for key, of in computed_labels(table).items()}
    assert found == {("computed:a", "q"): [3], ("computed:b", "q"): [1, 4], ("computed:b", "r"): [5]}
    assert list(found) == sorted(found) and computed_labels(table.slice(0, 1)) == {}
