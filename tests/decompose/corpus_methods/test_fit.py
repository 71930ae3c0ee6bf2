from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from apportion.corpus.schema import REWARDS
from apportion.corpus.session import Episode, Turn
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.fit import fit_decomposer
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.method import ObjectiveMethod
from apportion.decompose.method_settings import RRDSettings
from apportion.decompose.methods import METHODS, find_method
from apportion.decompose.projection import project
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError, UnitError
from tests.decompose.sessions import features
from tests.reward_model.tiny import episode, ignore, planted, save_tiny, signal_embeddings, small, splits_of, values_of

EPISODES = planted(80)
SETTINGS = DecomposeSettings(rrd=RRDSettings(k=3))


LEARNED = sorted(name for name, method in METHODS.items() if isinstance(method, ObjectiveMethod))
"""By the training loop; a closed fit has tests of its own."""


def fit(  # type: ignore[no-untyped-def]
    episodes: list[Episode] = EPISODES, seed: int = 0, method: str = "rrd", target: str = "relative", **changes: object
):
    table = signal_embeddings(episodes)
    faces = faces_of(episodes)
    settings = SETTINGS.model_copy(update={"target": target})
    data = TrainingData(SplitEpisodes(episodes, splits_of(episodes)), table, faces)
    return fit_decomposer(method, data, TrainingConfig(settings, small(**changes), seed), ignore)[:2]


def faces_of(episodes: list[Episode]) -> pa.Table:
    """The rater smiles at what is good, and at half of the rest."""
    turns = [(e, turn) for e in episodes for turn in e.target_turns]
    seen = zip(turns, values_of(episodes), strict=True)
    return features(*((e.session_id, turn, e.rating.rater, "during", "smile", 0.5 + v) for (e, turn), v in seen))


def correlation(judgements: pa.Table, episodes: list[Episode] = EPISODES) -> float:
    return float(np.corrcoef(judgements.column("raw_reward").to_pylist(), values_of(episodes))[0, 1])


@pytest.mark.parametrize(
    ("method", "at_least"),
    [
        ("rrd", 0.8),
        ("ircr", 0.5),
        ("rudder", 0.5),
        ("rrd-va", 0.8),
        ("ircr-va", 0.8),
        ("rudder-va", 0.8),
        ("rrd-ls", 0.5),
    ],
)
def test_every_learned_method_finds_a_planted_turn_reward(method: str, at_least: float) -> None:
    judgements, _history = fit(method=method, epochs=30, patience=30, lr=0.03, batch_size=16)
    assert judgements.schema.equals(REWARDS.arrow)
    assert set(judgements.column("method").to_pylist()) == {method}
    assert correlation(judgements) > at_least
    rewards, _ = project(judgements, SplitEpisodes(EPISODES, splits_of(EPISODES)), "score", find_method(method))
    assert sum(rewards.column("reward").to_pylist()) == pytest.approx(sum(e.score for e in EPISODES))


def test_rudder_s_judgements_telescope_to_the_score() -> None:
    judgements, _ = fit(method="rudder", epochs=2)
    mean = float(np.mean([e.score for e in EPISODES[:48]]))
    values = iter(judgements.column("raw_reward").to_pylist())
    for e in EPISODES:
        assert sum(next(values) for _ in e.target_turns) == pytest.approx(e.score - mean, abs=1e-9)


def test_the_mean_return_is_expected_before_anything_is_said() -> None:
    # As relative rewards, each turn with its share of the mean on top: the first one is no exception.
    judged = [fit(method="rudder", target=target, epochs=2)[0] for target in ("relative", "score")]
    relative, score = (table.column("raw_reward").to_numpy() for table in judged)
    mean = float(np.mean([e.score for e in EPISODES[:48]]))
    shares = np.concatenate([np.full(len(e.target_turns), mean / len(e.target_turns)) for e in EPISODES])
    np.testing.assert_allclose(score, relative + shares, atol=1e-4)


@pytest.mark.parametrize("method", LEARNED)
def test_for_the_score_itself_every_learned_method_learns_the_score_itself(method: str) -> None:
    same = [Episode(e.session_id, e.turns, replace(e.rating, score=4.0)) for e in EPISODES if len(e.target_turns) == 4]
    judgements, _ = fit(same, method=method, target="score", dropout=0.0)
    np.testing.assert_allclose(judgements.column("raw_reward").to_pylist(), 1.0, atol=0.05)


