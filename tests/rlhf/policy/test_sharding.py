"""Frozen weights sharded by DeepSpeed: what its config may say, and what two processes make of it."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import torch

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.sharding import is_sharded_weight, zero_config
from tests.rlhf.together import aligned_in_two_goes, aligned_together, launched


def test_what_deepspeed_is_told_is_what_the_accelerate_config_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "3")
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE", "cpu")
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", "cpu")
    zero = zero_config()["zero_optimization"]
    assert zero["stage"] == 3 and zero["offload_param"]["device"] == "cpu" and "offload_optimizer" not in zero
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2")
    with pytest.raises(InputError, match=r"zero_stage = 2, but only stage 3 .*accelerate = 'data_parallel'"):
        zero_config()


def test_a_deepspeed_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "zero.json"
    zero = {"stage": 3, "stage3_max_live_parameters": 1e8, "stage3_prefetch_bucket_size": "auto"}
    own.write_text(json.dumps({"zero_optimization": zero, "optimizer": {"type": "AdamW"}}))
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_CONFIG_FILE", str(own))
    told = zero_config()
    assert told["zero_optimization"] == {"stage": 3, "stage3_max_live_parameters": 1e8}
    assert set(told) == {"train_micro_batch_size_per_gpu", "zero_optimization"}
    own.write_text("{")
    with pytest.raises(InputError, match="its DeepSpeed config cannot be read"):
        zero_config()


def test_weights_that_nobody_has_sharded_are_whole() -> None:
    assert not is_sharded_weight(torch.zeros(2))


@pytest.fixture(scope="session")
def extensions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where DeepSpeed compiles its transport between processes on a CPU: one folder for all tests, a new one a run."""
    return tmp_path_factory.mktemp("extensions")


@pytest.fixture
def compiler(extensions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What DeepSpeed needs on a CPU."""
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler (c++), with which DeepSpeed compiles what it needs on a CPU")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(extensions))
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")


@pytest.mark.deepspeed
@pytest.mark.usefixtures("compiler")
def test_each_process_holds_half_and_reads_the_same(tmp_path: Path) -> None:
    launched("deepspeed", "-m", "tests.rlhf.zero_run", str(tmp_path))
    for rank in (0, 1):
        told = json.loads((tmp_path / f"rank{rank}.json").read_text())
        assert told["sharded"] == pytest.approx(told["all"] / 2, rel=0.02) and told["whole_between_passes"] == 0
        assert told["logits"] < 1e-5 and told["gradients"] < 1e-5 < told["largest_gradient"]
        assert told["replies"] == told["replies_whole"] and told["is_sharded"]


@pytest.mark.deepspeed
@pytest.mark.usefixtures("compiler")
def test_a_policy_that_is_sharded_learns_the_same_and_goes_on_where_it_was(tmp_path: Path) -> None:
    whole, sharded = (aligned_together(tmp_path / config, config) for config in ("data_parallel", "deepspeed"))
    assert all(bool(weight.any()) for name, weight in whole.items() if "lora_B" in name)
    for name, weight in whole.items():
        torch.testing.assert_close(sharded[name], weight, rtol=1e-3, atol=1e-5)
    told, again = aligned_in_two_goes(tmp_path, "deepspeed")
    assert told == [2]
    assert all(torch.equal(again[name], weight) for name, weight in sharded.items())
