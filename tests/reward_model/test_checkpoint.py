import json
import pickle
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from apportion.foundation.errors import InputError
from apportion.reward_model.checkpoint import check_checkpoint
from apportion.reward_model.model import RewardModel
from tests.reward_model.test_model import MESSAGES, random_head
from tests.reward_model.tiny import SIZES, save_tiny, small


@pytest.fixture
def saved(bert: Path, tmp_path: Path) -> Path:
    random_head(small(bert), mean=0.5, scale=2.0, score_offset=3.25).save_pretrained(
        tmp_path / "model", {"loss": 0.125}
    )
    return tmp_path / "model"


@pytest.mark.parametrize("kind", ["bert", "roberta", "bart", "t5", "gpt2"])
@pytest.mark.parametrize("frozen", [True, False])
def test_what_is_saved_is_read_again(kind: str, frozen: bool, tmp_path: Path) -> None:
    settings = small(save_tiny(tmp_path / "backbone", kind), freeze_backbone=frozen)
    model = random_head(settings, mean=0.5, scale=2.0, score_offset=3.25)
    expected = model.score(MESSAGES)
    model.save_pretrained(tmp_path / "model")
    if not frozen:
        stored = load_file(tmp_path / "model" / "model.safetensors").values()
        assert sum(tensor.shape == (SIZES["vocab_size"], 16) for tensor in stored) == 1  # BART's has three names.
        shutil.rmtree(tmp_path / "backbone")  # A trained backbone is in the model's own folder.
    again = RewardModel.from_pretrained(tmp_path / "model")
    assert again.score(MESSAGES) == expected
    assert again.config == model.config
    assert not again.training


def test_the_scale_stands_in_the_configuration_and_the_figures_in_the_card(saved: Path) -> None:
    config = json.loads((saved / "config.json").read_text())
    assert (config["reward_mean"], config["reward_scale"], config["score_offset"]) == (0.5, 2.0, 3.25)
    card = (saved / "README.md").read_text()
    assert "| loss | 0.125 |" in card
    assert "r = 0.5 + 2 * head" in card and "plus 3.25" in card
    assert "frozen (stored by name)" in card


def test_a_pickle_is_refused_as_a_file_and_in_a_folder(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (pytest.fail, ("the pickle was read",))

    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match=r"pytorch_model\.bin is a pickle"):
        RewardModel.from_pretrained(path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"pytorch_model\.bin is a pickle.*convert the weights to safetensors"):
        RewardModel.from_pretrained(tmp_path)


def test_a_missing_folder_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read \(No such file.*apportion run --only train-reward"):
        RewardModel.from_pretrained(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not valid JSON"),
        ("[]", "model_type is 'list'"),
        ('{"model_type": "bert"}', "model_type is 'bert'; .*a checkpoint of something else"),
        ('{"model_type": "apportion-reward-model", "backbone": "", "heads": 1}', "backbone = ''"),
        ({"reward_scale": 0.0}, "reward_scale"),
        ({"extra": 1}, "extra"),
        ('{"model_type": "apportion-reward-model", "backbone": "minilm"}', "no 'heads'; the model is of an earlier"),
    ],
)
def test_a_configuration_of_something_else_is_refused(text: str | dict[str, float], problem: str, saved: Path) -> None:
    if isinstance(text, dict):
        text = json.dumps({**json.loads((saved / "config.json").read_text()), **text})
    (saved / "config.json").write_text(text)
    with pytest.raises(InputError, match=problem):
        RewardModel.from_pretrained(saved)


def test_missing_and_damaged_weights_are_named(saved: Path) -> None:
    weights = saved / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:50])
    for read in (RewardModel.from_pretrained, check_checkpoint):
        with pytest.raises(InputError, match="not a readable safetensors file"):
            read(saved)
    weights.unlink()
    with pytest.raises(InputError, match="has no weights"):
        RewardModel.from_pretrained(saved)


@pytest.mark.parametrize("change", ["missing", "extra", "shape"])
def test_weights_of_another_architecture_are_refused(change: str, saved: Path) -> None:
    weights = load_file(saved / "model.safetensors")
    if change == "missing":
        del weights["head.last_weight"]
    elif change == "extra":
        weights["encoder.weight"] = torch.zeros(1)
    else:
        weights["head.last_weight"] = torch.zeros(3, 3)
    save_file(weights, saved / "model.safetensors")
    with pytest.raises(InputError, match="weights of another architecture"):
        RewardModel.from_pretrained(saved)
    save_file({**weights, "context_fit.scale": torch.ones(())}, saved / "model.safetensors")
    older = r"model.safetensors: the model is of an earlier version.* Make one with `apportion run --only train-reward`"
    for read in (RewardModel.from_pretrained, check_checkpoint):
        with pytest.raises(InputError, match=older):
            read(saved)


def test_a_trained_backbone_without_its_folder_is_refused(bert: Path, tmp_path: Path) -> None:
    random_head(small(bert, freeze_backbone=False)).save_pretrained(tmp_path)
    shutil.rmtree(tmp_path / "backbone")
    with pytest.raises(InputError, match="cannot be loaded"):
        RewardModel.from_pretrained(tmp_path)
