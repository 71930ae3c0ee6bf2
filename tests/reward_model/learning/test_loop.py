import math
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from apportion.foundation.errors import InputError, UnitError
from apportion.reward_model.learning.dataset import Dataset, read_turns
from apportion.reward_model.learning.loop import EpochRow, Training, read_state, write_state
from apportion.reward_model.learning.objective import Batch, TurnMSE
from apportion.reward_model.learning.training import best_epoch, history_table, predict, train
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings
from tests.behaviour.command import environment
from tests.reward_model.tiny import ignore, planted, save_tiny, signal_embeddings, small, values_of
from tests.reward_model.training_runs import settings_for, trained

EPISODES = planted(30)


def made(settings: Any, embeddings: Any = "signal", values: list[float] | None = None) -> tuple[RewardModel, Dataset]:
    table = signal_embeddings(EPISODES) if embeddings == "signal" else embeddings
    encoded = read_turns(EPISODES, table, settings)
    values = torch.tensor(values or values_of(EPISODES), dtype=torch.float64)
    model = RewardModel.new(settings, encoded.width, 0, encoded.backbone, scale=0.25)
    return model, Dataset(encoded.history_windows, encoded.inputs, turn_rewards=values)


@pytest.mark.parametrize("kind", ["bert", "bart"])
def test_the_backbone_itself_is_trained_where_it_is_not_frozen(kind: str, tmp_path: Path) -> None:
    settings = small(save_tiny(tmp_path, kind), freeze_backbone=False, lr_backbone=5e-3, epochs=4, history_turns=1)
    model, data = made(settings, None)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    history = train(Training(model, TurnMSE(), data, (range(20), range(20, 25)), settings, 0), ignore)
    changed = [name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])]
    assert any(name.startswith("trained_backbone.encoder") for name in changed)
    assert history[-1].train_loss < 0.5 * history[0].train_loss


def test_the_same_seed_gives_the_same_bits_and_leaves_random_numbers_alone(bert: Path) -> None:
    def run(seed: int) -> tuple[dict[str, Tensor], tuple[EpochRow, ...]]:
        settings = small(bert, freeze_backbone=False, epochs=2)
        model, data = made(settings, None)
        torch.manual_seed(9)
        history = train(Training(model, TurnMSE(), data, (range(10), range(20, 22)), settings, seed), ignore)
        assert torch.initial_seed() == 9
        return model.state_dict(), history

    (one, history), (two, again), (three, _) = run(4), run(4), run(5)
    assert history == again
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert any(not torch.equal(one[name], three[name]) for name in one)


def test_rewards_do_not_depend_on_the_units_of_the_turn_rewards() -> None:
    settings = small(epochs=5)
    found = []
    for factor in (1.0, 1024.0):
        encoded = read_turns(EPISODES, signal_embeddings(EPISODES), settings)
        values = torch.tensor(values_of(EPISODES), dtype=torch.float64) * factor
        data = Dataset(encoded.history_windows, encoded.inputs, turn_rewards=values)
        model = RewardModel.new(settings, encoded.width, 0, scale=0.25 * factor)
        train(Training(model, TurnMSE(), data, (range(20), range(20, 25)), settings, 0), ignore)
        found.append(predict(model, data) / factor)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-6)


@dataclass(frozen=True)
class Scripted:
    """An objective whose validation losses are given, one an epoch; it remembers how it was asked."""

    validation: tuple[float, ...]
    asked: list[tuple[bool, int]]
    model: Callable[[], RewardModel]
    name: str = "scripted"
    hyper_parameters: Any = None

    def sample(self, length: int, generator: torch.Generator) -> Tensor:
        return torch.randperm(length, generator=generator)[:1]

    def loss(self, predicted: Tensor, batch: Batch) -> Tensor:
        training = self.model().training
        self.asked.append((training, len(predicted)))
        if training:
            return predicted**2 + 1.0
        done = sum(not was_training for was_training, _ in self.asked) - 1
        return torch.full((1,), self.validation[done])


def scripted(losses: tuple[float, ...], **changes: Any) -> tuple[tuple[EpochRow, ...], Scripted, RewardModel]:
    settings = small(batch_size=30, **changes)
    model, data = made(settings)
    objective = Scripted(losses, [], lambda: model)
    history = train(Training(model, objective, data, (range(20), [20]), settings, 0), ignore)
    return history, objective, model


def test_training_stops_when_validation_is_no_longer_better() -> None:
    history, _, _ = scripted((3.0, 1.0, 2.0, 1.0, 9.0, 9.0), epochs=6, patience=2)
    assert [row.validation_loss for row in history] == [3.0, 1.0, 2.0, 1.0]
    assert best_epoch(history).epoch == 2


def test_the_weights_of_the_best_epoch_are_kept() -> None:
    _, _, best = scripted((1.0, 2.0, 3.0), epochs=3)
    _, _, first = scripted((1.0,), epochs=1)
    _, _, last = scripted((3.0, 2.0, 1.0), epochs=3)
    assert all(torch.equal(best.state_dict()[name], first.state_dict()[name]) for name in first.state_dict())
    assert any(not torch.equal(best.state_dict()[name], last.state_dict()[name]) for name in last.state_dict())


