"""Several processes that share each batch take the steps of one, and a failure in one of them ends all."""

import math
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor

from apportion.foundation.errors import InputError, UnitError
from apportion.reward_model.learning.loop import read_state
from apportion.reward_model.learning.objective import Batch, TurnMSE
from tests.reward_model import training_runs
from tests.reward_model.tiny import save_tiny
from tests.reward_model.training_runs import settings_for, trained


@pytest.mark.slow
@dataclass(frozen=True)
class Failing(TurnMSE):
    """Turn MSE that goes wrong in the second process."""

    how: str = "nan"

    def loss(self, predicted: Tensor, batch: Batch) -> Tensor:
        if os.environ.get("RANK") == "1":
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            return super().loss(predicted, batch) * math.nan
        return super().loss(predicted, batch)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "own"), [("bert", {}), ("llama", {"trained_layers": 0, "lora_rank": 2})])
def test_two_processes_take_the_steps_of_one(kind: str, own: dict[str, int], tmp_path: Path) -> None:
    """Without dropout, whose random numbers differ; 10 dialogues in batches of 3 leave one process idle at the end."""
    own = {"dropout": 0.0, "batch_size": 3, "epochs": 2, "gradient_checkpointing": True, **own}
    settings = settings_for(save_tiny(tmp_path, kind), **own)
    alone, history = trained(settings)
    told: list[str] = []
    shared = settings.model_copy(update={"processes": 2})
    together, same = trained(shared, tmp_path / "t.pt", lambda done, total, text: told.append(text))
    assert len(told) == 2 and told[0].startswith("epoch 1: loss")
    for one, two in zip(history, same, strict=True):
        assert one.train_loss == pytest.approx(two.train_loss, rel=1e-4)
        assert one.validation_loss == pytest.approx(two.validation_loss, rel=1e-4)
    for name, value in alone.state_dict().items():
        torch.testing.assert_close(together.state_dict()[name], value, rtol=1e-3, atol=1e-4)
    kept = read_state(tmp_path / "t.pt", torch.load(tmp_path / "t.pt", weights_only=True)["fingerprint"])
    assert kept is not None and kept["random"].shape[0] == 2 and len(kept["history"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "problem"), [("nan", "epoch 1, session s0.*: the loss is nan"), ("kill", "processes ended .*SIGKILL")]
)
def test_a_failure_in_one_process_ends_all_and_is_told(
    how: str, problem: str, bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_runs, "TurnMSE", lambda: Failing(how=how))
    with pytest.raises(UnitError, match=problem):
        trained(settings_for(bert, processes=2))


def test_more_processes_than_gpus_are_refused(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    monkeypatch.setattr("apportion.reward_model.learning.dataset.check_device", lambda device: None)
    monkeypatch.setattr("apportion.reward_model.network.backbones.Backbone.to", lambda self, device: self)
    with pytest.raises(InputError, match="processes = 2: torch sees 1 CUDA devices"):
        trained(settings_for(bert, processes=2, device="cuda"))


@pytest.mark.slow
def test_two_processes_that_are_started_again_go_on_where_they_were(bert: Path, tmp_path: Path) -> None:
    settings = settings_for(bert, processes=2, dropout=0.3, epochs=3)
    whole, history = trained(settings, tmp_path / "whole.pt")
    trained(settings.model_copy(update={"epochs": 1}), tmp_path / "t.pt")
    state = torch.load(tmp_path / "t.pt", weights_only=True)
    # The first epoch of three is that of one: only what the state says of its training differs.
    state["fingerprint"] = torch.load(tmp_path / "whole.pt", weights_only=True)["fingerprint"]
    torch.save(state, tmp_path / "t.pt")
    again, same = trained(settings, tmp_path / "t.pt")
    assert same == history
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in whole.state_dict().items())
