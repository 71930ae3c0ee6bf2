"""Policies that two processes of this machine align together, as tests start them."""

import os
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings
from apportion.rlhf.align import align
from apportion.rlhf.launch.launcher import align_distributed
from apportion.rlhf.training.job import Job
from tests.rlhf.toy import SMALL, chats, quiet, small_policy, splits

ROOT = Path(__file__).resolve().parents[2]


def launched(config: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "accelerate.commands.launch"]
    command += [
        "--config_file",
        str(ROOT / "rlhf" / "launch" / "accelerate" / f"{config}.yaml"),
        "--num_processes",
        "2",
    ]
    command += ["--main_process_port", "0", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]


def named_policy(folder: Path) -> str:
    policy = small_policy()
    policy.model.save_pretrained(str(folder))
    policy.tokenizer.save_pretrained(str(folder))
    return str(folder)


def job(tmp_path: Path, reward_model: Path | None = None, **changes) -> Job:
    if reward_model is None:
        reward_model = tmp_path / "reward"
        model = RewardModel.new(RewardModelSettings(), 768, 0)
        torch.nn.init.normal_(model.head.last_weight, generator=torch.Generator().manual_seed(3))
        model.save_pretrained(reward_model)
    table = splits(train=["chat-0", "chat-1"], policy=["chat-2"], test=["chat-3"])
    settings = SMALL.model_copy(update={"processes": 2, **changes})
    return Job(tuple(chats(4)), table, reward_model, settings, 0, tmp_path / "out", tmp_path / "kept")


def aligned_together(folder: Path, config: str) -> dict[str, torch.Tensor]:
    wanted = job(folder, policy=named_policy(folder / "policy"), accelerate=config, lr=1e-3, lr_schedule="constant")
    lines: list[str] = []
    seen: list[int] = []
    history, samples = align(
        wanted, lambda done, total, text: lines.append(text), [lambda step, metrics: seen.append(step)]
    )
    assert seen == [1, 2] and len(lines) == 2 and lines[0].startswith("PPO step 1: reward")
    assert len(samples) == 2 and {row["step"] for row in history.to_pylist()} == {1, 2}
    assert (wanted.out / "README.md").is_file()
    kept = torch.load(folder / "kept" / "step-000002" / "trainer.pt", weights_only=True)
    assert len(kept["random"]) == 2 and not torch.equal(kept["random"][0]["cpu"], kept["random"][1]["cpu"])
    return load_file(wanted.out / "adapter_model.safetensors")


def aligned_in_two_goes(folder: Path, config: str) -> tuple[list[int], dict[str, torch.Tensor]]:
    """`aligned_together` ended after its first step and started again: the steps of the second go, and the adapters."""
    policy = named_policy(folder / "policy")
    settings = {"policy": policy, "accelerate": config, "lr": 1e-3, "lr_schedule": "constant"}
    align_distributed(job(folder, steps=1, **settings), quiet, ())
    assert (folder / "kept" / "step-000001").is_dir()
    told: list[int] = []
    align_distributed(job(folder, **settings), lambda done, total, text: told.append(done), ())
    return told, load_file(folder / "out" / "adapter_model.safetensors")
