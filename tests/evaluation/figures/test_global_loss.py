import numpy as np
import pytest

from apportion.evaluation.figures.global_loss import global_loss, squared_errors
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.settings import EvaluationSettings
from tests.evaluation.made_up import episode


def test_without_an_offset_the_rewards_sum_to_the_score():
    held = TestSet.of([episode("a", 2, 60.0)])
    assert squared_errors(held, np.array([[30.0, 31.0]]), 0.0).tolist() == [[1.0]]


def test_both_scores_of_a_session_are_resampled_together():
    held = TestSet.of([episode("a", 1, 10.0), episode("a", 1, 20.0, "bot", "user"), episode("b", 1, 30.0)])
    found = global_loss(held, np.zeros((1, 3)), 0.0, EvaluationSettings())
    assert found.sessions == 2
    assert found.value == pytest.approx((100 + 400 + 900) / 3)
    possible = {(100 + 400) / 2, (100 + 400 + 900) / 3, 900.0}
    assert {round(float(x), 6) for x in np.unique(found.replicates)} == {round(x, 6) for x in possible}


def test_a_score_whose_low_end_is_good_is_turned_round():
    from dataclasses import replace

    e = episode("a", 1, 30.0)
    turned = replace(e, rating=replace(e.rating, higher_is_better=False))
    assert squared_errors(TestSet.of([turned]), np.array([[70.0]]), 0.0).tolist() == [[0.0]]
