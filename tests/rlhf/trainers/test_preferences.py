import math
from pathlib import Path
from tempfile import mkdtemp

import pytest
from trl import DPOConfig

from apportion.rlhf.trainers import preferences
from apportion.rlhf.trainers.preferences import best_and_worst
from apportion.rlhf.trainers.running import preference_arguments, updates_a_step
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training_data import TrainingData
from tests.rlhf.test_alignment import by_length
from tests.rlhf.toy import SMALL, contexts, small_policy, token_contexts, train

DPO = {"algorithm": "dpo", "num_generations": 4, "batch_size": 8, "mini_batch_size": 8, "lr": 0.01}


def settings(**changes):
    return SMALL.model_copy(update={**DPO, **changes})


@pytest.mark.parametrize(
    ("scores", "margin", "places"),
    [([1, 3, 0], 0, (1, 2)), ([1, 3, 0], 3, (1, 2)), ([1, 3, 0], 3.1, (1, 1)), ([2, 2], 0, (0, 0)), ([5], 0, (0, 0))],
)
def test_the_best_and_the_worst_are_a_pair_where_they_differ_enough(scores, margin, places):
    assert best_and_worst(scores, margin) == places


def test_a_pair_is_what_was_said_to_one_context_and_the_better_one_is_chosen(monkeypatch):
    made, histories = [], []
    monkeypatch.setattr(preferences, "run_trainer", lambda run, make: made.append(make(Path(mkdtemp()))))

    def reward(asked, read, replies):
        histories.extend(read)
        return by_length(asked, read, replies)

    policy = small_policy()
    asked = contexts(policy)
    train(TrainingData(policy, asked, reward), Run(settings(), 0))
    trainer = made[0]
    trainer.places = [0] * 4 + [3] * 4
    pairs = trainer._sample()
    assert histories == [asked[place].history for place in trainer.places]
    assert [tuple(pair["prompt_ids"]) for pair in pairs] == [asked[0].prompt, asked[3].prompt]

    def said(ids):
        return len(policy.tokenizer.decode(ids, skip_special_tokens=True).strip())

    scores = trainer.reward.scores
    for pair, group in zip(pairs, (scores[:4], scores[4:]), strict=True):
        assert (said(pair["chosen_ids"]), said(pair["rejected_ids"])) == (max(group), min(group))
    assert trainer.observed["pairs"] == 1.0 and trainer.observed["kl"] == 0.0


def test_what_is_preferred_is_said_more_often():
    measured, policy = Metrics(), small_policy()

    def reward(contexts, histories, replies):
        return [float(any(letter in reply for letter in "aeiou")) for reply in replies]

    chosen = settings(steps=12, batch_size=32, mini_batch_size=32, max_new_tokens=1)
    train(TrainingData(policy, token_contexts(policy), reward), Run(chosen, 0, measured))
    rewards = [measured.at(step)["reward"] for step in range(1, 13)]
    # Before the first update nothing is more likely than it was.
    assert measured.at(1)["margin"] == 0.0 and measured.at(1)["loss"] == pytest.approx(math.log(2))
    assert sum(rewards[-3:]) > sum(rewards[:3]) + 0.15, rewards


def test_replies_that_differ_too_little_teach_nothing():
    measured, policy = Metrics(), small_policy()
    given = settings(preference_margin=1e9)
    model = train(TrainingData(policy, contexts(policy), by_length), Run(given, 0, measured))
    assert measured.at(2)["pairs"] == measured.at(2)["loss"] == 0.0
    assert not any(weight.any() for name, weight in model.named_parameters() if "lora_B" in name)


def test_a_step_is_one_update_from_a_pair_of_each_context(tmp_path):
    chosen = settings(batch_size=24, mini_batch_size=24, micro_batch_size=6, steps=5, beta=0.2)
    found = preference_arguments(Run(chosen, 7), tmp_path)
    assert isinstance(found, DPOConfig) and updates_a_step(chosen) == 1 and found.max_steps == 5
    # Six pairs, three at once: six replies.
    assert (found.per_device_train_batch_size, found.gradient_accumulation_steps, found.beta) == (3, 2, 0.2)
