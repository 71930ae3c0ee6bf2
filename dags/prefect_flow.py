"""The declared stages as the Prefect flow ``apportion``.

python -m apportion.dags.prefect_flow apportion.toml --workers 2    # Prefect starts a server for the run
python -c 'from apportion.dags.prefect_flow import apportion; apportion.serve("local")'  # waits for your server's
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Collection, Sequence
from typing import Any

# What a run does is nobody else's business unless its owner says so; Prefect reads this when it is imported.
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("DO_NOT_TRACK", "1")
# On a fresh machine the server makes its database first, which takes a busy one minutes; Prefect waits for 30 s.
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "600")

from prefect import Flow, flow, task
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner

from apportion.dags.calls import (
    DEFAULT_SHARDS,
    OnQuarantine,
    ShardCalls,
    complain_of_quarantine,
    kind_of,
    last_stages,
    team_callback,
)
from apportion.foundation.errors import ApportionError, InputError, StoppedError
from apportion.pipeline.engine.stage import Stage
from apportion.pipeline.execution import shards as pipeline_shards
from apportion.pipeline.execution.shards import MAX_SHARDS
from apportion.pipeline.stages.registry import STAGES

STARTUP = "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"


def build_flow(
    stages: Collection[Stage] = tuple(STAGES.values()),
    calls: ShardCalls = pipeline_shards,
    task_runner: TaskRunner[Any] | None = None,
    retries: int = 2,
    retry_delay_s: float = 30,
    on_quarantine: OnQuarantine | None = None,
) -> Flow[[str, int, bool], dict[str, int]]:
    """Build the flow: ``prepare``; a list of the shards and a mapped task for each stage; ``finish``.

    ``stages``: The stages, each after those it needs. ``calls``: Where the work is done. ``task_runner``: Where tasks
    run; by default a pool of processes, one a core. Threads would share torch's random numbers, and with them results
    would depend on what runs at the same time. ``retries``: Further attempts after a task was lost or has taken too
    long; repeating a shard does no unit twice. ``retry_delay_s``: Time before a further attempt.
    ``on_quarantine``: Called for each session that ends in quarantine, by Prefect's ``on_completion`` hook, whose
    errors are logged and fail no task. A shard carries the kind of its stage (`calls.KINDS`) as a tag, for limits.
    """
    # The store knows what is done already; a second cache could only contradict it.
    options: dict[str, Any] = {"retries": retries, "retry_delay_seconds": retry_delay_s, "cache_policy": NO_CACHE}
    # Not tried again: a mistake in the configuration or the corpus stays one.
    prepare = task(name="prepare", task_run_name="prepare", cache_policy=NO_CACHE)(calls.prepare)

    def list_with_limit(config: str, stage: str, shards: int) -> tuple[list[int], float | None]:
        numbers = calls.list_shards(config, stage, shards)
        return numbers, calls.time_limit_s(config, stage) if numbers else None

    def run_and_show(config: str, stage: str, shard: int, shards: int) -> dict[str, Any]:
        counts = calls.run_shard(config, stage, shard, shards)
        if counts["quarantined"]:
            create_markdown_artifact(_table(counts["causes"]), f"quarantine-{stage}-{shard}", "what went wrong")
        return counts

    def publish_and_show(config: str) -> dict[str, int]:
        counts = calls.finish(config)
        create_link_artifact(calls.report_url(config), "Report", "report", "what the run has found")
        return counts

    def tell(task: Any, run: Any, state: State[Any]) -> None:
        for session, cause in state.result().get("causes", ()):
            on_quarantine(session, run.name.partition(".")[0], cause)

    list_shards = task(name="list_shards", task_run_name="{stage}.list_shards", **options)(list_with_limit)
    run_shard = task(
        name="run_shard", task_run_name="{stage}.run_shard {shard}", retry_condition_fn=_goes_on,
        on_completion=[tell] if on_quarantine else None, **options
    )(run_and_show)  # fmt: skip
    finish = task(name="finish", task_run_name="finish", **options)(publish_and_show)

    runner: TaskRunner[Any] = task_runner or ProcessPoolTaskRunner()

    @flow(name="apportion", task_runner=runner)
    def apportion(config: str, shards: int = DEFAULT_SHARDS, allow_quarantine: bool = False) -> dict[str, int]:
        prepared = prepare.submit(config)
        prepared.result()
        # All lists first: with few workers they would otherwise queue behind hours of training.
        listed = {stage.name: list_shards.submit(config, stage.name, shards, wait_for=[prepared]) for stage in stages}
        shards_of = {name: listing.result() for name, listing in listed.items()}
        runs: dict[str, list[PrefectFuture[dict[str, int]]]] = {}
        for stage in stages:
            needs = [listed[stage.name], *(future for need in stage.needs for future in runs[need])]
            numbers, limit_s = shards_of[stage.name]
            limited = run_shard.with_options(timeout_seconds=limit_s, tags={kind_of(stage)})
            runs[stage.name] = list(limited.map(config, stage.name, numbers, shards, wait_for=needs))
        ends = [future for name in last_stages(stages) for future in runs[name]]
        finished = finish.submit(config, wait_for=ends)
        counts = _result(finished, [future for futures in runs.values() for future in futures])
        if not allow_quarantine:
            complain_of_quarantine(counts)
        return counts

    return apportion


def _table(causes: Sequence[Sequence[str]]) -> str:
    """Sessions and causes as Markdown, the first hundred of them."""
    cells = ([" ".join(text.replace("|", "\\|").split()) for text in row] for row in causes[:100])
    return "\n".join(["| session | cause |", "|---|---|", *(f"| {session} | {cause} |" for session, cause in cells)])


def _goes_on(task: Any, task_run: Any, state: State[Any]) -> bool:
    """Whether another attempt may end otherwise: not where the budget is used up."""
    return not isinstance(state.data, StoppedError) or state.data.same_again


def _result(finished: PrefectFuture[dict[str, int]], runs: Sequence[PrefectFuture[Any]]) -> dict[str, int]:
    """What ``finish`` gave; where a shard failed its own error, not that something after it could not start."""
    finished.wait()
    for future in runs:
        if future.state.is_failed() or future.state.is_crashed():
            future.result()
    return finished.result()


apportion = build_flow(on_quarantine=team_callback())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the flow; 2 for unusable input, 1 where anything failed or was quarantined, else 0."""
    parser = argparse.ArgumentParser(
        "python -m apportion.dags.prefect_flow", description="Run all stages as a Prefect flow."
    )
    parser.add_argument("config", help="path of the TOML configuration")
    parser.add_argument(
        "--shards", type=int, default=DEFAULT_SHARDS, help=f"tasks a stage at most, 1 to {MAX_SHARDS} [%(default)s]"
    )
    parser.add_argument("--workers", type=int, help="worker processes [one a core]")
    parser.add_argument("--allow-quarantine", action="store_true", help="exit with 0 though something was quarantined")
    options = parser.parse_args(arguments)
    flow_on_processes = build_flow(task_runner=ProcessPoolTaskRunner(options.workers), on_quarantine=team_callback())
    try:
        counts = flow_on_processes(options.config, options.shards, options.allow_quarantine)
    except ApportionError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    except RuntimeError as error:
        cause = " ".join(str(error).split())
        if "Prefect API server" not in cause:
            raise
        print(
            f"error: Prefect's server did not start within {os.environ[STARTUP]} s ({cause[:300]}). Run the same "
            f"command again, with a larger {STARTUP} where the machine is busy, or start one with `prefect server "
            "start` and name it in PREFECT_API_URL.",
            file=sys.stderr,
        )
        return 1
    print(json.dumps(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
