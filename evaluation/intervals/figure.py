"""A reported figure: an estimate with its interval, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """One figure over S sessions.

    ``low`` and ``high`` are the ends of its bootstrap interval, None where too few sessions vary to give one;
    ``seed_sd`` is the standard deviation (ddof 1) of the figure over training seeds, None with a single seed.
    """

    value: float
    low: float | None
    high: float | None
    sessions: int
    seed_sd: float | None = None

    @property
    def above_zero(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.low is not None and self.low > 0.0


@dataclass(frozen=True)
class Missing:
    """A figure that cannot be given, and why."""

    reason: str


Figure = Estimate | Missing
