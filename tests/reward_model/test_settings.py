import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from apportion.foundation.distributed import Processes
from apportion.reward_model.learning.dataset import Dataset, read_turns
from apportion.reward_model.learning.loop import Training, _Run, _steps
from apportion.reward_model.learning.objective import TurnMSE
from apportion.reward_model.learning.training import train
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings
from tests.reward_model.tiny import ignore, planted, save_tiny, signal_embeddings, small, values_of


@pytest.mark.parametrize("wrong", [{"max_tokens": 4}, {"dropout": 1.0}, {"epochs": 0}, {"lr": 0.0}, {"bacbone": "x"}])
def test_values_out_of_range_and_unknown_names_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RewardModelSettings.model_validate(wrong)


def test_adapters_are_in_all_layers_of_a_backbone_that_is_not_frozen():
    lora = RewardModelSettings(freeze_backbone=False, lora_rank=4)
    assert (lora.trained_layers, lora.lr_backbone, lora.scoring) == (0, 2e-4, "windowed")
    assert RewardModelSettings.model_validate(lora.model_dump()) == lora
    assert RewardModelSettings(preset="savoir", lora_rank=4).lr_backbone == 1e-5
    for wrong in ({}, {"freeze_backbone": False, "trained_layers": 2}):
        with pytest.raises(ValidationError, match="lora_rank = 4 trains adapters in all layers; set freeze_backbone"):
            RewardModelSettings.model_validate({"lora_rank": 4, **wrong})


PAPER = RewardModelSettings(preset="paper")


def test_the_papers_settings():
    assert (PAPER.backbone, PAPER.freeze_backbone, PAPER.trained_layers) == ("facebook/bart-large", False, 0)
    assert (PAPER.lr, PAPER.lr_backbone, PAPER.batch_turns) == (5e-6, 5e-6, 160)


def test_minilm_stands_in_with_its_own_training_and_any_other_backbone_with_that_of_the_paper():
    plain, kept = RewardModelSettings(), {"preset": "paper", "objective": "direct", "scoring": "windowed"}
    assert RewardModelSettings(preset="paper", backbone="minilm") == plain.model_copy(update=kept)
    assert (plain.scoring, RewardModelSettings(freeze_backbone=False).scoring) == ("pooled", "windowed")
    with pytest.raises(ValidationError, match="set freeze_backbone = true, or scoring = 'windowed'"):
        RewardModelSettings(freeze_backbone=False, scoring="pooled")
    bart = RewardModelSettings(preset="paper", backbone="/models/bart-large")
    assert bart == PAPER.model_copy(update={"backbone": "/models/bart-large"})
    assert RewardModelSettings(preset="paper", backbone="minilm", lr=0.1).lr == 0.1
    with pytest.raises(ValidationError, match="Input should be 'paper' or 'savoir'"):
        RewardModelSettings.model_validate({"preset": "papers"})


def test_savoirs_reward_model_is_any_causal_model_that_learns_rewards_of_utterances(tmp_path):
    savoir = RewardModelSettings(preset="savoir")
    assert (savoir.lr, savoir.lr_backbone, savoir.batch_turns, savoir.epochs) == (1e-5, 1e-5, 16, 5)
    assert (savoir.freeze_backbone, savoir.scoring, savoir.objective) == (False, "one_pass", "distilled")
    # MiniLM reads both ways, and trains in its own way.
    beside = RewardModelSettings(preset="savoir", backbone="minilm")
    assert beside == RewardModelSettings().model_copy(update={"preset": "savoir"})
    causal = RewardModelSettings(
        preset="savoir", backbone=str(save_tiny(tmp_path / "llama", "llama")), max_tokens=64, lr=0.01, lr_backbone=0.01
    )
    episodes = planted(16)
    encoded = read_turns(episodes, None, causal)
    values = torch.tensor(values_of(episodes), dtype=torch.float64)
    data = Dataset(encoded.history_windows, encoded.inputs, turn_rewards=values)
    assert encoded.backbone is not None
    before = [weight.detach().clone() for weight in encoded.backbone.parameters()]
    model = RewardModel.new(causal, encoded.width, 0, encoded.backbone)
    epochs = train(Training(model, TurnMSE(), data, (range(12), range(12, 16)), causal, 0), ignore)
    assert len(epochs) == causal.epochs and epochs[-1].train_loss < epochs[0].train_loss
    # Not the head alone.
    assert any(not torch.equal(old, new) for old, new in zip(before, encoded.backbone.parameters(), strict=True))


def test_a_batch_of_ones_own_goes_before_the_turns_of_the_preset():
    own = RewardModelSettings(preset="paper", batch_size=2)
    assert (own.batch_size, own.batch_turns, own.lr) == (2, None, 5e-6)
    assert [(name, value) for name, value, _ in own.departures()] == [("batch_turns", None)]
    # Values written out in full hold both.
    assert RewardModelSettings.model_validate(PAPER.model_dump()) == PAPER
    assert RewardModelSettings.model_validate(own.model_dump()) == own


@given(st.integers(1, 30), st.integers(0, 9))
def test_a_step_takes_whole_dialogues_up_to_so_many_turns_and_each_once_an_epoch(most, seed):
    episodes = planted(12)
    settings = small(batch_turns=most)
    encoded = read_turns(episodes, signal_embeddings(episodes), settings)
    values = torch.tensor(values_of(episodes), dtype=torch.float64)
    data = Dataset(encoded.history_windows, encoded.inputs, turn_rewards=values)
    model = RewardModel.new(settings, encoded.width, 0)
    run = _Run(Training(model, TurnMSE(), data, (range(10), ()), settings, seed), Processes())
    steps = list(_steps(run))
    turns = [sum(map(len, sampled)) for _, sampled in steps]
    assert sorted(row for rows, _ in steps for row in rows) == list(range(10))
    assert all(count <= most or len(rows) == 1 for count, (rows, _) in zip(turns, steps, strict=True))
    assert all(
        len(turns) == data.length(row) for rows, sampled in steps for row, turns in zip(rows, sampled, strict=True)
    )
    # The first dialogue of the next step would not have fitted.
    following = zip(turns, steps[1:], strict=False)
    assert all(count + len(sampled[0]) > most for count, (_, sampled) in following)
