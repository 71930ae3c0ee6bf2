"""What a server has done so far, as Prometheus reads it (text format 0.0.4)."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter

BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the histogram of seconds from a request's arrival to its answer."""
KINDS = {
    "apportion_requests_total": ("counter", "Requests by path and status."),
    "apportion_turns_total": ("counter", "Turns scored."),
    "apportion_batches_total": ("counter", "Forward passes; requests that wait are read together."),
    "apportion_queue_requests": ("gauge", "Requests that wait."),
    "apportion_request_seconds": ("histogram", "From a scored request's arrival to its answer."),
}


class Metrics:
    """Counts, kept by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._latencies = [0] * (len(BOUNDS_S) + 1)
        self._seconds = 0.0

    def answered(self, path: str, status: int, seconds: float) -> None:
        """A request to ``path`` (one of ours) was answered ``seconds`` after it came; latency is that of scores."""
        with self._lock:
            self._counts[f'apportion_requests_total{{path="{path}",status="{status}"}}'] += 1
            if status == 200 and path not in ("/health", "/metrics"):
                self._latencies[bisect_left(BOUNDS_S, seconds)] += 1
                self._seconds += seconds

    def scored(self, turns: int) -> None:
        """A forward pass over so many turns."""
        with self._lock:
            self._counts["apportion_turns_total"] += turns
            self._counts["apportion_batches_total"] += 1

    def text(self, waiting: int) -> str:
        """All of it; ``waiting`` requests are in the queue now."""
        with self._lock:
            samples = dict.fromkeys(("apportion_turns_total", "apportion_batches_total"), 0) | self._counts
            latencies, seconds = list(self._latencies), self._seconds
        samples["apportion_queue_requests"] = waiting
        lines = [f"{name} {value}" for name, value in samples.items()]
        so_far = 0
        for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), latencies, strict=True):
            so_far += count
            lines.append(f'apportion_request_seconds_bucket{{le="{bound}"}} {so_far}')
        lines += [f"apportion_request_seconds_sum {seconds:.6f}", f"apportion_request_seconds_count {so_far}"]
        told = []
        for name, (kind, about) in KINDS.items():
            told += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
            told += [line for line in lines if line.startswith(name)]
        return "\n".join([*told, ""])
