"""The declared stages as the Airflow DAG ``apportion``.

Airflow parses this file again and again, so that it imports no heavy library; the stages do when they run.

    export AIRFLOW__CORE__DAGS_FOLDER=$PWD/dags PYTHONPATH=$PWD APPORTION_CONFIG=$PWD/apportion.toml
    airflow standalone                                                       # scheduler and web page
    airflow dags test apportion --conf '{"config": "/data/chats.toml"}'      # or one run, right here
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Param, TaskGroup, task
from airflow.sdk.exceptions import AirflowFailException

from apportion.dags.calls import DEFAULT_SHARDS, ShardCalls, complain_of_quarantine, last_stages
from apportion.foundation.errors import StoppedError, UnitError
from apportion.pipeline.engine.stage import Stage
from apportion.pipeline.execution import shards as pipeline_shards
from apportion.pipeline.execution.shards import MAX_SHARDS
from apportion.pipeline.stages.registry import STAGES


def build_dag(
    stages: Collection[Stage] = tuple(STAGES.values()),
    calls: ShardCalls = pipeline_shards,
    retries: int = 2,
    retry_delay: timedelta = timedelta(seconds=30),
) -> DAG:
    """Build the DAG: ``prepare``, a task group a stage (list the shards, run each), ``finish``.

    ``stages``: The stages, each after those it needs. ``calls``: Where the work is done. ``retries``: Further attempts
    after a task was lost (a killed worker, a full disk) or has taken too long; repeating a shard does no unit twice.
    ``retry_delay``: Time before a further attempt.
    """
    with DAG(
        "apportion",
        description="One score a conversation to a reward a turn, a reward model and an aligned policy.",
        schedule=None,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,  # two runs of one configuration would publish into the same folder
        params=_params(),
        # A stage without shards (features of a text-only corpus) is skipped; what needs it runs all the same.
        default_args={"retries": retries, "retry_delay": retry_delay, "trigger_rule": "none_failed"},
        tags=["apportion"],
    ) as dag:
        prepared = _prepare_task(calls)
        finished = _finish_task(calls)
        runs: dict[str, Any] = {}
        for stage in stages:
            runs[stage.name] = _stage_tasks(stage, calls, prepared)
            for need in stage.needs:
                runs[need] >> runs[stage.name]
        for name in last_stages(stages):
            runs[name] >> finished
    return dag


def _params() -> dict[str, Param]:
    return {
        "config": Param(
            os.environ.get("APPORTION_CONFIG"),
            type="string",
            minLength=1,
            description="path of the TOML configuration, the same on every worker; its default is $APPORTION_CONFIG",
        ),
        "shards": Param(
            DEFAULT_SHARDS,
            type="integer",
            minimum=1,
            maximum=MAX_SHARDS,
            description="into how many tasks a stage is split at most; results do not depend on it",
        ),
        "allow_quarantine": Param(
            False, type="boolean", description="end well though some sessions could not be processed"
        ),
    }


def _prepare_task(calls: ShardCalls) -> Any:
    # Not tried again: a mistake in the configuration or the corpus stays one.
    @task(task_id="prepare", retries=0)
    def prepare(**context: Any) -> None:
        calls.prepare(context["params"]["config"])

    return prepare()


def _stage_tasks(stage: Stage, calls: ShardCalls, prepared: Any) -> Any:
    """The two tasks of one stage; returns the mapped one, which other stages wait for."""

    @task(task_id="list_shards")
    def list_shards(**context: Any) -> list[int]:
        return calls.list_shards(context["params"]["config"], stage.name, context["params"]["shards"])

    @task(task_id="run_shard")
    def run_shard(shard: int, **context: Any) -> dict[str, int]:
        config = context["params"]["config"]
        with _time_limit(context["task"], calls.time_limit_s(config, stage.name)):
            try:
                return calls.run_shard(config, stage.name, shard, context["params"]["shards"])
            except StoppedError as error:
                if error.same_again:
                    raise
                # The budget is used up, and would be so again: fail without another attempt.
                raise AirflowFailException(str(error)) from None

    with TaskGroup(stage.name, tooltip=stage.help):
        listed = list_shards()
        prepared >> listed
        return run_shard.expand(shard=listed)


def _time_limit(task: Any, limit_s: float | None) -> AbstractContextManager[Any]:
    """What Airflow does for ``execution_timeout``, which it reads before anybody knows the configuration.

    A task that has one of its own (core.default_task_execution_timeout, a cluster policy) keeps it.
    """
    if limit_s is None or task.execution_timeout is not None:
        return nullcontext()
    from airflow.sdk.execution_time.timeout import timeout

    limited: AbstractContextManager[Any] = timeout(limit_s, f"the shard has not ended in {limit_s:,.0f} s")
    return limited


def _finish_task(calls: ShardCalls) -> Any:
    @task(task_id="finish")
    def finish(**context: Any) -> dict[str, int]:
        counts = calls.finish(context["params"]["config"])
        if not context["params"]["allow_quarantine"]:
            try:
                complain_of_quarantine(counts)
            except UnitError as error:
                # Publishing again would find the same: fail without another attempt.
                raise AirflowFailException(str(error)) from None
        return counts

    return finish()


dag = build_dag()
