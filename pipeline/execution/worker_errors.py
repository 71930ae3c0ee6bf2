"""A worker process that was killed: what a person is told of it."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence

from apportion.foundation.truncate import listed
from apportion.pipeline.config import Config
from apportion.pipeline.engine.engine import Engine

TO_LOWER: Mapping[str, str] = {
    "align": "align.mini_batch_size, align.max_context_tokens or align.batch_size, or take a smaller align.policy",
    "train-reward": "train_reward.trained_layers or train_reward.max_tokens",
}
"""By stage, what takes less memory, beside fewer workers."""


class WorkerLostError(Exception):
    """A worker process ended in the middle of its work, in one of ``stages``; ``code`` is its exit code, if known."""

    def __init__(self, stages: Sequence[str]) -> None:
        super().__init__(", ".join(stages))
        self.stages = tuple(stages)
        self.code: int | None = None


def lost_text(lost: WorkerLostError, engine: Engine, config: Config) -> str:
    """What was lost and why that is likely, and what to lower."""
    units = [
        f"{stage} ({unit})"
        for stage in lost.stages
        for unit in engine.plan.units[stage]
        if unit not in engine.finished(stage)
    ]
    killed = lost.code == -signal.SIGKILL
    how = "was killed (SIGKILL)" if killed else f"ended without a word (exit code {lost.code})"
    lower = [f"run.workers (now {config.workers})"] if config.workers > 1 else []
    lower += [TO_LOWER[stage] for stage in lost.stages if stage in TO_LOWER]
    advice = f"Lower {'; or '.join(lower)}. " if lower else "Use a machine with more memory. "
    many = "1 unit" if len(units) == 1 else f"{len(units)} units"
    return (
        f"a worker process {how} in the stage {' or '.join(lost.stages)}, with {many} unfinished "
        f"({listed(units, separator='; ')}). That is what the kernel does where memory runs out. {advice}"
        "What is finished is kept."
    )
