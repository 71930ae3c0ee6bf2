import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("prefect", reason="needs the Prefect environment: `make test-dags`")

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import TaskRun
from prefect.task_runners import ProcessPoolTaskRunner, ThreadPoolTaskRunner
from prefect.testing.utilities import prefect_test_harness

from apportion.dags import prefect_flow
from apportion.dags.prefect_flow import build_flow
from apportion.foundation.errors import InputError, StoppedError, UnitError
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import run_locally
from apportion.pipeline.execution.shards import BatchPendingError
from apportion.pipeline.stages.registry import STAGES
from tests.dags.chain import CHAIN, QUARANTINED, REPORT, WrittenDown, assert_complete
from tests.dags.small_run import artifacts, write_config, write_corpus, write_replies

pytestmark = pytest.mark.dags
PATIENCE = 120
"""Times that a server is asked for a run's tasks: it records them some time after they have ended."""


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with prefect_test_harness(server_startup_timeout=120):
        yield


@pytest.fixture(scope="module")
def task_runs(server: None, tmp_path_factory: pytest.TempPathFactory) -> list[TaskRun]:
    """What the server knows of a run of the real stages, two shards each."""
    calls = WrittenDown(tmp_path_factory.mktemp("structure") / "journal")
    state = build_flow(tuple(STAGES.values()), calls, ThreadPoolTaskRunner(4))("c.toml", 2, return_state=True)
    with get_client(sync_client=True) as client:
        this_run = FlowRunFilter(id=FlowRunFilterId(any_=[state.state_details.flow_run_id]))
        for _ in range(PATIENCE):
            found = client.read_task_runs(flow_run_filter=this_run, limit=200)
            if len(found) == 2 + 3 * len(STAGES) and all(run.state and run.state.is_completed() for run in found):
                break
            time.sleep(1)
    return found


def _upstream(task_runs: list[TaskRun]) -> dict[str, set[str]]:
    """For each task's name, the names of the tasks that it waited for."""
    names = {run.id: _task_name(run) for run in task_runs}
    edges: dict[str, set[str]] = {}
    for run in task_runs:
        waited = {names[one.id] for ones in run.task_inputs.values() for one in ones if one.input_type == "task_run"}
        edges.setdefault(_task_name(run), set()).update(waited)
    return edges


def _task_name(run: TaskRun) -> str:
    """Without the shard's number."""
    return run.name.split(" ")[0]


def test_tasks_are_those_of_the_stages(task_runs: list[TaskRun]) -> None:
    of_stages = {f"{stage.name}.{task}" for stage in STAGES.values() for task in ("list_shards", "run_shard")}
    assert {_task_name(run) for run in task_runs} == {"prepare", "finish"} | of_stages


def test_edges_are_those_of_the_stages(task_runs: list[TaskRun]) -> None:
    upstream = _upstream(task_runs)
    for stage in STAGES.values():
        assert upstream[f"{stage.name}.list_shards"] == {"prepare"}
        needed = {f"{need}.run_shard" for need in stage.needs}
        assert upstream[f"{stage.name}.run_shard"] == needed | {f"{stage.name}.list_shards"}
    needed = {need for stage in STAGES.values() for need in stage.needs}
    assert upstream["finish"] == {f"{stage.name}.run_shard" for stage in STAGES.values() if stage.name not in needed}


def test_every_stage_is_mapped_over_its_shards(task_runs: list[TaskRun]) -> None:
    for stage in STAGES.values():
        names = {run.name for run in task_runs if _task_name(run) == f"{stage.name}.run_shard"}
        assert names == {f"{stage.name}.run_shard 0", f"{stage.name}.run_shard 1"}


