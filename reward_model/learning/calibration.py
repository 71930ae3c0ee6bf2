"""The level of what was learnt in units of its own: how far the session scores bear it out, and no further."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from apportion.corpus.splits.splits import SplitEpisodes
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError
from apportion.reward_model.history_windows import HistoryWindows

LEAST = 0.05
"""Standard deviations of the score that a standard deviation of the summed values moves at the least: where scores tell
nothing of the values, rewards keep a sign and a size, and cost a predicted score next to nothing."""


def level(
    windows: HistoryWindows, values: Floats, episodes: SplitEpisodes, rows: Sequence[int]
) -> tuple[float, float, float]:
    """(centre, factor, offset) of rewards r_t = factor * (value_t - centre): their sum and offset predict the score.

    The factor is the slope of the scores of the sessions ``rows`` on the sums of what ``values`` [shape=(N,)] are above
    their mean, shrunk by its own standard error: b * b^2 / (b^2 + se^2) (as James and Stein shrink), and not below
    0.05 standard deviations of the score. Without scores it is 1.

    Raises UnitError: A score that is not finite.
    """
    scores_of = {episode.key: episode.score for episode in episodes.all}
    scores = np.array([scores_of[windows.keys[row]] for row in rows], dtype=np.float64)
    if not np.isfinite(scores).all():
        place = int(np.flatnonzero(~np.isfinite(scores))[0])
        name = windows.keys[rows[place]][0]
        raise UnitError(f"session {name}: score {scores[place]}; it must be finite. Correct it in `ratings`.")
    turns = [slice(windows.offsets[row], windows.offsets[row + 1]) for row in rows]
    centre = float(np.mean(np.concatenate([np.zeros(0), *(values[of] for of in turns)]))) if turns else 0.0
    sums = np.array([float(np.sum(values[of] - centre)) for of in turns])
    spread, wide = (float(of.std()) if len(of) else 0.0 for of in (sums, scores))
    if spread <= 1e-12 or wide <= 1e-12:
        return centre, 1.0, float(scores.mean()) if len(scores) else 0.0
    slope = float(np.cov(sums, scores)[0, 1] / np.var(sums, ddof=1))
    left = scores - scores.mean() - slope * (sums - sums.mean())
    error = math.sqrt(float(left @ left) / max(1, len(rows) - 2)) / (spread * math.sqrt(len(rows)))
    shrunk = max(0.0, slope) * slope**2 / max(slope**2 + error**2, 1e-300)
    factor = max(shrunk, LEAST * wide / spread)
    return centre, factor, float(scores.mean() - factor * sums.mean())
