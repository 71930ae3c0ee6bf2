from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from apportion.corpus.schema import REWARDS
from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.fit import DirectModel, fit_decomposer, train_directly
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.method import ObjectiveMethod
from apportion.decompose.method_settings import RRDSettings
from apportion.decompose.methods import METHODS, find_method
from apportion.decompose.projection import project
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError
from apportion.reward_model.config import RewardModelConfig
from apportion.reward_model.history_windows import history_windows
from apportion.reward_model.learning.distillation import Lesson, train_reward_model
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings
from tests.decompose.corpus_methods.test_fit import EPISODES, faces_of
from tests.reward_model.tiny import ignore, save_tiny, signal_embeddings, small, splits_of, values_of

SETTINGS = DecomposeSettings(rrd=RRDSettings(k=3))
OBJECTIVES = sorted(name for name, method in METHODS.items() if isinstance(method, ObjectiveMethod))
OF_TURNS = [name for name in OBJECTIVES if not METHODS[name].recurrent]


def direct(  # type: ignore[no-untyped-def]
    out: Path,
    method: str = "rrd",
    episodes: list[Episode] = EPISODES,
    settings: DecomposeSettings = SETTINGS,
    **changes,
) -> DirectModel:
    data = TrainingData(SplitEpisodes(episodes, splits_of(episodes)), signal_embeddings(episodes), faces_of(episodes))
    how = TrainingConfig(settings, small(**changes), 0)
    return train_directly(method, f"{method}-direct", data, how, out, ignore)


def judged(method: str, settings: DecomposeSettings = SETTINGS, **changes: object):  # type: ignore[no-untyped-def]
    data = TrainingData(SplitEpisodes(EPISODES, splits_of(EPISODES)), signal_embeddings(EPISODES), faces_of(EPISODES))
    return fit_decomposer(method, data, TrainingConfig(settings, small(**changes), 0), ignore).judgements


def rewards(model: DirectModel) -> list[float]:
    found: list[float] = model.scores.column("reward").to_pylist()
    return found


