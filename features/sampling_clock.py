"""When something is looked at again, and for how long a look counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

SLOWEST_S = 1.0
"""Pictures further apart than this are no film: what lies between them is unobserved."""
HOLD_PICTURES = 2.5
"""A picture counts for the time to its neighbours, but a gap of more than this many pictures is unobserved."""


def interval(time_s: float, rate_hz: float) -> int:
    """The number of the interval of ``1 / rate_hz`` seconds that holds ``time_s``."""
    # A moment that is a rounding error before its interval belongs to it.
    return math.floor(time_s * rate_hz + 1e-3)


class Clock:
    """Ticks at the first moment of every interval of ``1 / rate_hz`` seconds."""

    def __init__(self, rate_hz: float) -> None:
        self._rate_hz = rate_hz
        self._last: float = -math.inf

    def ticks(self, time_s: float) -> bool:
        """Whether ``time_s`` is the first moment of its interval, which then has begun."""
        due = self.due(time_s)
        if due:
            self._last = interval(time_s, self._rate_hz)
        return due

    def due(self, time_s: float) -> bool:
        """Whether it would tick at ``time_s``."""
        return interval(time_s, self._rate_hz) > self._last


def hold_s(times_s: Sequence[float], rate_hz: float) -> float:
    """How long a sample may count, seconds: the recording may have fewer pictures than were asked for."""
    usual_s = float(np.median(np.diff(times_s))) if len(times_s) > 1 else 0.0
    return HOLD_PICTURES * max(1.0 / rate_hz, min(usual_s, SLOWEST_S))
