import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from apportion.corpus.schema import REWARDS
from apportion.viewer.comparisons.methods import contrasts, ranks
from apportion.viewer.comparisons.value_sources import ValueSource

VALUES = st.lists(st.integers(-3, 3), min_size=2, max_size=9)


def voice(folder, name, values, seeds=(0,)):
    rows = [
        {"session_id": session, "rater": "ann", "target": "bob", "name": "liking", "turn": turn, "method": "m",
         "seed": seed, "reward": value if value is None else float(value) + seed}
        for session, turns in values.items()
        for turn, value in turns.items()
        for seed in seeds
    ]  # fmt: skip
    path = folder / f"{name}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=REWARDS.arrow), path)
    return ValueSource("", "rewards", "m", path)


@given(VALUES, st.randoms(use_true_random=False))
def test_disagreement_is_half_of_one_less_tau_where_nothing_is_tied(tmp_path_factory, values, chance):
    first = list(range(len(values)))
    second = first.copy()
    chance.shuffle(second)
    folder = tmp_path_factory.mktemp("v")
    found = contrasts(
        voice(folder, "a", {"s": dict(enumerate(first))}), voice(folder, "b", {"s": dict(enumerate(second))})
    )
    assert found[0].disagreement == pytest.approx((1 - kendalltau(first, second).statistic) / 2)


@given(VALUES)
def test_ranks_do_not_depend_on_units_and_are_turned_round_with_the_values(values):
    mine = np.array(values, float)
    assert ranks(mine) == pytest.approx(ranks(mine * 7 + 3))
    assert ranks(mine) == pytest.approx(1 - ranks(-mine))


def test_turns_that_one_has_no_value_of_are_left_out_and_seeds_are_averaged(tmp_path):
    first = voice(tmp_path, "a", {"s": {1: 1, 3: 2, 5: 9}, "only": {1: 1}}, seeds=(0, 1))
    second = voice(tmp_path, "b", {"s": {1: 4, 3: 3, 5: None}})
    (one,) = contrasts(first, second)
    assert one.key == ("s", "ann", "bob", "liking") and one.turns == (1, 3)
    assert list(one.first) == [1.5, 2.5] and one.disagreement == 1.0


def test_the_turn_that_is_furthest_apart_is_named(tmp_path):
    first = voice(tmp_path, "a", {"s": {1: 1, 3: 2, 5: 3, 7: 4}, "t": {1: 1, 3: 1}})
    second = voice(tmp_path, "b", {"s": {1: 2, 3: 3, 5: 4, 7: 1}, "t": {1: 1, 3: 2}})
    found = {one.key[0]: one for one in contrasts(first, second)}
    assert found["s"].apart == 7 and found["s"].disagreement == 0.5
    assert found["t"].disagreement is None


def test_a_table_that_is_written_anew_is_read_anew(tmp_path):
    first, second = voice(tmp_path, "a", {"s": {1: 1, 3: 2}}), voice(tmp_path, "b", {"s": {1: 1, 3: 2}})
    assert contrasts(first, second)[0].disagreement == 0.0
    second = voice(tmp_path, "b", {"s": {1: 5, 3: 2, 9: 1}})
    assert contrasts(first, second)[0].disagreement == 1.0
