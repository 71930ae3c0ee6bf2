"""What a source foretells of left-out scores, and how surely."""

from __future__ import annotations

import numpy as np
import pytest

from apportion.decompose.ensembling.component import Component
from apportion.decompose.ensembling.predictiveness import FEWEST, cross_validate, left_out_scores
from tests.decompose.ensembling.opinions import dialogues, opinion


def test_the_share_of_the_scores_that_is_explained_is_that_of_the_left_out_predictions() -> None:
    episodes, _ = dialogues(40)
    scores = np.array([e.score for e in episodes])
    told = scores + np.random.default_rng(1).normal(size=40)
    source = Component("a", {}, {e.key: float(of) for e, of in zip(episodes, told, strict=True)})
    (found,) = cross_validate([source], episodes)
    others = (scores.sum() - scores) / 39
    assert found.explained == pytest.approx(1 - np.sum((scores - told) ** 2) / np.sum((scores - others) ** 2))
    low, high = found.interval
    assert low is not None and high is not None and low < found.explained < high
    assert found.clear and found.sessions == 40 and 0.9 < found.kept <= 1


def test_without_predictions_of_its_own_the_mean_value_foretells_each_score_by_the_others() -> None:
    episodes, worth = dialogues(30)
    source = opinion("a", episodes, worth, 0.0)
    predicted, against = left_out_scores(source, episodes)
    assert not against
    # The score of one session does not touch what is foretold of it, but for the mean and slope of the others.
    first, *rest = episodes
    means = np.array([source.values[e.key].mean() for e in rest])
    slope = np.polyfit(means, [e.score for e in rest], 1)[0]
    assert np.sign(slope) == np.sign(predicted[first.key] - np.mean([e.score for e in rest])) * np.sign(
        source.values[first.key].mean() - means.mean()
    )


def test_values_that_go_the_wrong_way_are_not_believed() -> None:
    episodes, worth = dialogues(200)
    turned = Component("a", {e.key: -worth[e.session_id] for e in episodes})
    (found,) = cross_validate([turned], episodes)
    assert found.explained > 0.3 and found.against and not found.clear and found.kept == 0


@pytest.mark.parametrize(("count", "known"), [(200, 0), (200, 1), (FEWEST - 1, FEWEST - 1)])
def test_of_too_few_sessions_nothing_is_believed(count: int, known: int) -> None:
    episodes, worth = dialogues(count, told=0.99)
    source = Component("a", {e.key: worth[e.session_id] for e in episodes[:known]})
    (found,) = cross_validate([source], episodes)
    assert not found.clear and found.sessions == known


def test_scores_that_are_all_alike_say_nothing() -> None:
    episodes, worth = dialogues(20)
    flat = [episode for episode in episodes if episode.session_id == "s0000"] * 1
    (found,) = cross_validate([opinion("a", episodes, worth, 0.0)], flat)
    assert (found.explained, found.clear, found.interval) == (0.0, False, (None, None))


def test_two_ratings_of_one_session_are_resampled_together() -> None:
    from dataclasses import replace

    episodes, worth = dialogues(30)
    twice = [*episodes, *(replace(e, rating=replace(e.rating, rater="other")) for e in episodes)]
    values = {e.key: worth[e.session_id] for e in twice}
    (once,) = cross_validate([Component("a", {e.key: values[e.key] for e in episodes})], episodes)
    (doubled,) = cross_validate([Component("a", values)], twice)
    assert doubled.sessions == once.sessions == 30
    assert np.std(doubled.draws) == pytest.approx(np.std(once.draws), rel=0.1)
