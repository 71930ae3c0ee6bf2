from dataclasses import replace

import numpy as np
import pytest

from apportion.evaluation.error_slices.find import find_slices
from apportion.evaluation.error_slices.result import SliceSettings
from apportion.evaluation.holm import holm
from tests.evaluation.error_slices.planted import NAMING, SHUFFLES, called_after, corpus, shuffled

DRAWS = 100


@pytest.mark.parametrize("seed", range(5))
def test_three_planted_kinds_are_found_and_named(seed):
    turns, kinds = corpus(seed, sessions=300, cost=1.0)
    found = find_slices(turns, "method")
    dear = [kind for kind in found.kinds if kind.family == "words" and kind.difference.value < 0]
    assert set().union(*(called_after(kind) for kind in dear)) == set(NAMING)
    places = dict(zip(turns.ids, kinds, strict=True))
    examples = [(kind, places[example.id]) for kind in dear for example in kind.examples]
    assert np.mean([bool(called_after(kind) & {planted}) for kind, planted in examples if called_after(kind)]) > 0.9
    assert all(kind.difference.high < 0 for kind in dear)


@pytest.mark.parametrize("how", SHUFFLES)
def test_shuffled_rewards_give_nothing(how):
    assert false_alarms(how, range(10)) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("how", SHUFFLES)
def test_a_hundred_draws_of_shuffled_rewards_give_five_false_alarms_at_most(how):
    assert false_alarms(how, range(DRAWS)) <= 5


def false_alarms(how: str, seeds) -> int:
    """How many draws show anything."""
    dealt = (shuffled(corpus(seed, sessions=160)[0], how, seed + 1000) for seed in seeds)
    return sum(bool(find_slices(turns, "method").kinds) for turns in dealt)


def test_heavy_tails_that_hang_together_within_a_session_give_nothing_either():
    alarms = 0
    for seed in range(20):
        turns, _ = corpus(seed, sessions=120, cost=0.0)
        rng = np.random.default_rng(seed)
        steps = rng.standard_t(2, size=(120, 10)).cumsum(axis=1) * rng.exponential(size=(120, 1))
        drawn = np.take_along_axis(steps, rng.permuted(np.tile(np.arange(10), (120, 1)), axis=1), axis=1)
        alarms += bool(find_slices(replace(turns, rewards=drawn.ravel()), "method").kinds)
    assert alarms <= 3


def test_a_place_is_found_too_and_a_turn_counts_once():
    turns, _ = corpus(3, sessions=200, cost=0.0)
    last = turns.traits["place: the last"]
    found = find_slices(replace(turns, rewards=turns.rewards - 2.0 * last), "method")
    assert [(kind.family, kind.name) for kind in found.kinds] == [("place", "the last")]
    (kind,) = found.kinds
    assert kind.difference.low < -2.0 < kind.difference.high
    assert kind.sessions.value == 1.0 and kind.turns == 100 and kind.score is None and kind.named is None


def test_the_same_turns_give_the_same_result():
    turns, _ = corpus(1, sessions=120)
    assert find_slices(turns, "m").to_json() == find_slices(turns, "m").to_json()


def test_rewards_that_are_alike_within_a_session_tell_nothing():
    turns, _ = corpus(0, sessions=100)
    flat = replace(turns, rewards=turns.scores)
    found = find_slices(flat, "uniform")
    assert found.kinds == () and found.reason.startswith("uniform pays all turns of a conversation the same")


def test_too_few_sessions_are_told():
    turns, _ = corpus(0, sessions=20)
    found = find_slices(turns, "rrd")
    assert found.kinds == () and "20 sessions have rewards by rrd; at least 24 are needed" in found.reason


def test_kinds_whose_sessions_score_lower_say_so():
    turns, _ = corpus(2, sessions=300, cost=1.0)
    found = find_slices(turns, "method", SliceSettings(resamples=300))
    lower = [kind.score for kind in found.kinds if called_after(kind)]
    assert lower and all(gap.low < 0 for gap in lower)


def test_holms_correction_is_that_of_its_definition():
    p = np.array([0.2, 0.001, 0.04, 0.012])
    assert holm(p).tolist() == pytest.approx([0.2, 0.004, 0.08, 0.036])
    assert holm(np.array([])).tolist() == []


def test_no_example_of_a_kind_is_one_whose_reward_is_unusual_for_it():
    made = corpus(5, sessions=300, cost=1.0)[0]
    found = find_slices(made, "planted")
    reward = dict(zip(made.ids, made.rewards.tolist(), strict=True))
    spread = float(np.std(made.rewards))
    rewards = {}
    for text, worth in zip(made.texts, made.rewards.tolist(), strict=True):
        rewards.setdefault(text, []).append(worth)
    assert any(kind.family == "words" for kind in found.kinds)
    for kind in found.kinds:
        assert all(example.reward == reward[example.id] for example in kind.examples)
        assert all(abs(example.reward - kind.reward) < spread for example in kind.examples)
        if kind.family == "words":  # Of turns with the same words it is one of the most usual reward.
            first = kind.examples[0]
            off = np.abs(np.array(rewards[first.text]) - kind.reward)
            assert (off < abs(first.reward - kind.reward)).mean() < 0.1, (kind.name, first, kind.reward)