@pytest.mark.parametrize("runner", [ThreadPoolTaskRunner(2), ProcessPoolTaskRunner(2)], ids=["threads", "processes"])
def test_run_makes_every_call_in_order(runner: ThreadPoolTaskRunner, tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal")
    assert build_flow(CHAIN, calls, runner)("c.toml", 2) == {"quarantined": 0}
    assert_complete(calls.lines(), "c.toml", 2)


@pytest.mark.parametrize("broken", ["prepare c.toml", "list left", "run left 0/2"])
def test_failure_is_raised_as_it_was_and_nothing_after_it_starts(broken: str, tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal", broken=broken)
    with pytest.raises(InputError, match=f"{broken}: broken on purpose"):
        build_flow(CHAIN, calls, ThreadPoolTaskRunner(2), retries=0)("c.toml", 2)
    assert not any(line.startswith(("run last-one", "finish")) for line in calls.lines())


def test_failed_shard_does_not_stop_the_others(tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal", broken="run left 0/2")
    with pytest.raises(InputError):
        build_flow(CHAIN, calls, ThreadPoolTaskRunner(1), retries=0)("c.toml", 2)
    assert {"run left 1/2", "run right 0/2"} <= set(calls.lines())


def test_lost_shard_is_tried_again_but_not_the_check_of_the_input(tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal", broken="run left 0/2")
    with pytest.raises(InputError):
        build_flow(CHAIN, calls, ThreadPoolTaskRunner(2), retries=1, retry_delay_s=0)("c.toml", 2)
    assert calls.lines().count("run left 0/2") == 2
    refused = WrittenDown(tmp_path / "refused", broken="prepare c.toml")
    with pytest.raises(InputError):
        build_flow(CHAIN, refused, ThreadPoolTaskRunner(2), retries=1, retry_delay_s=0)("c.toml", 2)
    assert refused.lines() == ["prepare c.toml"]


@pytest.mark.parametrize(("error", "attempts"), [(StoppedError, 1), (BatchPendingError, 2)])
def test_shard_that_a_limit_has_stopped_is_tried_again_only_where_that_helps(
    tmp_path: Path, error: type[StoppedError], attempts: int
) -> None:
    calls = WrittenDown(tmp_path / "journal", broken="run left 0/2", error=error)
    with pytest.raises(error, match="run left 0/2: broken on purpose"):
        build_flow(CHAIN, calls, ThreadPoolTaskRunner(2), retries=1, retry_delay_s=0)("c.toml", 2)
    assert calls.lines().count("run left 0/2") == attempts
    # The other shard ends as if nothing had been.
    assert calls.lines().count("run left 1/2") == 1


def test_shard_that_hangs_is_ended_and_tried_again(tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal", broken="run left 0/2", limit_s=1.5, hangs_s=600)
    started_s = time.monotonic()
    with pytest.raises(TimeoutError):
        build_flow(CHAIN, calls, ProcessPoolTaskRunner(2), retries=1, retry_delay_s=0)("c.toml", 2)
    assert calls.lines().count("run left 0/2") == 2
    assert time.monotonic() - started_s < calls.hangs_s


def test_quarantine_fails_the_run_unless_allowed(tmp_path: Path) -> None:
    calls = WrittenDown(tmp_path / "journal", quarantined=3)
    run = build_flow(CHAIN, calls, ThreadPoolTaskRunner(2))
    with pytest.raises(UnitError, match="3 units or sessions are in quarantine"):
        run("c.toml")
    assert run("c.toml", allow_quarantine=True) == {"quarantined": 3}


@pytest.mark.parametrize("runner", [ThreadPoolTaskRunner(2), ProcessPoolTaskRunner(2)], ids=["threads", "processes"])
def test_team_is_told_of_quarantine_and_pages_lead_to_what_was_left(
    runner: ThreadPoolTaskRunner, tmp_path: Path
) -> None:
    calls = WrittenDown(tmp_path / "journal", causes=QUARANTINED)
    build_flow(CHAIN, calls, runner, on_quarantine=calls.told)("c.toml", 1)
    assert [line for line in calls.lines() if line.startswith("told")] == [
        "told chat-1 left no | score",
        "told chat-2 left no text",
    ]
    with get_client(sync_client=True) as client:
        newest = {artifact.key: artifact.data for artifact in client.read_artifacts(limit=200)}
    assert REPORT in newest["report"]
    assert "| chat-1 | no \\| score |" in newest["quarantine-left-0"]
    assert "quarantine-right-0" not in newest


def test_shards_carry_what_their_stage_takes_as_a_tag(task_runs: list[TaskRun]) -> None:
    tags = {run.name: run.tags for run in task_runs}
    assert tags["judge.run_shard 0"] == ["llm"] and tags["align.run_shard 0"] == ["training"]
    assert tags["features.run_shard 0"] == ["media"] and tags["split.run_shard 0"] == ["cpu"]


def test_command_says_what_is_wrong_with_its_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.toml"
    assert prefect_flow.main([str(missing), "--workers", "1"]) == 2
    assert f"error: {missing}: no such file" in capsys.readouterr().err


def test_real_run_leaves_the_artifacts_of_a_local_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(tmp_path / "corpus")
    write_replies(tmp_path)
    run_locally(load_config(write_config(tmp_path, "local")), list(STAGES), quiet=True)
    assert prefect_flow.main([str(write_config(tmp_path, "prefect")), "--shards", "3", "--workers", "2"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["quarantined"] == 0
    assert artifacts(tmp_path / "prefect") == artifacts(tmp_path / "local")
    assert (tmp_path / "prefect" / "report.html").is_file()


@pytest.mark.parametrize("said", ["Timed out while attempting to connect to ephemeral Prefect API server.", "another"])
def test_a_server_that_does_not_come_is_one_line(said, monkeypatch, capsys):
    def fails(*_):
        raise RuntimeError(said)

    monkeypatch.setattr(prefect_flow, "build_flow", lambda **_: fails)
    if said == "another":
        with pytest.raises(RuntimeError, match="another"):
            prefect_flow.main(["c.toml"])
    else:
        assert prefect_flow.main(["c.toml"]) == 1
        assert "did not start within" in capsys.readouterr().err
