"""The four calls that every orchestrator makes: prepare, list the shards of a stage, run one, finish.

A shard is a share of a stage's units. Shards know nothing of each other: whatever runs them (the local process
pool, Airflow, Prefect, Dask) gets the same artifacts, since every unit is addressed by what it reads.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from foundation.errors import InputError, StoppedError
from foundation.listing import listed
from pipeline.assembly import open_engine
from pipeline.config import Config, load_config
from pipeline.engine.choice import last_stages
from pipeline.engine.stage import Stage, Unit
from pipeline.stages.declared import STAGES

if TYPE_CHECKING:
    from foundation.progress import Progress
    from pipeline.engine.engine import Engine, Outcome

MAX_SHARDS = 1024
"""Airflow maps a task over at most this many values that another task returned."""


def prepare(config: str) -> None:
    """Check the configuration and the corpus; raises InputError before any work is done, logs warnings."""
    from pipeline.preflight import check

    loaded = load_config(config)
    log = logging.getLogger("apportion")
    for warning in check(loaded, last_stages(STAGES, loaded.run.until, loaded.run.skip)):
        log.warning(warning)
    for name, why in open_engine(loaded).plan.left_out.items():
        log.warning("left out: %s (%s)", name, why)


def list_shards(config: str, stage: str, shards: int) -> list[int]:
    """Numbers of the non-empty shards of a stage, at most ``shards`` of them; none where it is left out or unread."""
    loaded = load_config(config)
    engine = open_engine(loaded)
    declared = _stage(stage)
    if stage not in engine.plan.leading_to(last_stages(STAGES, loaded.run.until, loaded.run.skip)):
        return []
    return list(range(len(_split(engine, declared, shards))))


def run_shard(config: str, stage: str, shard: int, shards: int) -> dict[str, int]:
    """Run one shard; returns how many units were done, reused, failed and blocked. Safe to repeat.

    Raises
    ------
    StoppedError
        A limit that a person has set ended it, so that nothing should be built on what is there.
    """
    outcomes = run_units(load_config(config), stage, shard, shards, lambda done, total, text: None)
    if stopped := stop_text(outcomes):
        raise StoppedError(stopped)
    counts = Counter(outcome.status for outcome in outcomes)
    return {
        "done": counts["done"],
        "reused": counts["reused"],
        "quarantined": counts["failed"] + counts["blocked"],
    }


def finish(config: str) -> dict[str, int]:
    """Publish the run folder (tables, report, models) and count what was done and quarantined."""
    from pipeline.results.publish import publish

    return publish(open_engine(load_config(config)))


def run_units(
    config: Config, stage: str, shard: int, shards: int, progress: Progress, ended: Callable[[], None] = lambda: None
) -> list[Outcome]:
    """Run one shard of a stage in this process, several units at a time where they wait for a server.

    ``ended`` is called behind each unit, by whatever thread.
    """
    engine = open_engine(config)
    declared = _stage(stage)

    def run(unit: Unit) -> Outcome:
        outcome = engine.run(declared, unit, progress)
        ended()
        return outcome

    return _run_side_by_side(engine, declared, _split(engine, declared, shards)[shard], run)


def stop_text(outcomes: Sequence[Outcome]) -> str | None:
    """What a limit has left undone and how to go on, for a person; None where nothing was stopped."""
    stopped = [outcome for outcome in outcomes if outcome.status == "stopped"]
    if not stopped:
        return None
    stage = stopped[0].stage
    total = sum(outcome.stage == stage for outcome in outcomes)
    left = listed([outcome.unit for outcome in stopped], separator="; ")
    told = f"{stopped[0].cause} {len(stopped)} of {total} units of the stage {stage!r} are left ({left})."
    if stopped[0].same_again:  # The cause has said how to go on.
        return told
    return (
        f"{told} Every reply received is kept. To go on, run the same command with a higher --budget (or "
        "run.budget_usd); with --dry-run it says what is left."
    )


def _run_side_by_side(
    engine: Engine, declared: Stage, units: list[Unit], run: Callable[[Unit], Outcome]
) -> list[Outcome]:
    at_once = max(declared.concurrent(engine.config, unit) for unit in units)
    if at_once == 1:
        return [run(unit) for unit in units]
    with ThreadPoolExecutor(at_once, thread_name_prefix=declared.name) as pool:
        try:
            return list(pool.map(run, units))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def shard_sizes(config: Config, stage: str, shards: int) -> list[int]:
    """How many units each shard of a stage holds."""
    return [len(units) for units in _split(open_engine(config), _stage(stage), shards)]


def _stage(name: str) -> Stage:
    for stage in STAGES:
        if stage.name == name:
            return stage
    raise InputError(f"no stage {name!r}. The stages are: {', '.join(stage.name for stage in STAGES)}.")


def _split(engine: Engine, stage: Stage, shards: int) -> list[list[Unit]]:
    """Units that wait for a server stay together: one client, so one rate limit, one budget, one payment for what two
    methods ask alike. Others go round evenly."""
    if not 1 <= shards <= MAX_SHARDS:
        raise InputError(f"shards = {shards}: allowed are 1 to {MAX_SHARDS}.")
    waiting: list[Unit] = []
    computing: list[Unit] = []
    for unit in engine.plan.units[stage.name]:
        (waiting if stage.concurrent(engine.config, unit) > 1 else computing).append(unit)
    room = max(1, shards - bool(waiting))
    parts = [waiting] if waiting else []
    parts += (computing[start::room] for start in range(min(room, len(computing))))
    while len(parts) > shards:
        parts[-2:] = [parts[-2] + parts[-1]]
    return parts
