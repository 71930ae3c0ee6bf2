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
    many = "1 unit" if len(units) == 1 else f"{len(units)} units"
    return (
        f"a worker process {_how(lost.code)} in the stage {' or '.join(lost.stages)}, with {many} unfinished "
        f"({listed(units, separator='; ')}). {_advice(lost, config)} What is finished is kept."
    )


def _how(code: int | None) -> str:
    if code == -signal.SIGKILL:
        return "was killed (SIGKILL)"
    if code is not None and code < 0:
        return f"was ended by a signal ({signal.Signals(-code).name}, exit code {code})"
    return f"ended without a word (exit code {'unknown' if code is None else code})"


def _advice(lost: WorkerLostError, config: Config) -> str:
    """Memory is the likely cause of a SIGKILL alone."""
    if lost.code == -signal.SIGKILL:
        lower = [f"run.workers (now {config.workers})"] if config.workers > 1 else []
        lower += [TO_LOWER[stage] for stage in lost.stages if stage in TO_LOWER]
        advice = f"Lower {'; or '.join(lower)}." if lower else "Use a machine with more memory."
        return f"That is what the kernel does where memory runs out. {advice}"
    if lost.code == 1:
        return (
            'A script of yours that starts a run has to do so below `if __name__ == "__main__":`, since each worker '
            "reads the script again; what the worker wrote before it ended stands above."
        )
    return "What it wrote before it ended stands above; with run.workers = 1 the work is done without workers."
