"""Jitter: how irregular the voice's periods are, a sign of tension or roughness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from features.series import Span

SHORTEST_S, LONGEST_S, LARGEST_FACTOR = 1e-4, 0.02, 1.3
"""Praat's defaults for which neighbouring glottal pulses make a period."""


def find_pulses(sound: Any, pitch: Any) -> Any:
    """Praat's point process (glottal pulses) of a whole sound with its pitch; None without pitch."""
    from parselmouth.praat import call

    return None if pitch is None else call([sound, pitch], "To PointProcess (cc)")


def jitter_local(pulses: Any, spans: Sequence[Span]) -> float | None:
    """Praat's local jitter over ``spans``: mean |T_i - T_(i-1)| / mean T, a fraction; None where no voice sounds.

    ``spans`` are seconds on the recording's clock; several are averaged, weighted by their number of periods.
    """
    from parselmouth.praat import call

    total, weights = 0.0, 0
    for start_s, end_s in spans if pulses is not None else ():
        limits = (start_s, end_s, SHORTEST_S, LONGEST_S, LARGEST_FACTOR)
        # Praat reads an empty range (0, 0) as "everything".
        value = call(pulses, "Get jitter (local)", *limits) if end_s > start_s else np.nan
        if np.isfinite(value):
            periods = int(call(pulses, "Get number of periods", *limits))
            total, weights = total + value * periods, weights + periods
    return total / weights if weights else None
