"""Plays beside each other."""

import os
import threading
import time

import pytest

import apportion.environments.concurrent_rollouts as side_by_side_module
from apportion.environments.concurrent_rollouts import mapped, side_by_side
from apportion.foundation.errors import StoppedError, UnitError


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


def test_what_is_to_begin_first_does_whichever_call_it_came_by() -> None:
    begun, held, free = [], threading.Event(), threading.Event()

    def hold(number):
        held.set()
        free.wait(10)

    holding = threading.Thread(target=side_by_side, args=(hold, [0], 1, float))
    holding.start()
    held.wait(10)
    calls = [
        threading.Thread(target=side_by_side, args=(begun.append, numbers, 1, float)) for numbers in ((5, 1), (3, 2))
    ]
    for number, call in enumerate(calls, start=1):
        call.start()
        while side_by_side_module._threads(1, os.getpid())._waiting.qsize() < 2 * number:
            time.sleep(0.001)
    free.set()
    for call in (holding, *calls):
        call.join(10)
    assert begun == [1, 2, 3, 5]


def test_those_who_come_first_at_once_share_their_threads() -> None:
    most, now, lock = [0], [0], threading.Lock()

    def work(number):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1

    mapped(lambda number: side_by_side(work, range(10), 9, first=float), range(12), 12)
    assert 1 < most[0] <= 9


def test_mapped_keeps_the_order_and_may_play_side_by_side_itself() -> None:
    def nested(number):
        return side_by_side(lambda given: given * number, [1, 2, 3], 2, first=float)

    assert (
        mapped(nested, [1, 10, 100], 3) == mapped(nested, [1, 10, 100], 1) == [[1, 2, 3], [10, 20, 30], [100, 200, 300]]
    )
    for at_once in (1, 4):
        with pytest.raises(UnitError, match="no 2"):
            mapped(lambda number: 1 if number < 2 else fails(number), [1, 2, 3], at_once)


def fails(number):
    raise UnitError(f"no {number}")
