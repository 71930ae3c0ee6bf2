from types import SimpleNamespace

import pytest

from benchmarks.turn_credit import ARMS, WORLDS, Episode, advantages, learn, ratio, reached, redistribute


def episode(states: str, score: float, credits: tuple[float, ...] = ()) -> SimpleNamespace:
    picks = [(state, ("stay", "go"), number % 2) for number, state in enumerate(states)]
    return Episode(picks=picks, states=[], score=score, credits=credits)


def test_the_outcome_is_compared_with_the_others_in_every_turn():
    group = [episode("ab", 3.0), episode("a", 1.0), episode("ac", 2.0)]
    assert advantages("outcome", False, group) == [[1.5, 1.5], [-1.5], [0.0, 0.0]]


def test_gigpo_adds_what_equal_states_came_to():
    group = [episode("ab", 1.0), episode("a", 0.0)]
    (first, alone), (other,) = advantages("gigpo", False, group)
    assert (first, alone, other) == pytest.approx((1.0 + 0.95, 1.0, -1.0 - 0.95))


def test_mt_grpo_pays_the_last_turn_by_the_outcome_alone():
    group = [episode("ab", 1.0, (5.0, 9.0)), episode("ab", 0.0, (3.0, 1.0))]
    (first, last), _ = advantages("mt-grpo", False, group)
    assert last == pytest.approx(0.5**0.5, abs=1e-3)
    assert first == pytest.approx(2 * 0.5**0.5, abs=1e-3)


def test_credit_counts_to_go_or_each_turn_alone():
    group = [episode("ab", 0.0, (1.0, 2.0)), episode("ab", 0.0, (0.0, 4.0))]
    assert advantages("savoir", False, group) == [[-1.0, -2.0], [1.0, 2.0]]
    assert advantages("savoir", True, group) == [[1.0, -2.0], [-1.0, 2.0]]


def test_the_reward_model_finds_the_turn_that_counts():
    episodes = [episode("ab", 1.0), episode("cb", 0.0)] * 32
    redistribute(episodes)
    counts, _ = episodes[-2].credits
    assert counts == pytest.approx(0.5, abs=0.02)
    assert episodes[-1].credits == pytest.approx([-0.5, 0.0], abs=0.02)


def test_a_threshold_is_reached_between_two_means_or_never():
    curve = [(10 * number, 100 * number, float(number)) for number in range(6)]
    assert reached(curve, 2.5) == (25.0, 250.0, True)
    assert reached(curve, 0.5) == (10, 100, True)
    assert reached(curve, 4.5) == (50, 500, False)
    assert ratio([2.0, 8.0], [1.0, 4.0]) == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("arm", ARMS)
def test_a_run_is_the_same_twice_and_counts_what_is_played_on(arm: str):
    world = SimpleNamespace(**{**vars(WORLDS["bargaining"]), "episodes": 32, "held_out": 20})
    curve = learn(world, arm, 30.0, False, 7, 1)
    assert curve == learn(world, arm, 30.0, False, 7, 1)
    acts = [learn(world, other, 30.0, False, 7, 1)[-1][1] for other in ("outcome", arm)]
    plays_on = arm not in ("outcome", "reward model", "gigpo")
    assert curve[-1][0] == 32 and (acts[1] > acts[0]) == plays_on
