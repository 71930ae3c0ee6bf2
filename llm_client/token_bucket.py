"""How many requests or tokens may go through in a minute: a bucket that fills evenly."""

from __future__ import annotations

import time
from collections.abc import Callable

REQUEST_BURST_S, TOKEN_BURST_S = 1.0, 6.0
"""Seconds' worth of requests and of tokens that may go through at once."""
CLOCK_GRAIN_S = 1e-6
"""Clocks do not tell less apart: so short a wait is none."""


class Bucket:
    """A token bucket that lets no more than ``per_minute`` units through in any 60 s.

    What it holds when full counts against the minute too, so that a burst after a rest does not pass the limit. An
    amount larger than the bucket goes through when the bucket is full and leaves a debt.

    ``per_minute``: units that may go through in a minute. ``burst_s``: seconds' worth of units that may go through at
    once; one unit always may. ``clock``: seconds that never run backwards.
    """

    def __init__(self, per_minute: int, burst_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity = max(1.0, per_minute * burst_s / 60)
        # A bucket of one unit spaces them evenly, and N even steps fill a minute; a larger one is part of the N.
        self._rate = (per_minute if self._capacity == 1.0 else per_minute - self._capacity) / 60
        self._clock = clock
        self._level = self._capacity
        self._filled_at = clock()

    @property
    def state(self) -> tuple[float, float]:
        """Units that are in it, and when that was so: what another bucket of these limits goes on from."""
        return self._level, self._filled_at

    @state.setter
    def state(self, state: tuple[float, float]) -> None:
        # A clock that was set back makes nobody wait for the time that it says was.
        self._level, self._filled_at = state[0], min(state[1], self._clock())

    def wait_s(self, amount: float) -> float:
        """Seconds until ``amount`` may go through."""
        self.fill()
        return max(0.0, min(amount, self._capacity) - self._level) / self._rate

    def fill(self) -> None:
        """Let in what has come since the last time."""
        now = self._clock()
        self._level = min(self._capacity, self._level + self._rate * (now - self._filled_at))
        self._filled_at = now

    def take(self, amount: float) -> None:
        """``amount`` goes through; a negative one gives back what was taken too much."""
        self._level = min(self._capacity, self._level - amount)
