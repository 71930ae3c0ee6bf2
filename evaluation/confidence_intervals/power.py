"""How many test sessions it would take to tell two methods apart."""

from __future__ import annotations

import math

import numpy as np

from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult
from apportion.evaluation.settings import EvaluationSettings

MOST = 1_000_000
"""Above this many sessions the advice is that the methods are the same."""


def sessions_to_tell(difference: BootstrapResult, settings: EvaluationSettings) -> int | None:
    """Test sessions with which the observed paired difference would be found with probability ``settings.power``.

    A two-sided test at ``1 - settings.confidence``; the standard error is that of the bootstrap, which shrinks
    with the square root of the number of sessions.

    None where the difference is zero, or so small that more than a million sessions would be needed.
    """
    error = float(np.nanstd(difference.replicates))
    if difference.value == 0 or not math.isfinite(error):
        return None
    from scipy.special import ndtri

    reach = ndtri((1 + settings.confidence) / 2) + ndtri(settings.power)
    needed = difference.sessions * (reach * error / difference.value) ** 2
    return math.ceil(needed) if needed <= MOST else None
