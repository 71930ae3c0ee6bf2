from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from apportion.corpus.schema import EPISODE_KEY, REWARDS
from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.fit import fit_decomposer
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.methods import find_method
from apportion.decompose.projection import project
from apportion.decompose.reactions.cues import CUES
from apportion.decompose.reactions.extract import Reactions, arrange
from apportion.decompose.reactions.model import PENALTIES, fit, learn, pooled
from apportion.decompose.settings import DecomposeSettings, ReactionSettings
from apportion.foundation.errors import UnitError
from apportion.pipeline.engine.store import joined
from tests.decompose.sessions import features
from tests.reward_model.tiny import episode, ignore, small, splits_of

WIDTH = 6


def reacted(
    count: int = 120, late: float = 0.0, silent_end: bool = True, seed: int = 3
) -> tuple[list[Episode], list[float]]:
    """Sessions whose score is 3 plus the (later turns more) weighted mean of what the rater felt at each turn."""
    rng = np.random.default_rng(seed)
    episodes, felt = [], []
    for number in range(count):
        turns = int(rng.integers(4, 9))
        values = rng.choice([-1.0, 0.0, 1.0], size=turns)
        said = [part for i in range(turns) for part in (("bot", "w1"), ("user", f"w{i}"))]
        weight = (0.1 + np.linspace(0, 1, turns)) ** late
        score = 3.0 + float(weight @ values / weight.sum())
        episodes.append(episode(f"s{number:03d}", said[: -1 if silent_end else None], score))
        felt += values.tolist()
    return episodes, felt


def table_of(episodes: list[Episode], felt: list[float]) -> pa.Table:
    """Reactions whose embedding shows the planted feeling; no model is needed."""
    vectors = np.random.default_rng(1).normal(size=(len(felt), WIDTH)).astype(np.float32)
    vectors[:, 0] += 2 * np.array(felt, dtype=np.float32)
    replied = [bool(e.reply_positions(p)) for e in episodes for p in e.target_positions]
    keys = [(*e.key, turn) for e in episodes for turn in e.target_turns]
    columns = {name: pa.array([key[i] for key in keys]) for i, name in enumerate(EPISODE_KEY)}
    return pa.table(
        {
            **columns,
            "turn": pa.array([key[-1] for key in keys], pa.int32()),
            "cues": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(len(felt) * len(CUES))), len(CUES)),
            "embedding": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), WIDTH),
            "replied": pa.array(replied),
        }
    )


def fitted(
    episodes: list[Episode], table: pa.Table | None, seed: int = 0, train: float = 0.6
) -> tuple[pa.Table, pa.Table]:
    data = TrainingData(SplitEpisodes(episodes, splits_of(episodes, train)), reactions=table)
    return fit_decomposer("reaction", data, TrainingConfig(DecomposeSettings(), small(), seed), ignore)[:2]


@pytest.mark.parametrize("late", [0.0, 1.0])
def test_planted_feelings_are_found_from_scores_alone(late: float) -> None:
    episodes, felt = reacted(300, late)
    judgements, history = fitted(episodes, table_of(episodes, felt))
    assert judgements.schema.equals(REWARDS.arrow)
    found = judgements.column("raw_reward").to_pylist()
    known = [i for i, value in enumerate(found) if value is not None]
    assert np.corrcoef([found[i] for i in known], [felt[i] for i in known])[0, 1] > 0.7
    losses = history.column("value").to_pylist()
    assert np.argmin(losses) == int(late)  # late = 0, 1, 2 are tried in this order
    rewards, _ = project(judgements, SplitEpisodes(episodes, splits_of(episodes)), "relative", find_method("reaction"))
    assert np.isfinite(rewards.column("reward").to_pylist()).all()


def test_only_training_scores_are_seen_and_every_seed_gives_the_same() -> None:
    episodes, felt = reacted(50)
    table = table_of(episodes, felt)
    changed = [
        e if i < 30 else Episode(e.session_id, e.turns, replace(e.rating, score=1.0)) for i, e in enumerate(episodes)
    ]
    one, history = fitted(episodes, table)
    assert fitted(changed, table)[0].equals(one)
    other, again = fitted(episodes, table, seed=4)
    assert other.column("raw_reward").equals(one.column("raw_reward")) and again.equals(history)
    assert set(other.column("seed").to_pylist()) == {4}


def test_the_order_of_episodes_and_of_rows_changes_nothing() -> None:
    episodes, felt = reacted(40)
    table = table_of(episodes, felt)
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(len(table))))
    how = TrainingConfig(DecomposeSettings(), small(), 0)
    one, two = (
        fit_decomposer("reaction", TrainingData(SplitEpisodes(of, splits_of(episodes)), reactions=read), how, ignore)
        for of, read in ((episodes, table), (episodes[::-1], shuffled))
    )
    assert one.judgements.equals(two.judgements)


