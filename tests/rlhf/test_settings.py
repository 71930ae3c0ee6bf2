from __future__ import annotations

import pytest
from pydantic import ValidationError

from rlhf.settings import PAPER, AlarmSettings, AlignSettings


def test_the_papers_settings():
    assert (PAPER.batch, PAPER.clip, PAPER.learning_rate, PAPER.kl_coefficient) == (24, 0.2, 1.4e-5, 0.05)
    assert (PAPER.lora.r, PAPER.lora.alpha, PAPER.lora.dropout) == (24, 48, 0.05)
    assert PAPER.lora.targets == ("q_proj", "v_proj") and PAPER.score_norm and PAPER.gamma == 1.0


def test_the_learning_rate_suits_the_policy_unless_it_is_set():
    assert AlignSettings(policy="some/model").learning_rate == 1.4e-5
    assert AlignSettings().learning_rate > 1e-3
    assert AlignSettings(lr=0.5).learning_rate == 0.5


def test_a_minibatch_larger_than_the_batch_is_refused():
    with pytest.raises(ValidationError, match="minibatch 8 is larger than batch 4"):
        AlignSettings(batch=4, minibatch=8)


def test_a_micro_batch_larger_than_the_minibatch_is_refused():
    with pytest.raises(ValidationError, match="micro_batch 9 is larger than minibatch 8"):
        AlignSettings(minibatch=8, micro_batch=9)


def test_a_length_alarm_that_would_ring_at_once_is_refused():
    with pytest.raises(ValidationError, match="give a factor above 1, or 0"):
        AlarmSettings(length_factor=0.5)
    assert AlarmSettings(length_factor=0).length_factor == 0
