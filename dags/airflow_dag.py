"""The declared stages as the Airflow DAG ``apportion``.

Airflow parses this file again and again, so that it imports no heavy library; the stages do when they run.

    export AIRFLOW__CORE__DAGS_FOLDER=$PWD/dags PYTHONPATH=$PWD APPORTION_CONFIG=$PWD/apportion.toml
    export AIRFLOW__SCHEDULER__MP_START_METHOD=forkserver AIRFLOW__SCHEDULER__MP_FORKSERVER_PRELOAD=apportion.dags.warm
    airflow standalone                                                       # scheduler and web page
    airflow dags test apportion --conf '{"config": "/data/chats.toml"}'      # or one run, right here
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from airflow.sdk import DAG, BaseOperatorLink, Param, TaskGroup, task
from airflow.sdk.exceptions import AirflowFailException

from apportion.dags.calls import (
    DEFAULT_SHARDS,
    KINDS,
    OnQuarantine,
    ShardCalls,
    by_kind,
    complain_of_quarantine,
    kind_of,
    last_stages,
    team_callback,
)
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
    places: Mapping[str, Mapping[str, Any]] | None = None,
    on_quarantine: OnQuarantine | None = None,
) -> DAG:
    """Build the DAG: ``prepare``, a task group a stage (list the shards, run each), ``finish``.

    ``stages``: The stages, each after those it needs. ``calls``: Where the work is done. ``retries``: Further attempts
    after a task was lost (a killed worker, a full disk) or has taken too long; repeating a shard does no unit twice.
    ``retry_delay``: Time before a further attempt. ``places``: By kind of stage (`calls.KINDS`), the ``pool``,
    ``queue`` and ``max_active_tis_per_dag`` of its shards. ``on_quarantine``: Called for each session that ends in
    quarantine, by Airflow's ``on_success_callback``, whose errors are logged and fail no task.
    """
    places = places or {}
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
            runs[stage.name] = _stage_tasks(stage, calls, prepared, places.get(kind_of(stage), {}), on_quarantine)
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


def _stage_tasks(
    stage: Stage, calls: ShardCalls, prepared: Any, place: Mapping[str, Any], on_quarantine: OnQuarantine | None
) -> Any:
    """The two tasks of one stage; returns the mapped one, which other stages wait for."""

    @task(task_id="list_shards")
    def list_shards(**context: Any) -> list[int]:
        return calls.list_shards(context["params"]["config"], stage.name, context["params"]["shards"])

    def tell(context: Any) -> None:
        ti = context["ti"]
        for session, cause in ti.xcom_pull(task_ids=ti.task_id, map_indexes=ti.map_index).get("causes", ()):
            on_quarantine(session, stage.name, cause)

    @task(task_id="run_shard", on_success_callback=[tell] if on_quarantine else None, **place)
    def run_shard(shard: int, **context: Any) -> dict[str, Any]:
        config = context["params"]["config"]
        with _time_limit(context["task"], calls.time_limit_s(config, stage.name)):
            try:
                counts = calls.run_shard(config, stage.name, shard, context["params"]["shards"])
            except StoppedError as error:
                if error.same_again:
                    raise
                # The budget is used up, and would be so again: fail without another attempt.
                raise AirflowFailException(str(error)) from None
        ti = context["ti"]
        if counts["quarantined"]:
            page = f"/dags/{ti.dag_id}/runs/{quote(ti.run_id)}/tasks/{ti.task_id}/mapped/{ti.map_index}/xcom"
            ti.xcom_push(QUARANTINED.xcom_key, page)
        return counts

    with TaskGroup(stage.name, tooltip=stage.help):
        listed = list_shards()
        prepared >> listed
        mapped = run_shard.expand(shard=listed)
        mapped.operator.operator_extra_links = (QUARANTINED,)
        return mapped


class _Link(BaseOperatorLink):
    """A button in the web page, which leads to the address that the task has pushed under ``xcom_key``."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """What the button says."""
        return self._name

    @property
    def xcom_key(self) -> str:
        """Where the address lies."""
        return f"link_{self._name.lower()}"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The address, or nothing."""
        return ti_key.xcom_pull(task_ids=ti_key.task_id, key=self.xcom_key) or ""


REPORT, QUARANTINED = _Link("Report"), _Link("Quarantined")


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
        context["ti"].xcom_push(REPORT.xcom_key, calls.report_url(context["params"]["config"]))
        if not context["params"]["allow_quarantine"]:
            try:
                complain_of_quarantine(counts)
            except UnitError as error:
                # Publishing again would find the same: fail without another attempt.
                raise AirflowFailException(str(error)) from None
        return counts

    finished = finish()
    finished.operator.operator_extra_links = (REPORT,)
    return finished


def places() -> dict[str, dict[str, Any]]:
    """What the environment says: APPORTION_POOLS=llm=judges, APPORTION_QUEUES=training=gpu, APPORTION_LIMITS=media=2.

    Raises InputError, which Airflow's page shows as an import error.
    """
    limits = by_kind("APPORTION_LIMITS", int)
    given = {
        "pool": by_kind("APPORTION_POOLS"), "queue": by_kind("APPORTION_QUEUES"), "max_active_tis_per_dag": limits,
    }  # fmt: skip
    return {kind: {name: of[kind] for name, of in given.items() if kind in of} for kind in KINDS}


dag = build_dag(places=places(), on_quarantine=team_callback())
