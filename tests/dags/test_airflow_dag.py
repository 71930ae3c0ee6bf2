import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("airflow", reason="needs the Airflow environment: `make test-dags`")

from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG
from airflow.sdk.exceptions import ParamValidationError
from airflow.serialization.serialized_objects import DagSerialization

from apportion.dags.airflow_dag import build_dag, places
from apportion.foundation.errors import InputError, StoppedError
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import run_locally
from apportion.pipeline.execution.shards import MAX_SHARDS, BatchPendingError
from apportion.pipeline.stages.registry import STAGES
from tests.dags.chain import CHAIN, QUARANTINED, REPORT, WrittenDown, assert_complete
from tests.dags.conftest import ROOT
from tests.dags.small_run import artifacts, write_config, write_corpus, write_replies

pytestmark = pytest.mark.dags


@pytest.fixture(scope="module")
def bag() -> DagBag:
    return DagBag(dag_folder=ROOT / "dags")


@pytest.fixture(scope="module")
def dag(bag: DagBag) -> DAG:
    return bag.dags["apportion"]


@pytest.fixture(scope="session")
def database() -> None:
    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True)


def test_folder_loads_without_errors_and_holds_one_dag(bag: DagBag) -> None:
    assert bag.import_errors == {}
    assert list(bag.dags) == ["apportion"]


def test_tasks_are_those_of_the_stages(dag: DAG) -> None:
    of_stages = {f"{stage.name}.{task}" for stage in STAGES.values() for task in ("list_shards", "run_shard")}
    assert set(dag.task_ids) == {"prepare", "finish"} | of_stages


def test_edges_are_those_of_the_stages(dag: DAG) -> None:
    for stage in STAGES.values():
        assert dag.get_task(f"{stage.name}.list_shards").upstream_task_ids == {"prepare"}
        needed = {f"{need}.run_shard" for need in stage.needs}
        assert dag.get_task(f"{stage.name}.run_shard").upstream_task_ids == needed | {f"{stage.name}.list_shards"}
        readers = {f"{other.name}.run_shard" for other in STAGES.values() if stage.name in other.needs}
        assert dag.get_task(f"{stage.name}.run_shard").downstream_task_ids == (readers or {"finish"})


def test_every_stage_is_mapped_over_its_shards(dag: DAG) -> None:
    for stage in STAGES.values():
        assert dag.get_task(f"{stage.name}.run_shard").is_mapped
        assert not dag.get_task(f"{stage.name}.list_shards").is_mapped


def test_only_the_check_of_the_input_is_not_tried_again(dag: DAG) -> None:
    assert dag.get_task("prepare").retries == 0
    assert all(task.retries == 2 for task in dag.tasks if task.task_id != "prepare")


@pytest.mark.parametrize("shards", [0, MAX_SHARDS + 1, "many"])
def test_number_of_shards_is_checked(dag: DAG, shards: object) -> None:
    with pytest.raises(ParamValidationError):
        dag.params.get_param("shards").resolve(shards)


def test_configuration_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPORTION_CONFIG", "/data/chats.toml")
    assert build_dag().params["config"] == "/data/chats.toml"
    monkeypatch.delenv("APPORTION_CONFIG")
    with pytest.raises(ParamValidationError):
        build_dag().params.get_param("config").resolve()


def test_parsing_the_file_imports_no_heavy_library() -> None:
    heavy = "{'torch', 'transformers', 'librosa', 'cv2', 'pandas'}"
    code = f"import sys, dags.airflow_dag; print({heavy} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout.strip() == "set()"


