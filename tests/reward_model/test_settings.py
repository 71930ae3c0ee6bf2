from __future__ import annotations

import pytest
from pydantic import ValidationError

from apportion.reward_model.settings import RewardModelSettings


def test_defaults_train_the_head_of_the_embedded_model() -> None:
    settings = RewardModelSettings()
    assert (settings.backbone, settings.freeze_backbone, settings.history_turns) == ("minilm", True, 3)


def test_an_objective_is_one_of_three() -> None:
    assert RewardModelSettings().objective == "distilled"
    with pytest.raises(ValidationError, match="Input should be 'distilled', 'direct' or 'both'"):
        RewardModelSettings.model_validate({"objective": "rrd"})


@pytest.mark.parametrize("wrong", [{"max_tokens": 4}, {"dropout": 1.0}, {"epochs": 0}, {"lr": 0.0}, {"bacbone": "x"}])
def test_values_out_of_range_and_unknown_names_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RewardModelSettings.model_validate(wrong)
