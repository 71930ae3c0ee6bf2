import time

import pytest

from apportion.foundation.errors import StoppedError, UnitError
from apportion.llm_client.many_requests import ask_each


def test_one_that_fails_is_told_in_its_place_and_stops_none_of_the_others() -> None:
    def half(number: int) -> float:
        if number % 2:
            raise UnitError(f"{number} is odd")
        return number / 2

    told: list[tuple[int, int]] = []
    answers = ask_each(half, range(4), 2, lambda done, last: told.append((done, last)))
    assert [str(answer) for answer in answers] == ["0.0", "1 is odd", "1.0", "3 is odd"]
    assert [done for done, _ in told] == [1, 2, 3, 4] and {last for _, last in told} == {0, 1, 2, 3}
    assert ask_each(half, [], 2) == []


def test_a_budget_that_is_spent_ends_all_of_it() -> None:
    asked = []

    def ask(number: int) -> int:
        asked.append(number)
        if number == 1:
            raise StoppedError("the budget is spent")
        time.sleep(0.01)  # As a server's answer takes: else all are asked before anybody looks.
        return number

    with pytest.raises(StoppedError, match="budget"):
        ask_each(ask, range(1000), 1)
    assert len(asked) < 1000
