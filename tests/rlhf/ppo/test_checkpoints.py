"""A training that is stopped and goes on gives the same bytes as one that was not stopped."""

import json
import math
import os
import shutil
from pathlib import Path

import pytest
import torch
from peft import PeftModel

from apportion.foundation.errors import UnitError
from apportion.rlhf.training.checkpoint_folders import StepFolders
from tests.rlhf.killing import check_killed_between_steps
from tests.rlhf.test_alignment import digest
from tests.rlhf.test_alignment import run as align_small
from tests.rlhf.toy import small_policy

STEPS = 3


class Stop(Exception):  # noqa: N818
    """Stands for a kill: nothing after it is carried out."""


def align(out: Path, checkpoints: Path | None, stop_after: int | None = None, **changes):
    def progress(done: int, total: int, text: str) -> None:
        if done == stop_after:
            raise Stop

    return align_small(out, progress=progress, checkpoints=checkpoints, **{"steps": STEPS, **changes})


def stop_and_go_on(folder: Path, stops: tuple[int, ...], **changes):
    for stop in stops:
        with pytest.raises(Stop):
            align(folder / "policy", folder / "kept", stop, **changes)
        assert not (folder / "policy").exists()
    return align(folder / "policy", folder / "kept", **changes)


EVERYTHING = {
    "kl_controller": "adaptive",
    "kl_target": 0.1,
    "kl_horizon": 10,
    "pretrain_coefficient": 0.1,
    "pretrain_batch_size": 2,
    "max_turns": 2,
    "group_by_length": True,
    "micro_batch_size": 1,
    "target_kl": 0.01,
    "lr": 0.01,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a training that nobody stops leaves."""
    folder = tmp_path_factory.mktemp("whole") / "policy"
    align(folder, None)
    return digest(folder)


def test_stopped_after_any_step_the_end_is_the_same(tmp_path):
    undisturbed = align(tmp_path / "a", None, **EVERYTHING)
    stopped = stop_and_go_on(tmp_path / "b", (1, STEPS), **EVERYTHING)
    assert [table.to_pydict() for table in undisturbed] == [table.to_pydict() for table in stopped]
    assert digest(tmp_path / "a") == digest(tmp_path / "b" / "policy")


def test_a_named_policy_goes_on_too(tmp_path):
    policy = small_policy()
    policy.model.save_pretrained(tmp_path / "model")
    policy.tokenizer.save_pretrained(tmp_path / "model")
    named = {"policy": str(tmp_path / "model"), "lr": 1e-2}
    align(tmp_path / "a", None, **named)
    stop_and_go_on(tmp_path / "b", (2,), **named)
    assert digest(tmp_path / "a") == digest(tmp_path / "b" / "policy")
    assert not (tmp_path / "b" / "kept" / "base").exists()


def test_a_stop_before_the_first_step_starts_anew(tmp_path, whole):
    with pytest.raises(Stop):
        align(tmp_path / "b", tmp_path / "kept", 1)
    for folder in (tmp_path / "kept").glob("step-*"):
        shutil.rmtree(folder)
    (tmp_path / "kept" / "tmp.half").mkdir()
    align(tmp_path / "b", tmp_path / "kept")
    assert whole == digest(tmp_path / "b")
    assert not (tmp_path / "kept" / "tmp.half").exists()


def test_two_checkpoints_are_kept_and_each_is_a_policy(tmp_path):
    with pytest.raises(Stop):
        align(tmp_path / "out", tmp_path / "kept", 4, steps=5)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["base", "step-000003", "step-000004"]
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(tmp_path / "kept" / "base", use_safetensors=True)
    loaded = PeftModel.from_pretrained(base, str(tmp_path / "kept" / "step-000004"))
    assert any(bool(weight.any()) for name, weight in loaded.named_parameters() if "lora_B" in name)
    assert json.loads((tmp_path / "kept" / "step-000004" / "state.json").read_text())["good"] == 3


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The checkpoints of a training that was stopped after its second step."""
    folder = tmp_path_factory.mktemp("stopped")
    with pytest.raises(Stop):
        align(folder / "out", folder / "kept", 2)
    return folder / "kept"


@pytest.mark.parametrize("damage", ["state.json", "trainer.pt", "value_head.safetensors", "adapter_model.safetensors"])
def test_a_damaged_checkpoint_is_named_with_what_to_do(tmp_path, damage, stopped, whole):
    kept = shutil.copytree(stopped, tmp_path / "kept")
    (kept / "step-000002" / damage).write_bytes(b"\x80\x04 half")
    with pytest.raises(UnitError, match=r"checkpoint .*step-000002 cannot be read .* Delete this folder to go on"):
        align(tmp_path / "out", kept)
    if damage == "state.json":
        shutil.rmtree(kept / "step-000002")
        align(tmp_path / "out", kept)
        assert digest(tmp_path / "out") == whole


def test_a_checkpoint_runs_no_code(tmp_path, stopped):
    kept = shutil.copytree(stopped, tmp_path / "kept")

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "evil"),)

    torch.save({"optimizer": Evil()}, kept / "step-000002" / "trainer.pt")
    with pytest.raises(UnitError, match="cannot be read"):
        align(tmp_path / "out", tmp_path / "kept")
    assert not (tmp_path / "evil").exists()


def test_a_reward_that_is_no_number_keeps_and_names_the_last_good_checkpoint(tmp_path):
    calls = []

    def reward(contexts, histories, replies):
        calls.append(1)
        return [math.nan if len(calls) == 4 else float(len(reply)) for reply in replies]

    with pytest.raises(UnitError, match=r"step 4: the reward model gave nan.*checkpoint, of 2 steps, .*step-000002"):
        align(tmp_path / "out", tmp_path / "kept", reward=reward, steps=4)
    assert (tmp_path / "kept" / "step-000002" / "adapter_model.safetensors").is_file()
    assert not (tmp_path / "out").exists()


def test_without_a_readable_newest_checkpoint_none_is_named(tmp_path):
    assert StepFolders(tmp_path).kept() is None
    (tmp_path / "step-000001").mkdir()
    assert StepFolders(tmp_path).kept() is None


@pytest.mark.slow
def test_killed_between_any_two_steps_the_final_policy_is_the_same(tmp_path):
    check_killed_between_steps(tmp_path, steps=8)
