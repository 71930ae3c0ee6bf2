import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from apportion.evaluation.error_slices.turns import TargetTurns, TurnId, contrasts


def made(rewards: np.ndarray) -> TargetTurns:
    """Turns of one episode a row of ``rewards`` [shape=(S, T)]."""
    ids = [TurnId((f"s{s}", "u", "a", "r"), t) for s in range(rewards.shape[0]) for t in range(rewards.shape[1])]
    n = len(ids)
    return TargetTurns(ids, [""] * n, rewards.ravel(), np.zeros((n, 2), np.float32), {}, np.full(n, np.nan))


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_it_is_the_regression_within_episodes(seed):
    rng = np.random.default_rng(seed)
    rewards, kind = rng.normal(size=(20, 6)), rng.random((20, 6)) < 0.3
    kind[0, :2] = (True, False)
    result = contrasts(made(rewards), kind.reshape(-1, 1))
    dummies = np.kron(np.eye(20), np.ones((6, 1)))
    design = np.column_stack([kind.ravel().astype(float), dummies])
    expected = np.linalg.lstsq(design, rewards.ravel(), rcond=None)[0][0]
    assert result.difference[0] == pytest.approx(expected)


def test_with_one_turn_of_the_kind_in_each_session_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    rewards = rng.normal(size=(25, 4)) + rng.normal(size=(25, 1)) * 5
    kind = np.zeros((25, 4), bool)
    kind[:, 2] = True
    result = contrasts(made(rewards), kind.reshape(-1, 1))
    distances = rewards[:, 2] - rewards[:, [0, 1, 3]].mean(axis=1)
    assert result.difference[0] == pytest.approx(distances.mean())
    assert result.p[0] == pytest.approx(ttest_1samp(distances, 0.0).pvalue)
    assert result.effective[0] == pytest.approx(25)


def test_a_kind_that_no_episode_tells_apart_has_no_difference():
    rewards = np.random.default_rng(1).normal(size=(10, 3))
    result = contrasts(made(rewards), np.ones((30, 1), bool))
    assert np.isnan(result.difference[0]) and result.p[0] == 1.0 and result.effective[0] == 0.0


def test_one_session_cannot_say_how_sure_it_is():
    result = contrasts(made(np.array([[0.0, 1.0, 5.0]])), np.array([[True], [False], [False]]))
    assert result.difference[0] == pytest.approx(-3.0) and result.p[0] == 1.0


def test_turns_without_a_reward_do_not_count():
    rewards = np.random.default_rng(2).normal(size=(12, 4))
    kind = np.zeros((12, 4), bool)
    kind[:, 1] = True
    holed = rewards.copy()
    holed[:, 3] = np.nan
    left = contrasts(made(holed), kind.reshape(-1, 1))
    right = contrasts(made(rewards[:, :3]), kind[:, :3].reshape(-1, 1))
    assert left.difference[0] == pytest.approx(right.difference[0]) and left.p[0] == pytest.approx(right.p[0])
