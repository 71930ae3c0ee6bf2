from __future__ import annotations

import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from apportion.rlhf.trainers.group_advantages import EPSILON, spread_over_tokens, turn_advantages

SCORES = st.floats(-100, 100).map(lambda score: round(score, 3))


def test_a_case_computed_by_hand():
    # Two responses to one context. What is to come: 1 + 3 and 3; 2 + 0 and 0. Means 3 and 1.5, deviations of two
    # values (n - 1): |4 - 2| / sqrt(2) and |3 - 0| / sqrt(2).
    first, second = 2 / 2**0.5 + EPSILON, 3 / 2**0.5 + EPSILON
    found = turn_advantages([[1.0, 3.0], [2.0, 0.0]], group=2)
    assert found[0] == pytest.approx([1 / first, 1.5 / second])
    assert found[1] == pytest.approx([-1 / first, -1.5 / second])


def test_groups_do_not_see_each_other_and_a_turn_that_only_one_response_has_says_nothing():
    found = turn_advantages([[1.0, 9.0], [10.0], [7.0], [7.0]], group=2)
    assert found == [[0.0, 0.0], [0.0], [0.0], [0.0]]


@given(st.lists(SCORES, min_size=2, max_size=6))
def test_with_one_turn_it_is_grpos_own_advantage(scores):
    found = [own[0] for own in turn_advantages([[score] for score in scores], group=len(scores))]
    mean, deviation = statistics.fmean(scores), statistics.stdev(scores)
    assert found == pytest.approx([(score - mean) / (deviation + EPSILON) for score in scores], abs=1e-6)


@given(st.lists(st.lists(SCORES, min_size=3, max_size=3), min_size=2, max_size=5), SCORES)
def test_a_level_that_all_responses_share_does_not_count(scores, level):
    raised = [[score + level for score in own] for own in scores]
    for one, other in zip(turn_advantages(scores, len(scores)), turn_advantages(raised, len(scores)), strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_every_token_of_a_turn_gets_its_turns_advantage():
    # Columns 0-1 are the first turn, 2-3 the other side's words, 4 the second turn; the second row has one turn.
    spread = spread_over_tokens([[0.5, -1.0], [2.0]], [[1, 4], [2]], 6)
    assert torch.equal(spread, torch.tensor([[0.5, 0.5, -1, -1, -1, 0], [2, 2, 2, 0, 0, 0]]))
