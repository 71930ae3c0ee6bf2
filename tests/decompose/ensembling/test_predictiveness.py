"""What a source foretells of left-out scores, and how surely."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from apportion.decompose.ensembling.component import Component
from apportion.decompose.ensembling.predictiveness import chance_against, cross_validate, left_out_scores
from tests.decompose.ensembling.opinions import dialogues, learnt, opinion


def test_the_share_of_the_scores_that_is_explained_is_that_of_the_left_out_predictions() -> None:
    episodes, _ = dialogues(40)
    scores = np.array([e.score for e in episodes])
    told = scores + np.random.default_rng(1).normal(size=40)
    source = learnt(Component("a", {e.key: np.zeros(8) for e in episodes}), episodes)
    assert source.learnt is not None
    source.learnt.left_out.update({e.key: float(of) for e, of in zip(episodes, told, strict=True)})  # type: ignore[attr-defined]
    (found,) = cross_validate([source], episodes)
    others = (scores.sum() - scores) / 39
    assert found.explained == pytest.approx(1 - np.sum((scores - told) ** 2) / np.sum((scores - others) ** 2))
    low, high = found.interval
    assert low is not None and high is not None and low < found.explained < high
    assert found.sessions == 40


def test_without_predictions_of_its_own_the_mean_value_foretells_each_score_by_the_others() -> None:
    episodes, worth = dialogues(30)
    source = opinion("a", episodes, worth, 0.0)
    predicted = left_out_scores(source, episodes)
    # The score of one session does not touch what is foretold of it, but for the mean and slope of the others.
    first, *rest = episodes
    means = np.array([source.values[e.key].mean() for e in rest])
    slope = np.polyfit(means, [e.score for e in rest], 1)[0]
    assert np.sign(slope) == np.sign(predicted[first.key] - np.mean([e.score for e in rest])) * np.sign(
        source.values[first.key].mean() - means.mean()
    )


def test_how_likely_values_go_the_wrong_way_and_that_nothing_is_said_of_too_few() -> None:
    episodes, worth = dialogues(200)
    right = Component("a", {e.key: worth[e.session_id] for e in episodes})
    wrong = Component("a", {key: -of for key, of in right.values.items()})
    assert chance_against(right, episodes) < 1e-6 and chance_against(wrong, episodes) > 1 - 1e-6
    few = [chance_against(right, episodes[:count]) for count in (0, 2, 3)]
    assert few == [0.5] * 3 and chance_against(Component("a", {}), episodes) == 0.5
    noise = [chance_against(opinion("a", episodes, worth, np.inf, seed), episodes) for seed in range(40)]
    assert 0.3 < np.mean(noise) < 0.7
    assert chance_against(right, [replace(e, rating=replace(e.rating, score=50.0)) for e in episodes]) == 0.5


@pytest.mark.parametrize("known", [0, 1])
def test_of_no_two_sessions_nothing_is_foretold(known: int) -> None:
    episodes, worth = dialogues(20)
    (found,) = cross_validate([Component("a", {e.key: worth[e.session_id] for e in episodes[:known]})], episodes)
    assert (found.explained, found.interval, found.sessions) == (0.0, (None, None), known)


def test_scores_that_are_all_alike_say_nothing() -> None:
    episodes, worth = dialogues(20)
    flat = [episode for episode in episodes if episode.session_id == "s0000"] * 1
    (found,) = cross_validate([opinion("a", episodes, worth, 0.0)], flat)
    assert (found.explained, found.interval) == (0.0, (None, None))


def test_two_ratings_of_one_session_are_resampled_together() -> None:
    episodes, worth = dialogues(30)
    twice = [*episodes, *(replace(e, rating=replace(e.rating, rater="other")) for e in episodes)]
    values = {e.key: worth[e.session_id] for e in twice}
    (once,) = cross_validate([Component("a", {e.key: values[e.key] for e in episodes})], episodes)
    (doubled,) = cross_validate([Component("a", values)], twice)
    assert doubled.sessions == once.sessions == 30
    assert np.std(doubled.draws) == pytest.approx(np.std(once.draws), rel=0.1)
