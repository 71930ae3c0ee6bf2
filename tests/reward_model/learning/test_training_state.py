"""A training that was killed goes on from its last epoch, and ends with the bits of one that was not."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from apportion.reward_model.learning.loop import read_state, write_state
from apportion.reward_model.settings import RewardModelSettings
from tests.behaviour.command import environment
from tests.reward_model.training_runs import settings_for, trained


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def killed(settings: RewardModelSettings, state: Path, epoch: int) -> None:
    command = [sys.executable, "-m", "tests.reward_model.training_runs", settings.model_dump_json()]
    done = subprocess.run([*command, str(state), str(epoch)], env=environment(), capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.slow
def test_a_killed_training_goes_on_and_ends_with_the_same_bits(bert: Path, tmp_path: Path) -> None:
    settings = settings_for(bert, dropout=0.3)
    whole, history = trained(settings)
    state = tmp_path / "deep" / "training.pt"
    killed(settings, state, 2)
    told: list[str] = []
    again, resumed = trained(settings, state, lambda done, total, text: told.append(text))
    assert told[0] == "going on after epoch 2" and len(told) == 3
    assert resumed == history
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in whole.state_dict().items())
    whole.save_pretrained(tmp_path / "one")
    again.save_pretrained(tmp_path / "two")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two")]
    assert weights[0] == weights[1]


def test_a_finished_training_is_not_run_again_and_early_stopping_is_remembered(bert: Path, tmp_path: Path) -> None:
    settings = settings_for(bert, lr=0.5, patience=1, epochs=30)
    model, history = trained(settings, tmp_path / "t.pt")
    assert len(history) < 30
    told: list[str] = []
    again, same = trained(settings, tmp_path / "t.pt", lambda done, total, text: told.append(text))
    assert told == [f"going on after epoch {len(history)}"] and same == history
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in model.state_dict().items())


def test_the_state_of_another_training_is_not_gone_on_from(bert: Path, tmp_path: Path) -> None:
    trained(settings_for(bert, epochs=2), tmp_path / "t.pt")
    told: list[str] = []
    trained(settings_for(bert, epochs=2, dropout=0.2), tmp_path / "t.pt", lambda done, total, text: told.append(text))
    assert told[0].startswith("epoch 1:")


@pytest.mark.parametrize("damage", ["cut", "empty", "pickle", "list"])
def test_a_damaged_state_starts_the_training_anew_and_nothing_in_it_is_run(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    write_state(path, {"fingerprint": "x", "history": [(1, 0.5, None)], "weights": torch.zeros(3)})
    kept = read_state(path, "x")
    assert kept is not None and kept["history"] == [(1, 0.5, None)]
    assert read_state(path, "y") is None and read_state(tmp_path / "none.pt", "x") is None

    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (pytest.fail, ("the pickle was run",))

    if damage == "cut":
        path.write_bytes(path.read_bytes()[:100])
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        torch.save(Bomb() if damage == "pickle" else ["x"], path)
    assert read_state(path, "x") is None
    assert [file.name for file in tmp_path.iterdir()] == ["t.pt"]
