"""Finds nods of one dip: a head that bows once and comes back at once, the commonest feedback of a listener."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from apportion.features.face.mesh.nods import Poses
from apportion.features.face.nods import HeadTrajectory
from apportion.features.time_series import Span
from apportion.foundation.arrays import Floats

GRID_HZ = 25.0
LENGTHS_S = (0.32, 0.4, 0.48, 0.56, 0.64, 0.8, 1.0)
"""Of a dip; half of it lies still before and after."""
DEEP = 0.5
"""Least depth, in ``nod_range``: 0.05 face heights are 5 to 6 degrees of a head turned in space."""
ALIKE = 0.92
"""Least correlation of the head's height with a half-sine between still flanks."""
COMES_BACK, ASIDE, SWAYS = 0.6, 0.8, 1.0
"""Most difference of the flanks, swing aside by the same half-sine, and movement aside in the dip, in its depths; not
in the flanks: who has nodded often turns next."""
BOWED_DEG = 1.0
"""Least turn downwards meanwhile, by the same half-sine."""
LOOK_S = 0.3
"""A pitch is known so near to a look."""
APART_S = 0.5
"""Of two dips that are less apart the more alike one counts."""


def single_nods(
    paths: Sequence[HeadTrajectory], poses: Poses, nods: Sequence[Span], nod_range: float
) -> tuple[Span, ...]:
    """The dips in the paths of a person's head that are no part of ``nods``, seconds, in order.

    The height is that of the followed face, which costs nothing more to look at, and tells as much as points found
    12.5 times a second (docs/evidence/features.md). Heads that speak dip, too: what is found in speech is no feedback.
    """
    found = [dip for path in paths for dip in _dips(path, poses, DEEP * nod_range)]
    kept: list[Span] = []
    for _, middle_s, length_s in sorted(found, reverse=True):
        span = middle_s - length_s / 2, middle_s + length_s / 2
        near = any(abs(middle_s - (a + b) / 2) <= APART_S for a, b in kept)
        if not near and not any(a < span[1] and span[0] < b for a, b in nods):
            kept.append(span)
    return tuple(sorted(kept))


def _dips(path: HeadTrajectory, poses: Poses, deep: float) -> list[tuple[float, float, float]]:
    """(correlation, middle, length), seconds, of every place and length that passes."""
    times = np.arange(path.times_s[0], path.times_s[-1], 1 / GRID_HZ) if len(path.times_s) else np.zeros(0)
    looked = np.flatnonzero(np.isfinite(poses.pitch))
    if not len(looked):
        return []
    height, aside = (np.interp(times, path.times_s, values) for values in (path.y, path.x))
    pitch = np.interp(times, poses.times_s[looked], poses.pitch[looked])
    pitch[_far(times, poses.times_s[looked])] = np.nan
    found: list[tuple[float, float, float]] = []
    for length_s in LENGTHS_S:
        shape, flank = _half_sine(length_s)
        if len(times) < len(shape):
            continue
        depth, likeness = _fit(height - height.mean(), shape)
        size = np.maximum(depth, 1e-9)
        windows = sliding_window_view(height, len(shape))
        apart = np.abs(windows[:, :flank].mean(axis=1) - windows[:, -flank:].mean(axis=1)) / size
        swung = np.abs(_fit(aside - aside.mean(), shape)[0]) / size
        swayed = np.ptp(sliding_window_view(aside, len(shape))[:, flank:-flank], axis=1) / size
        bowed, _ = _fit(pitch, shape)
        steady = (apart <= COMES_BACK) & (swung <= ASIDE) & (swayed <= SWAYS)
        passes = (depth >= deep) & (likeness >= ALIKE) & steady
        for place in np.flatnonzero(passes & (bowed >= BOWED_DEG)).tolist():
            found.append((float(likeness[place]), float(times[place + len(shape) // 2]), length_s))
    return found


def _half_sine(length_s: float) -> tuple[Floats, int]:
    """A dip between still flanks on the grid, of mean 0, and how long a flank is."""
    steps = round(length_s * GRID_HZ)
    flank = max(2, steps // 2)
    still = np.zeros(flank)
    shape = np.concatenate([still, np.sin(np.pi * (np.arange(steps) + 0.5) / steps), still])
    return shape - shape.mean(), flank


def _fit(values: Floats, shape: Floats) -> tuple[Floats, Floats]:
    """How large ``shape`` [N] is in ``values`` [F] at each place [F - N + 1], and the correlation of the two there."""
    ones = np.ones(len(shape))
    along = np.correlate(values, shape, "valid")
    spread = np.correlate(values**2, ones, "valid") - np.correlate(values, ones, "valid") ** 2 / len(shape)
    norm = float(shape @ shape)
    return along / norm, along / np.sqrt(np.maximum(spread, 1e-12) * norm)


def _far(times: Floats, looks: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of ``times`` have no look within `LOOK_S`."""
    after = np.clip(np.searchsorted(looks, times), 1, max(1, len(looks) - 1))
    before_s, after_s = (np.abs(looks[np.minimum(at, len(looks) - 1)] - times) for at in (after - 1, after))
    far: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.minimum(before_s, after_s) > LOOK_S
    return far
