"""What both orchestrators call, and what they share of the graph's shape."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.lazy import load_named
from apportion.pipeline.engine.stage import Stage
from apportion.pipeline.execution.worker_errors import TO_LOWER

DEFAULT_SHARDS = 16
"""Tasks a stage is split into at most; each costs an orchestrator a tenth of a second and often a fresh process."""

KINDS = ("llm", "training", "media", "cpu")
"""What a stage's shards take: a language model's replies, a GPU where one is configured, films, none of these."""
OnQuarantine = Callable[[str, str, str], object]
"""Called with the session (or "corpus"), the stage and the cause."""


class ShardCalls(Protocol):
    """The calls of `pipeline.execution.shards`. Tasks exchange shard numbers; data goes through the store."""

    def prepare(self, config: str) -> None:
        """Check configuration and corpus."""

    def list_shards(self, config: str, stage: str, shards: int) -> list[int]:
        """Numbers of a stage's shards, at most ``shards``."""

    def time_limit_s(self, config: str, stage: str) -> float | None:
        """Seconds after which a shard of a stage hangs and is ended; None where that cannot be said."""

    def run_shard(self, config: str, stage: str, shard: int, shards: int) -> dict[str, Any]:
        """Run one shard and count its units by what became of them; ``causes``, if any, say why others are quarantined.

        Raises StoppedError: A limit that a person has set ended it; where that is not ``same_again``, trying again
        changes nothing.
        """

    def finish(self, config: str) -> dict[str, int]:
        """Publish the run folder and count what it holds."""

    def report_url(self, config: str) -> str:
        """Where a browser finds the run's report."""


def kind_of(stage: Stage) -> str:
    """One of `KINDS`, by what the stage declares."""
    if stage.asks:
        return "llm"
    if stage.name in TO_LOWER:
        return "training"
    return "media" if "media" in stage.reads else "cpu"


def by_kind(variable: str, read: Callable[[str], Any] = str) -> dict[str, Any]:
    """What ``$variable`` gives to kinds of stages, as in ``llm=judges,training=gpu``; raises InputError."""
    values = {}
    for pair in filter(None, os.environ.get(variable, "").replace(" ", "").split(",")):
        kind, _, value = pair.partition("=")
        try:
            values[kind] = read(value)
        except ValueError:
            value = ""
        if kind not in KINDS or not value:
            raise InputError(f"{variable}: {pair}: allowed is KIND=VALUE, with KIND of {', '.join(KINDS)}.")
    return values


def team_callback() -> OnQuarantine | None:
    """The function that ``$APPORTION_ON_QUARANTINE`` names as ``module:function``, if any; raises InputError."""
    place = os.environ.get("APPORTION_ON_QUARANTINE")
    if not place:
        return None
    called: OnQuarantine = load_named(place, "APPORTION_ON_QUARANTINE", "Give it as module:function of your own.")
    return called


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