@pytest.mark.parametrize("method", LEARNED)
def test_dialogues_of_one_turn_and_without_turns(method: str) -> None:
    short = [episode(f"t{i:03d}", [("user", ""), ("bot", "" if i % 2 else "good")], 2.0 + i % 2) for i in range(20)]
    silent = [episode(f"u{i:03d}", [("user", "hi")], 3.0) for i in range(4)]
    table, faces = signal_embeddings([*short, *silent]), faces_of(short)
    settings = small(epochs=1)
    if method == "rrd-ls":
        short = [Episode(e.session_id, (*e.turns, Turn(2, "user", "ok")), e.rating) for e in short]
    data = TrainingData(SplitEpisodes([*short, *silent], splits_of(short)), table, faces)
    judgements = fit_decomposer(method, data, TrainingConfig(SETTINGS, settings, 0), ignore).judgements
    assert np.isfinite(judgements.column("raw_reward").to_pylist()).all()
    assert set(judgements.column("session_id").to_pylist()) == {e.session_id for e in short}


@pytest.mark.parametrize("method", LEARNED)
def test_a_dialogue_of_five_thousand_turns(method: str) -> None:
    said = [turn for i in range(2500) for turn in (("user", "good"), ("bot", f"w{i % 40}"))]
    episodes = [episode("long", [*said, ("user", "bye")], 5.0), *EPISODES[:9]]
    judgements, _ = fit(episodes, method=method, epochs=1)
    values = np.array(judgements.column("raw_reward").to_pylist())
    assert np.isfinite(values).all() and len(values) == 2500 + sum(len(e.target_turns) for e in EPISODES[:9])


@pytest.mark.parametrize("method", LEARNED)
def test_a_score_that_is_no_number_is_named_whatever_the_method(method: str) -> None:
    broken = Episode("s000", EPISODES[0].turns, replace(EPISODES[0].rating, score=math.nan))
    with pytest.raises(UnitError, match="session s000: score nan"):
        fit([broken, *EPISODES[1:]], method=method)


def test_a_mix_with_faces_says_where_none_was_seen() -> None:
    data = TrainingData(SplitEpisodes(EPISODES, splits_of(EPISODES)), signal_embeddings(EPISODES))
    with pytest.raises(UnitError, match="no training turn has a value of 'affect'"):
        fit_decomposer("rrd-va", data, TrainingConfig(SETTINGS, small(), 0), ignore)


@pytest.mark.parametrize("method", LEARNED)
def test_equal_seeds_give_equal_bits_whatever_the_method(method: str) -> None:
    one, same, other = (fit(seed=seed, method=method, epochs=1)[0] for seed in (3, 3, 4))
    assert one.equals(same) and one.column("raw_reward") != other.column("raw_reward")
    assert set(other.column("seed").to_pylist()) == {4}


@pytest.mark.parametrize("method", ["rrd", "rudder", "rudder-va"])
def test_a_backbone_can_be_trained_without_embeddings(tmp_path: Path, method: str) -> None:
    settings = small(save_tiny(tmp_path), freeze_backbone=False, epochs=1)
    episodes = EPISODES[:10]
    data = TrainingData(SplitEpisodes(episodes, splits_of(episodes)), features=faces_of(episodes))
    judgements = fit_decomposer(method, data, TrainingConfig(SETTINGS, settings, 0), ignore).judgements
    assert np.isfinite(judgements.column("raw_reward").to_pylist()).all()


def test_a_method_that_is_not_learned_or_has_no_training_session_is_refused() -> None:
    with pytest.raises(InputError, match="not learned on a corpus"):
        data = TrainingData(SplitEpisodes(EPISODES, splits_of(EPISODES)))
        fit_decomposer("uniform", data, TrainingConfig(SETTINGS, small(), 0), ignore)
    data = TrainingData(SplitEpisodes(EPISODES, splits_of(EPISODES, 0.0)), signal_embeddings(EPISODES))
    with pytest.raises(UnitError, match="no training session"):
        fit_decomposer("rrd", data, TrainingConfig(SETTINGS, small(), 0), ignore)
