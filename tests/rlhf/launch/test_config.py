"""What `align.accelerate` may be, and what is said of what it may not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.rlhf.launch.config import SHIPPED, check_config, config_file
from apportion.rlhf.settings import AlignSettings


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
        ("", "cannot read it"),
        ("- 1\n- 2\n", "cannot read it"),
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
    with pytest.raises(InputError, match="'fsdp': generation = 'vllm' needs the whole policy in each process"):
        check_config(AlignSettings.model_validate({**vllm, "accelerate": "fsdp"}))
    check_config(AlignSettings.model_validate(vllm))


def test_deepspeed_has_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apportion.foundation.optional_packages.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"'deepspeed': .* needs deepspeed. .*pip install 'apportion\[deepspeed\]'"):
        check("deepspeed")
    check("fsdp")
