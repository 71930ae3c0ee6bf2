import numpy as np
import pyarrow as pa
import pytest

from apportion.corpus.session import Episode, Rating, Turn
from apportion.evaluation.references.test_set import AlignedValues, TestSet, align
from apportion.foundation.errors import InputError
from tests.evaluation.made_up import episode, rewards

EPISODES = [episode("b", 3, 40.0), episode("a", 2, 60.0)]
HELD = TestSet.of(EPISODES)


def test_episodes_are_sorted_and_those_without_target_turns_left_out():
    mute = Episode("c", (Turn(0, "user", "hello?"),), Rating("user", "bot", "liking", 1.0, 0.0, 100.0))
    held = TestSet.of([*EPISODES, mute])
    assert [e.session_id for e in held.episodes] == ["a", "b"]
    assert held.starts.tolist() == [0, 2] and held.turns == 5
    assert held.totals(np.array([[1.0, 2, 3, 4, 5]])).tolist() == [[3.0, 12.0]]
    assert held.by_session(np.array([[1.0, 2, 3, 4, 5]])).tolist() == [[3.0, 12.0]]


def test_values_are_aligned_whatever_the_order_of_the_rows():
    table = pa.concat_tables(
        [
            rewards(EPISODES, {"a": [1, 2], "b": [3, 4, 5]}, "m", 1),
            rewards(EPISODES, {"a": [10, 20], "b": [30, 40, 50]}, "m", 0),
            rewards(EPISODES, {"a": [0, 0], "b": [0, 0, 0]}, "k"),
        ]
    )
    shuffled = table.take(np.random.default_rng(0).permutation(table.num_rows))
    found = align(shuffled, HELD, "reward")
    assert list(found) == ["k", "m"]
    assert found["m"].tolist() == [[10, 20, 30, 40, 50], [1, 2, 3, 4, 5]]


def test_two_raters_of_a_session_are_two_episodes():
    both = [episode("a", 2, 60.0), episode("a", 2, 40.0, "bot", "user")]
    table = pa.concat_tables([rewards(both[:1], {"a": [1, 2]}), rewards(both[1:], {"a": [3, 4]})])
    held = TestSet.of(both)
    assert align(table, held, "reward")["m"].tolist() == [[3, 4, 1, 2]]  # rater "bot" first
    assert held.session_of_turn.tolist() == [0, 0, 0, 0]


def test_methods_are_compared_on_the_episodes_common_to_all():
    table = pa.concat_tables(
        [
            rewards(EPISODES, {"a": [1, 2], "b": [3, 4, 5]}, "whole"),
            rewards(EPISODES, {"a": [1, 2], "b": [3, float("nan"), 5]}, "partly"),
            rewards([episode("z", 1, 1.0)], {"z": [1]}, "elsewhere"),
        ]
    )
    aligned = AlignedValues.of(table, HELD)
    assert [e.session_id for e in aligned.held.episodes] == ["a"]
    assert {m: v.tolist() for m, v in aligned.values.items()} == {"whole": [[1, 2]], "partly": [[1, 2]]}
    assert aligned.incomplete == {"partly": 1, "elsewhere": 2}
    assert aligned.empty == ("elsewhere",)


def test_a_seed_without_an_episode_takes_it_from_the_method():
    table = pa.concat_tables(
        [rewards(EPISODES, {"a": [1, 2], "b": [3, 4, 5]}, seed=0), rewards(EPISODES, {"a": [1, 2]}, seed=1)]
    )
    assert AlignedValues.of(table, HELD).incomplete == {"m": 1}


def test_two_rewards_for_a_turn_are_refused():
    table = pa.concat_tables([rewards(EPISODES, {"a": [1, 2]})] * 2)
    with pytest.raises(InputError, match=r"session 'a', turn 0: 2 rewards of method 'm', seed 0"):
        AlignedValues.of(table, HELD)


def test_no_rows_keep_all_episodes_without_methods():
    aligned = AlignedValues.of(rewards([], {}), HELD)
    assert aligned.values == {} and len(aligned.held.episodes) == 2
