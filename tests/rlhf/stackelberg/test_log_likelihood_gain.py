import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.decompose.influence.scorer import LogprobResult
from apportion.rlhf.stackelberg.log_likelihood_gain import impacts, length_penalty, measured_after, word_count
from tests.rlhf.stackelberg.round_table import DESIRED, ROLES, UNDESIRED, round_table

HAND = LogprobResult(
    np.array([[-2.0, -4.0, -10.0, -6.0], [-200.0, -3.0, -1.0, -2.0]]), np.array([[2, 4, 5, 2], [2, 3, 1, 2]])
)
"""Two candidates, two desired and two undesired answers."""


def test_eq_5_by_hand():
    assert impacts(HAND, 2).tolist() == [(-2 - 4) - (-10 - 6), (-200 - 3) - (-1 - 2)]


def test_the_released_reward_is_a_mean_over_tokens_held_to_fifty():
    # (-1 - 1) - (-2 - 3), and (-100 - 1) - (-1 - 1), which is below -50.
    assert impacts(HAND, 2, "released").tolist() == [3.0, -50.0]


def test_table_2s_rewards_count_one_kind_of_answers():
    assert impacts(HAND, 2, side="positive").tolist() == [-6.0, -203.0]
    assert impacts(HAND, 2, side="negative").tolist() == [16.0, 3.0]
    both = impacts(HAND, 2, side="positive") + impacts(HAND, 2, side="negative")
    assert np.allclose(impacts(HAND, 2), both)


@pytest.mark.parametrize(
    ("words", "taken"), [(0, 0.0), (100, 0.0), (101, -0.1), (150, -5.0), (200, -10.0), (999, -10.0)]
)
def test_long_speeches_cost_up_to_ten(words, taken):
    assert length_penalty(words) == pytest.approx(taken)


@given(st.integers(0, 1_000), st.integers(0, 1_000))
def test_no_longer_speech_costs_less(one, other):
    short, long = sorted((one, other))
    assert -10 <= length_penalty(long) <= length_penalty(short) <= 0


def test_words_are_what_blanks_part():
    assert word_count("  I am\nno wolf. ") == 4


class Noted:
    """Notes what it is asked; every answer is equally likely."""

    def __init__(self):
        self.asked = []

    def measure(self, prompts, replies):
        self.asked.append((tuple(prompts), tuple(replies)))
        return LogprobResult(
            np.full((len(prompts), len(replies)), -1.0), np.ones((len(prompts), len(replies)), np.int64)
        )


def test_the_measurer_reads_the_followers_own_prompt_with_its_true_role():
    for turn in round_table(6):
        measurer = Noted()
        measured_after(measurer, turn, ["Hello.", "Player 2, vote with me."])
        ((prompts, replies),) = measurer.asked
        assert replies == (*DESIRED, *UNDESIRED)
        for prompt, words in zip(prompts, ("Hello.", "Player 2, vote with me."), strict=True):
            assert prompt.begun == "<response>" and turn.after(words) in prompt.messages[1].content
            assert any(f"You are player 2, the {role}." in prompt.messages[1].content for role in ROLES)
