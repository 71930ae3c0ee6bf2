"""A reported figure: an estimate with its interval over sessions, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from apportion.foundation.intervals.estimate import IntervalEstimate, Missing
from apportion.foundation.tables.numbers import fixed

__all__ = ["Estimate", "Figure", "Missing"]


@dataclass(frozen=True)
class Estimate(IntervalEstimate):
    """One figure over S ``sessions``, with its bootstrap interval over them.

    ``seed_sd`` is the standard deviation (ddof 1) of the figure over training seeds, None with a single seed.
    """

    sessions: int
    seed_sd: float | None = None

    def text(self, decimals: int, *, sign: bool = False) -> str:
        """Value, spread over seeds and interval."""
        spread = "" if self.seed_sd is None else f" ±{fixed(self.seed_sd, decimals)}"
        return f"{fixed(self.value, decimals, sign=sign)}{spread}{self.ends(decimals, sign=sign)}"


Figure = Estimate | Missing
