"""One state of the eyes a look: open, lowered, closed, or one of the last two; blinks are none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apportion.features.face.mesh.eyes import blinks
from apportion.features.time_series import Span, smoothed
from apportion.foundation.arrays import Floats

WIDE_OPEN = 90.0
"""Percentile of a person's openings that is their open eye: a median fails where the eyes stay down."""
SEEN_OPEN = 0.30
"""Whose open eye is narrower was not seen with open eyes, or has narrow ones: lowered and closed look alike."""
LOW_LIDS, LOW_IRIS = 0.70, -5.0
"""Eyes are down, too, where less than this share of the own open eye is seen and the iris points down, degrees."""
CLOSED_BELOW, LOWERED_FROM = 0.40, 0.46
"""Shares of the own open eye: of closed eyes 90 % lie below 0.39, of lowered ones 98 % above 0.47 (seven films)."""
STEADY_S = 1.0
"""The share is a median over this many seconds: lids that flutter tell nothing by one look."""
LAUGHTER, SQUINT_FROM = 0.9, 0.33
"""A smile this sure narrows open eyes down to this share."""


@dataclass(frozen=True)
class EyeStates:
    """``closed``, ``lowered`` and ``either`` [F]: 1, 0, or NaN where no eye was seen, never two of them 1; ``down`` [F]
    says that they are no open eyes, blinks among them; ``blinks`` are seconds, in order."""

    closed: Floats
    lowered: Floats
    either: Floats
    down: Floats
    blinks: tuple[Span, ...]


def eye_states(times_s: Sequence[float], openings: Floats, lifts: Floats, smiles: Floats, level: float) -> EyeStates:
    """The state at each of F looks at ``times_s``, seconds, by the opening beside the person's own open eye.

    ``openings`` [F] are height over width, ``lifts`` [F] degrees of the irises, ``smiles`` [F] probabilities; an
    opening below ``level`` is no open eye.
    """
    known = np.isfinite(openings)
    own = float(np.percentile(openings[known], WIDE_OPEN)) if known.any() else 0.0
    share = openings / max(own, 1e-6)
    shut = openings < level
    down = np.where(known, shut | ((share < LOW_LIDS) & (lifts < LOW_IRIS)), np.nan)
    at_s = np.array(times_s, dtype=np.float64)
    short = tuple((a, b) for a, b in blinks(times_s, down) if shut[(at_s > a) & (at_s < b)].any())
    resting = down == 1.0
    for start_s, end_s in short:
        resting &= (at_s <= start_s) | (at_s >= end_s)
    steady = smoothed(times_s, np.where(resting, share, np.nan), STEADY_S)
    sure = resting & (own >= SEEN_OPEN)
    squint = sure & (smiles >= LAUGHTER) & (steady >= SQUINT_FROM)
    closed = sure & (steady < CLOSED_BELOW) & ~squint
    lowered = sure & (steady >= LOWERED_FROM) & ~squint
    either = resting & ~(closed | lowered | squint)
    shown, lower, unsure = (np.where(known, state, np.nan) for state in (closed, lowered, either))
    return EyeStates(shown, lower, unsure, down, short)
