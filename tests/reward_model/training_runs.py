"""One training for the tests of resume and of several processes, in this process or in one that is killed."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from apportion.reward_model.learning.dataset import Dataset, read_turns
from apportion.reward_model.learning.loop import EpochRow, Training
from apportion.reward_model.learning.objective import TurnMSE
from apportion.reward_model.learning.training import train
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings
from tests.reward_model.tiny import ignore, planted, small, values_of

EPISODES = planted(14)


def settings_for(backbone: Path, **changes: Any) -> RewardModelSettings:
    values = {
        "freeze_backbone": False,
        "trained_layers": 1,
        "lr_backbone": 3e-3,
        "epochs": 4,
        "patience": 4,
        "batch_size": 4,
        "heads": 2,
    }
    return small(backbone, **{**values, **changes})


def trained(
    settings: RewardModelSettings, state: Path | None = None, progress: Callable[[int, int, str], None] = ignore
) -> tuple[RewardModel, tuple[EpochRow, ...]]:
    """A model trained on ten dialogues, stopped by four."""
    encoded = read_turns(EPISODES, None, settings)
    values = torch.tensor(values_of(EPISODES), dtype=torch.float64)
    data = Dataset(encoded.history_windows, encoded.inputs, turn_rewards=values)
    model = RewardModel.new(settings, encoded.width, 0, encoded.backbone, scale=0.25)
    training = Training(model, TurnMSE(), data, (range(10), range(10, 14)), settings, 3)
    return model, train(training, progress, state)


def kill_after(epoch: int) -> Callable[[int, int, str], None]:
    """A progress callback with which the process kills itself while the epoch after ``epoch`` is told."""

    def progress(done: int, total: int, text: str) -> None:
        if done > epoch:
            os.kill(os.getpid(), signal.SIGKILL)

    return progress


if __name__ == "__main__":
    torch.set_num_threads(1)
    trained(RewardModelSettings.model_validate_json(sys.argv[1]), Path(sys.argv[2]), kill_after(int(sys.argv[3])))
