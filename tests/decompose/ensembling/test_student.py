from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from apportion.corpus.schema import EPISODE_KEY, REWARDS, TURN_LABELS
from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.fit import fit_decomposer
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.ensembling import student as student_module
from apportion.decompose.ensembling.student import LLM, PEOPLE, Lesson, Teacher, _ridge, learn_student, student_source
from apportion.decompose.reactions.extract import arrange
from apportion.decompose.reactions.model import FittedReactionModel, standardised_features
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import UnitError
from tests.decompose.ensembling.opinions import felt
from tests.decompose.reactions.test_model import table_of
from tests.reward_model.tiny import ignore, small, splits_of

EPISODES, FELT = felt(60)
TABLE = table_of(EPISODES, FELT)
REACTIONS = arrange(TABLE, EPISODES)
TRAINING = frozenset(e.session_id for e in EPISODES[:45])
OFFSETS = np.cumsum([0, *(len(e.target_turns) for e in EPISODES)])
TRUTH = {e.key: np.array(FELT[a:b]) for e, a, b in zip(EPISODES, OFFSETS[:-1], OFFSETS[1:], strict=True)}
JUDGED = {e.key: TRUTH[e.key] + np.random.default_rng(0).normal(0, 0.3, len(TRUTH[e.key])) for e in EPISODES[:12]}


def test_a_dozen_judged_sessions_teach_what_the_others_felt() -> None:
    source, student = student_source("llm-student", REACTIONS, Lesson(JUDGED), TRAINING)
    others = [e.key for e in EPISODES[12:]]
    said = np.concatenate([source.values[key] for key in others])
    felt = np.concatenate([TRUTH[key] for key in others])
    known = np.isfinite(said)
    assert np.corrcoef(said[known], felt[known])[0, 1] > 0.8
    assert 0.5 < student.explained < 1 and source.reads_replies and not source.shown_score
    assert all(source.knows(e.key) for e in EPISODES)


