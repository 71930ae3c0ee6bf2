"""What sources weigh: noise nothing, a copy of the truth nearly everything, and what is said twice counts once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from apportion.corpus.schema import HISTORY, REWARDS, SOURCES, SPLITS
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.ensembling import stacking
from apportion.decompose.ensembling.component import Component
from apportion.decompose.ensembling.predictiveness import left_out_scores
from apportion.decompose.ensembling.stacking import mix, shares, weigh
from apportion.decompose.reactions.model import FittedReactionModel
from apportion.foundation.errors import UnitError
from tests.decompose.ensembling.opinions import dialogues, opinion
from tests.evaluation.made_up import splits

EPISODES, WORTH = dialogues(300)
GOOD = opinion("good", EPISODES, WORTH, 2.0)
NOISE = opinion("noise", EPISODES, WORTH, np.inf, seed=9)


def weights(*sources: Component, **how: object) -> dict[str, float]:
    return {of.source: of.weight for of in weigh(sources, EPISODES, **how).weights}  # type: ignore[arg-type]


def whys(*sources: Component, **how: object) -> dict[str, str]:
    return {of.source: of.why for of in weigh(sources, EPISODES, **how).weights}  # type: ignore[arg-type]


@pytest.mark.slow
def test_pure_noise_weighs_less_than_a_twentieth_in_95_of_100_draws() -> None:
    found = [weights(GOOD, opinion("noise", EPISODES, WORTH, np.inf, seed=seed))["noise"] for seed in range(100, 200)]
    assert sum(weight < 0.05 for weight in found) >= 95


def test_the_truth_weighs_most_and_what_holds_nothing_or_goes_the_wrong_way_nothing() -> None:
    found = weights(GOOD, Component("truth", {e.key: WORTH[e.session_id] for e in EPISODES}), NOISE)
    assert found["truth"] > 0.8 and found["noise"] == 0.0
    assert sum(found.values()) == pytest.approx(1.0)
    assert weights(GOOD, NOISE) == {"good": 1.0, "noise": 0.0}
    assert whys(GOOD, NOISE) == {"good": stacking.FORETELLS, "noise": stacking.EMPTY}
    turned = Component("turned", {key: -of for key, of in GOOD.values.items()})
    assert weights(GOOD, turned) == {"good": 1.0, "turned": 0.0}
    assert whys(GOOD, turned)["turned"] == stacking.AGAINST


def test_copies_and_echoes_count_once() -> None:
    other = opinion("other", EPISODES, WORTH, 1.5, seed=5)
    alone = weights(GOOD, other)
    twice = weights(GOOD, replace(GOOD, name="copy"), other)
    assert twice["good"] + twice["copy"] == pytest.approx(alone["good"], abs=0.1)
    assert twice["good"] == pytest.approx(twice["copy"])
    rng = np.random.default_rng(3)
    blurred = {key: of + 3 * rng.normal(size=8) for key, of in GOOD.values.items()}
    found = weigh([GOOD, Component("echo", blurred)], EPISODES).weights
    assert found[1].weight < 0.1
    assert found[1].why in (stacking.SAID, stacking.FORETELLS) and found[1].predicted.clear


def test_a_rating_of_quality_routes_away_from_replies() -> None:
    replies, judge = replace(GOOD, reads_replies=True), opinion("judge", EPISODES, WORTH, 3.0, seed=2)
    assert weights(replies, judge, of_quality=True) == {"good": 0.0, "judge": 1.0}
    assert whys(replies, judge, of_quality=True)["good"] == stacking.ROUTED
    assert weights(replies, judge)["good"] > 0.5


def test_a_source_that_was_shown_the_score_counts_as_the_best_that_was_not() -> None:
    scores = {e.key: np.full(8, e.score) + WORTH[e.session_id] for e in EPISODES}
    shown = Component("shown", scores, shown_score=True)
    found = weigh([GOOD, shown], EPISODES).weights
    assert found[1].predicted.explained > 0.9 and found[1].why == stacking.SHOWN
    assert found[0].weight == pytest.approx(found[1].weight) == pytest.approx(0.5)
    alone = weigh([NOISE, shown], EPISODES).weights
    assert [of.weight for of in alone] == [0.0, 1.0] and alone[1].why == stacking.SHOWN_ALONE


def test_where_nothing_is_clear_what_is_likelier_counts_and_noise_next_to_nothing() -> None:
    few, worth = dialogues(24, seed=4, told=0.3)
    judge = opinion("judge", few, worth, 0.5)
    found = [weigh([judge, opinion("noise", few, worth, np.inf, seed=seed)], few).weights for seed in range(60, 90)]
    doubtful = [(one, noise) for one, noise in found if one.why == noise.why == stacking.UNTAUGHT]
    assert len(doubtful) >= 20
    assert np.mean([noise.weight for _, noise in doubtful]) < 0.3


def test_where_nothing_foretells_those_that_learnt_from_no_score_alone_count() -> None:
    learnt = Component("learnt", GOOD.values, {e.key: 50.0 for e in EPISODES})
    one, other = (opinion(name, EPISODES, WORTH, np.inf, seed) for name, seed in (("one", 51), ("other", 52)))
    found = weights(learnt, one, other)
    assert found["learnt"] == 0.0
    assert found["one"] + found["other"] == pytest.approx(1.0)
    assert whys(learnt, one) == {"learnt": stacking.TAUGHT, "one": stacking.UNTAUGHT}
    assert weights(learnt) == {"learnt": 0.0}


def test_without_a_single_training_score_sources_count_alike_and_a_weight_has_an_interval() -> None:
    found = weigh([GOOD, NOISE], [])
    assert [of.weight for of in found.weights] == pytest.approx([0.5, 0.5])
    assert {of.why for of in found.weights} == {stacking.UNTAUGHT}
    found = weigh([GOOD, opinion("other", EPISODES, WORTH, 1.5, seed=5)], EPISODES).weights
    assert all(of.low is not None and of.high is not None and of.low <= of.weight <= of.high for of in found)
    assert found[0].low != found[0].high


def test_weights_by_hand_are_taken_as_they_are_and_shared_by_the_sources_that_a_dialogue_has() -> None:
    found = weigh([GOOD, NOISE], EPISODES, given={"good": 1.0, "noise": 3.0})
    assert [of.weight for of in found.weights] == [0.25, 0.75]
    assert {of.why for of in found.weights} == {stacking.GIVEN}
    np.testing.assert_allclose(found.of([True, False]), [1.0, 0.0])
    copy = Component("copy", {e.key: WORTH[e.session_id] for e in EPISODES})
    found = weigh([GOOD, copy], EPISODES)
    np.testing.assert_allclose(found.of([True, False]), [1.0, 0.0])
    np.testing.assert_allclose(found.of([False, False]), [0.0, 0.0])


@given(st.integers(1, 6), st.integers(0, 10_000))
def test_shares_are_not_negative_and_sum_to_one(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(count, count + 1))
    alike = factors @ factors.T + 0.1 * np.eye(count)
    spread = np.sqrt(np.diag(alike))
    alike /= np.outer(spread, spread)
    strengths = np.maximum(0.0, rng.normal(size=(4, count)))
    found = shares(alike, strengths)
    assert (found >= 0).all() and (found[strengths == 0] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), strengths.any(axis=1))
    # SciPy's, of each by itself: a source without strength stands for no equation.
    for one, best in zip(strengths, found, strict=True):
        with_any = np.flatnonzero(one)
        if not with_any.size:
            continue
        lower = np.linalg.cholesky(alike[np.ix_(with_any, with_any)])
        theirs, _ = nnls(lower.T, np.linalg.solve(lower, one[with_any]))
        np.testing.assert_allclose(best[with_any], theirs / theirs.sum(), atol=1e-9)


def by_scores(seed: int = 1, noise: float = 2.0) -> Component:
    """What scores taught of replies: its left-out predictions are better than its mean value would foretell."""
    known = opinion("reaction", EPISODES, WORTH, noise, seed=seed, reads_replies=True)
    return replace(known, left_out={e.key: 50 + 10 * float(WORTH[e.session_id].mean()) for e in EPISODES})


def test_what_judgements_of_turns_taught_counts_as_what_scores_taught_where_it_is_clear() -> None:
    reaction, judged = by_scores(), opinion("judged", EPISODES, WORTH, 6.0, seed=8)
    alone = weights(reaction, judged)
    found = weigh([reaction, replace(judged, dialogues_judged=10**9)], EPISODES).weights
    assert alone["judged"] < 0.25
    assert found[1].weight == pytest.approx(0.5, abs=0.1) and found[1].why == stacking.TRUSTED


def test_the_more_dialogues_taught_a_source_the_more_it_is_trusted() -> None:
    reaction, judged = by_scores(), opinion("judged", EPISODES, WORTH, 6.0, seed=8)
    found = [weights(reaction, replace(judged, dialogues_judged=count))["judged"] for count in (10, 100, 400, 4000)]
    assert found == sorted(found) and found[0] < 0.15
    # A hundred dialogues are believed in every second draw.
    whole = weights(reaction, replace(judged, dialogues_judged=10**9))["judged"] - 0.05
    assert found[1] - 0.05 == pytest.approx(whole / 2, abs=0.03)


@pytest.mark.slow
def test_noise_that_judgements_of_turns_taught_weighs_nothing_in_95_of_100_draws() -> None:
    reaction = by_scores()
    noises = [opinion("noise", EPISODES, WORTH, np.inf, seed=seed, dialogues_judged=440) for seed in range(300, 400)]
    assert sum(weights(reaction, noise)["noise"] < 0.05 for noise in noises) >= 95


def test_a_copy_of_the_truth_is_not_crowded_out_by_what_judgements_taught() -> None:
    learnt = opinion("reaction", EPISODES, WORTH, 2.0, reads_replies=True)
    reaction = replace(learnt, left_out=left_out_scores(learnt, EPISODES)[0])
    # Both read the same replies, so that they err alike.
    rng = np.random.default_rng(8)
    judged = {key: of + rng.normal(size=8) for key, of in learnt.values.items()}
    copy = Component("truth", {e.key: WORTH[e.session_id] for e in EPISODES})
    assert weights(reaction, Component("judged", judged, dialogues_judged=440), copy)["truth"] > 0.8


def test_what_judgements_taught_needs_no_trust_where_it_is_all_there_is() -> None:
    judged = opinion("judged", EPISODES, WORTH, 2.0, seed=8, dialogues_judged=5)
    (found,) = weigh([judged], EPISODES).weights
    assert (found.weight, found.low, found.high) == (1.0, 1.0, 1.0)
    assert weights(judged, NOISE) == {"judged": 1.0, "noise": 0.0}


FEWER, FEWER_WORTH = dialogues(120)
NAMES = [e.session_id for e in FEWER]
ALL = SplitEpisodes(FEWER, splits(train=NAMES[:100], test=NAMES[100:]))


def alike(name: str, values: list[float]) -> Component:
    return Component(name, {e.key: np.array(values + [math.nan] * (8 - len(values))) for e in FEWER})


def turns(found: FittedReactionModel, session: str = "s0000") -> list[float | None]:
    return [row["raw_reward"] for row in found.judgements.to_pylist() if row["session_id"] == session]


def test_hand_computed_cases() -> None:
    one, other = alike("a", [1.0, 1.0, 3.0, 3.0]), alike("b", [-2.0, 2.0, -2.0, 2.0])
    found = mix("m", ALL, [one, other], 7, given={"a": 0.75, "b": 0.25})
    assert turns(found) == pytest.approx([-1.0, -0.5, 0.5, 1.0] + [None] * 4)  # nobody knows the last four
    assert found.judgements.schema == REWARDS.arrow and found.history.schema == HISTORY.arrow
    assert set(found.judgements["method"].to_pylist()) == {"m"} and set(found.judgements["seed"].to_pylist()) == {7}
    one, other = alike("a", [math.nan, -1.0, 1.0]), alike("b", [5.0, 5.0, 5.0])
    found = mix("m", ALL, [one, other], 0, given={"a": 1.0, "b": 1.0})
    assert turns(found)[:4] == pytest.approx([0.0, -0.5, 0.5, None])


def test_an_episode_that_a_source_lacks_is_made_of_the_others() -> None:
    good, other = opinion("good", FEWER, FEWER_WORTH, 0.5), opinion("other", FEWER, FEWER_WORTH, 0.5, seed=4)
    few = Component("few", {key: of for key, of in other.values.items() if key[0] != "s0001"})
    found = mix("m", ALL, [good, few], 0)
    spread = good.values[FEWER[1].key]
    assert turns(found, "s0001") == pytest.approx(((spread - spread.mean()) / spread.std()).tolist())
    nobody = Component("few", {key: of for key, of in good.values.items() if key[0] != "s0001"})
    unknown = mix("m", ALL, [nobody], 0).judgements.to_pylist()
    assert {row["session_id"] for row in unknown if row["raw_reward"] is None} == {"s0001"}


def test_scores_of_training_sessions_alone_decide() -> None:
    good, noise = opinion("good", FEWER, FEWER_WORTH, 0.5), opinion("noise", FEWER, FEWER_WORTH, np.inf, seed=3)
    changed = {k: -of if k[0] in NAMES[100:] else of for k, of in good.values.items()}
    found, other = (mix("m", ALL, [source, noise], 0) for source in (good, Component("good", changed)))
    assert found.sources is not None and other.sources is not None
    assert found.sources.drop_columns(["low", "high"]).equals(other.sources.drop_columns(["low", "high"]))


def test_the_table_of_the_sources_tells_weight_interval_and_reason() -> None:
    good, noise = opinion("good", FEWER, FEWER_WORTH, 0.5), opinion("noise", FEWER, FEWER_WORTH, np.inf, seed=3)
    found = mix("m", ALL, [good, noise], 2)
    assert found.sources is not None and found.sources.schema == SOURCES.arrow
    one, other = found.sources.to_pylist()
    expected = weigh([good, noise], FEWER[:100]).weights
    assert (one["method"], one["seed"], one["source"], one["sessions"]) == ("m", 2, "good", 100)
    assert [row["weight"] for row in (one, other)] == [of.weight for of in expected]
    assert one["explained_low"] > 0 > other["explained_low"]
    assert other["reason"] == "it foretells no left-out score: the interval holds zero"
    steps = {row["metric"]: row["value"] for row in found.history.to_pylist()}
    assert steps["weight of good"] == one["weight"] and steps["R^2 of noise"] == other["explained"]


@pytest.mark.parametrize(("sources", "named"), [([], "none"), ([Component("a", {}), Component("b", {})], "a, b")])
def test_without_any_source_that_knows_anything(sources: list[Component], named: str) -> None:
    with pytest.raises(UnitError, match=rf"method 'mix': no source \({named}\) knows any session"):
        mix("mix", ALL, sources, 0)


def test_a_mix_of_sources_that_are_not_believed_judges_nothing() -> None:
    learnt = Component("learnt", opinion("a", FEWER, FEWER_WORTH, np.inf).values, {e.key: 50.0 for e in FEWER})
    found = mix("m", SplitEpisodes(FEWER, splits(train=NAMES)), [learnt], 0)
    assert found.judgements.num_rows == 960 and found.judgements["raw_reward"].null_count == 960
    assert SPLITS.arrow.names == ["session_id", "split"]