def test_where_there_is_nothing_to_learn_from_values_are_equal() -> None:
    episodes, felt = reacted(20)
    same = [Episode(e.session_id, e.turns, replace(e.rating, score=4.0)) for e in episodes]
    found = fitted(same, table_of(same, felt))[0].column("raw_reward").to_pylist()
    assert {value for value in found if value is not None} == {0.0}
    said = [("bot", "w1"), ("user", "w2")]
    episodes = [episode(f"s{i}", said, 2.0 + i % 3) for i in range(10)]
    found, _ = fitted(episodes, table_of(episodes, [float(i % 3) for i in range(10)]))
    assert np.isfinite(found.column("raw_reward").to_pylist()).all()
    found, _ = fitted(episodes, table_of(episodes, [float(i % 3) for i in range(10)]), train=0.1)
    assert set(found.column("raw_reward").to_pylist()) == {0.0}


def test_nobody_ever_replies() -> None:
    episodes = [episode(f"s{i}", [("bot", "w1"), ("bot", "w2")], 2.0 + i) for i in range(5)]
    found, _ = fitted(episodes, table_of(episodes, [0.0] * 10))
    assert found.column("raw_reward").null_count == 10
    rewards, projection = project(
        found, SplitEpisodes(episodes, splits_of(episodes)), "relative", find_method("reaction")
    )
    assert projection.spread == 0.0
    assert np.isfinite(rewards.column("reward").to_pylist()).all()


def test_what_cannot_be_learnt_from_is_said() -> None:
    episodes, felt = reacted(10)
    broken = Episode("s000", episodes[0].turns, replace(episodes[0].rating, score=math.nan))
    for given_, table, train, words in (
        ([broken, *episodes[1:]], table_of(episodes, felt), 0.6, "session s000: score nan; it must be finite"),
        (episodes, table_of(episodes, felt), 0.0, "no training session"),
        (episodes, None, 0.6, "no reaction was read of any session"),
    ):
        with pytest.raises(UnitError, match=words):
            fitted(given_, table, train=train)


@hypothesis_settings(deadline=None, max_examples=20)
@given(st.floats(0.1, 50), st.floats(-100, 100))
def test_the_units_of_scores_scale_the_values(factor: float, shift: float) -> None:
    episodes, felt = reacted(25)
    moved = [
        Episode(e.session_id, e.turns, replace(e.rating, score=factor * e.score + shift, low=-1e4, high=1e4))
        for e in episodes
    ]
    cues = np.zeros((len(felt), len(CUES)))
    vectors = np.random.default_rng(2).normal(size=(len(felt), WIDTH))
    everyone = frozenset(e.session_id for e in episodes)
    one, two = (
        Reactions(tuple(e), cues, vectors, np.ones(len(felt), bool), np.zeros((len(felt), 0)))
        for e in (episodes, moved)
    )
    settings = ReactionSettings()
    expected = factor * learn(one, everyone, settings).worth.values(one)
    np.testing.assert_allclose(
        learn(two, everyone, settings).worth.values(two), expected, rtol=1e-6, atol=1e-8 * factor
    )


