import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from apportion.decompose.influence.scorer import LogprobResult, TooLongError
from apportion.foundation.errors import InputError
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.stackelberg.reward import reward_with
from apportion.rlhf.stackelberg.settings import ImpactSettings, RewardSettings
from tests.rlhf.stackelberg.round_table import round_table


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
    reward = reward_with(turns, measurer, settings())
    names = [turns[0].name, turns[1].name, turns[0].name, turns[0].name]
    replies = ["Response: a b c", "Response: a b c", "Analysis: hm\nResponse: a b c", "Response: a b c d"]
    scores = reward(contexts(names), [""] * 4, replies)
    assert scores[0] == scores[2] < scores[3] and measurer.prompts == 3
    assert scores == [
        reward.of(reward.instances[n], [w])[0] for n, w in zip(names, ["a b c"] * 3 + ["a b c d"], strict=True)
    ]


def test_a_reply_without_words_says_what_was_to_be_said():
    (turn,) = round_table(1)
    reward = reward_with([turn], ByWords(), settings())
    assert reward.words(turn.name, "Analysis: none.\nResponse: ") == turn.said
    assert reward_with([turn], ByWords(), settings(stages="one")).words(turn.name, "<response></response>") == ""


def test_released_rewards_have_the_penalty_and_printed_ones_do_not_unless_it_is_asked_for():
    (turn,) = round_table(1)
    words = " ".join(["word"] * 150)
    plain = reward_with([turn], ByWords(), settings(impact=ImpactSettings(length_penalty=False)))
    printed = reward_with([turn], ByWords(), settings())
    asked = reward_with([turn], ByWords(), settings(impact=ImpactSettings(length_penalty=True)))
    assert printed.of(turn, [words]) == plain.of(turn, [words])
    assert asked.of(turn, [words])[0] == pytest.approx(plain.of(turn, [words])[0] - 5)
    shorter = reward_with(
        [turn], ByWords(), settings(impact=ImpactSettings(length_penalty=True, free_words=50, longest_words=100))
    )
    assert shorter.of(turn, [words])[0] == pytest.approx(plain.of(turn, [words])[0] - 10)
    assert ImpactSettings(form="released").penalised and not ImpactSettings().penalised


def test_k_counts_the_first_answers_alone():
    (turn,) = round_table(1)
    reward = reward_with([turn], ByWords(), settings(k=1))
    assert reward.instances[turn.name].desired == turn.desired[:1]
    with pytest.raises(InputError, match="has 3 desired and 3 undesired answers, and k = 4"):
        reward_with([turn], ByWords(), settings(k=4))


def test_a_prompt_that_is_too_long_names_the_turn():
    class Short:
        def measure(self, prompts, replies):
            raise TooLongError("prompt and reply have 9 tokens, and the measurer 'm' reads at most 8", 0, 1)

    (turn,) = round_table(1)
    with pytest.raises(TooLongError, match=r"turn 'round table/game 0-0#0': .* Raise measurer.context_tokens"):
        reward_with([turn], Short(), settings()).of(turn, ["Hello."])


def test_candidates_that_are_all_equal_have_equal_rewards():
    (turn,) = round_table(1)
    reward = reward_with([replace(turn)], ByWords(), settings())
    scores = reward(contexts([turn.name] * 8), [""] * 8, ["Response: the same"] * 8)
    assert len(set(scores)) == 1 and math.isfinite(scores[0])
