from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corpus.errors import InputError, UnitError
from corpus.schema import REWARDS
from corpus.session import Episode
from decompose.fit import fit_decomposer
from decompose.methods import find_method
from decompose.projection import project
from decompose.settings import DecomposeSettings, RRDSettings
from tests.reward_model.tiny import ignore, planted, save_tiny, signal_embeddings, small, splits_of, values_of

EPISODES = planted(80)
SETTINGS = DecomposeSettings(rrd=RRDSettings(k=3))


def fit(episodes: list[Episode] = EPISODES, seed: int = 0, **changes: object):  # type: ignore[no-untyped-def]
    table = signal_embeddings(episodes)
    return fit_decomposer("rrd", episodes, splits_of(episodes), table, SETTINGS, small(**changes), seed, ignore)


def test_rrd_finds_a_planted_turn_reward_from_scores_alone() -> None:
    judgements, history = fit(epochs=60, patience=60, lr=0.003)
    assert judgements.schema.equals(REWARDS.arrow)
    found, truth = np.array(judgements.column("raw_reward").to_pylist()), np.array(values_of(EPISODES))
    assert np.corrcoef(found, truth)[0, 1] > 0.8
    assert judgements.column("reward").null_count == len(judgements)
    assert set(history.column("metric").to_pylist()) == {"train loss", "validation loss"}
    rewards, projection = project(judgements, EPISODES, splits_of(EPISODES), "relative", find_method("rrd"))
    assert projection.spread == 1.0
    assert sum(rewards.column("reward").to_pylist()) == pytest.approx(
        sum(e.score - projection.score_offset for e in EPISODES)
    )


def test_every_split_is_judged_and_only_training_scores_are_seen() -> None:
    changed = [
        e if i < 64 else Episode(e.session_id, e.turns, replace(e.rating, score=1.0)) for i, e in enumerate(EPISODES)
    ]
    (one, history), (two, again) = fit(), fit(changed)
    assert len(one) == sum(len(e.target_turns) for e in EPISODES)
    assert one.equals(two) and history.equals(again)


def test_equal_seeds_give_equal_tables_and_others_do_not() -> None:
    assert fit(seed=1)[0].equals(fit(seed=1)[0])
    assert fit(seed=1)[0].column("raw_reward") != fit(seed=2)[0].column("raw_reward")
    assert set(fit(seed=2)[0].column("seed").to_pylist()) == {2}


def test_identical_scores_give_rewards_of_about_zero() -> None:
    same = [Episode(e.session_id, e.turns, replace(e.rating, score=4.0)) for e in EPISODES]
    judgements, _ = fit(same, dropout=0.0)
    np.testing.assert_allclose(judgements.column("raw_reward").to_pylist(), 0.0, atol=0.05)


def test_a_backbone_can_be_trained_without_embeddings(tmp_path: Path) -> None:
    settings = small(save_tiny(tmp_path), freeze_backbone=False, epochs=1)
    judgements, _ = fit_decomposer("rrd", EPISODES[:10], splits_of(EPISODES[:10]), None, SETTINGS, settings, 0, ignore)
    assert np.isfinite(judgements.column("raw_reward").to_pylist()).all()


def test_a_method_that_is_not_learned_is_refused() -> None:
    with pytest.raises(InputError, match="not learned on a corpus"):
        fit_decomposer("uniform", EPISODES, splits_of(EPISODES), None, SETTINGS, small(), 0, ignore)


def test_a_score_that_is_not_finite_is_named() -> None:
    broken = Episode("s000", EPISODES[0].turns, replace(EPISODES[0].rating, score=math.nan))
    with pytest.raises(UnitError, match="session s000: score nan"):
        fit([broken, *EPISODES[1:]])


def test_no_training_session_is_said() -> None:
    with pytest.raises(UnitError, match="no training session"):
        fit_decomposer(
            "rrd", EPISODES, splits_of(EPISODES, 0.0), signal_embeddings(EPISODES), SETTINGS, small(), 0, ignore
        )
