"""Running normalisation of reward model scores."""

from __future__ import annotations

import math
from collections.abc import Sequence


class ScoreNorm:
    """Mean and deviation of all scores seen so far, updated a batch at a time (Chan et al., 1979)."""

    def __init__(self, count: int = 0, mean: float = 0.0, squares: float = 0.0) -> None:
        self.count = count
        self.mean = mean
        self._squares = squares

    @property
    def deviation(self) -> float:
        """Standard deviation of the scores seen, 0 before there are any."""
        return math.sqrt(self._squares / self.count) if self.count else 0.0

    @property
    def moments(self) -> tuple[int, float, float]:
        """Count, mean, and sum of squared differences from it: the arguments that make an equal `ScoreNorm`."""
        return self.count, self.mean, self._squares

    def update(self, scores: Sequence[float]) -> None:
        """Take in a batch of scores."""
        size = len(scores)
        mean = math.fsum(scores) / size
        squares = math.fsum((score - mean) ** 2 for score in scores)
        gap, total = mean - self.mean, self.count + size
        self._squares += squares + gap * gap * self.count * size / total
        self.mean += gap * size / total
        self.count = total

    def __call__(self, scores: Sequence[float]) -> list[float]:
        """Scores in deviations from the running mean; all 0 while every score seen was the same."""
        scale = self.deviation
        # Below this a difference is rounding, not a preference.
        if scale <= 1e-8 * max(1.0, abs(self.mean)):
            return [0.0] * len(scores)
        return [(score - self.mean) / scale for score in scores]
