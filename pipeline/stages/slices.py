"""The stage `slices`: kinds of turn whose rewards differ from the rest of their conversations, by each method."""

from __future__ import annotations

from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import Inputs, Outputs, Stage, Work


def _slices(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """Rewards of a run to what costs us."""
    from apportion.pipeline.error_slices.run_slices import run_slices, write_slices
    from apportion.pipeline.results.run_folder import SLICES

    rewards = inputs.table("rewards", "rewards")
    if rewards is not None:
        write_slices(tuple(run_slices(inputs.episodes(config.rating), rewards)), work.out / SLICES)
    return Outputs()


ERROR_SLICES = Stage(
    "slices",
    _slices,
    needs=("rewards",),
    per="corpus",
    help="Find kinds of turn that are paid less or more than the rest of their conversations.",
    settings=lambda config, unit: {"rating": config.rating},
    scored=True,
    spares=("rewards",),
)
