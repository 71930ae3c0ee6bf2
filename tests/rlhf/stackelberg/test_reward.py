from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.decompose.influence.scorer import LogprobResult, TooLongError
from apportion.foundation.errors import InputError
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.stackelberg.reward import (
    answer_logprobs,
    length_penalty,
    log_likelihood_gains,
    refiner_reward,
)
from apportion.rlhf.stackelberg.settings import ImpactSettings, RewardSettings
from tests.rlhf.stackelberg.round_table import DESIRED, ROLES, UNDESIRED, round_table

HAND = LogprobResult(
    np.array([[-2.0, -4.0, -10.0, -6.0], [-200.0, -3.0, -1.0, -2.0]]), np.array([[2, 4, 5, 2], [2, 3, 1, 2]])
)
"""Two candidates, two desired and two undesired answers."""


def test_eq_5_by_hand():
    assert log_likelihood_gains(HAND, 2).tolist() == [(-2 - 4) - (-10 - 6), (-200 - 3) - (-1 - 2)]


def test_the_released_reward_is_a_mean_over_tokens_held_to_fifty():
    # (-1 - 1) - (-2 - 3), and (-100 - 1) - (-1 - 1), which is below -50.
    assert log_likelihood_gains(HAND, 2, "released").tolist() == [3.0, -50.0]


def test_table_2s_rewards_count_one_kind_of_answers():
    assert log_likelihood_gains(HAND, 2, side="positive").tolist() == [-6.0, -203.0]
    assert log_likelihood_gains(HAND, 2, side="negative").tolist() == [16.0, 3.0]
    both = log_likelihood_gains(HAND, 2, side="positive") + log_likelihood_gains(HAND, 2, side="negative")
    assert np.allclose(log_likelihood_gains(HAND, 2), both)


@pytest.mark.parametrize(
    ("words", "taken"), [(0, 0.0), (100, 0.0), (101, -0.1), (150, -5.0), (200, -10.0), (999, -10.0)]
)
def test_long_speeches_cost_up_to_ten(words, taken):
    assert length_penalty(words) == pytest.approx(taken)


@given(st.integers(0, 1_000), st.integers(0, 1_000))
def test_no_longer_speech_costs_less(one, other):
    short, long = sorted((one, other))
    assert -10 <= length_penalty(long) <= length_penalty(short) <= 0


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
        answer_logprobs(measurer, turn, ["Hello.", "Player 2, vote with me."])
        ((prompts, replies),) = measurer.asked
        assert replies == (*DESIRED, *UNDESIRED)
        for prompt, words in zip(prompts, ("Hello.", "Player 2, vote with me."), strict=True):
            assert prompt.begun == "<response>" and turn.after(words) in prompt.messages[1].content
            assert any(f"You are player 2, the {role}." in prompt.messages[1].content for role in ROLES)


class ByWords:
    """Desired answers are the likelier the more words a speech has; counts the prompts that it reads."""

    def __init__(self):
        self.prompts = 0

    def measure(self, prompts, replies):
        self.prompts += len(prompts)
        words = np.array([[prompt.messages[1].content.count(" ") / 100] for prompt in prompts])
        half = len(replies) // 2
        sums = np.concatenate([np.repeat(words, half, axis=1), np.repeat(-words, len(replies) - half, axis=1)], axis=1)
        return LogprobResult(sums, np.ones(sums.shape, np.int64))


def settings(**given) -> RewardSettings:
    return RewardSettings(instances=Path("turns.jsonl"), **given)


def contexts(names):
    return [DialogueContext(name, 1, (), (), "") for name in names]


def test_replies_are_scored_by_the_turn_that_they_answer_and_equal_words_once():
    turns = round_table(2)
    measurer = ByWords()
    reward = refiner_reward(turns, measurer, settings())
    names = [turns[0].name, turns[1].name, turns[0].name, turns[0].name]
    replies = ["Response: a b c", "Response: a b c", "Analysis: hm\nResponse: a b c", "Response: a b c d"]
    scores = reward(contexts(names), [""] * 4, replies)
    assert scores[0] == scores[2] < scores[3] and measurer.prompts == 3
    assert scores == [
        reward.of(reward.instances[n], [w])[0] for n, w in zip(names, ["a b c"] * 3 + ["a b c d"], strict=True)
    ]


def test_a_reply_without_words_says_what_was_to_be_said():
    (turn,) = round_table(1)
    reward = refiner_reward([turn], ByWords(), settings())
    assert reward.words(turn.name, "Analysis: none.\nResponse: ") == turn.said
    assert refiner_reward([turn], ByWords(), settings(stages="one")).words(turn.name, "<response></response>") == ""


def test_released_rewards_have_the_penalty_and_printed_ones_do_not_unless_it_is_asked_for():
    (turn,) = round_table(1)
    words = " ".join(["word"] * 150)
    plain = refiner_reward([turn], ByWords(), settings(impact=ImpactSettings(length_penalty=False)))
    printed = refiner_reward([turn], ByWords(), settings())
    asked = refiner_reward([turn], ByWords(), settings(impact=ImpactSettings(length_penalty=True)))
    assert printed.of(turn, [words]) == plain.of(turn, [words])
    assert asked.of(turn, [words])[0] == pytest.approx(plain.of(turn, [words])[0] - 5)
    shorter = refiner_reward(
        [turn], ByWords(), settings(impact=ImpactSettings(length_penalty=True, free_words=50, longest_words=100))
    )
    assert shorter.of(turn, [words])[0] == pytest.approx(plain.of(turn, [words])[0] - 10)
    assert ImpactSettings(form="released").penalised and not ImpactSettings().penalised


def test_k_counts_the_first_answers_alone():
    (turn,) = round_table(1)
    reward = refiner_reward([turn], ByWords(), settings(k=1))
    assert reward.instances[turn.name].desired == turn.desired[:1]
    with pytest.raises(InputError, match="has 3 desired and 3 undesired answers, and k = 4"):
        refiner_reward([turn], ByWords(), settings(k=4))


def test_a_prompt_that_is_too_long_names_the_turn():
    class Short:
        def measure(self, prompts, replies):
            raise TooLongError("prompt and reply have 9 tokens, and the measurer 'm' reads at most 8", 0, 1)

    (turn,) = round_table(1)
    with pytest.raises(TooLongError, match=r"turn 'round table/game 0-0#0': .* Raise measurer.context_tokens"):
        refiner_reward([turn], Short(), settings()).of(turn, ["Hello."])
