import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.decompose.influence.scorer import (
    LogprobResult,
    Prompt,
    advantages,
    check_replies,
    common_length,
    shift_of,
    shifts,
)
from apportion.foundation.errors import UnitError
from apportion.llm_client.request import ChatMessage

SUMS = np.array([[-2.0, -6.0, -3.0, -8.0], [-4.0, -6.0, -1.0, -8.0]])
MEASURED = LogprobResult(SUMS, np.array([[2, 3, 1, 4], [2, 3, 1, 4]]))


class Told:
    """A measurer that says what it was told to."""

    def measure(self, prompts, replies):
        self.asked = (prompts, replies)
        return MEASURED


def test_equation_5_by_hand():
    # (-2 - 6) - (-3 - 8) = 3 and (-4 - 6) - (-1 - 8) = -1
    assert shift_of(MEASURED, 2).tolist() == [3.0, -1.0]
    # By token: (-1 - 2) - (-3 - 2) = 2 and (-2 - 2) - (-1 - 2) = -1
    assert shift_of(MEASURED, 2, per_token=True).tolist() == [2.0, -1.0]
    # Positive and negative replies alone.
    assert shift_of(MEASURED, 4).tolist() == [-19.0, -19.0] and shift_of(MEASURED, 0).tolist() == [19.0, 19.0]


def test_desired_replies_are_measured_before_the_undesired():
    measurer = Told()
    prompts = [Prompt((ChatMessage("user", "a"),)), Prompt((ChatMessage("user", "b"),))]
    assert shifts(measurer, prompts, ["x", "y"], ["v", "w"]).tolist() == [3.0, -1.0]
    assert measurer.asked == (prompts, ["x", "y", "v", "w"])


def test_equation_7_by_hand():
    # Mean 2, deviations -1, 0, 1; standard deviation sqrt(2 / 3).
    assert advantages(np.array([1.0, 2.0, 3.0])) == pytest.approx([-np.sqrt(1.5), 0.0, np.sqrt(1.5)])


@pytest.mark.parametrize("value", [0.0, -417.3, 1e-9, 1e9])
def test_equal_candidates_have_no_advantage(value):
    assert advantages(np.full(8, value)).tolist() == [0.0] * 8
    assert advantages(np.array([0.1 + 0.2, 0.3])).tolist() == [0.0, 0.0]
    assert advantages(np.array([value])).tolist() == [0.0]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_advantages_are_finite_and_sum_to_nothing(rewards):
    found = advantages(np.array(rewards))
    assert np.isfinite(found).all() and abs(found.sum()) < 1e-6
    assert not found.any() or float(np.mean(found**2)) == pytest.approx(1.0)


@pytest.mark.parametrize("rewards", [[], [1.0, np.nan], [np.inf]])
def test_what_has_no_advantage_is_told(rewards):
    with pytest.raises(UnitError, match="at least one, all of them finite"):
        advantages(np.array(rewards))


@pytest.mark.parametrize(
    ("prompts", "replies", "words"),
    [
        ([], ["a"], "0 prompts and 1 replies: there is nothing to measure"),
        ([Prompt(())], [], "1 prompts and 0 replies"),
        ([Prompt(())], ["a"], "without a message"),
        ([Prompt((ChatMessage("assistant", "b"),))], ["a"], "a prompt that the assistant ends"),
        ([Prompt((ChatMessage("user", "b"),))], ["a", " \n"], "reply 2 of 2 has no text"),
    ],
)
def test_nothing_to_measure_is_told(prompts, replies, words):
    with pytest.raises(UnitError, match=words):
        check_replies(prompts, replies)


@given(st.lists(st.lists(st.integers(0, 2), max_size=5), min_size=1, max_size=4))
def test_the_common_length_is_the_longest_that_all_begin_with(sequences):
    length = common_length(sequences)
    assert all(one[:length] == sequences[0][:length] for one in sequences)
    assert len({tuple(one[: length + 1]) for one in sequences}) > 1 or length == min(map(len, sequences))