def full_loss_steps(settings: RewardModelSettings, score_offset: float) -> list[float]:
    """An epoch of AdamW on the mean over episodes of (mean_t r - R~/T)^2, by hand, and what it predicts."""
    windows = history_windows(EPISODES, settings.history_turns)
    vectors = np.stack(signal_embeddings(EPISODES).column("embedding").to_pylist()).astype(np.float32)[:, :6]
    starts = windows.offsets
    targets = np.array([(EPISODES[i].score - score_offset) / (starts[i + 1] - starts[i]) for i in range(48)])
    mean, scale = float(targets.mean()), float(targets.std())
    untrained = RewardModel.new(settings, vectors.shape[1], 0)

    def predicted(first: int, last: int) -> Tensor:
        return mean + scale * untrained.head(torch.from_numpy(vectors[first:last])).squeeze(-1)

    optimizer = torch.optim.AdamW(untrained.head.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    for rows in torch.randperm(48, generator=torch.Generator().manual_seed(0)).split(settings.batch_size):
        errors = [(predicted(starts[i], starts[i + 1]).mean() - float(targets[i])) ** 2 for i in rows.tolist()]
        optimizer.zero_grad()
        (torch.stack(errors).mean() / scale**2).backward()
        torch.nn.utils.clip_grad_norm_(untrained.head.parameters(), 1.0)
        optimizer.step()
    found: list[float] = predicted(0, len(vectors)).tolist()
    return found


def test_rrd_with_more_turns_than_a_dialogue_has_is_the_full_loss(tmp_path: Path) -> None:
    settings = small(epochs=1, batch_size=16, dropout=0.0)
    splits = splits_of(EPISODES, train=0.6, validation=0.0)
    data = TrainingData(SplitEpisodes(EPISODES, splits), signal_embeddings(EPISODES))
    trained = train_directly(
        "rrd", "rrd-direct", data, TrainingConfig(DecomposeSettings(), settings, 0), tmp_path, ignore
    )
    assert trained.score_offset == pytest.approx(np.mean([e.score for e in EPISODES[:48]]))
    np.testing.assert_allclose(rewards(trained), full_loss_steps(settings, trained.score_offset), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", OF_TURNS)
def test_it_is_the_network_that_decomposes(tmp_path: Path, method: str) -> None:
    trained = direct(tmp_path, method)
    assert trained.scores.schema.equals(REWARDS.arrow)
    assert rewards(trained) == judged(method).column("raw_reward").to_pylist()
    assert set(trained.scores.column("method").to_pylist()) == {f"{method}-direct"}
    assert trained.scores.column("raw_reward").null_count == len(trained.scores)
    assert set(trained.history.column("metric").to_pylist()) == {"train loss", "validation loss"}


@pytest.mark.parametrize("method", ["rudder", "rudder-va"])
def test_rudder_leaves_out_what_only_the_score_tells(tmp_path: Path, method: str) -> None:
    found, known = iter(rewards(direct(tmp_path, method))), iter(judged(method).column("raw_reward").to_pylist())
    remainders = []
    for episode in EPISODES:
        spread = {round(next(known) - next(found), 6) for _ in episode.target_turns}
        assert len(spread) == 1
        remainders.append(spread.pop())
    assert len(set(remainders)) > 1
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("method", ["rrd", "ircr", "rudder", "rrd-ls"])
def test_it_finds_rewards_that_are_linear_in_the_text(tmp_path: Path, method: str) -> None:
    trained = direct(tmp_path, method, epochs=30, patience=30, lr=0.03, batch_size=16)
    test = slice(len(rewards(trained)) * 4 // 5, None)
    assert np.corrcoef(rewards(trained)[test], values_of(EPISODES)[test])[0, 1] > 0.8
    held = iter(rewards(trained))
    errors, spread = [], []
    for number, episode in enumerate(EPISODES):
        predicted = trained.score_offset + sum(next(held) for _ in episode.target_turns)
        if number >= 64:
            errors.append(episode.score - predicted)
            spread.append(episode.score - trained.score_offset)
    assert np.mean(np.square(errors)) < 0.7 * np.mean(np.square(spread))


def test_it_is_not_what_its_own_rewards_teach(tmp_path: Path, method: str = "rrd") -> None:
    trained, splits = direct(tmp_path / "direct", method), splits_of(EPISODES)
    projected, projection = project(judged(method), SplitEpisodes(EPISODES, splits), "relative", find_method(method))
    lesson = Lesson(projected, SplitEpisodes(EPISODES, splits), signal_embeddings(EPISODES), projection.score_offset)
    distilled = train_reward_model(lesson, small(), 0, tmp_path / "distilled", ignore).scores
    assert projection.score_offset == pytest.approx(trained.score_offset)
    assert np.abs(np.array(rewards(trained)) - distilled.column("reward").to_numpy()).max() > 1e-3


@pytest.mark.parametrize("method", OBJECTIVES)
def test_scores_of_other_sessions_than_the_training_s_change_nothing(tmp_path: Path, method: str) -> None:
    changed = [
        e if i < 64 else Episode(e.session_id, e.turns, replace(e.rating, score=1.0)) for i, e in enumerate(EPISODES)
    ]
    one, two = direct(tmp_path / "one", method), direct(tmp_path / "two", method, changed)
    assert one.scores.equals(two.scores) and one.score_offset == two.score_offset


@pytest.mark.parametrize("target", ["relative", "score"])
def test_it_learns_what_the_target_says(tmp_path: Path, target: str) -> None:
    settings = DecomposeSettings.model_validate({"target": target})
    rrd = direct(tmp_path / "rrd", "rrd", settings=settings, epochs=5, lr=0.03)
    rudder = direct(tmp_path / "rudder", "rudder", settings=settings, epochs=5, lr=0.03)
    mean = float(np.mean([e.score for e in EPISODES[:48]]))
    assert rrd.score_offset == rudder.score_offset == pytest.approx(0 if target == "score" else mean)
    returns = np.array([e.score - rrd.score_offset for e in EPISODES])
    lengths = np.array([len(e.target_turns) for e in EPISODES])
    ends = np.cumsum(lengths)[:-1]
    means = [turns.mean() for turns in np.split(np.array(rewards(rrd)), ends)]
    assert np.mean(means) == pytest.approx(np.mean(returns / lengths), abs=0.1)
    predicted = [turns.sum() for turns in np.split(np.array(rewards(rudder)), ends)]
    assert np.mean(predicted) == pytest.approx(np.mean(returns), abs=0.1)


def test_it_is_saved_and_read_like_any_reward_model(tmp_path: Path) -> None:
    episodes = EPISODES[:12]
    settings = small(save_tiny(tmp_path / "tiny"), freeze_backbone=False, epochs=1)
    data, how = TrainingData(SplitEpisodes(episodes, splits_of(episodes))), TrainingConfig(SETTINGS, settings, 0)
    trained = train_directly("rrd-ls", "rrd-ls-direct", data, how, tmp_path / "model", ignore)
    model = RewardModel.from_pretrained(tmp_path / "model")
    _, (values, _, _), _ = model.score_episodes(episodes)
    np.testing.assert_allclose(values, rewards(trained), atol=1e-6)
    assert isinstance(model.config, RewardModelConfig) and model.config.score_offset == trained.score_offset
    assert "| training episodes | 7 |" in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", ["uniform", "sentiment", "reaction", "reaction-llm"])
def test_what_is_no_objective_is_refused(tmp_path: Path, method: str) -> None:
    with pytest.raises(InputError, match=f"method '{method}' is no objective that a reward model could be trained on"):
        direct(tmp_path, method)
