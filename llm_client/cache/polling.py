"""How long to wait before a file that other processes change is looked at again."""

from __future__ import annotations

import random
from collections.abc import Iterator

_FIRST_S, _LONGEST_S = 0.05, 2.0


def growing_waits_s() -> Iterator[float]:
    """Seconds, each half as long again as the one before, with jitter, up to 2 s: endless."""
    wait_s = _FIRST_S
    while True:
        yield wait_s * random.uniform(0.8, 1.2)
        wait_s = min(_LONGEST_S, wait_s * 1.5)
