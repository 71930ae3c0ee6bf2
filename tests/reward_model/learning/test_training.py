from __future__ import annotations

import numpy as np
import pytest

from apportion.foundation.errors import UnitError
from apportion.reward_model.learning.loop import EpochRow, Training
from apportion.reward_model.learning.objective import TurnMSE
from apportion.reward_model.learning.training import history_table, predict, train
from tests.reward_model.learning.test_loop import EPISODES, made
from tests.reward_model.tiny import ignore, small, values_of


def test_a_signal_in_the_embeddings_is_learnt_and_generalises() -> None:
    settings = small(epochs=40, patience=40)
    model, data = made(settings)
    history = train(Training(model, TurnMSE(), data, (range(20), range(20, 25)), settings, 0), ignore)
    assert history[0].validation_loss is not None
    rewards, truth = predict(model, data), np.array(values_of(EPISODES))
    held_out = slice(data.history_windows.offsets[25], None)
    assert np.mean((rewards - truth)[held_out] ** 2) < 0.2 * np.var(truth[held_out])


def test_the_history_is_a_table_of_steps() -> None:
    table = history_table([EpochRow(1, 0.5, 0.25)])
    assert table.to_pylist() == [
        {"step": 1, "metric": "train loss", "value": 0.5},
        {"step": 1, "metric": "validation loss", "value": 0.25},
    ]


def test_no_training_session_is_said() -> None:
    settings = small()
    model, data = made(settings)
    with pytest.raises(UnitError, match="no training session"):
        train(Training(model, TurnMSE(), data, ([], [1]), settings, 0), ignore)
