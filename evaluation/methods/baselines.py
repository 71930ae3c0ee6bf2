"""What every method has to beat: a constant session prediction (Mean, Mode) and random turn rewards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from apportion.foundation.arrays import Floats

MEAN, MODE, RANDOM = "Mean", "Mode", "Random"


def mean_score(training: Sequence[float]) -> float:
    """The mean of the training scores."""
    return float(np.mean(training))


def mode_score(training: Sequence[float]) -> float:
    """The most frequent training score; of equally frequent ones the nearest to the mean, then the smaller."""
    mean = mean_score(training)
    counts = Counter(training)
    return float(min(counts, key=lambda score: (-counts[score], abs(score - mean), score)))


def no_rewards(turns: int) -> Floats:
    """Turn rewards of a constant session prediction: zero, the constant is the offset [shape=(1, N)]."""
    return np.zeros((1, turns))


def random_rewards(turns: int, draws: int, seed: int) -> Floats:
    """Independent standard normal turn rewards, which know nothing [shape=(draws, N)]."""
    return np.random.default_rng(seed).standard_normal((draws, turns))
