"""Plays beside each other."""

import threading
import time

import pytest

from environments.side_by_side import side_by_side
from foundation.errors import StoppedError, UnitError


@pytest.mark.parametrize("at_once", [1, 3, 16])
def test_results_come_in_order_and_one_that_fails_stops_none(at_once) -> None:
    begun = []

    def work(number):
        begun.append(number)
        if number % 3 == 0:
            raise UnitError(f"no {number}")
        return number * number

    found = side_by_side(work, range(10), at_once, first=lambda number: -number)
    assert [str(one) if isinstance(one, UnitError) else one for one in found] == [
        f"no {number}" if number % 3 == 0 else number * number for number in range(10)
    ]
    assert sorted(begun) == list(range(10)) and (at_once > 1 or begun == list(range(10))[::-1])


def test_as_many_as_may_be_are_at_work_at_once() -> None:
    together = threading.Barrier(5)
    assert side_by_side(lambda number: together.wait(10) >= 0, range(5), 5, first=float) == [True] * 5


def test_what_ends_all_is_raised_once_what_has_begun_is_done_and_the_rest_left_alone() -> None:
    ended = []

    def work(number):
        if number == 0:
            raise StoppedError("the budget is used up")
        time.sleep(0.2)
        ended.append(number)

    with pytest.raises(StoppedError, match="the budget is used up"):
        side_by_side(work, range(50), 2, first=float)
    assert 0 < len(ended) < 10
    time.sleep(0.3)
    assert len(ended) < 10


def test_nothing_to_do_is_done() -> None:
    assert side_by_side(lambda given: given, [], 4, first=float) == []
