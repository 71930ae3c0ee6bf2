from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from apportion.foundation.errors import UnitError
from apportion.reward_model.learning.dataset import (
    Dataset,
    EmbeddedTurns,
    TokenizedTurns,
    read_turns,
    rows_of_split,
)
from tests.reward_model.tiny import planted, signal_embeddings, small, splits_of


def test_a_table_of_embeddings_is_put_into_the_order_of_the_windows() -> None:
    episodes = planted(4)
    table = signal_embeddings(episodes)
    shuffled = table.take(np.random.default_rng(0).permutation(len(table)))
    one, two = read_turns(episodes, table, small()), read_turns(episodes, shuffled, small())
    assert isinstance(one.inputs, EmbeddedTurns) and isinstance(two.inputs, EmbeddedTurns)
    assert torch.equal(one.inputs.embeddings, two.inputs.embeddings)
    assert one.width == 6


def test_episodes_that_were_given_up_before_are_left_out() -> None:
    episodes = planted(4)
    encoded = read_turns(episodes, signal_embeddings(episodes[1:]), small())
    assert [key[0] for key in encoded.history_windows.keys] == ["s001", "s002", "s003"]
    assert not read_turns(episodes, signal_embeddings([]), small()).history_windows.keys


def test_an_episode_that_is_embedded_in_part_is_named() -> None:
    episodes = planted(2)
    with pytest.raises(UnitError, match=r"session s000, turn 1: no embedding"):
        read_turns(episodes, signal_embeddings(episodes).slice(1), small())


def test_without_a_table_windows_are_embedded_here_or_tokenized_for_training(bert: Path) -> None:
    episodes = planted(2)
    frozen = read_turns(episodes, None, small(bert))
    assert isinstance(frozen.inputs, EmbeddedTurns) and frozen.backbone is None
    trained = read_turns(episodes, signal_embeddings(episodes), small(bert, freeze_backbone=False))
    assert isinstance(trained.inputs, TokenizedTurns) and trained.backbone is not None
    assert len(trained.inputs.encoded) == len(frozen.inputs.embeddings) == len(frozen.history_windows.turns)
    assert frozen.width == trained.width == 32


def test_a_batch_holds_the_sampled_turns_and_what_is_known_of_their_episodes() -> None:
    episodes = planted(3)
    encoded = read_turns(episodes, signal_embeddings(episodes), small())
    turns = len(encoded.history_windows.turns)
    values = torch.arange(turns, dtype=torch.float64)
    data = Dataset(encoded.history_windows, encoded.inputs, torch.tensor([1.0, 2.0, 3.0]), values)
    positions, batch = data.batch([2, 0], [torch.tensor([1]), torch.tensor([0, 1])])
    start = encoded.history_windows.offsets[2]
    assert positions.tolist() == [start + 1, 0, 1]
    assert batch.offsets.tolist() == [0, 1, 3]
    assert batch.lengths.tolist() == [data.length(2), data.length(0)]
    assert batch.returns is not None and batch.returns.tolist() == [3.0, 1.0]
    assert batch.turn_rewards is not None and batch.turn_rewards.tolist() == [start + 1, 0, 1]


def test_rows_of_a_split_and_sessions_in_none() -> None:
    episodes = planted(5)
    windows = read_turns(episodes, signal_embeddings(episodes), small()).history_windows
    table = splits_of(episodes).slice(1)
    assert rows_of_split(windows, table, "train") == [1, 2]
    assert rows_of_split(windows, table, "validation") == [3]
    assert rows_of_split(windows, table, "policy") == []