@hypothesis_settings(max_examples=25, deadline=None)
@given(st.integers(3, 8), st.integers(1, 4), st.integers(0, 100))
def test_left_out_errors_are_those_of_fits_without_the_session(sessions: int, turns: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    sizes = [turns] * sessions
    x, y = chance.normal(size=(sessions * turns, 3)), chance.normal(size=sessions * turns)
    x, y = x - x.mean(axis=0), y - y.mean()
    _, penalty, errors, _ = _ridge(x, y, sizes, 1 / len(y))
    for start in range(0, len(y), turns):
        kept = np.ones(len(y), dtype=bool)
        kept[start : start + turns] = False
        mean, level = x[kept].mean(axis=0), y[kept].mean()
        own = x[kept] - mean
        weights = np.linalg.solve(own.T @ own + penalty * np.eye(3), own.T @ (y[kept] - level))
        assert errors[~kept] == pytest.approx(y[~kept] - level - (x[~kept] - mean) @ weights, abs=1e-8)


@pytest.mark.parametrize("teacher", [LLM, PEOPLE])
def test_left_out_values_are_those_of_a_student_without_the_session(teacher: Teacher) -> None:
    few = {e.key: np.where(np.arange(len(TRUTH[e.key])) == 1, np.nan, TRUTH[e.key]) for e in EPISODES[:6]}
    whole, key = learn_student(REACTIONS, Lesson(few, teacher), TRAINING), EPISODES[2].key
    places = {e.key: slice(a, b) for e, a, b in zip(EPISODES, OFFSETS[:-1], OFFSETS[1:], strict=True)}
    x = standardised_features(REACTIONS, whole.worth.centre, whole.worth.scale)
    told = {k: np.isfinite(v) for k, v in few.items() if k != key}
    parts, said = [x[places[k]][of] for k, of in told.items()], [few[k][of] for k, of in told.items()]
    means = [of.mean(axis=0) for of in parts] if teacher.within else [np.concatenate(parts).mean(axis=0)] * 5
    levels = [of.mean() for of in said] if teacher.within else [np.concatenate(said).mean()] * 5
    own = np.concatenate([of - mean for of, mean in zip(parts, means, strict=True)])
    left = np.concatenate([of - level for of, level in zip(said, levels, strict=True)])
    weights = np.linalg.solve(own.T @ own + whole.penalty * np.eye(own.shape[1]), own.T @ left)
    values = (x @ weights)[places[key]]
    found = whole.left_out[key]
    assert found - found.mean() == pytest.approx(values - values.mean(), abs=1e-8)
    if teacher is LLM:
        assert found.mean() == pytest.approx(((x - means[0]) @ weights)[places[key]].mean() + levels[0])


@pytest.mark.parametrize("teacher", [LLM, PEOPLE])
def test_raters_of_one_session_are_left_out_together(teacher: Teacher) -> None:
    """Where judgements are noise, another rater's reply knows nothing; true ones are known without the session."""
    twins = [replace(e, rating=replace(e.rating, rater="another")) for e in EPISODES[:9]]
    both = [*EPISODES[:9], *twins]
    reactions = arrange(table_of(both, [*FELT[: OFFSETS[9]]] * 2), both)
    noise = {e.key: np.random.default_rng(n % 9).normal(size=len(e.target_turns)) for n, e in enumerate(both)}
    assert learn_student(reactions, Lesson(noise, teacher), TRAINING).explained < 0.1
    true = {e.key: TRUTH[one.key] for e, one in zip(both, EPISODES[:9] * 2, strict=True)}
    found = learn_student(reactions, Lesson(true, teacher), TRAINING).left_out
    assert np.median([np.corrcoef(found[key], of)[0, 1] for key, of in true.items()]) > 0.8


def test_a_session_s_own_judgements_do_not_stand_in_its_values() -> None:
    one, first = student_source("llm-student", REACTIONS, Lesson(JUDGED), TRAINING)
    key = EPISODES[3].key
    # A change that leaves the chosen penalty as it is.
    two, second = student_source("llm-student", REACTIONS, Lesson({**JUDGED, key: JUDGED[key] + 0.01}), TRAINING)
    ratio = first.penalty / second.penalty
    assert ratio == pytest.approx(1.0, abs=0.05)
    assert two.values[key] == pytest.approx(one.values[key], nan_ok=True, abs=1e-3)
    assert one.values[key] != pytest.approx(JUDGED[key], abs=1e-3)


def test_judgements_of_sessions_that_do_not_train_teach_nothing() -> None:
    held_out = EPISODES[50].key
    one = learn_student(REACTIONS, Lesson(JUDGED), TRAINING)
    two = learn_student(REACTIONS, Lesson({**JUDGED, held_out: 100 * TRUTH[held_out]}), TRAINING)
    assert np.array_equal(one.worth.weights, two.worth.weights) and held_out not in two.left_out


def test_a_turn_without_a_reply_has_no_value() -> None:
    source, student = student_source("llm-student", REACTIONS, Lesson(JUDGED), TRAINING)
    silent = np.concatenate([np.isnan(source.values[e.key]) for e in REACTIONS.episodes])
    assert np.array_equal(silent, ~REACTIONS.replied) and silent.any()
    assert np.isfinite(student.worth.values(REACTIONS)).all()
    assert standardised_features(REACTIONS, student.worth.centre, student.worth.scale).shape[1] == len(
        student.worth.weights
    )


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_judged_sessions_are_said(count: int) -> None:
    few = {e.key: JUDGED[e.key] for e in EPISODES[:count]}
    with pytest.raises(UnitError, match=f"at least 3 training sessions that it judged, and there are {count}"):
        learn_student(REACTIONS, Lesson(few), TRAINING)
    with pytest.raises(UnitError, match=f"at least 3 training sessions, and there are {count}.*label serve CORPUS"):
        learn_student(REACTIONS, Lesson(few, PEOPLE), TRAINING)


def test_too_few_or_equal_judgements_are_said() -> None:
    few = {e.key: JUDGED[e.key] for e in EPISODES[:5]}
    with pytest.raises(UnitError, match="at least half of the 11 sessions that were chosen for it, and there are 5"):
        learn_student(REACTIONS, Lesson(few, asked=11), TRAINING)
    assert len(learn_student(REACTIONS, Lesson(few, asked=10), TRAINING).left_out) == 5
    with pytest.raises(UnitError, match="judgements of the sessions that train are alike"):
        learn_student(REACTIONS, Lesson({key: np.ones(len(of)) for key, of in JUDGED.items()}), TRAINING)
    levels = {e.key: np.full(len(JUDGED[e.key]), float(i)) for i, e in enumerate(EPISODES[:5])}
    with pytest.raises(UnitError, match=r"alike within each, so that there is nothing to learn.*on a finer scale"):
        learn_student(REACTIONS, Lesson(levels, PEOPLE), TRAINING)


def judgements() -> pa.Table:
    turns = {e.key: e.target_turns for e in EPISODES}
    rows = [
        {**dict(zip((*EPISODE_KEY, "turn"), (*key, turn), strict=True)), "method": "llm", "seed": 0,
         "raw_reward": None if turn == turns[key][0] else float(value)}
        for key, values in JUDGED.items()
        for turn, value in zip(turns[key], values, strict=True)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=REWARDS.arrow)


def test_it_is_fitted_as_any_method_is_and_tells_what_it_learnt() -> None:
    episodes = SplitEpisodes(EPISODES, splits_of(EPISODES))
    how = TrainingConfig(DecomposeSettings(method="llm-student"), small(), 7)
    with pytest.raises(UnitError, match="'llm-student': no reaction was read"):
        fit_decomposer("llm-student", TrainingData(episodes), how, ignore)
    with pytest.raises(UnitError, match="'llm-student': llm has judged no session"):
        fit_decomposer("llm-student", TrainingData(episodes, reactions=TABLE), how, ignore)
    found = fit_decomposer("llm-student", TrainingData(episodes, reactions=TABLE, judgements=judgements()), how, ignore)
    assert found.judgements.num_rows == OFFSETS[-1]
    assert set(found.judgements.column("seed").to_pylist()) == {7}
    told = {row["metric"]: row["value"] for row in found.history.to_pylist()}
    assert set(told) == {"judged sessions", "R^2 of left-out judgements"} and told["judged sessions"] >= 3


def labels(episodes: list[Episode]) -> pa.Table:
    rows = [
        {"session_id": e.session_id, "turn": turn, "name": "landing", "value": float(value)}
        for e in episodes
        for turn, value in zip(e.target_turns, TRUTH[e.key], strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=TURN_LABELS.arrow)


def test_people_teach_as_a_model_does_and_only_by_sessions_that_train() -> None:
    episodes = SplitEpisodes(EPISODES, splits_of(EPISODES))
    how = TrainingConfig(DecomposeSettings(method="people-student"), small(), 7)

    def fitted(said: pa.Table | None) -> FittedReactionModel:
        return fit_decomposer("people-student", TrainingData(episodes, reactions=TABLE, labels=said), how, ignore)

    train = episodes.of("train")
    others = [e for e in EPISODES if e not in train]
    found, again = fitted(labels(train[:5])), fitted(labels([*train[:5], *others]))
    assert again.judgements.equals(found.judgements) and again.history.equals(found.history)
    assert not fitted(labels(train[:6])).judgements.equals(found.judgements)
    for said in (None, labels([*train[:2], *others])):
        with pytest.raises(UnitError, match=f"there are {0 if said is None else 2}. Label more: `apportion label s"):
            fitted(said)
    source, student = student_source("s", REACTIONS, Lesson({e.key: TRUTH[e.key] for e in train[:5]}, PEOPLE), TRAINING)
    assert source.labels.keys() == student.left_out.keys() == {e.key for e in train[:5]}
    assert not student_source("s", REACTIONS, Lesson(JUDGED), TRAINING)[0].labels


def test_many_rows_are_decomposed_as_few_are_but_for_directions_that_never_count():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 6)) @ np.diag([5.0, 3.0, 1.0, 0.1, 0.0, 0.0])
    y, sizes = rng.normal(size=400), [40] * 10
    many = _ridge(x, y, sizes, 1 / 400)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(student_module, "TALL", 10**6)
        few = _ridge(x, y, sizes, 1 / 400)
    assert many[1] == pytest.approx(few[1])
    np.testing.assert_allclose(many[0], few[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(many[2], few[2], rtol=1e-9, atol=1e-12)
    rows = x[:40].T @ many[2][:40]
    np.testing.assert_allclose(many[3].T @ (many[3] @ rows), few[3].T @ (few[3] @ rows), rtol=1e-8, atol=1e-12)
