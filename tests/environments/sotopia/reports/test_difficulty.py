"""The hard rule on made-up tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.sotopia.reports.episode_scores import TaskId
from apportion.environments.sotopia.reports.hard_tasks import difficulties

GOAL = (0.0, 10.0)


def task(name: str) -> TaskId:
    return TaskId(name, ())


def test_the_rule_by_hand() -> None:
    """SD of (4, 6) is 1, of (5, 5) 0: bounds cut 8 + 3 * 1 at 10 and 1 - 3 * 1 at 0."""
    table = {
        task("open"): {"t": [4, 6], "m": [5, 5]},  # Its own maximum: 5 + 3; minimum 5 - 3.
        task("far"): {"t": [2, 2], "m": [7, 7]},  # No spread: 7 - 2.
        task("bounded"): {"t": [0, 2], "m": [7, 9]},  # 11 is cut to 10, -2 to 0.
        task("at the bound"): {"t": [10, 10], "m": [10, 10]},
        task("one score"): {"t": [3], "m": [4]},
        task("never played"): {"m": [0, 10]},
        task("only by itself"): {"t": [8, 8]},
    }
    found = difficulties(table, "t", GOAL)
    told = [(one.task.scenario, one.gap, one.most, one.best, one.least) for one in found]
    assert told == [
        ("bounded", 10.0, 10.0, "m", 0.0),
        ("open", 6.0, 8.0, "t", 2.0),
        ("far", 5.0, 7.0, "m", 2.0),
        ("one score", 1.0, 4.0, "m", 3.0),
        ("only by itself", 0.0, 8.0, "t", 8.0),
        ("at the bound", 0.0, 10.0, "m", 10.0),
    ]
    assert [one.own for one in found] == [2, 2, 2, 1, 2, 2]


def test_without_bounds_other_tasks_would_be_chosen() -> None:
    """A wild model that is rated at the end of the range cannot be estimated beyond it."""
    table = {task("wild"): {"t": [10, 10], "m": [0, 10]}, task("steady"): {"t": [1, 1], "m": [3, 3]}}
    assert [one.task.scenario for one in difficulties(table, "t", GOAL)] == ["steady", "wild"]
    assert [one.task.scenario for one in difficulties(table, "t", (-100, 100))] == ["wild", "steady"]


def test_of_equal_gaps_the_lower_mean_is_harder_then_the_words() -> None:
    table = {task(name): {"t": rewards} for name, rewards in (("b", [0, 10]), ("c", [0, 9]), ("a", [0, 10]))}
    found = difficulties(table, "t", GOAL)
    assert [one.gap for one in found] == [10, 10, 10] and [one.task.scenario for one in found] == ["c", "a", "b"]


rewards = st.lists(st.integers(0, 10), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdef"), st.dictionaries(st.sampled_from("tmn"), rewards), max_size=6))
def test_the_rule_is_section_7s(table: dict[str, dict[str, list[int]]]) -> None:
    found = difficulties({task(name): its for name, its in table.items()}, "t", GOAL)
    assert {one.task.scenario for one in found} == {name for name, its in table.items() if "t" in its}
    for one in found:
        its = table[one.task.scenario]
        most = max(min(np.mean(x) + 3 * np.std(x), 10) for x in its.values())
        least = max(np.mean(its["t"]) - 3 * np.std(its["t"]), 0)
        assert one.gap == pytest.approx(most - least) and one.most == pytest.approx(most) and one.gap >= -1e-9
    assert [one.gap for one in found] == sorted((one.gap for one in found), reverse=True)
