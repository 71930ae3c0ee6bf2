"""Claim: `apportion --help` answers in under a second. Run: python benchmarks/startup.py"""

from __future__ import annotations

import statistics

from measure import tell, timed

if __name__ == "__main__":
    seconds = sorted(timed(["--help"])[0] for _ in range(7))
    tell("help", statistics.median(seconds), "s", minimum=round(seconds[0], 4), maximum=round(seconds[-1], 4), runs=7)
