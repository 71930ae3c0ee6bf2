"""The four calls that every orchestrator makes: prepare, list the shards of a stage, run one, finish.

A shard is a share of a stage's units. Shards know nothing of each other: whatever runs them (the local process
pool, Airflow, Prefect, Dask) gets the same artifacts, since every unit is addressed by what it reads.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count, repeat
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from apportion.foundation.errors import ApportionError, InputError, StoppedError
from apportion.foundation.truncate import listed
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import Config, load_config
from apportion.pipeline.engine.engine import Outcome
from apportion.pipeline.engine.plan import last_stages
from apportion.pipeline.engine.stage import Stage, Unit
from apportion.pipeline.execution.orchestrator_state import as_decided, decide
from apportion.pipeline.stages.registry import STAGES

if TYPE_CHECKING:
    from apportion.foundation.progress import Progress
    from apportion.pipeline.engine.engine import Engine

RAISE_AND_REPEAT = (
    "To go on, run the same command with a higher --budget (or run.budget_usd); with --dry-run it says what is left."
)
RAISE_IN_CONFIG = "To go on, raise run.budget_usd in the configuration and start the run again."
MAX_SHARDS = 1024
"""Airflow maps a task over at most this many values that another task returned."""


class BatchPendingError(StoppedError):
    """A shard ended before its work; another attempt goes on with it."""

    same_again = True


def prepare(config: str) -> None:
    """Check configuration and corpus, and decide for all tasks what depends on a machine's files; logs warnings.

    Raises InputError before any work is done.
    """
    from apportion.pipeline.preflight import check

    loaded = load_config(config)
    log = logging.getLogger("apportion")
    last = last_stages(STAGES, loaded.run.last_stage, loaded.run.skip_stages)
    for warning in check(loaded, last):
        log.warning(warning)
    engine = open_engine(loaded)
    for name, why in engine.plan.left_out.items():
        log.warning("left out: %s (%s)", name, why)
    decide(loaded)
    engine.begin(engine.plan.leading_to(last))


def list_shards(config: str, stage: str, shards: int) -> list[int]:
    """Numbers of the non-empty shards of a stage, at most ``shards`` of them; none where it is left out or unread."""
    loaded = _loaded(config)
    engine = open_engine(loaded)
    declared = _stage(engine, stage)
    if stage not in engine.plan.leading_to(last_stages(STAGES, loaded.run.last_stage, loaded.run.skip_stages)):
        return []
    return list(range(len(_split(engine, declared, shards, loaded.run.llm_shard_count))))


def time_limit_s(config: str, stage: str) -> float | None:
    """Seconds after which a shard of a stage hangs and may be ended; None for work that computes, which may take long.

    It ends by itself before that, between two units, so that no reply under way is lost that would be paid again.
    """
    from apportion.pipeline.execution.time_limit import asked_time_s, grace_s

    engine = open_engine(_loaded(config))
    asked_s = asked_time_s(engine, _stage(engine, stage))
    return None if asked_s is None else asked_s + grace_s(engine)


def run_shard(config: str, stage: str, shard: int, shards: int) -> dict[str, Any]:
    """Run one shard; returns how many units were done, reused, failed and blocked. Safe to repeat.

    Where there are failures, ``causes`` holds the session (or "corpus") and the cause of each.

    Raises StoppedError: A limit that a person has set ended it, so that nothing should be built on what is there;
    `BatchPendingError` where the next attempt goes on.
    """
    loaded, limit_s = _loaded(config), None
    engine = open_engine(loaded)
    if _stage(engine, stage).asks:
        from apportion.pipeline.execution.time_limit import asked_time_s

        limit_s = asked_time_s(engine, _stage(engine, stage))
    asking = loaded.run.llm_shard_count
    outcomes = run_units(loaded, stage, shard, shards, lambda *told: None, asking=asking, limit_s=limit_s)
    if stopped := stop_text(outcomes, RAISE_IN_CONFIG):
        goes_on = all(outcome.same_again for outcome in outcomes if outcome.status == "stopped")
        raise (BatchPendingError if goes_on else StoppedError)(stopped)
    counts = Counter(outcome.status for outcome in outcomes)
    quarantined = [outcome for outcome in outcomes if outcome.status in ("failed", "blocked")]
    causes = [[outcome.unit.session_id or str(outcome.unit), outcome.cause] for outcome in quarantined]
    return {
        "done": counts["done"],
        "reused": counts["reused"],
        "quarantined": len(quarantined),
    } | ({"causes": causes} if causes else {})


def finish(config: str) -> dict[str, int]:
    """Publish the run folder (tables, report, models) and count what was done and quarantined."""
    from apportion.pipeline.results.publish import publish

    return publish(open_engine(_loaded(config)))


def report_url(config: str) -> str:
    """The report below ``$APPORTION_RUNS_URL``, where somebody serves the folder of the run folders; else its file."""
    report = _loaded(config).output / "report.html"
    served = os.environ.get("APPORTION_RUNS_URL")
    return f"{served.rstrip('/')}/{quote(report.parent.name)}/{report.name}" if served else report.absolute().as_uri()


def _loaded(config: str) -> Config:
    """The configuration with what `prepare` has decided, on whatever machine."""
    return as_decided(load_config(config, checked=()))


def run_units(
    config: Config,
    stage: str,
    shard: int,
    shards: int,
    progress: Progress,
    ended: Callable[[], None] = lambda: None,
    *,
    asking: int = 1,
    limit_s: float | None = None,
) -> list[Outcome]:
    """Run one shard of a stage in this process, several units at a time where they wait for a server.

    ``ended`` is called behind each unit, by whatever thread. Units that wait for a server are in ``asking`` shards, and
    none begins after ``limit_s`` but the first, so that every attempt gets on.
    """
    engine = open_engine(config)
    engine.shared.look_anew()
    declared = _stage(engine, stage)
    begun_s, numbers = time.monotonic(), count()

    def run(unit: Unit, waits: bool) -> Outcome | None:
        if not waits and engine.is_made_elsewhere(stage, unit):
            return None
        if next(numbers) and limit_s is not None and time.monotonic() - begun_s >= limit_s:
            return Outcome(stage, unit, "stopped", _late(limit_s), same_again=True)
        outcome = engine.run(declared, unit, progress)
        ended()
        return outcome

    try:
        return _run_side_by_side(engine, declared, _split(engine, declared, shards, asking)[shard], run)
    finally:
        engine.shared.flush()


def _late(limit_s: float) -> str:
    return (
        f"{limit_s:,.1f} s have passed (run.llm_shard_timeout_s, or what the limits of decompose.llm allow); the next "
        "attempt goes on. Every reply received is kept."
    )


def stop_text(outcomes: Sequence[Outcome], advice: str = RAISE_AND_REPEAT) -> str | None:
    """What a limit has left undone and how to go on, for a person; None where nothing was stopped."""
    stopped = [outcome for outcome in outcomes if outcome.status == "stopped"]
    if not stopped:
        return None
    # What somebody has to do something about goes first.
    stopped.sort(key=lambda outcome: outcome.same_again)
    stage = stopped[0].stage
    total = sum(outcome.stage == stage for outcome in outcomes)
    left = listed([outcome.unit for outcome in stopped], separator="; ")
    told = f"{stopped[0].cause} {len(stopped)} of {total} units of the stage {stage!r} are left ({left})."
    if stopped[0].same_again:  # The cause has said how to go on.
        return told
    return f"{told} Every reply received is kept. {advice}"


def _run_side_by_side(
    engine: Engine, declared: Stage, units: list[Unit], run: Callable[[Unit, bool], Outcome | None]
) -> list[Outcome]:
    """What another process is making comes last: by then it is made, or waited for."""
    at_once = max(engine.at_once(declared.name, unit) for unit in units)

    def by(mapped: Callable[..., Iterable[Outcome | None]]) -> list[Outcome]:
        first = list(mapped(run, units, repeat(False)))
        left = [unit for unit, outcome in zip(units, first, strict=True) if outcome is None]
        return [outcome for outcome in (*first, *mapped(run, left, repeat(True))) if outcome is not None]

    if at_once <= 1:
        return by(map)
    pool = ThreadPoolExecutor(at_once, thread_name_prefix=declared.name)
    try:
        outcomes = by(pool.map)
    except BaseException as error:
        # Replies under way are waited for, but not where somebody ends this because nothing comes any more.
        pool.shutdown(wait=isinstance(error, ApportionError), cancel_futures=True)
        raise
    pool.shutdown()
    return outcomes


def split_units(config: Config, stage: str, shards: int) -> list[list[Unit]]:
    """The units of each shard of a stage, those of the longest films first."""
    engine = open_engine(config)
    return _split(engine, _stage(engine, stage), shards)


def _stage(engine: Engine, name: str) -> Stage:
    if name in STAGES:
        return engine.plan.stages[name]
    raise InputError(f"no stage {name!r}. The stages are: {', '.join(STAGES)}.")


def _split(engine: Engine, stage: Stage, shards: int, asking: int = 1) -> list[list[Unit]]:
    """Units that wait for a server go into at most ``asking`` shards, no more than may wait at once; a session's stay
    together, so that one process asks what two methods ask alike. Others go round evenly, the longest films first, so
    that none of the workers ends with a long film while the others are idle."""
    if not 1 <= shards <= MAX_SHARDS:
        raise InputError(f"shards = {shards}: allowed are 1 to {MAX_SHARDS}.")
    at_once = {unit: engine.at_once(stage.name, unit) for unit in engine.plan.units[stage.name]}
    waiting = [unit for unit, most in at_once.items() if most]
    computing = [unit for unit, most in at_once.items() if not most]
    computing.sort(key=partial(_recorded_s, engine), reverse=True)
    room = max(1, shards - bool(computing))
    parts = _by_session(waiting, min(asking, room, max(at_once.values(), default=0)))
    room = max(1, shards - len(parts))
    parts += (computing[start::room] for start in range(min(room, len(computing))))
    while len(parts) > shards:
        parts[-2:] = [parts[-2] + parts[-1]]
    return parts


def _recorded_s(engine: Engine, unit: Unit) -> float:
    """The seconds of a unit's recordings; text alone is soon read."""
    session = engine.sessions[unit.session_id] if unit.session_id is not None else None
    return session.duration_s or 0.0 if session and session.media else 0.0


def _by_session(units: Sequence[Unit], most: int) -> list[list[Unit]]:
    """At most ``most`` parts, evenly many sessions in each."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(unit.session_id for unit in units))}
    parts: list[list[Unit]] = [[] for _ in range(min(most, len(numbers)))]
    for unit in units:
        parts[numbers[unit.session_id] % len(parts)].append(unit)
    return parts
