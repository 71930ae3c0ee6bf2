from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import UnitError
from apportion.reward_model.learning.dataset import (
    Dataset,
    EmbeddedTurns,
    TokenizedTurns,
    read_turns,
    rows_of_split,
)
from apportion.reward_model.learning.objective import Batch, TurnMSE
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


def test_sums_and_counts_follow_the_offsets() -> None:
    batch = Batch(torch.tensor([0, 1, 3]), torch.tensor([4.0, 2.0]))
    assert batch.counts.tolist() == [1.0, 2.0]
    assert batch.episode.tolist() == [0, 1, 1]
    assert batch.sums(torch.tensor([1.0, 2.0, 3.0])).tolist() == [1.0, 5.0]


@given(st.lists(st.lists(st.floats(-10, 10), min_size=1, max_size=6), min_size=1, max_size=6))
def test_sums_equal_each_episodes_own(episodes: list[list[float]]) -> None:
    offsets = torch.tensor([0, *torch.tensor([len(e) for e in episodes]).cumsum(0).tolist()])
    batch = Batch(offsets, batch_lengths(episodes))
    flat = torch.tensor([x for e in episodes for x in e], dtype=torch.float64)
    torch.testing.assert_close(batch.sums(flat), torch.tensor([sum(e) for e in episodes], dtype=torch.float64))


def batch_lengths(episodes: list[list[float]]) -> torch.Tensor:
    return torch.tensor([float(len(e)) for e in episodes])


def test_equation_5_by_hand() -> None:
    batch = Batch(torch.tensor([0, 2, 3]), torch.tensor([2.0, 1.0]), turn_rewards=torch.tensor([1.0, 0.0, -1.0]))
    terms = TurnMSE().loss(torch.tensor([0.5, 0.0, 1.0]), batch)
    assert terms.tolist() == [0.25, 0.0, 4.0]


def test_every_turn_is_learnt_from() -> None:
    objective = TurnMSE()
    assert objective.sample(3, torch.Generator()).tolist() == [0, 1, 2]
    assert not objective.hyper_parameters


def test_a_batch_without_turn_rewards_is_refused() -> None:
    with pytest.raises(ValueError, match="turn rewards"):
        TurnMSE().loss(torch.zeros(1), Batch(torch.tensor([0, 1]), torch.ones(1)))
