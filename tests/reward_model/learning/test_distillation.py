import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from safetensors import safe_open

from apportion.corpus.schema import REWARDS
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.foundation.errors import UnitError
from apportion.reward_model.learning.distillation import Lesson, mean_and_scale, train_reward_model
from apportion.reward_model.model import RewardModel
from apportion.reward_model.settings import RewardModelSettings
from tests.reward_model.tiny import (
    ignore,
    planted,
    rewards_of,
    signal_embeddings,
    small,
    splits_of,
    values_of,
)

EPISODES = planted(30)


def run(
    out: Path,
    settings: RewardModelSettings,
    rewards: pa.Table | None = None,
    embeddings: pa.Table | None = None,
    offset: float | None = 3.5,
) -> tuple[pa.Table, pa.Table]:
    values = rewards_of(EPISODES, values_of(EPISODES)) if rewards is None else rewards
    lesson = Lesson(values, SplitEpisodes(EPISODES, splits_of(EPISODES)), embeddings, offset)
    scores, history, _ = train_reward_model(lesson, settings, 0, out, ignore)
    return scores, history


def test_scores_history_and_a_model_come_out(tmp_path: Path) -> None:
    settings = small(epochs=30, patience=30)
    scores, history = run(tmp_path, settings, embeddings=signal_embeddings(EPISODES))
    assert scores.schema.equals(REWARDS.arrow)
    assert set(scores.column("method").to_pylist()) == {"llm"} and set(scores.column("seed").to_pylist()) == {5}
    truth, found = np.array(values_of(EPISODES)), np.array(scores.column("reward").to_pylist())
    held_out = slice(sum(len(e.target_turns) for e in EPISODES[:24]), None)
    assert np.corrcoef(truth, found)[0, 1] > 0.9 and np.corrcoef(truth[held_out], found[held_out])[0, 1] > 0.9
    assert set(history.column("metric").to_pylist()) == {"train loss", "validation loss"}
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["score_offset"] == 3.5
    trained = truth[: sum(len(e.target_turns) for e in EPISODES[:18])]
    assert config["reward_scale"] == pytest.approx(np.std(trained))
    assert "| training episodes | 18 |" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("frozen", [True, False])
def test_the_saved_model_gives_the_scores_of_the_table_and_two_trainings_equal_bytes(
    frozen: bool, bert: Path, tmp_path: Path
) -> None:
    one, two = (run(tmp_path / name, small(bert, freeze_backbone=frozen, epochs=2)) for name in ("one", "two"))
    model = RewardModel.from_pretrained(tmp_path / "one")
    again = np.concatenate([model.score_episode(e) for e in EPISODES])
    np.testing.assert_allclose(one[0].column("reward").to_pylist(), again, rtol=1e-5, atol=1e-6)
    assert np.std(again) > 0
    assert one[0].equals(two[0]) and one[1].equals(two[1])
    for path in ("model.safetensors", "config.json", "README.md"):
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes()
    with safe_open(tmp_path / "one" / "model.safetensors", "pt") as weights:
        assert weights.metadata() == {"format": "pt"}


def test_only_the_training_split_is_learnt_from(tmp_path: Path) -> None:
    table = signal_embeddings(EPISODES)
    values = values_of(EPISODES)
    start = sum(len(e.target_turns) for e in EPISODES[:24])
    other = [*values[:start], *(99.0 for _ in values[start:])]  # the test sessions' rewards
    run(tmp_path / "one", small(), embeddings=table)
    run(tmp_path / "two", small(), rewards_of(EPISODES, other), table)
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two


def test_sessions_without_rewards_are_scored_and_not_learnt_from(tmp_path: Path) -> None:
    part = EPISODES[5:]
    scores, _ = run(tmp_path, small(), rewards_of(part, values_of(part)), signal_embeddings(EPISODES))
    assert len(set(scores.column("session_id").to_pylist())) == 30
    assert "| training episodes | 13 |" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize(("wrong", "lacks"), [(math.nan, 0), (math.inf, 0), (None, 1)])
def test_a_turn_without_a_finite_reward_is_named(wrong: float | None, lacks: int, tmp_path: Path) -> None:
    values: list[float | None] = [wrong, *values_of(EPISODES)[1:]]
    with pytest.raises(UnitError, match=rf"session s000, turn 1: reward {wrong}"):
        run(tmp_path, small(), rewards_of(EPISODES, values).slice(lacks), signal_embeddings(EPISODES))