def test_many_turns_are_learned_from_block_by_block(monkeypatch):
    episodes, felt = reacted(25)
    draw = np.random.default_rng(4)
    measured = np.where(draw.random((len(felt), 3)) < 0.3, np.nan, draw.normal(size=(len(felt), 3)))
    numbers = draw.normal(size=(len(felt), len(CUES))), draw.normal(size=(len(felt), WIDTH)).astype(np.float32)
    reactions = Reactions(tuple(episodes), *numbers, np.ones(len(felt), bool), measured)
    everyone = frozenset(e.session_id for e in episodes[:20])
    whole = learn(reactions, everyone, ReactionSettings())
    values = whole.worth.values(reactions)
    monkeypatch.setattr("apportion.decompose.reactions.model.ROWS_AT_ONCE", 8)
    parts = learn(reactions, everyone, ReactionSettings())
    for name in ("centre", "scale", "losses"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    np.testing.assert_array_equal(parts.worth.values(reactions), values)
    np.testing.assert_allclose(parts.settled, whole.settled, rtol=1e-12)


def test_vectors_in_a_file_and_many_sessions_by_sums_teach_the_same(monkeypatch, tmp_path):
    episodes, felt = reacted(60)
    table = table_of(episodes, felt)
    everyone, some = frozenset(e.session_id for e in episodes), episodes[::-1][:50]
    whole = learn(arrange(table, some), everyone, ReactionSettings())
    reactions = arrange(joined([table.slice(0, 7), table.slice(7)], tmp_path), some)
    stored = learn(reactions, everyone, ReactionSettings())
    np.testing.assert_array_equal(stored.worth.values(reactions), whole.worth.values(arrange(table, some)))
    assert stored.losses == whole.losses and stored.left_out == whole.left_out
    monkeypatch.setattr("apportion.decompose.reactions.model.TALL", 0)
    monkeypatch.setattr("apportion.decompose.reactions.model.ROWS_AT_ONCE", 16)
    summed = learn(reactions, everyone, ReactionSettings())
    for name in ("losses", "settled", "likely"):
        np.testing.assert_allclose(getattr(summed, name), getattr(stored, name), rtol=1e-9)
    np.testing.assert_allclose([*summed.left_out.values()], [*stored.left_out.values()], rtol=1e-9)
    np.testing.assert_allclose(summed.worth.values(reactions), stored.worth.values(reactions), rtol=1e-9, atol=1e-12)


def smiles(episodes: list[Episode], felt: list[float], measured: float = 0.8) -> pa.Table:
    """The rater's smile shows the planted feeling, where it was measured; the target's own smile shows the opposite."""
    rng = np.random.default_rng(5)
    rows = []
    keys = [(e.session_id, turn) for e in episodes for turn in e.target_turns]
    for value, (session_id, turn) in zip(felt, keys, strict=True):
        smile = value + 0.3 * rng.normal() if rng.random() < measured else None
        for person, mean in (("user", smile), ("bot", -value)):
            rows.append((session_id, turn, person, "during", "smile", mean))
    return features(*rows)


def test_behaviour_while_listening_is_read_where_it_was_measured() -> None:
    episodes, felt = reacted(300)
    blank = table_of(episodes, [0.0] * len(felt))  # the replies say nothing

    def agreement(features: pa.Table | None) -> float:
        data = TrainingData(SplitEpisodes(episodes, splits_of(episodes)), features=features, reactions=blank)
        found = fit_decomposer("reaction", data, TrainingConfig(DecomposeSettings(), small(), 0), ignore).judgements
        values = found.column("raw_reward").to_pylist()
        known = [i for i, value in enumerate(values) if value is not None]
        return float(np.corrcoef([values[i] for i in known], [felt[i] for i in known])[0, 1])

    assert agreement(smiles(episodes, felt)) > 0.7
    assert abs(agreement(None)) < 0.2
    assert abs(agreement(smiles(episodes, felt, measured=0.0))) < 0.2
    assert agreement(smiles(episodes, felt).slice(0, 0)) == agreement(None)


RIDGE_RNG = np.random.default_rng(0)


def test_pooling_by_hand_and_a_score_foretold_by_the_others_mean() -> None:
    features = np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 5.0]])
    found = pooled(features, np.array([1.0, 3.0, 2.0]), [0, 2, 3])
    np.testing.assert_allclose(found, [[2.5, 1.5], [5.0, 5.0]])
    found = fit(np.zeros((4, 2)), np.array([1.0, 2.0, 3.0, 6.0]))
    np.testing.assert_allclose(found.left_out, [11 / 3, 10 / 3, 3.0, 2.0])


def test_the_leave_one_out_error_is_that_of_leaving_each_out() -> None:
    x, y = RIDGE_RNG.normal(size=(12, 4)), RIDGE_RNG.normal(size=12)
    model = fit(x, y)
    predicted = []
    for i in range(12):
        rest = np.delete(np.arange(12), i)
        mean, score = x[rest].mean(axis=0), y[rest].mean()
        # Leaving one out moves the mean too; its penalty stays.
        z = x[rest] - mean
        w = np.linalg.solve(z.T @ z + model.penalty * np.eye(4), z.T @ (y[rest] - score))
        predicted.append(score + (x[i] - mean) @ w)
    np.testing.assert_allclose(model.left_out, predicted)
    assert model.loss == pytest.approx(np.mean(np.square(y - predicted)), rel=1e-9)


def test_what_scores_settle_is_nothing_without_an_effect_and_nears_all_with_many_sessions() -> None:
    found = []
    for count in (2, 20, 400):
        x = RIDGE_RNG.normal(size=(count, 3))
        model = fit(x, x @ [1.0, -2.0, 0.5] + RIDGE_RNG.normal(size=count), [x - x.mean(axis=0)])
        found.append(float(model.settled[np.argmax(model.evidence)]))
    assert found[0] == 0 and found[2] > 0.95 and found == sorted(found)
    noise = [np.exp(fit(x, RIDGE_RNG.normal(size=400), [x]).evidence).mean() for _ in range(9)]
    assert np.median(noise) < 1  # no effect is likelier


def test_the_weights_solve_the_ridge_regression_and_the_penalty_is_on_the_grid() -> None:
    x = RIDGE_RNG.normal(size=(50, 3))
    y = x @ [1.0, -2.0, 0.0] + 0.1 * RIDGE_RNG.normal(size=50) + 7
    model = fit(x, y)
    z = x - x.mean(axis=0)
    expected = np.linalg.solve(z.T @ z + model.penalty * np.eye(3), z.T @ (y - y.mean()))
    np.testing.assert_allclose(model.weights, expected)
    np.testing.assert_allclose(model.weights, [1.0, -2.0, 0.0], atol=0.1)
    scale = np.linalg.svd(z, compute_uv=False)
    assert np.isclose(PENALTIES * np.mean(scale**2), model.penalty).any()