def test_validation_sees_all_turns_without_dropout_and_training_the_sampled_ones() -> None:
    _, objective, model = scripted((1.0, 1.0), epochs=2)
    lengths = [n for training, n in objective.asked if not training]
    assert lengths == [len(EPISODES[20].target_turns)] * 2
    assert [n for training, n in objective.asked if training] == [20, 20]
    assert not model.training


def test_without_validation_all_epochs_are_run_and_the_last_weights_kept() -> None:
    settings = small(epochs=4, patience=1)
    model, data = made(settings)
    told: list[tuple[int, int, str]] = []
    history = train(Training(model, TurnMSE(), data, (range(20), []), settings, 0), lambda *step: told.append(step))
    assert [row.validation_loss for row in history] == [None] * 4
    assert best_epoch(history).epoch == 4
    assert [step[:2] for step in told] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert set(history_table(history).column("metric").to_pylist()) == {"train loss"}


@pytest.mark.parametrize("where", ["train", "validation"])
def test_a_loss_that_is_not_finite_names_epoch_and_session(where: str) -> None:
    settings = small()
    values = values_of(EPISODES)
    model, data = made(settings)
    values[data.history_windows.offsets[7] + 1] = math.inf
    model, data = made(settings, values=values)
    rows = (range(20), [20]) if where == "train" else ([1, 2, 3], [7])
    with pytest.raises(UnitError, match=r"epoch 1, session s007: the loss is inf"):
        train(Training(model, TurnMSE(), data, rows, settings, 0), ignore)


@pytest.mark.parametrize(("kind", "rank"), [("bert", 0), ("bart", 0), ("t5", 0), ("llama", 0), ("llama", 2)])
def test_gradient_checkpointing_gives_the_same_bits(kind: str, rank: int, tmp_path: Path) -> None:
    """And the inner states of a layer are not kept: each layer is run a second time for the gradient."""
    save_tiny(tmp_path, kind)
    found, calls = [], []
    for recompute in (False, True):
        own = {"freeze_backbone": False, "trained_layers": 0, "lora_rank": rank, "epochs": 1}
        settings = small(tmp_path, gradient_checkpointing=recompute, **own)
        model, data = made(settings, None)
        assert model.trained_backbone is not None
        seen: list[None] = []
        for layers in model.trained_backbone._stacks(""):
            norm = next(m for m in layers[0].modules() if "Norm" in type(m).__name__)
            norm.register_forward_hook(lambda *_, seen=seen: seen.append(None))
        train(Training(model, TurnMSE(), data, (range(4), []), settings, 0), ignore)
        found.append(model.state_dict())
        calls.append(len(seen))
    assert all(torch.equal(value, found[1][name]) for name, value in found[0].items())
    assert calls[1] == 2 * calls[0]


def test_bfloat16_computes_in_it_and_keeps_weights_and_scores_in_float32(bert: Path) -> None:
    found = {}
    for precision in ("float32", "bfloat16"):
        settings = small(bert, freeze_backbone=False, trained_layers=0, epochs=2, precision=precision)
        model, data = made(settings, None)
        history = train(Training(model, TurnMSE(), data, (range(10), range(10, 14)), settings, 0), ignore)
        assert all(value.dtype == torch.float32 for value in model.state_dict().values())
        found[precision] = (history[-1].train_loss, predict(model, data), model.score_episode(EPISODES[0]))
    exact, mixed = found["float32"], found["bfloat16"]
    assert exact[0] != mixed[0] and mixed[0] == pytest.approx(exact[0], rel=0.1)
    np.testing.assert_allclose(mixed[1][: len(mixed[2])], mixed[2], atol=1e-6)


def test_a_device_that_is_not_there_is_named(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(InputError, match="device = 'cuda': torch sees no CUDA device"):
        made(small(bert, device="cuda"), None)


def killed(settings: RewardModelSettings, state: Path, epoch: int) -> None:
    command = [sys.executable, "-m", "tests.reward_model.training_runs", settings.model_dump_json()]
    done = subprocess.run([*command, str(state), str(epoch)], env=environment(), capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "own"), [("bert", {}), ("bart", {}), ("llama", {"trained_layers": 0, "lora_rank": 2})]
)
def test_a_killed_training_goes_on_and_ends_with_the_same_bits(kind: str, own: dict[str, int], tmp_path: Path) -> None:
    settings = settings_for(save_tiny(tmp_path / kind, kind), dropout=0.3, **own)
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
    other = settings_for(bert, epochs=1, dropout=0.2)  # The state of another training is not gone on from.
    trained(other, tmp_path / "t.pt", lambda done, total, text: told.append(text))
    assert told[1].startswith("epoch 1:")


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


def test_no_training_session_is_said() -> None:
    settings = small()
    model, data = made(settings)
    with pytest.raises(UnitError, match="no training session"):
        train(Training(model, TurnMSE(), data, ([], [1]), settings, 0), ignore)
