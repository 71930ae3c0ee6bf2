"""What every algorithm is given beside what it learns from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from apportion.foundation.distributed import Processes
from apportion.foundation.progress import Progress, silent
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.metrics import Metrics

Watcher = Callable[[int, Mapping[str, float]], None]
"""``watcher(step, metrics)`` after every step, from 1."""


@dataclass(frozen=True)
class Run:
    """Settings, seed, and where a run's metrics, progress and checkpoints go.

    ``checkpoints`` is a folder of this run alone; None keeps nothing. ``processes`` are those that share it.
    """

    settings: AlignSettings
    seed: int
    metrics: Metrics = field(default_factory=Metrics)
    progress: Progress = silent
    checkpoints: Path | None = None
    watch: tuple[Watcher, ...] = ()
    processes: Processes = field(default_factory=Processes)
