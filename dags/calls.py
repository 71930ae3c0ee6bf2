"""What both orchestrators call, and what they share of the graph's shape."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from apportion.foundation.errors import UnitError
from apportion.pipeline.engine.stage import Stage

DEFAULT_SHARDS = 16
"""Tasks a stage is split into at most; each costs an orchestrator a tenth of a second and often a fresh process."""


class ShardCalls(Protocol):
    """The calls of `pipeline.execution.shards`. Tasks exchange shard numbers; data goes through the store."""

    def prepare(self, config: str) -> None:
        """Check configuration and corpus."""

    def list_shards(self, config: str, stage: str, shards: int) -> list[int]:
        """Numbers of a stage's shards, at most ``shards``."""

    def time_limit_s(self, config: str, stage: str) -> float | None:
        """Seconds after which a shard of a stage hangs and is ended; None where that cannot be said."""

    def run_shard(self, config: str, stage: str, shard: int, shards: int) -> dict[str, int]:
        """Run one shard and count its units by what became of them.

        Raises StoppedError: A limit that a person has set ended it; where that is not ``same_again``, trying again
        changes nothing.
        """

    def finish(self, config: str) -> dict[str, int]:
        """Publish the run folder and count what it holds."""


def last_stages(stages: Collection[Stage]) -> list[str]:
    """Names of the stages that no other stage needs: when they have ended, everything has."""
    needed = {need for stage in stages for need in stage.needs}
    return [stage.name for stage in stages if stage.name not in needed]


def complain_of_quarantine(counts: Mapping[str, int]) -> None:
    """Raise UnitError where ``finish`` counted quarantined units, so that a run with failures does not look green."""
    if counts["quarantined"]:
        raise UnitError(
            f"{counts['quarantined']} units or sessions are in quarantine; quarantine.parquet in the run folder says "
            "why. All else is done and published. Mend them and run again, or accept them: allow_quarantine."
        )
