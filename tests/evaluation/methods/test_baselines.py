import numpy as np
import pytest

from apportion.evaluation.methods.baselines import mean_score, mode_score, no_rewards, random_rewards


def test_mean_and_mode():
    assert mean_score([1.0, 2.0, 6.0]) == pytest.approx(3.0)
    assert mode_score([1.0, 5.0, 5.0, 2.0]) == 5.0


def test_of_equally_frequent_scores_the_nearest_to_the_mean_is_the_mode():
    assert mode_score([0.0, 4.0, 9.0]) == 4.0
    assert mode_score([1.0, 3.0]) == 1.0


def test_turn_values_of_the_baselines():
    assert no_rewards(3).tolist() == [[0.0, 0.0, 0.0]]
    draws = random_rewards(1000, 4, 0)
    assert draws.shape == (4, 1000) and abs(draws.mean()) < 0.1
    assert np.array_equal(draws, random_rewards(1000, 4, 0)) and not np.array_equal(draws, random_rewards(1000, 4, 1))
