"""Rows that are about turns: found by episode and turn, and made of columns."""

import math

from apportion.corpus.files.tablefile import row_places, turn_table
from apportion.corpus.schema import REWARDS

ANN, BOB = ("s1", "ann", "bob", "liking"), ("s1", "bob", "ann", "liking")


def test_a_table_holds_what_it_was_made_of_and_each_turn_is_found_in_it(monkeypatch):
    monkeypatch.setattr("apportion.corpus.files.tablefile.ROWS_AT_ONCE", 2)
    table = turn_table([ANN, BOB], [2, 1], [0, 2, 1], {"reward": [0.5, math.nan, 1.0]}, "mix", 7)
    assert table.schema == REWARDS.arrow
    assert table.column("target").to_pylist() == ["bob", "bob", "ann"]
    assert table.select(["method", "seed"]).to_pylist() == 3 * [{"method": "mix", "seed": 7}]
    assert table.column("raw_reward").null_count == 3 and table.column("reward").null_count == 0
    assert row_places(table) == {ANN: {0: 0, 2: 1}, BOB: {1: 2}}
    assert row_places(table.slice(0, 0)) == {}


def test_a_turn_that_stands_twice_is_found_where_it_stands_last():
    assert row_places(turn_table([ANN], [2], [3, 3], {}, "mix", 0)) == {ANN: {3: 1}}