def test_turns_without_a_reward_are_scored_and_not_learnt_from(tmp_path: Path) -> None:
    """Nothing is told of the later turns: whatever their rewards are, the same is learnt."""
    values = values_of(EPISODES)
    scores, _ = run(tmp_path, small(), rewards_of(EPISODES, [None, *values[1:]]), signal_embeddings(EPISODES))
    assert scores["reward"].null_count == 0 and np.isfinite(scores["advantage"].to_numpy()).all()
    whole, _ = run(tmp_path / "whole", small(), rewards_of(EPISODES, [99.0, *values[1:]]), signal_embeddings(EPISODES))
    assert np.abs(whole["reward"].to_numpy() - scores["reward"].to_numpy()).max() > 0.1


def test_values_in_units_of_their_own_are_brought_to_the_level_of_the_scores(tmp_path: Path) -> None:
    """Ten times the values, and another zero: the scores decide, and the same rewards come out."""
    tables = [
        run(tmp_path / str(scale), small(), rewards_of(EPISODES, [scale * v + 7 for v in values_of(EPISODES)]),
            signal_embeddings(EPISODES), None)[0]
        for scale in (1.0, 10.0)
    ]  # fmt: skip
    one, ten = (table["reward"].to_numpy() for table in tables)
    np.testing.assert_allclose(one, ten, atol=0.02 * np.std(one))
    config = json.loads((tmp_path / "1.0" / "config.json").read_text())
    sums = np.array([sum(scores) for scores in np.split(one, np.cumsum([len(e.target_turns) for e in EPISODES])[:-1])])
    scores = np.array([e.score for e in EPISODES])[:18]
    assert np.mean(sums[:18]) + config["score_offset"] == pytest.approx(
        np.mean(scores), abs=0.2 * np.std(scores) + 1e-6
    )


def test_sessions_that_nobody_scored_teach_and_set_no_level(tmp_path: Path) -> None:
    """Their scores, which are nobody's, are put far off; without them the same sessions are merely scored."""
    splits = splits_of(EPISODES)
    some = [e.session_id for e in EPISODES[:18]][9:]
    rows = splits.to_pylist()
    names = ["policy" if row["session_id"] in some else row["split"] for row in rows]
    policy = splits.set_column(1, "split", pa.array(names))
    nobodys = [replace(e, rating=replace(e.rating, score=1e6)) if e.session_id in some else e for e in EPISODES]
    found = {}
    for name, unscored in (("alone", ()), ("beside", some)):
        episodes = SplitEpisodes(nobodys, policy)
        lesson = Lesson(
            rewards_of(EPISODES, values_of(EPISODES)), episodes, signal_embeddings(EPISODES), None, frozenset(unscored)
        )
        made = train_reward_model(lesson, small(epochs=5), 0, tmp_path / name, ignore)
        found[name] = {row["session_id"] for row in made.scores.to_pylist()}
        card = (tmp_path / name / "README.md").read_text()
        assert f"| training episodes | {9 + len(unscored)} |" in card
        assert abs(made.score_offset) < 100
    assert found["alone"] == {e.session_id for e in EPISODES} and found["alone"] - found["beside"] == set(some)


def test_no_training_session_is_said(tmp_path: Path) -> None:
    part = EPISODES[25:]
    with pytest.raises(UnitError, match="no training session has rewards of 'llm' to learn from"):
        run(tmp_path, small(), rewards_of(part, values_of(part)), signal_embeddings(EPISODES))


def test_rewards_of_two_methods_at_once_are_refused(tmp_path: Path) -> None:
    both = pa.concat_tables([rewards_of(EPISODES[:1], values_of(EPISODES[:1]), m) for m in ("llm", "rrd")])
    with pytest.raises(ValueError, match="one method"):
        run(tmp_path, small(), both, signal_embeddings(EPISODES))


def test_mean_and_scale() -> None:
    assert mean_and_scale(np.array([1.0, 3.0])) == (2.0, 1.0)
    assert mean_and_scale(np.array([5.0, 5.0])) == (5.0, 1.0)
    assert mean_and_scale(np.array([])) == (0.0, 1.0)
