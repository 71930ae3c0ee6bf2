"""Values in units of their own, brought to the level that session scores bear out."""

import math
from dataclasses import replace

import numpy as np
import pytest

from apportion.corpus.splits.splits import SplitEpisodes
from apportion.foundation.errors import UnitError
from apportion.reward_model.history_windows import history_windows
from apportion.reward_model.learning.calibration import LEAST, level
from tests.reward_model.tiny import planted, splits_of

EPISODES = planted(40)
WINDOWS = history_windows(EPISODES, 0)
ROWS = range(30)
VALUES = np.random.default_rng(0).normal(size=WINDOWS.offsets[-1])
SUMS = np.add.reduceat(VALUES, WINDOWS.offsets[:-1])


def scored(scores: list[float]) -> SplitEpisodes:
    given = [replace(e, rating=replace(e.rating, score=s)) for e, s in zip(EPISODES, scores, strict=True)]
    return SplitEpisodes(given, splits_of(EPISODES))


def test_what_the_scores_are_made_of_is_found() -> None:
    lengths = np.diff(WINDOWS.offsets)
    scores = 3.0 + 0.5 * (SUMS - VALUES[: WINDOWS.offsets[30]].mean() * lengths)
    centre, factor, offset = level(WINDOWS, VALUES, scored(scores.tolist()), ROWS)
    assert (factor, offset) == pytest.approx((0.5, 3.0), abs=1e-6)
    np.testing.assert_allclose(offset + factor * (SUMS - centre * lengths), scores, atol=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 0.0])
def test_where_scores_tell_nothing_rewards_keep_their_sign_and_little_size(sign: float) -> None:
    noise = np.random.default_rng(1).normal(size=40)
    scores = sign * SUMS + noise
    _, factor, _ = level(WINDOWS, VALUES, scored(scores.tolist()), ROWS)
    assert 0 < factor * np.std(SUMS[:30]) <= (LEAST if sign else 0.3) * np.std(scores[:30]) * 1.2


def test_without_scores_values_are_left_in_their_units() -> None:
    assert level(WINDOWS, VALUES, scored([0.0] * 40), ROWS)[1:] == (1.0, 0.0)
    assert level(WINDOWS, VALUES, scored([1.0] * 40), [])[1:] == (1.0, 0.0)
    with pytest.raises(UnitError, match="session s003: score nan; it must be finite"):
        level(WINDOWS, VALUES, scored([math.nan if i == 3 else 1.0 for i in range(40)]), ROWS)
