"""The ensemble of heads, the state's baseline, and the three numbers that come of them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.reward_model.learning.advantage import add_advantage
from apportion.reward_model.learning.dataset import Dataset, EmbeddedTurns, read_turns
from apportion.reward_model.learning.loop import Training
from apportion.reward_model.learning.objective import TurnMSE
from apportion.reward_model.learning.training import predict, score_turns, train
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings
from apportion.reward_model.state_baseline import StateBaseline
from apportion.reward_model.trl_reward import GRPOReward
from apportion.rlhf.training.reward import ModelReward
from tests.reward_model.test_model import SAID, random_head
from tests.reward_model.tiny import episode, ignore, planted, signal_embeddings, small, values_of

EPISODES = planted(30)


def training_of(heads: int, seed: int = 0) -> Training:
    how = small(heads=heads)
    encoded = read_turns(EPISODES, signal_embeddings(EPISODES), how)
    rewards = torch.tensor(values_of(EPISODES), dtype=torch.float64)
    data = Dataset(encoded.history_windows, encoded.inputs, turn_rewards=rewards)
    model = RewardModel.new(how, encoded.width, 0, scale=0.25)
    return Training(model, TurnMSE(), data, (range(20), range(20, 25)), how, seed)


def test_one_head_is_trained_as_a_model_without_an_ensemble_was() -> None:
    """The figures were recorded before there were several heads."""
    training = training_of(1)
    history = train(training, ignore)
    assert [row.train_loss for row in history] == pytest.approx([0.0542152073, 0.0423175782, 0.0263898815], rel=1e-4)
    assert [row.validation_loss for row in history] == pytest.approx(
        [0.0428899926, 0.0342743807, 0.0257363939], rel=1e-4
    )
    found = predict(training.model, training.data)
    np.testing.assert_allclose(found[:4], [-0.26908001, -0.31591311, 0.06750832, 0.09765625], rtol=1e-4)
    np.testing.assert_array_equal(score_turns(training.model, training.data).sd, 0.0)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 32), st.integers(0, 10**6))
def test_each_head_counts_as_many_training_sessions_as_there_are(heads: int, seed: int) -> None:
    training = training_of(heads, seed)
    counts = training.bootstraps()
    assert counts.shape == (heads, 30) and not counts[:, 20:].any()
    assert counts.sum(dim=1).tolist() == [20.0] * heads and counts[0, :20].tolist() == [1.0] * 20
    assert len({tuple(row) for row in counts.tolist()}) == heads
    assert torch.equal(training_of(max(1, heads - 1), seed).bootstraps(), counts[: max(1, heads - 1)])


def test_heads_begin_apart_learn_apart_and_the_first_begins_as_it_would_alone() -> None:
    several, alone = training_of(3), training_of(1)
    first, only = (one.model.head.get_parameter("inner_weight") for one in (several, alone))
    assert torch.equal(first[:1], only)
    train(several, ignore)
    members = several.model.members(several.data.inputs.embed(several.model, torch.arange(40)))
    assert members.shape == (40, 3)
    scores = score_turns(several.model, several.data)
    np.testing.assert_allclose(scores.reward[:40], members.mean(dim=1).tolist(), atol=1e-6)
    np.testing.assert_allclose(scores.sd[:40], members.std(dim=1).tolist(), atol=1e-6)
    assert min(scores.sd) > 0
    assert np.corrcoef(scores.reward, values_of(EPISODES))[0, 1] > 0.8


def test_a_session_that_a_head_does_not_count_teaches_it_nothing() -> None:
    """With other rewards there, a head is trained to the same weights."""
    one, other = training_of(2), training_of(2)
    (uncounted, *_) = [row for row in range(20) if one.bootstraps()[1, row] == 0]
    offsets, rewards = one.data.history_windows.offsets, other.data.turn_rewards
    assert rewards is not None
    rewards[offsets[uncounted] : offsets[uncounted + 1]] += 0.01  # Too little for the common limit on gradients.
    for training in (one, other):
        train(training, ignore)
    weights = [training.model.head.get_parameter("last_weight") for training in (one, other)]
    assert not torch.equal(weights[0][0], weights[1][0])
    torch.testing.assert_close(weights[0][1], weights[1][1], atol=1e-6, rtol=1e-4)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0]))
def test_what_a_policy_is_paid_does_not_hang_on_the_place(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 9, size=60)
    places = [place for length in lengths for place in range(length)]
    values = 2.0 - 0.5 * np.log1p(places) + noise * rng.normal(size=len(places))
    histories = torch.from_numpy(rng.normal(size=(len(places), 24)).astype(np.float32))
    baseline = StateBaseline.fit(histories, places, values, [0, *np.cumsum(lengths).tolist()])
    left = values - baseline(histories, places).numpy()
    assert np.var(left) <= np.var(values) and abs(np.mean(left)) < 1e-6
    dialogue = np.repeat(np.arange(60), lengths)
    columns = np.column_stack([left, places, np.log1p(places), values])
    within = columns - np.stack([np.bincount(dialogue, of) / lengths for of in columns.T], axis=1)[dialogue]
    before, after = (np.abs(np.corrcoef(within.T)[row, 1:3]) for row in (3, 0))
    assert noise == 0 or (after < before / 3).all()


def test_a_baseline_of_many_turns_is_fitted_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    contexts, taken = torch.from_numpy(rng.normal(size=(90, 24)).astype(np.float32)), rng.permutation(90)[:60]
    places, values, offsets = list(range(6)) * 10, rng.normal(size=60), list(range(0, 61, 6))
    whole = StateBaseline.fit(contexts[taken], places, values, offsets)
    monkeypatch.setattr("apportion.reward_model.state_baseline.ROWS_AT_ONCE", 7)
    parts = StateBaseline.fit(contexts, places, values, offsets, taken)
    assert torch.equal(parts.mean, whole.mean) and torch.equal(parts.scale, whole.scale)
    torch.testing.assert_close(parts.weight, whole.weight)


@pytest.mark.parametrize(("values", "episodes"), [([], []), ([2.0], [1]), ([1.0, 1.0, 1.0], [1, 2])])
def test_of_little_the_baseline_is_the_mean(values: list[float], episodes: list[int]) -> None:
    places = [place for length in episodes for place in range(length)]
    baseline = StateBaseline.fit(
        torch.ones(len(values), 12), places, np.array(values), [0, *np.cumsum(episodes).tolist()]
    )
    found = baseline(torch.randn(2, 12), [0, 5]).numpy()
    np.testing.assert_allclose(found, np.mean(values) if values else 0.0, atol=1e-3)


def test_the_advantage_is_saved_with_the_model_and_known_by_text(bert: Path, tmp_path: Path) -> None:
    model = random_head(small(bert, heads=3, history_turns=2), mean=0.5)
    chat = episode("s", SAID)
    windows, before, _ = model.score_episodes([chat])
    np.testing.assert_allclose(before.advantage, before.reward - 0.5)  # Without a baseline: less the mean.
    encoded = read_turns(EPISODES[:6], None, small(bert, heads=3, history_turns=2))
    data = Dataset(encoded.history_windows, encoded.inputs)
    training = Training(model, TurnMSE(), data, (range(4), range(4, 6)), small(bert, heads=3, history_turns=2), 0)
    assert add_advantage(training, predict(model, data), EPISODES, 0) == {}  # Too few turns to learn contexts of.
    assert np.std(score_turns(model, data).advantage) < np.std(score_turns(model, data).reward)
    model.save_pretrained(tmp_path)
    again = RewardModel.from_pretrained(tmp_path)
    _, scores, _ = again.score_episodes([chat])
    assert scores.advantage.tolist() == model.score_episodes([chat])[1].advantage.tolist()
    assert not np.allclose(scores.advantage, before.advantage)
    np.testing.assert_allclose(again.score_windows(windows.pairs).advantage, scores.advantage, atol=1e-6)
    prompt = [{"role": "user", "content": SAID[0][1]}]
    assert GRPOReward(again)([prompt], [SAID[1][1]]) == pytest.approx(scores.advantage[:1])
    assert again.score_windows(windows.pairs[:1], [7]).advantage != pytest.approx(scores.advantage[:1])


def test_a_frozen_pooled_minilm_reads_the_history_from_the_turns_own_embedding() -> None:
    model = RewardModel.new(RewardModelSettings(), 768, 0)
    embeddings = torch.randn(2, 1152)
    model.baseline = StateBaseline(384)
    model.baseline.weight[0] = 1.0
    scores = model.scores(embeddings, embeddings, [0, 0])
    np.testing.assert_allclose(scores.reward - scores.advantage, embeddings[:, 0], atol=1e-6)
    assert isinstance(EmbeddedTurns(embeddings).members(model, torch.tensor([1])), torch.Tensor)


def test_a_penalty_on_the_spread_of_one_head_is_refused(bert: Path, tmp_path: Path) -> None:
    random_head(small(bert)).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"align.sd_penalty = 0.5: the reward model .* has one head"):
        ModelReward(tmp_path, sd_penalty=0.5)
