"""What every algorithm is given beside what it learns from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from foundation.processes import Team
from rlhf.settings import AlignSettings
from rlhf.training.metrics import History

Progress = Callable[[int, int, str], None]
"""``progress(done, total, text)`` after every step."""
Watcher = Callable[[int, Mapping[str, float]], None]
"""``watcher(step, metrics)`` after every step, from 1."""


def silent(done: int, total: int, text: str) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True)
class Run:
    """Settings, seed, and where a run's metrics, progress and checkpoints go.

    ``checkpoints`` is a folder of this run alone; None keeps nothing. ``team`` are the processes that share it.
    """

    settings: AlignSettings
    seed: int
    history: History = field(default_factory=History)
    progress: Progress = silent
    checkpoints: Path | None = None
    watch: tuple[Watcher, ...] = ()
    team: Team = field(default_factory=Team)
