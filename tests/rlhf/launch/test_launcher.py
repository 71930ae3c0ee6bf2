"""Several processes take the steps of one; they are started, watched and ended by `accelerate launch`."""

import ast
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml
from accelerate.commands.config.config_args import load_config_from_file
from safetensors.torch import load_file

from apportion.corpus.session import Background
from apportion.foundation.distributed import Processes
from apportion.foundation.errors import InputError, UnitError
from apportion.rlhf.launch import launcher as launch
from apportion.rlhf.launch.launcher import SHIPPED, check_config, config_file
from apportion.rlhf.launch.worker import SharedJob
from apportion.rlhf.policy.prompts import prompt_episodes
from apportion.rlhf.policy.sharding import FLAGS, check_sharding, claim_accelerate_flags, sharding_asked
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.job import Asking, Member
from tests.made_once import made_once
from tests.rlhf.processes_run import SETTINGS, run, trained
from tests.rlhf.together import aligned_in_two_goes, aligned_together, job, launched
from tests.rlhf.toy import SMALL, quiet


@pytest.mark.slow
def test_two_processes_take_the_steps_of_one(tmp_path: Path) -> None:
    launched("data_parallel", "-m", "tests.rlhf.processes_run", str(tmp_path))
    alone, history = run(Processes(), None)
    first, second = (load_file(tmp_path / f"rank{rank}.safetensors") for rank in (0, 1))
    assert all(torch.equal(first[name], second[name]) for name in first)
    start, _ = run(Processes(), None, SETTINGS.model_copy(update={"lr": 1e-30}))
    assert all(float((weight - first[name]).abs().max()) > 1e-3 for name, weight in trained(start).items())
    for name, weight in trained(alone).items():
        torch.testing.assert_close(first[name], weight, rtol=1e-3, atol=1e-4)
    told = ast.literal_eval((tmp_path / "history.txt").read_text())
    for (step, name, value), (_, other, same) in zip(history.rows, told, strict=True):
        assert name == other and same == pytest.approx(value, rel=1e-3, abs=1e-5), (step, name)


@pytest.mark.parametrize(
    ("name", "kind"), [("data_parallel", "MULTI_GPU"), ("fsdp", "FSDP"), ("deepspeed", "DEEPSPEED")]
)
def test_the_shipped_configs_are_what_accelerate_reads(name: str, kind: str) -> None:
    config = load_config_from_file(str(config_file(AlignSettings(accelerate=name))))
    assert config.distributed_type == kind and config.num_machines == 1
    if kind == "FSDP":
        assert config.fsdp_config["fsdp_version"] == 2
    if kind == "DEEPSPEED":
        assert config.deepspeed_config["zero_stage"] == 3


def test_a_job_is_read_as_it_was_written(tmp_path: Path) -> None:
    wanted = SharedJob(job(tmp_path, Path("/nowhere")), threads=3, parent=17)
    wanted.write(tmp_path)
    assert SharedJob.read(tmp_path) == wanted
    known = (Background(None, "scenario", "A market."), Background("a", "goal", "A low price."))
    episodes = tuple(replace(episode, backgrounds=known) for episode in wanted.job.episodes)
    wanted = SharedJob(replace(wanted.job, episodes=episodes), threads=3, parent=17)
    wanted.write(tmp_path)
    assert SharedJob.read(tmp_path) == wanted
    without = SharedJob(replace(wanted.job, reward_model=None), threads=3, parent=17)
    without.write(tmp_path)
    assert SharedJob.read(tmp_path) == without
    asking = Asking(cache=tmp_path / "cache", recorded=tmp_path / "replies", budget_usd=0.5)
    prompts, members = prompt_episodes([{"prompt": "Where?"}]), (Member(tmp_path / "m", 0.1, 2.0),)
    given = {"prompts": prompts, "ensemble": members, "thumbs": {("s", 1): True}}
    asked = SharedJob(replace(without.job, asking=asking, **given), 3, 17)
    asked.write(tmp_path)
    assert SharedJob.read(tmp_path) == asked
    of_server = replace(asked, job=replace(asked.job, asking=Asking(cache="postgresql://host/ledger")))
    of_server.write(tmp_path)
    assert SharedJob.read(tmp_path) == of_server


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    """The adapters of an alignment by two processes, each of which holds all weights, in one go."""
    folder = made_once(tmp_path_factory, "aligned by two", lambda folder: aligned_together(folder, "data_parallel"))
    return load_file(folder / "out" / "adapter_model.safetensors")