def test_run_makes_every_call_in_order(database: None, tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal")
    run = build_dag(CHAIN, calls).test(run_conf={"config": "c.toml", "shards": 2})
    assert run.state == "success"
    assert_complete(calls.lines(), "c.toml", 2)
    skipped = {ti.task_id for ti in run.get_task_instances() if ti.state == "skipped"}
    assert skipped == {"empty.run_shard"}


def test_failed_shard_fails_the_run_and_nothing_after_it_starts(database: None, tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal", broken="run left 0/2")
    run = build_dag(CHAIN, calls, retries=0).test(run_conf={"config": "c.toml", "shards": 2})
    assert run.state == "failed"
    lines = calls.lines()
    assert "run left 1/2" in lines and "run right 0/2" in lines
    assert not any(line.startswith(("run last-one", "finish")) for line in lines)


def test_lost_shard_is_tried_again(database: None, tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal", broken="run left 0/2")
    build_dag(CHAIN, calls, retries=1, retry_delay=timedelta(0)).test(run_conf={"config": "c.toml", "shards": 2})
    assert calls.lines().count("run left 0/2") == 2


@pytest.mark.parametrize(("error", "attempts"), [(StoppedError, 1), (BatchPendingError, 2)])
def test_shard_that_a_limit_has_stopped_is_tried_again_only_where_that_helps(
    database: None, tmp_path: Path, error: type[StoppedError], attempts: int
) -> None:
    calls = WrittenDown(tmp_path / "journal", broken="run left 0/2", error=error)
    dag = build_dag(CHAIN, calls, retries=1, retry_delay=timedelta(0))
    assert dag.test(run_conf={"config": "c.toml", "shards": 2}).state == "failed"
    assert calls.lines().count("run left 0/2") == attempts
    # The other shard ends as if nothing had been.
    assert calls.lines().count("run left 1/2") == 1


def test_shard_that_hangs_is_ended_and_tried_again(database: None, tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal", broken="run left 0/2", limit_s=0.5, hangs_s=600)
    started_s = time.monotonic()
    dag = build_dag(CHAIN, calls, retries=1, retry_delay=timedelta(0))
    assert dag.test(run_conf={"config": "c.toml", "shards": 2}).state == "failed"
    assert calls.lines().count("run left 0/2") == 2
    assert time.monotonic() - started_s < calls.hangs_s


def test_time_limit_of_the_deployment_goes_before_ours(database: None, tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal", limit_s=1e-6)
    dag = build_dag(CHAIN, calls, retries=0)
    for task in dag.tasks:
        task.execution_timeout = timedelta(hours=1)
    assert dag.test(run_conf={"config": "c.toml", "shards": 2}).state == "success"


@pytest.mark.parametrize(("allowed", "state"), [(False, "failed"), (True, "success")])
def test_quarantine_fails_the_run_unless_allowed(database: None, tmp_path: Path, allowed: bool, state: str) -> None:
    calls = WrittenDown(tmp_path / "journal", quarantined=3)
    run = build_dag(CHAIN, calls).test(run_conf={"config": "c.toml", "allow_quarantine": allowed})
    assert run.state == state
    assert calls.lines().count("finish") == 1


def test_stages_go_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPORTION_POOLS", "llm=judges")
    monkeypatch.setenv("APPORTION_QUEUES", "training=gpu, llm=net")
    monkeypatch.setenv("APPORTION_LIMITS", "media=2")
    dag = build_dag(places=places())
    judge, align, features, split = (
        dag.get_task(f"{stage}.run_shard") for stage in ("judge", "align", "features", "split")
    )
    assert (judge.pool, judge.queue, judge.max_active_tis_per_dag) == ("judges", "net", None)
    assert (align.pool, align.queue) == ("default_pool", "gpu")
    assert (features.queue, features.max_active_tis_per_dag) == ("default", 2)
    assert (split.pool, split.queue, split.max_active_tis_per_dag) == ("default_pool", "default", None)


def test_limit_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPORTION_LIMITS", "media=two")
    with pytest.raises(InputError, match="APPORTION_LIMITS: media=two"):
        places()


def test_team_is_told_of_quarantine_and_its_error_fails_no_task(database: None, tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal", causes=QUARANTINED)
    run = build_dag(CHAIN, calls, on_quarantine=calls.told).test(run_conf={"config": "c.toml", "shards": 1})
    assert run.state == "success"
    assert [line for line in calls.lines() if line.startswith("told")] == [
        "told chat-1 left no | score",
        "told chat-2 left no text",
    ]


def test_pages_lead_to_report_and_quarantined_sessions(database: None, tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal", causes=QUARANTINED)
    dag = build_dag(CHAIN, calls)
    run = dag.test(run_conf={"config": "c.toml", "shards": 1})
    task = f"{run.dag_id}/runs/{run.run_id}/tasks".replace("+", "%2B").replace(":", "%3A")
    assert _link(run, "finish", "link_report") == REPORT
    assert _link(run, "left.run_shard", "link_quarantined", 0) == f"/dags/{task}/left.run_shard/mapped/0/xcom"
    assert _link(run, "right.run_shard", "link_quarantined", 0) is None
    kept = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert list(kept.get_task("left.run_shard").operator_extra_link_dict) == ["Quarantined"]
    assert list(kept.get_task("finish").operator_extra_link_dict) == ["Report"]


def _link(run: Any, task: str, key: str, index: int = -1) -> str | None:
    return run.get_task_instance(task, map_index=index).xcom_pull(task, key=key, map_indexes=index)


def test_real_run_leaves_the_artifacts_of_a_local_run(dag: DAG, database: None, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus")
    write_replies(tmp_path)
    run_locally(load_config(write_config(tmp_path, "local")), list(STAGES), quiet=True)
    run = dag.test(run_conf={"config": str(write_config(tmp_path, "airflow")), "shards": 3})
    assert run.state == "success"
    assert run.get_task_instance("finish").xcom_pull("finish")["quarantined"] == 0
    assert artifacts(tmp_path / "airflow") == artifacts(tmp_path / "local")
    assert (tmp_path / "airflow" / "report.html").is_file()


def test_what_tasks_are_forked_from_has_imported_all_and_computed_nothing() -> None:
    """Python's fork server passes over an import that fails, so that nobody would see it but by the time it takes."""
    seen = "'torch._dynamo' in sys.modules, sys.modules['torch'].cuda.is_initialized()"
    code = f"import sys, apportion.dags.warm; print({seen})"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout.strip() == "True False"
