from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from apportion.decompose.ensembling.active_selection import choose_sessions, order_to_label, uncertainty
from apportion.decompose.reactions.extract import arrange
from apportion.decompose.reactions.model import learn
from apportion.decompose.settings import ReactionSettings
from apportion.foundation.errors import UnitError
from tests.decompose.ensembling.opinions import felt
from tests.decompose.reactions.test_model import table_of

EPISODES, FELT = felt(60)
REACTIONS = arrange(table_of(EPISODES, FELT), EPISODES)
TRAINING = frozenset(e.session_id for e in EPISODES[:40])
SETTINGS = ReactionSettings()


def chosen(count: int, seed: int = 0, **given: object) -> tuple[str, ...]:
    return choose_sessions(REACTIONS, TRAINING, count, seed, SETTINGS, **given)  # type: ignore[arg-type]


@hypothesis_settings(max_examples=20, deadline=None)
@given(st.integers(3, 45), st.integers(0, 1000))
def test_as_many_training_sessions_as_asked_for_each_once_and_the_same_again(count: int, seed: int) -> None:
    found = chosen(count, seed)
    assert len(found) == len(set(found)) == min(count, 40) and set(found) <= TRAINING
    assert found == chosen(count, seed)


def test_scores_that_are_all_alike_leave_every_session_as_unsure() -> None:
    assert len({chosen(10, seed) for seed in range(5)}) > 1
    from dataclasses import replace

    alike = [replace(e, rating=replace(e.rating, score=3.0)) for e in EPISODES]
    reactions = arrange(table_of(alike, FELT), alike)
    found = choose_sessions(reactions, TRAINING, 5, 0, SETTINGS)
    assert len(found) == 5 and set(found) <= TRAINING


def test_the_choice_is_spread_over_scores_and_over_uncertainty() -> None:
    unsure = uncertainty(REACTIONS, learn(REACTIONS, TRAINING, SETTINGS), TRAINING)
    scores = {e.session_id: e.score for e in EPISODES}
    for values in (scores, unsure):
        whole = np.sort([values[name] for name in TRAINING])
        for seed in range(5):
            own = np.sort([values[name] for name in chosen(16, seed)])
            # Each third of the training sessions has some of the sixteen.
            assert np.histogram(own, [-np.inf, *np.quantile(whole, [1 / 3, 2 / 3]), np.inf])[0].min() >= 2


def test_the_variance_of_a_turn_s_worth_is_that_of_a_ridge_regression() -> None:
    model = learn(REACTIONS, TRAINING, ReactionSettings(recency_weights=(0.0,)))
    features = np.concatenate([REACTIONS.embeddings, REACTIONS.cues, REACTIONS.behaviour], axis=1)
    features = (features - model.centre) / model.scale - model.ridge.mean
    ends = np.cumsum([len(e.target_turns) for e in REACTIONS.episodes])
    own = {e.session_id: part for e, part in zip(REACTIONS.episodes, np.split(features, ends[:-1]), strict=True)}
    pooled = np.array([own[name].mean(axis=0) for name in sorted(TRAINING)])
    inverse = np.linalg.inv(pooled.T @ pooled + model.ridge.penalty * np.eye(pooled.shape[1]))
    found = uncertainty(REACTIONS, model, TRAINING)
    for name, turns in own.items():
        assert found[name] == pytest.approx(np.einsum("tf,fg,tg->t", turns, inverse, turns).mean())


def test_only_what_can_be_asked_about_is_chosen() -> None:
    allowed = sorted(TRAINING)[:7]
    assert set(chosen(5, allowed=allowed)) <= set(allowed) and set(chosen(30, allowed=allowed)) == set(allowed)
    with pytest.raises(UnitError, match=r"max_sessions = 5: no session that trains .* among the 1 that there are"):
        chosen(5, allowed=["somewhere else"])


@pytest.mark.parametrize(
    ("turns", "count", "first"),
    [
        ([5] * 20 + [30] * 10, 4, range(20, 30)),  # the longest third
        ([5, 6, 7, 8, 9], 3, range(2, 5)),  # as many as are asked for at least
        ([5] * 6 + [30] * 3 + [200] * 3, 2, range(6, 9)),  # nobody begins with the longest of all
        ([5] * 10 + [30] * 20, 4, range(10, 30)),  # and all that are as long
        ([50, 60, 3], 1, (2,)),
        ([], 20, ()),
    ],
)
def test_people_begin_with_long_sessions_in_an_order_that_the_seed_draws(turns, count, first):
    many = {f"s{i}": of for i, of in enumerate(turns)}
    orders = [order_to_label(many, count, seed) for seed in range(5)]
    assert all(sorted(order) == sorted(many) for order in orders)
    assert all({*order[: len(first)]} == {f"s{i}" for i in first} for order in orders)
    assert len({tuple(order) for order in orders}) > 1 or len(turns) < 5
    assert orders[0] == order_to_label(dict(reversed(many.items())), count, 0)