@pytest.mark.slow
def test_two_processes_align_a_policy_and_sharding_its_weights_changes_nothing(
    whole: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    sharded = aligned_together(tmp_path, "fsdp")
    assert all(bool(weight.any()) for name, weight in whole.items() if "lora_B" in name)
    for name, weight in whole.items():
        torch.testing.assert_close(sharded[name], weight, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
def test_two_processes_that_are_started_again_go_on_where_they_were(
    whole: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    told, again = aligned_in_two_goes(tmp_path, "data_parallel")
    assert told == [2]
    assert all(torch.equal(again[name], weight) for name, weight in whole.items())


@pytest.mark.slow
def test_a_problem_in_the_processes_is_told_as_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("accelerate", "torch", "rlhf", "json"):  # Where they are started, nothing is taken for one of ours.
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken from the current folder')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        launch.align_distributed(job(tmp_path, policy="./nowhere"), quiet, ())
    with pytest.raises(InputError, match="'tiny' is too small to be dealt out"):
        launch.align_distributed(job(tmp_path, accelerate="fsdp"), quiet, ())


def test_a_stage_of_zero_that_leaves_frozen_weights_whole_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "stage2.yaml"
    text = config_file(AlignSettings(accelerate="deepspeed")).read_text()
    own.write_text(text.replace("zero_stage: 3", "zero_stage: 2"))
    monkeypatch.setattr("apportion.foundation.optional_packages.find_spec", lambda name: name)
    monkeypatch.setattr(launch, "launch_command", lambda settings, folder: pytest.fail("it was started"))
    with pytest.raises(InputError, match="zero_stage = 2, but only stage 3"):
        launch.align_distributed(job(tmp_path, Path("/nowhere"), accelerate=str(own), policy="some/model"), quiet, ())
    assert not (tmp_path / "kept").exists()


def test_processes_that_end_for_another_reason_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = [sys.executable, "-c", "import sys; print('APPORTION {\"progress\": [1, 2, \"a\"]}'); sys.exit('boom')"]
    monkeypatch.setattr(launch, "launch_command", lambda settings, folder: dying)
    told: list[tuple[int, int, str]] = []
    jobs: list[int] = []

    def progress(done: int, total: int, text: str) -> None:
        told.append((done, total, text))
        jobs.append(len(list((tmp_path / "kept").glob("job-*"))))

    with pytest.raises(UnitError, match=r"one of the processes ended \(exit code 1; boom\).*lower mini_batch_size"):
        launch.align_distributed(job(tmp_path, Path("/nowhere")), progress, ())
    assert told == [(1, 2, "a")]
    # The corpus' text lies where a finished run clears up, and nowhere else.
    assert jobs == [1] and not list((tmp_path / "kept").iterdir())


def test_nothing_is_imported_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted.py").write_text("raise SystemExit('it was run')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "launch_command", lambda settings, folder: [sys.executable, "-m", "planted"])
    with pytest.raises(UnitError, match="No module named planted"):
        launch.align_distributed(job(tmp_path, Path("/nowhere")), quiet, ())


ELASTIC = """
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
E1121 failed (exitcode: 1) local_rank: 1
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
  error_file: <N/A>
====================
"""


def test_the_line_that_tells_why_a_process_ended_is_found() -> None:
    assert launch.failure_line(ELASTIC).startswith("[rank1]: torch.OutOfMemoryError")
    killed = "  exitcode  : -9 (pid: 7)\n  traceback : Signal 9 (SIGKILL) received by PID 7\n=====\n"
    assert launch.failure_line(killed) == "traceback : Signal 9 (SIGKILL) received by PID 7"
    others = "RuntimeError: reset by peer\n  traceback : Signal 15 (SIGTERM) received by PID 8\n"
    assert launch.failure_line(others) == "RuntimeError: reset by peer"
    assert launch.failure_line("a\n\nb\n") == "b" and launch.failure_line("") == "without a word"


def test_what_interrupts_the_parent_ends_the_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = [sys.executable, "-c", 'print(\'APPORTION {"progress": [1, 2, "a"]}\', flush=True); input()']
    monkeypatch.setattr(launch, "launch_command", lambda settings, folder: waiting)
    started: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def start(*arguments, **more):
        started.append(popen(*arguments, stdin=subprocess.PIPE, **more))
        return started[0]

    def interrupted(done: int, total: int, text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(KeyboardInterrupt):
        launch.align_distributed(job(tmp_path, Path("/nowhere")), interrupted, ())
    assert started[0].returncode is not None


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(InputError, match=r"processes = 2: torch sees 1 CUDA devices"):
        launch.check_launch(SMALL.model_copy(update={"processes": 2, "device": "cuda"}))


def test_settings_with_which_no_weights_can_be_dealt_out_are_refused_before_any_process_starts() -> None:
    with pytest.raises(InputError, match="'tiny' is too small to be dealt out"):
        launch.check_launch(SMALL.model_copy(update={"processes": 2, "accelerate": "fsdp"}))


def test_a_config_of_ones_own_is_taken(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(yaml.safe_dump({"distributed_type": "MULTI_GPU"}))
    command = launch.launch_command(SMALL.model_copy(update={"processes": 3, "accelerate": str(own)}), tmp_path)
    assert command[command.index("--config_file") + 1] == str(own)
    assert command[command.index("--num_processes") + 1] == "3"


class Two(Processes):
    def __init__(self) -> None:
        super().__init__()
        self.size = 2


def test_what_shards_weights_is_asked_for_by_the_config(monkeypatch: pytest.MonkeyPatch) -> None:
    for names in FLAGS.values():
        for name in names:
            monkeypatch.setenv(name, "false")
    claim_accelerate_flags()
    assert sharding_asked(Two()) is None
    for sharder, (theirs, ours) in FLAGS.items():
        monkeypatch.setenv(theirs, "true")
        claim_accelerate_flags()
        assert sharding_asked(Two()) == sharder and sharding_asked(Processes()) is None
        assert os.environ[theirs] == "false"
        monkeypatch.setenv(ours, "false")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, "'tiny' is too small"),
        ({"policy": "p", "max_turns": 2}, "max_turns: .* end at different times"),
        (
            {"policy": "p", "batch_size": 6, "mini_batch_size": 3},
            "mini_batch_size = 3: .* a multiple of the 2 processes",
        ),
        ({"policy": "p", "batch_size": 6, "mini_batch_size": 4}, r"mini_batch_size = 4: .* divide batch_size \(6\)"),
    ],
)
def test_settings_with_which_processes_would_wait_for_ever_are_refused(changes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        check_sharding(SMALL.model_copy(update=changes), 2)


def check(accelerate: object) -> None:
    check_config(AlignSettings(processes=2, accelerate=str(accelerate)))


def test_a_shipped_config_is_taken_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apportion.foundation.optional_packages.find_spec", lambda name: name)
    for name in SHIPPED:
        check(name)
        assert config_file(AlignSettings(accelerate=name)).name == f"{name}.yaml"


def test_ones_own_may_be_yaml_or_json(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("distributed_type: FSDP\nnum_machines: 1\nnum_processes: 2\n")
    (tmp_path / "a.json").write_text(
        json.dumps({"distributed_type": "MULTI_CPU", "num_processes": 2, "compute_environment": "LOCAL_MACHINE"})
    )
    check(tmp_path / "a.yaml")
    check(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("distributed_type: FSDP\nnum_processes: 2\nturbo: true\n", r"cannot read it: .*unknown keys \(\['turbo'\]\)"),
        ("num_processes: 2\n", "cannot read it: .*`distributed_type` must be specified"),
        ("distributed_type: WARP\nnum_processes: 2\n", "cannot read it: .*WARP"),
        ("a: [", "cannot read it"),
        ("distributed_type: 'NO'\nnum_processes: 1\n", "distributed_type is NO, and one of MULTI_GPU, MULTI_CPU, FSDP"),
        ("distributed_type: FSDP\nnum_machines: 2\nnum_processes: 2\n", "num_machines is 2; .* on this machine"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(InputError, match=problem) as told:
        check(tmp_path / "own.yaml")
    assert "own.yaml" in str(told.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/no/file': no such file\. Give data_parallel, fsdp, deepspeed, or the file"):
        check("/no/file")
    with pytest.raises(InputError, match="no such file"):
        check(tmp_path)


@pytest.mark.parametrize("algorithm", ["grpo", "rloo", "sft"])
def test_trls_trainers_shard_weights_by_fsdp_alone(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apportion.foundation.optional_packages.find_spec", lambda name: name)
    match = f"'deepspeed': distributed_type is DEEPSPEED, which {algorithm} cannot use. Set it to 'fsdp'"
    with pytest.raises(InputError, match=match):
        check_config(AlignSettings(algorithm=algorithm, processes=2, accelerate="deepspeed"))
    for name in ("data_parallel", "fsdp"):
        check_config(AlignSettings(algorithm=algorithm, processes=2, accelerate=name))


@pytest.mark.parametrize(("stage", "told"), [("2", "2"), ("'1'", "1"), ("null", "None")])
def test_a_stage_of_zero_that_leaves_frozen_weights_whole_is_refused(tmp_path: Path, stage: str, told: str) -> None:
    text = config_file(AlignSettings(accelerate="deepspeed")).read_text()
    (tmp_path / "own.yaml").write_text(text.replace("zero_stage: 3", f"zero_stage: {stage}"))
    with pytest.raises(InputError, match=rf"zero_stage = {told}, but only stage 3"):
        check(tmp_path / "own.yaml")


def test_a_deepspeed_file_is_left_to_the_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apportion.foundation.optional_packages.find_spec", lambda name: name)
    file = "deepspeed_config_file: zero.json\n  zero3_init_flag: false\n"
    text = "distributed_type: DEEPSPEED\nnum_machines: 1\nnum_processes: 2\ndeepspeed_config:\n  " + file
    (tmp_path / "own.yaml").write_text(text)
    check(tmp_path / "own.yaml")


def test_vllm_reads_whole_policies() -> None:
    vllm = {"algorithm": "grpo", "generation": "vllm", "policy": "some/model", "device": "cuda", "processes": 2}
    for shards in ("fsdp", "deepspeed"):
        with pytest.raises(InputError, match=f"'{shards}': generation = 'vllm' needs the whole policy in each process"):
            check_config(AlignSettings.model_validate({**vllm, "algorithm": "ppo", "accelerate": shards}))
    check_config(AlignSettings.model_validate(vllm))


def test_deepspeed_has_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apportion.foundation.optional_packages.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"'deepspeed': .* needs deepspeed. .*pip install 'apportion\[deepspeed\]'"):
        check("deepspeed")
    check("fsdp")
